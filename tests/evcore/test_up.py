"""`evcore up` and `evcore load` as a user runs them."""

import asyncio
import json
import os
import signal
import stat
from pathlib import Path

import pytest

from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from functions.runtime.replay import all_aggregates
from tests.e2e import checks
from tests.evcore import cores
from tests.evcore.cores import run, up

pytestmark = pytest.mark.slow


async def heads(data: Path) -> dict[str, int]:
    async with opened(data, read_only=True) as access:
        return {name: head async for name, head in all_aggregates(access.log)}


async def test_from_zero_and_back_to_it(home: Path) -> None:
    """Functions run while there is work, and SIGTERM leaves no process behind."""
    data = home / "data"
    async with up(data) as core:
        assert not [c for c in core.processes().values() if "functions.runtime" in c]
        status, said = await core.load("--ues", 8, "--json", home / "out.json")
        assert status == 0, said
        assert "failures=0" in said.splitlines()[-1]
        await core.says("functions core: 0 -> 1 worker$")
        await core.says("functions core: 1 -> 0 workers$")
        assert await core.ends(signal.SIGTERM) == 0
        assert core.said[-1] == "stopped"
        assert core.processes() == {}
    report = json.loads((home / "out.json").read_text())
    assert {name: found["count"] for name, found in report["procedures"].items()} == {
        "register": 8,
        "idle": 8,
        "deregister": 8,
    }
    assert len(await heads(data)) == 11
    await checks.verified(DataDirectory(data))
    secret = [path for path in data.rglob("*") if "secrets" in path.name]
    assert [stat.S_IMODE(path.stat().st_mode) for path in secret] == [0o600]
    assert keys_in_logs(data) == []


def keys_in_logs(data: Path) -> list[Path]:
    secrets = json.loads((data / "secrets.json").read_text())
    keys = [secrets["master_key"], secrets["tmsi_key"]]
    keys += [key["private_key"] for key in secrets["home_network_keys"]]
    texts = {path: path.read_text() for path in [*data.glob("logs/*"), data / "config.json"]}
    assert len(texts) >= 4
    return [path for path, text in texts.items() if any(key in text for key in keys)]


async def test_one_core_at_a_time(home: Path) -> None:
    data = home / "data"
    async with up(data) as core:
        status, said = await run("up", "--data", data, "--nats-port", 0)
        assert (status, said) == (
            1,
            f"evcore: a core runs on {data} already: process {core.child.pid}\n",
        )
        status, said = await run("demo", "--data", data)
        assert status == 1
        assert "already: process" in said
        assert await core.ends(signal.SIGINT) == 0
        assert core.processes() == {}


async def test_killed_and_started_again(home: Path) -> None:
    """All processes of a killed core end. The next core continues with its logs."""
    data = home / "data"
    async with up(data) as core:
        status, said = await core.load("--ues", 4, "--procedures", "register")
        assert status == 0, said
        children = core.processes()
        assert {"nats-server", "gateway.n2", "functions.runtime"} <= {
            word for command in children.values() for word in words(command)
        }
        assert await core.ends(signal.SIGKILL) == -signal.SIGKILL
        await cores.ended(list(children))
        assert core.processes() == {}
    before = await heads(data)
    assert len(before) == 7
    async with up(data) as core:
        status, said = await core.load("--ues", 4, "--procedures", "register,deregister")
        assert status == 0, said
        await core.says("functions core: 1 -> 0 workers$")  # the events of the UPFs are decided
        assert await core.ends(signal.SIGTERM) == 0
    after = await heads(data)
    assert before.keys() == after.keys()
    assert all(after[name] > head for name, head in before.items())
    await checks.verified(DataDirectory(data))


def words(command: str) -> set[str]:
    return {Path(word).name for word in command.split()}


async def test_parts_that_end_are_started_again(home: Path) -> None:
    """The gateway and the broker are killed in turn, and restarted as by Kubernetes."""
    async with up(home / "data") as core:
        for part, name in (("gateway.n2", "the N2 gateway"), ("nats-server", "nats-server")):
            (pid,) = [p for p, command in core.processes().items() if part in words(command)]
            os.kill(pid, signal.SIGKILL)
            await core.says(f"{name} was ended by SIGKILL; restarting")
            await core.says(f"{name} runs again")
        status, said = await core.load("--ues", 4, "--procedures", "register,deregister")
        assert status == 0, said


async def test_a_load_that_is_interrupted(home: Path) -> None:
    """It ends at once without output, and the core continues."""
    async with up(home / "data") as core:
        child = await asyncio.create_subprocess_exec(
            *cores.COMMAND,
            *("load", "--data", str(core.data), "--ues", "4", "--duration", "600"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        await core.says("functions core: 0 -> 1 worker$")
        child.send_signal(signal.SIGINT)
        out, _ = await child.communicate()
        # The load may still be starting: then the signal itself ends it. A shell says 130 for both.
        assert (child.returncode in (130, -signal.SIGINT), out) == (True, b"")
        status, said = await core.load("--ues", 4, "--json", "-")
        assert status == 0, said
        assert json.loads(said)["ues"] == 4
        status, said = await core.load("--ues", 4, "--seed", 1)
        assert status == 1
        assert "with credentials that differ from the load's" in said


async def test_a_port_that_is_taken(home: Path) -> None:
    """A core that cannot start stops the processes that it has started."""
    async with up(home / "data") as core:
        config = json.loads((core.data / "config.json").read_text())
        udp_port, nats = config["n2"]["udp_port"], config["nats"]["url"].rpartition(":")[2]
        other = home / "other"
        status, said = await run("up", "--data", other, "--udp-port", udp_port, "--nats-port", 0)
        taken = f"cannot bind 127.0.0.1 UDP port {udp_port}: Address already in use"
        assert (status, said) == (1, f"evcore: the N2 gateway ended with 1: {taken}\n")
        status, said = await run("up", "--data", other, "--nats-port", nats)
        assert (status, said) == (1, f"evcore: the port {nats} of the broker is in use\n")
        assert cores.Up(core.child, other).processes() == {}
