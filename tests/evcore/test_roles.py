"""Every process of a core has the permissions that it needs on the bus, and no process more.

`tests.servers.site` and `tests.evcore.cores.up` check after each test that nats-server has refused
nothing to any process.
"""

import asyncio
import errno
import os
import signal
import sys
from pathlib import Path

import pytest

from eventing.access import keys
from eventing.access.authorization import configuration
from eventing.access.roles import Role, inbox, permissions
from schemas.config.values import ConfigError
from tests.announcer.broker import ingress
from tests.e2e.versions import RIGHT, write
from tests.evcore.cores import Up, run, up

UES = 8
PROGRAMME = "register,idle,service,idle"


def test_the_replies_to_a_role_are_its_own() -> None:
    for role in Role:
        others = [inbox(other) for other in Role if other != role]
        assert f"{inbox(role)}.>" in permissions(role).subscribe
        for subject in permissions(role).subscribe:
            assert not any(subject.startswith(one) for one in others)
            assert not subject.startswith((">", "*", "$SYS", "_INBOX.*", "_INBOX.>"))


def test_only_setup_administers_jetstream() -> None:
    made = ("STREAM.CREATE", "STREAM.DELETE", "STREAM.PURGE", "STREAM.UPDATE", "CONSUMER.DELETE")
    for role in Role:
        allowed = permissions(role).publish
        assert ("$JS.API.>" in allowed) == (role == Role.SETUP)
        assert not any(call in subject for subject in allowed for call in made)
        assert not any(s.startswith("$JS.API.CONSUMER.CREATE.EVCORE") for s in allowed)


def test_keys_are_made_once_and_are_of_their_owner(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    made = keys.make_missing(folder)
    assert len(set(made.values())) == len(Role)
    assert keys.make_missing(folder) == made
    (folder / "worker.nk").unlink()
    again = keys.make_missing(folder)
    assert {role for role in Role if again[role] != made[role]} == {Role.WORKER}
    assert all((folder / f"{role}.nk").stat().st_mode & 0o777 == 0o600 for role in Role)
    text = configuration(made)
    assert all(key in text for key in made.values())
    assert not any((folder / f"{role}.nk").read_text().strip() in text for role in Role)


def test_a_full_disk_leaves_no_part_of_a_key(tmp_path: Path) -> None:
    """Before, the empty file stayed, and no later start could make the key."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = tmp_path / "keys"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ConfigError, match="No space left on device"):
            keys.make_missing(folder)
    assert not [*folder.iterdir()]
    assert len(keys.make_missing(folder)) == len(Role)


@pytest.mark.parametrize("text", ["", "nothing", "SUAAAA", "SU" + "A" * 20, "UA" + "A" * 54])
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "worker.nk"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"worker\.nk has no nkey of a user"):
        keys.public_key(path)


async def does(core: Up, *arguments: object) -> str:
    status, said = await run(*arguments, "--data", core.data)
    assert status == 0, said
    return said


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_no_role_lacks_a_permission(tmp_path: Path) -> None:
    """Everything that the command line does on a running core, with a restart in between."""
    toml = tmp_path / "evcore.toml"
    toml.write_text('[amf]\nfull_name = "another"\n')
    data = tmp_path / "data"
    async with ingress() as sink:
        for turn in range(2):
            async with up(data, "--upfs", 0) as core:
                files = ("--config", data / "config.json", "--secrets", data / "secrets.json")
                announcing = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "evcore", "announce", "--sink", sink.url),
                    *map(str, files),
                )
                status, said = await core.load("--ues", UES, "--procedures", PROGRAMME)
                assert status == 0, said
                supi = f"imsi-{1010000000001:015d}"
                await does(core, "session", "list")
                await does(core, "network", "update", toml)
                await core.says("is applied")
                if turn == 0:
                    variant = write(tmp_path, RIGHT)
                    swap = ("swap", "service-request")
                    await does(core, *swap, "--to", variant, "--partitions", "1/4")
                    await does(core, *swap, "--abort")
                await does(core, "swap", "--status")
                await does(core, "subscriber", "deregister", supi)
                if turn == 1:
                    await does(core, "subscriber", "remove", f"imsi-{1010000000002:015d}")
                await sink.until(lambda: any(r.type.endswith("registered") for r in sink.taken))
                announcing.send_signal(signal.SIGTERM)
                assert await announcing.wait() == 0
