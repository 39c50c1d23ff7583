"""The same functions over HTTP, called by dispatchers as in Knative, and as pulling workers."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from evcore import emulated
from evcore.emulated import EmulatedUpfs
from evcore.local.broker import free_port
from evcore.local.process import Process
from eventing import subjects
from eventing.access.roles import Role
from loadgen import run
from tests.e2e import checks
from tests.e2e.test_sessions import PROGRAMME
from tests.eventing.brokers import stored
from tests.servers import Site, free_udp_port, site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

GROUPS = (
    "registration,identification,deregistration",
    "session,service-request,paging,an-release",
    "ran,upf,configuration-update,handover,ue-context",
)
EVCORE = (sys.executable, "-m", "evcore")


class Deployed:
    """Functions as processes, in one of the two ways."""

    def __init__(self, it: Site) -> None:
        self._it = it
        self.functions: dict[str, Process] = {}
        self.dispatchers: dict[str, Process] = {}
        self._ports: dict[str, int] = {}

    def _files(self, *, secrets: bool) -> list[str]:
        data = self._it.data
        found = ["--config", str(data.config_file)]
        return [*found, "--secrets", str(data.secrets_file)] if secrets else found

    async def work(self, group: str) -> None:
        command = [*EVCORE, "function", "work", group, *self._files(secrets=True)]
        name = f"work-{GROUPS.index(group)}"
        self.functions[group] = await Process.start(name, command, self._it.data.log(name))

    async def serve(self, group: str) -> None:
        port = self._ports.setdefault(group, free_port())
        command = [*EVCORE, "function", "serve", group, "--port", str(port)]
        command += self._files(secrets=True)
        name = f"serve-{GROUPS.index(group)}"
        self.functions[group] = await Process.start(name, command, self._it.data.log(name))

    async def dispatch(self, group: str) -> None:
        sink = f"http://127.0.0.1:{self._ports[group]}/"
        command = [*EVCORE, "dispatch", group, "--sink", sink, *self._files(secrets=False)]
        name, token = f"dispatch-{GROUPS.index(group)}", self._it.data.secrets().http_tokens
        self.dispatchers[group] = await Process.start(
            name, command, self._it.data.log(name), environment={"EVCORE_HTTP_TOKENS": token}
        )

    async def kill_each(self) -> None:
        """Kill one process after the other, and restart it."""
        for group in GROUPS:
            for processes, start in (
                (self.functions, self.serve),
                (self.dispatchers, self.dispatch),
            ):
                victim = processes[group]
                victim.kill()
                await victim.wait()
                await start(group)

    async def end(self) -> None:
        for process in (*self.dispatchers.values(), *self.functions.values()):
            await process.stop()
            assert process.status == 0, f"{process.name} {process.end}"


@asynccontextmanager
async def deployed(
    folder: Path, ues: int, mode: str
) -> AsyncGenerator[tuple[Site, EmulatedUpfs, Deployed]]:
    """A core without an autoscaler: the test starts its functions."""
    tables = tuple(replace(upf, port=free_udp_port()) for upf in emulated.tables(2))
    networks = (emulated.DATA_NETWORK,)
    async with (
        emulated.running_upfs(tables) as upfs,
        site(folder, ues, (), upfs=tables, data_networks=networks) as it,
    ):
        functions = Deployed(it)
        for group in GROUPS:
            if mode == "pull":
                await functions.work(group)
            else:
                await functions.serve(group)
                await functions.dispatch(group)
        await checks.upfs_associated(it.data, len(tables))
        yield it, upfs, functions
        await functions.end()


async def whole(it: Site, upfs: EmulatedUpfs) -> None:
    report = await run(it.load(programme=PROGRAMME), downlink_data=upfs.downlink_data)
    failures = {name: found.failures for name, found in report.procedures.items()}
    assert report.ok, (report.violations, failures)
    await it.settled()
    assert (upfs.violations, upfs.rules_left) == ([], 0)


@pytest.mark.parametrize("mode", ["http", "pull"])
async def test_the_whole_session_scenario(tmp_path: Path, mode: str) -> None:
    async with deployed(tmp_path, 30, mode) as (it, upfs, _):
        await whole(it, upfs)
        async with it.connected(Role.SETUP) as client:
            assert await stored(client, subjects.DEAD_LETTERS) == []
    await checks.verified(it.data)
    await checks.no_sessions(it.data)


async def test_functions_and_dispatchers_are_killed_in_the_middle(tmp_path: Path) -> None:
    async with deployed(tmp_path, 60, "http") as (it, upfs, functions):
        load = asyncio.ensure_future(
            run(it.load(programme=PROGRAMME, repeat=3), downlink_data=upfs.downlink_data)
        )
        await functions.kill_each()
        report = await load
        failures = {name: found.failures for name, found in report.procedures.items()}
        assert report.ok, (report.violations, failures)
        await it.settled()
        assert upfs.rules_left == 0
    await checks.verified(it.data)
    await checks.no_sessions(it.data)
