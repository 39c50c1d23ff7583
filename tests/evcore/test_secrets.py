"""Only the owner can read files with keys, and no command prints a key."""

import os
import stat
from pathlib import Path

import msgspec
import pytest

from evcore.local.data import DEFAULT, DataDirectory
from schemas.config.reading import Config, ConfigError
from tests.e2e import versions
from tests.evcore.recording import OTHER_SUPI, RAN, SUPI, UE, Recorded
from tests.evcore.shell import Shell


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_the_secrets_file_is_its_owners(home: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        DataDirectory(home / "data").prepare()
    finally:
        os.umask(before)
    assert mode(home / "data" / "secrets.json") == 0o600 & ~umask
    assert mode(home / "data") & 0o077 == 0, "the log holds the locations of subscribers"
    assert [path.name for path in (home / "data").iterdir()] == ["secrets.json"]


def test_keys_are_made_once_and_are_different(home: Path) -> None:
    data = DataDirectory(home / "data")
    made = data.prepare()
    assert data.prepare() == made == data.secrets()
    keys = [made.master_key, made.tmsi_key, *(key.private_key for key in made.home_network_keys)]
    other = DataDirectory(home / "other").prepare()
    assert len({*keys, other.master_key, other.tmsi_key}) == 6


def test_the_configuration_of_the_processes_holds_none(home: Path) -> None:
    data = DataDirectory(home / "data")
    made = data.prepare()
    data.write_config(Config())
    text = data.config_file.read_text()
    assert made.master_key not in text
    assert made.tmsi_key not in text


def test_lost_keys_are_not_made_anew(home: Path, recorded: Recorded) -> None:
    del home
    recorded.data.secrets_file.unlink()
    with pytest.raises(
        ConfigError, match=r"secrets\.json is missing, and .* cannot be read without"
    ):
        recorded.data.prepare()
    assert not recorded.data.secrets_file.exists()


def test_subscribers_of_lost_keys_are_not_changed(evcore: Shell, recorded: Recorded) -> None:
    recorded.data.secrets_file.unlink()
    arguments = ("subscriber", "add", "001010000000003", "--k", "00" * 16, "--opc", "00" * 16)
    assert "is missing" in evcore.refused(*arguments)
    assert "master_key is not set" in evcore.refused("log", "list")


def test_the_database_holds_no_key_in_plain(recorded: Recorded) -> None:
    octets = b"".join(path.read_bytes() for path in recorded.data.root.glob("evcore.db*"))
    assert UE.encode() in octets
    assert [key for key in recorded.keys if key in octets] == []


COMMANDS = [
    ["log", "list"],
    ["log", "list", "--json"],
    *(
        ["log", command, name, *more]
        for name in (SUPI, OTHER_SUPI, RAN)
        for command, more in (
            ("show", []),
            ("show", ["--json"]),
            ("state", []),
            ("state", ["--at", "1"]),
            ("verify", []),
        )
    ),
    ["log", "show", SUPI, "--asn1"],
    ["replay", "--all", "--with", "rejects/my-variant", "--procedure", "service-request"],
    ["replay", "--all", "--with", "accepts/my-variant"],
    ["subscriber", "list"],
    ["subscriber", "show", SUPI],
    ["subscriber", "home-keys"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_says_a_key(
    evcore: Shell, recorded: Recorded, home: Path, command: list[str]
) -> None:
    """`Shell` searches the output of each command for keys."""
    del recorded
    versions.write(home / "rejects", versions.REJECTS)
    versions.write(home / "accepts", versions.OTHER_T3512, versions.ACCEPT)
    said = evcore(*command)
    assert len(said.out) > 20


def test_an_unreadable_secrets_file(evcore: Shell, recorded: Recorded) -> None:
    """The error does not quote the contents."""
    secrets = recorded.data.secrets()
    recorded.data.secrets_file.write_text(f'{{"master_key": "{secrets.master_key}')
    assert evcore.refused("log", "list").startswith(f"{DEFAULT}/secrets.json: ")
    recorded.data.secrets_file.write_text(f'{{"{secrets.master_key}": 1}}')
    assert evcore.refused("log", "list").startswith(f"{DEFAULT}/secrets.json: ")
    short = msgspec.structs.replace(secrets, master_key=secrets.master_key[:-2])
    recorded.data.secrets_file.write_bytes(msgspec.json.encode(short))
    assert evcore.refused("log", "list") == "master_key must have 64 hexadecimal digits"
    evcore.keys.add(bytes.fromhex(short.master_key))
    wrong = msgspec.structs.replace(
        secrets,
        home_network_keys=tuple(
            msgspec.structs.replace(key, private_key=key.private_key[:-2] + "zz")
            for key in secrets.home_network_keys
        ),
    )
    recorded.data.secrets_file.write_bytes(msgspec.json.encode(wrong))
    sentence = evcore.refused("subscriber", "home-keys")
    assert sentence == "home network key 1 is not a key of profile A or B"


def test_keys_of_the_environment(
    evcore: Shell, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take precedence over those of the file, which need not exist."""
    monkeypatch.setenv("EVCORE_MASTER_KEY", recorded.data.secrets().master_key)
    recorded.data.secrets_file.unlink()
    assert evcore.ok("log", "verify", "--all")
    monkeypatch.setenv("EVCORE_MASTER_KEY", "xyz")
    assert evcore.refused("log", "list") == "master_key must have 64 hexadecimal digits"
