"""Swaps of a core without `evcore up`: its processes are started by hand, as on a cluster.

`evcore swap` writes the assignments, judges the canary, and rolls it back.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace
from nats.aio.client import Client

from evcore import population as populations
from evcore.emulated import free_udp_port
from evcore.local.data import DataDirectory
from evcore.local.lag import wait_until_idle
from evcore.local.process import Process
from evcore.logs.access import opened
from evcore.logs.verify import verify_aggregates
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import bus_config, ensure
from eventing.stats import StatsWatch
from functions.runtime.code import this_code
from functions.runtime.replay import all_aggregates
from functions.runtime.variants import load
from loadgen import LoadConfig, Population, Report, run
from loadgen.load.phases import Share
from schemas.config.reading import Config, N2Config, N4Config
from schemas.procedures import Procedure
from tests.e2e import checks, versions
from tests.e2e.test_swap import (
    OWN,
    REGISTRATION,
    REGISTRATIONS,
    check_accepts,
    decided,
    now,
    phases,
)
from tests.servers import nats_server
from tests.variants import environment
from transport import Mode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

UES: Final = 64


class Cluster:
    """A core of processes that this test has started."""

    def __init__(
        self, data: DataDirectory, config: Config, population: Population, client: Client
    ) -> None:
        self.data = data
        self.config = config
        self.population = population
        self.processes = AsyncExitStack()
        self._client = client
        self._count = 0
        self.watch: StatsWatch
        self._heard = asyncio.Event()

    @property
    def _files(self) -> tuple[str, ...]:
        files = ("--config", str(self.data.config_file))
        return (*files, "--secrets", str(self.data.secrets_file))

    async def start(self, name: str, command: tuple[str, ...], ready: str = "") -> Process:
        """Start a process of the core."""
        self._count += 1
        log = self.data.log(f"{name}-{self._count}")
        process = await Process.start(name, [*command, *self._files], log, ready)
        self.processes.push_async_callback(process.stop)
        return process

    async def worker(
        self, *arguments: str, python: str = sys.executable, variant: bool = False
    ) -> Process:
        """Start a worker, as a container does."""
        command = (python, "-P", "-m", "evcore", "function", "work", *arguments)
        settings = ("env", "EVCORE_VARIANT=1") if variant else ()
        return await self.start("worker", (*settings, *command))

    async def swap(self, *arguments: str) -> asyncio.subprocess.Process:
        """Run `evcore swap` on this core; its output is one stream."""
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "evcore", "swap", *arguments),
            *("--config", str(self.data.config_file)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def swapped(self, *arguments: str) -> tuple[int, str]:
        """Run `evcore swap` to its end."""
        child = await self.swap(*arguments)
        said, _ = await child.communicate()
        return child.returncode or 0, said.decode()

    async def steps(self, version: str, more: int) -> None:
        """Wait until a version has decided so many more registrations."""
        key = (REGISTRATION, version)

        def counted() -> int:
            found = self.watch.totals().get(key)
            return 0 if found is None else found.steps

        least = counted() + more
        while counted() < least:
            self._heard.clear()
            await self._heard.wait()

    def load(self, seconds: float, share: Share = REGISTRATIONS) -> asyncio.Task[Report]:
        """Start a load of all UEs."""
        n2 = self.config.n2
        load = LoadConfig(
            port=n2.port,
            udp_port=n2.udp_port,
            mode=Mode.USERSPACE_UDP,
            gnbs=2,
            population=self.population,
            phases=phases(seconds, share),
        )
        return asyncio.create_task(run(load))

    async def settled(self) -> None:
        """Wait until no event waits."""
        await wait_until_idle(self._client)

    def heard(self) -> None:
        """Note that statistics have come."""
        self._heard.set()


@asynccontextmanager
async def cluster(folder: Path) -> AsyncGenerator[Cluster]:
    """nats-server, the N2 gateway and two workers."""
    data = DataDirectory(folder / "data")
    population = Population(
        count=UES,
        schemes=("null", "A", "B"),
        home_keys=populations.home_keys(data.prepare()),
        dnns=("internet",),
    )
    await populations.provision(data.root, population)
    n2 = N2Config(udp_port=free_udp_port(), transport=Mode.USERSPACE_UDP)
    async with nats_server(folder) as broker, connected(broker.url, "test") as client:
        config = Config(n2=n2, n4=N4Config(port=free_udp_port()))
        config = data.write_config(replace(config, nats=replace(config.nats, url=broker.url)))
        await ensure(client, bus_config(config.nats))
        core = Cluster(data, config, population, client)
        core.watch = StatsWatch(lambda _: core.heard())
        await core.watch.start(client)
        try:
            async with core.processes:
                await core.start("n2", (sys.executable, "-m", "gateway.n2"), "evcore gateway n2: ")
                for _ in range(2):
                    await core.worker("all")
                yield core
        except BaseException:
            for log in sorted(data.logs.glob("*.log")):
                print(f"--- {log.name}", *log.read_text().splitlines()[-30:], sep="\n")
            raise


async def line(child: asyncio.subprocess.Process) -> str:
    assert child.stdout is not None
    return (await child.stdout.readline()).decode()


async def test_workers_of_another_environment_decide_for_an_eighth_of_the_ues(
    tmp_path: Path,
) -> None:
    """As a second Deployment with another image does: a setting says which variant it hosts."""
    path = environment(tmp_path, {versions.ACCEPT: versions.OTHER_T3512})
    async with cluster(tmp_path) as core:
        load = core.load(14)
        await core.steps(OWN, 50)
        await core.worker("registration", python=str(path / "bin" / "python"), variant=True)
        child = await core.swap("registration", "--to", str(path), "--partitions", "1/8")
        said = await line(child)
        variant = said.split()[1]
        assert said == f"registration {variant} decides in partitions 0\n"
        begun = now()
        await core.steps(variant, 10)
        status, said = await core.swapped("--status")
        assert status == 0
        assert f"registration {variant} decides in partitions 0" in said
        assert f"registration  {variant}  {this_code().release}" in " ".join(said.split("   "))
        finishing = now()
        status, said = await core.swapped("registration", "--finish")
        assert (status, said) == (0, f"registration {variant} decides everywhere\n")
        finished = now()
        await core.steps(variant, 30)
        assert await line(child) == f"registration {variant} decides everywhere\n"
        assert await child.wait() == 0
        aborting = now()
        status, said = await core.swapped("registration", "--abort")
        assert status == 0, said
        report = await load
        assert report.ok, checks.failed(report)
        await core.settled()
        steps = await decided(core.data, REGISTRATION)
    check_accepts([one for one in steps if begun <= one.at < finishing], {0}, variant)
    everywhere = {one.version for one in steps if finished <= one.at < aborting}
    assert everywhere == {variant}
    async with opened(core.data.root) as access:
        names = [name async for name, _ in all_aggregates(access.log, "ue/imsi-")]
        verification = await verify_aggregates(access, names)
    assert verification.differing
    fetch = f"fetch evcore {this_code().release} ({variant}), which decided it"
    assert all(line.endswith(fetch) for line in verification.differing)


async def test_a_registration_accept_that_raises_is_rolled_back_by_the_command(
    tmp_path: Path,
) -> None:
    path = versions.write(tmp_path, versions.ACCEPT_RAISES, versions.ACCEPT)
    variant = load(path).id
    async with cluster(tmp_path) as core:
        load_ = core.load(14)
        await core.steps(OWN, 50)
        await core.worker("registration", "--with", f"registration={path}")
        status, said = await core.swapped("registration", "--to", "my-variant")
        begun, ended = said.splitlines()
        assert begun == f"registration {variant} decides in partitions 0"
        assert status == 1
        assert ended.startswith(f"evcore: registration {variant} is rolled back: it fails: of")
        report = await load_
        assert report.ok, checks.failed(report)
        await core.settled()
        steps = await decided(core.data, REGISTRATION)
    assert {one.version for one in steps if one.t3512} == {OWN}, "no ACCEPT of the canary"
    assert {one.version for one in steps} <= {OWN, variant}


async def test_a_registration_accept_that_rejects_is_rolled_back_by_the_command(
    tmp_path: Path,
) -> None:
    path = versions.write(tmp_path, versions.ACCEPT_REJECTS, versions.ACCEPT)
    async with cluster(tmp_path) as core:
        load_ = core.load(14)
        await core.steps(OWN, 50)
        await core.worker("registration", "--with", f"registration={path}")
        status, said = await core.swapped("registration", "--to", str(path))
        assert status == 1
        assert "were rejects" in said
        report = await load_
        await core.settled()
    assert report.violations == []


async def test_a_canary_whose_worker_is_killed_is_rolled_back_by_the_command(
    tmp_path: Path,
) -> None:
    path = versions.write(tmp_path, versions.OTHER_T3512, versions.ACCEPT)
    async with cluster(tmp_path) as core:
        worker = await core.worker("registration", "--with", f"registration={path}")
        child = await core.swap("registration", "--to", "my-variant")
        assert "decides in partitions 0" in await line(child)
        os.kill(worker.pid, signal.SIGKILL)
        assert "no worker of it has lived for 5 s" in await line(child)
        assert await child.wait() == 1


async def test_a_command_that_is_interrupted_goes_on_when_it_is_run_again(tmp_path: Path) -> None:
    path = versions.write(tmp_path, versions.OTHER_T3512, versions.ACCEPT)
    async with cluster(tmp_path) as core:
        await core.worker("registration", "--with", f"registration={path}")
        child = await core.swap("registration", "--to", "my-variant")
        assert "decides in partitions 0" in await line(child)
        child.send_signal(signal.SIGTERM)
        assert "run this again, --finish or --abort" in await line(child)
        assert await child.wait() == 128 + signal.SIGTERM
        child = await core.swap("registration", "--to", "my-variant", "--partitions", "1/4")
        assert "decides in partitions 0, 1\n" in await line(child)
        status, said = await core.swapped("registration", "--abort")
        assert status == 0
        assert "was withdrawn (by command)" in said
        assert "was withdrawn (by command)" in await line(child)
        assert await child.wait() == 0


async def test_a_variant_that_no_worker_hosts_is_refused(tmp_path: Path) -> None:
    async with cluster(tmp_path) as core:
        status, said = await core.swapped("registration", "--to", "none")
        assert status == 1
        assert said == (
            "evcore: no live worker hosts none for registration; hosted variants: none\n"
        )
        status, said = await core.swapped(str(Procedure.PAGING), "--finish")
        assert (status, said) == (1, "evcore: there is no canary of paging\n")
