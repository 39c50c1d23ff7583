"""The store that a tool opens, and the error for a store that it cannot open."""

from pathlib import Path

import pytest

from tests.evcore.recording import SUPI, Recorded
from tests.evcore.shell import Shell


def test_a_store_by_configuration_and_secrets(
    evcore: Shell, recorded: Recorded, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "evcore.toml").write_text(f'[store]\nurl = "sqlite:{recorded.data.database}"\n')
    (home / "elsewhere").mkdir()
    monkeypatch.chdir(home / "elsewhere")
    given = ("--config", home / "evcore.toml", "--secrets", recorded.data.secrets_file)
    for command in (["log", "list"], ["log", "verify", "--all"], ["subscriber", "show", SUPI]):
        evcore.ok(*command, *given)
    assert evcore.refused("log", "list", *given[:2]).startswith("master_key is not set")


def test_a_data_directory_without_a_log(evcore: Shell, recorded: Recorded) -> None:
    recorded.data.database.unlink()
    assert evcore.refused("log", "list") == "there is no log in .evcore yet: `evcore up` writes it"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[n2", "Expected ']'"),
        ("[n3]\nx = 1", "unknown field `n3`"),
        ("[n2]\nport = 'x'", "Expected `int`, got `str`"),
        ("[amf]\nplmn = '1-1'", "plmn '1-1' is not written as \"001-01\""),
        ("[amf]\nrelative_capacity = 300", "<= 255 - at `$.amf.relative_capacity`"),
        ("[amf]\nname = ''", "at `$.amf.name`"),
        ("[amf]\nset = 1024", "<= 1023 - at `$.amf.set`"),
        ("[amf]\nrfsp = 0", ">= 1 - at `$.amf.rfsp`"),
        ("[amf]\nrfsp = 257", "<= 256 - at `$.amf.rfsp`"),
        (
            "[[data_network]]\nname = 'x'\nup_integrity = 'on'",
            "Invalid enum value 'on' - at `$.data_network[0].up_integrity`",
        ),
        ("[[tracking_area]]\ntac = 1\nslices = []", "at `$.tracking_area[0].slices`"),
        ("[security]\nintegrity = []", "at `$.security.integrity`"),
        ("[security]\nintegrity = [2, 0]", "security.integrity has NIA0"),
        ("[timers]\nt3550 = -3", ">= 1 - at `$.timers.t3550`"),
        ("[n2]\nport = 99999", "<= 65535 - at `$.n2.port`"),
        ("[n2]\nmax_under_way = 0", ">= 1 - at `$.n2.max_under_way`"),
        ("[nats]\npartitions = 5000", "<= 1024 - at `$.nats.partitions`"),
        ("[store]\nurl = 'ftp:x'", "'ftp' is not a kind of store"),
        ("[store]\nurl = 'sqlite:none/x.db'", "none/x.db"),
    ],
)
def test_a_configuration_that_is_wrong(
    evcore: Shell, recorded: Recorded, home: Path, text: str, sentence: str
) -> None:
    (home / "evcore.toml").write_text(text)
    given = ("--config", "evcore.toml", "--secrets", recorded.data.secrets_file)
    assert sentence in evcore.refused("log", "list", *given)


def test_a_database_that_is_none(evcore: Shell, recorded: Recorded) -> None:
    recorded.data.database.write_bytes(b"x" * 8192)
    for command in (["log", "list"], ["log", "verify", "--all"], ["subscriber", "list"]):
        assert "evcore.db" in evcore.refused(*command)


def test_up_on_what_is_no_directory(evcore: Shell, home: Path) -> None:
    (home / "file").write_text("")
    for place in ("file", "file/below"):
        sentence = evcore.refused("up", "--data", place)
        assert sentence.startswith(f"{place} cannot be used as a data directory: ")


def test_up_with_a_transport_that_is_none(evcore: Shell, home: Path) -> None:
    (home / "evcore.toml").write_text("[n2]\ntransport = 'tcp'\n")
    sentence = evcore.refused("up", "--config", "evcore.toml")
    assert sentence.startswith("n2.transport is 'tcp'; it must be one of auto, kernel, ")


def test_load_without_a_core(evcore: Shell) -> None:
    sentence = evcore.refused("load")
    assert sentence == "no core runs on .evcore: start `evcore up`, or give --host"


def test_load_refuses_files_that_it_could_not_write(evcore: Shell, home: Path) -> None:
    for option in ("--json", "--plot", "--capture"):
        load = ("load", "--host", "127.0.0.1", option)
        assert evcore.refused(*load, home) == f"{home} cannot be written: is a directory"
        sentence = evcore.refused(*load, home / "none" / "x")
        assert sentence.endswith(f"{home / 'none'} is not a directory")
