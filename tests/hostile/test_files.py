"""Another user of the machine: nothing of a running core can be read or changed."""

import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.memory import family
from evcore.emulated import free_udp_port
from evcore.local.process import Process
from loadgen import LoadConfig, Population, Procedure, run
from transport import Mode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

OTHER = 65534
"""A user id without rights."""
READ_ALL = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        try:
            with open(os.path.join(folder, name), "rb") as file:
                print(name)
        except PermissionError:
            pass
"""


@asynccontextmanager
async def careless_core(folder: Path) -> AsyncGenerator[tuple[Path, int]]:
    """A core on a directory that others may use, with the umask 0. Yields it and its process."""
    data = folder / "data"
    (data / "jetstream").mkdir(parents=True)
    (data / "logs").mkdir()
    (data / "logs" / "gateway-n2.log").touch()
    ports = ["--udp-port", str(free_udp_port()), "--nats-port", "0", "--transport", "userspace-udp"]
    up = [sys.executable, "-m", "evcore", "up", "--data", str(data), "--upfs", "0", *ports]
    # Process gives its child a umask, so a shell sets it back.
    command = ["bash", "-c", 'umask 0; ulimit -c unlimited; exec "$@"', "bash", *up]
    core = await Process.start(
        "evcore up",
        command,
        folder / "up.log",
        "evcore is up",
        environment={"EVCORE_TMSI_KEY": "77" * 32},
    )
    try:
        load = LoadConfig(
            udp_port=int(ports[1]),
            mode=Mode.USERSPACE_UDP,
            gnbs=1,
            population=Population(count=1),
            programme=(Procedure.REGISTER,),
            drain=10.0,
        )
        await run(load)  # unknown to the core: every kind of process has run, and has logged
        yield data, core.pid
    finally:
        await core.stop()


async def test_another_user_cannot_read_or_change_the_data(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() != "root" or folder.is_relative_to("/tmp"):  # noqa: S108
            folder.chmod(folder.stat().st_mode | 0o055)
    before = os.umask(0)
    try:
        async with careless_core(tmp_path) as (data, _):
            found = [data, *data.rglob("*")]
            modes = {path.name: path.stat().st_mode for path in found if path.exists()}
            assert {"secrets.json", "evcore.db", "config.json", "logs", "lock"} <= set(modes)
            assert [name for name, mode in modes.items() if mode & 0o077] == []
            if os.geteuid() == 0:
                assert _read_by_another(data) == ""
    finally:
        os.umask(before)


def _read_by_another(root: Path) -> str:
    """Return the names of the files that another user can open."""
    ended = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(root)],
        user=OTHER,
        group=OTHER,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout


async def test_a_crash_leaves_no_keys_on_the_disk(tmp_path: Path) -> None:
    """No process of a core writes a core dump, and those without need of keys have none."""
    async with careless_core(tmp_path) as (_, pid):
        for process, name in family(pid).items():
            try:
                limits = Path(f"/proc/{process}/limits").read_text()
                environment = Path(f"/proc/{process}/environ").read_bytes()
            except OSError:
                continue  # it has ended
            (line,) = [one for one in limits.splitlines() if one.startswith("Max core file size")]
            assert line.split()[4] == "0", name
            if name in ("nats-server", "gateway.n4"):
                assert b"EVCORE_TMSI_KEY" not in environment, name
