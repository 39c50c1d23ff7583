"""A new core to measure, with its UPFs and its load generator.

The load and the UPFs run in separate processes, like the gateways, the workers and nats-server.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from evcore import emulated
from evcore import population as populations
from evcore.emulated import free_udp_port
from evcore.local.core import LocalCore, local_core
from evcore.local.data import DataDirectory
from loadgen import LoadConfig, Population, Procedure
from loadgen.load.phases import Phase
from loadgen.load.scenario import Scenario
from loadgen.report.report import Report
from schemas.config.reading import Config, N2Config, N4Config, Secrets
from transport import Mode

UPFS: Final = 2
_FIRST_IMSI: Final = int(Population().first_imsi)


class Core(NamedTuple):
    """The measured core and its load generator."""

    core: LocalCore
    load: "Load"


def config_of(upfs: int) -> Config:
    """Return the configuration of a core on free ports, with SCTP in user space and `upfs` UPFs."""
    tables = emulated.tables(upfs)
    return Config(
        n2=N2Config(udp_port=free_udp_port(), transport=Mode.USERSPACE_UDP),
        n4=N4Config(port=free_udp_port()),
        upf=tuple(replace(upf, port=free_udp_port()) for upf in tables),
        data_network=(emulated.DATA_NETWORK,) if tables else (),
    )


async def provisioned(
    data: DataDirectory, secrets: Secrets, count: int, before: int = 0
) -> Population:
    """Provision subscribers. Return their population.

    Args:
        data: the data directory of the core.
        secrets: the keys in it.
        count: the number of subscribers.
        before: the number of subscribers that are provisioned already.
    """
    population = Population(
        count=count,
        first_imsi=f"{_FIRST_IMSI + before:015}",
        schemes=("null", "A", "B"),
        home_keys=populations.home_keys(secrets),
        dnns=(emulated.DNN,),
    )
    await populations.provision(data.root, population)
    return population


@asynccontextmanager
async def core_for(
    folder: Path, ues: int, programme: tuple[Procedure, ...]
) -> AsyncGenerator[Core]:
    """Start a new core with subscribers, and with UPFs if a programme needs them."""
    data = DataDirectory(folder)
    population = await provisioned(data, data.prepare(), ues)
    config = config_of(UPFS if Procedure.SESSION in programme else 0)
    async with upfs_beside(config), local_core(data, config) as core:
        yield Core(core, Load(folder, config.n2, population))


@asynccontextmanager
async def upfs_beside(config: Config) -> AsyncGenerator[None]:
    """Run the UPFs of a configuration. Each process ends when its standard input closes."""
    host, port = emulated.core_of(config)
    children: list[asyncio.subprocess.Process] = []
    try:
        for upf in config.upf:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "loadgen.upf", "--node-id", upf.node_id),
                *("--host", upf.host or upf.node_id, "--port", str(upf.port)),
                *("--cp", f"{host}:{port}"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
            )
            children.append(child)
        yield
    finally:
        for child in children:
            if child.stdin is not None:
                child.stdin.close()
            await child.wait()


def processes(core: LocalCore) -> dict[str, list[int]]:
    """Return the running processes of a core that process its load."""
    gateways = (core.gateway, core.gateway_n4)
    return {
        "gateways": [one.pid for one in gateways if one is not None],
        "workers": [worker.pid for worker in core.scaler.workers],
        "nats-server": [core.broker.process.pid],
    }


class Load(Struct, frozen=True):
    """The load generator, in a separate process."""

    folder: Path
    n2: N2Config
    population: Population

    async def run(self, programme: tuple[Procedure, ...], seconds: float) -> Report:
        """Make all UEs repeat a programme for some seconds.

        Raises:
            RuntimeError: the load could not be run.
        """
        return await self.with_settings(programme=programme, repeat=None, duration=seconds)

    async def poisson(
        self, programme: tuple[Procedure, ...], rate: float, seconds: float
    ) -> Report:
        """Start the programme in `rate` UEs per second, independent of the core's answers.

        Raises:
            RuntimeError: the load could not be run.
        """
        return await self.with_settings(
            programme=programme, rate=rate, repeat=None, duration=seconds
        )

    async def phases(
        self, phases: tuple[Phase, ...], began: Callable[[int], None] | None = None
    ) -> Report:
        """Make all UEs run phases in sequence.

        Args:
            phases: the actions of the UEs.
            began: called with the id of the process that runs the load.

        Raises:
            RuntimeError: the load could not be run.
        """
        return await self.with_settings(began, phases=phases)

    async def scenario(self, scenario: Scenario) -> Report:
        """Run a scenario with the available UEs.

        Raises:
            RuntimeError: the load could not be run.
        """
        return await self.with_settings(
            gnbs=scenario.gnbs, identities=("stored",), **scenario.load()
        )

    async def with_settings(
        self, began: Callable[[int], None] | None = None, **more: Any
    ) -> Report:
        """Run a load with fields of `LoadConfig`; see `phases` for `began`.

        Raises:
            RuntimeError: the load could not be run.
        """
        report = self.folder / "report.json"
        usual: dict[str, Any] = {
            "gnbs": min(4, self.population.count),
            "identities": ("suci",),
        }
        config = LoadConfig(
            port=self.n2.port,
            udp_port=self.n2.udp_port,
            mode=Mode.USERSPACE_UDP,
            population=self.population,
            json=str(report),
            **usual | more,
        )
        return await loaded(config, report, began)


async def loaded(
    load: LoadConfig, report: Path, began: Callable[[int], None] | None = None
) -> Report:
    """Run a load in a separate process, which writes its report to a file. Return the report.

    `began` is called with the id of that process.

    Raises:
        RuntimeError: the load could not be run.
    """
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "loadgen", "-"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    if began is not None:
        began(child.pid)
    said, _ = await child.communicate(msgspec.json.encode(load))
    if child.returncode not in (0, 1):
        raise RuntimeError(said.decode(errors="replace").strip())
    return msgspec.json.decode(report.read_bytes(), type=Report)
