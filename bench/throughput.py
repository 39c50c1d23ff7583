"""Programmes of UEs a second, the latencies of their procedures, and what each process spends.

A closed loop: each UE goes through its programme and begins again, as fast as the core answers.
The load and the UPFs run in processes of their own, as the gateways, the workers and nats-server
do.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.cpu import CpuMeter
from evcore import emulated
from evcore import population as populations
from evcore.local.core import LocalCore, local_core
from evcore.local.data import DataDirectory
from loadgen import LoadConfig, Population, Procedure
from loadgen.report import Report
from schemas.config import Config, N2Config
from transport import Mode

WARM_UP = 2.0
"""Seconds of load before what is measured, so that functions are not at zero."""


PROGRAMMES: Final = {
    "registration": (Procedure.REGISTER, Procedure.DEREGISTER),
    "session": (
        Procedure.REGISTER,
        Procedure.SESSION,
        Procedure.IDLE,
        Procedure.SERVICE_REQUEST,
        Procedure.DEREGISTER,
    ),
}
"""What is measured, by its name. A registration is one by SUCI: 5G-AKA, security mode control and
initial context setup."""
UPFS: Final = 2


class Latency(Struct, frozen=True):
    """Of a procedure, in seconds, as the UE sees it."""

    p50: float
    p99: float


class Run(Struct, frozen=True):
    """One run of some UEs."""

    programmes: int
    """How often the last procedure of the programme succeeded."""
    per_second: float
    latency: dict[str, Latency]
    """By procedure."""
    failures: int
    cpu_ms: dict[str, float]
    """CPU milliseconds a programme, by process."""


async def runs_of(folder: Path, name: str, ues: int, seconds: float, count: int) -> list[Run]:
    """Some runs of `ues` UEs with the programme of a name, on a fresh core.

    Raises:
        RuntimeError: the load could not be run.
    """
    data = DataDirectory(folder)
    secrets = data.prepare()
    population = Population(
        count=ues,
        schemes=("null", "A", "B"),
        home_keys=populations.home_keys(secrets),
        dnns=(emulated.DNN,),
    )
    await populations.provision(data.root, population)
    n2 = N2Config(port=38412, udp_port=9899, transport=Mode.USERSPACE_UDP)
    programme = PROGRAMMES[name]
    tables = emulated.tables(UPFS) if Procedure.SESSION in programme else ()
    config = Config(n2=n2, upf=tables, data_network=(emulated.DATA_NETWORK,) if tables else ())
    async with local_core(data, config) as core, _upfs(config):
        load = _Load(folder, n2, population, programme)
        await load.run(WARM_UP)
        return [await _measured(core, load, seconds) for _ in range(count)]


@asynccontextmanager
async def _upfs(config: Config) -> AsyncGenerator[None]:
    """The UPFs of a configuration, each in a process that ends with its standard input."""
    host, port = emulated.core_of(config)
    children: list[asyncio.subprocess.Process] = []
    try:
        for upf in config.upf:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "loadgen.upf_main", "--node-id", upf.node_id),
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


async def _measured(core: LocalCore, load: "_Load", seconds: float) -> Run:
    def pids() -> dict[str, list[int]]:
        gateways = (core.gateway, core.gateway_n4)
        return {
            "gateways": [one.pid for one in gateways if one is not None],
            "workers": [worker.pid for worker in core.scaler.workers],
            "nats-server": [core.broker.process.pid],
        }

    meter = CpuMeter(pids)
    metering = asyncio.ensure_future(meter.run())
    report = await load.run(seconds)
    metering.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await metering
    meter.look()
    last = report.procedures[load.programme[-1]]
    if not last.succeeded:
        raise RuntimeError(f"no UE came to the end of its programme: {last.failures}")
    used = {**meter.totals(), "loadgen": report.cpu_seconds}
    return Run(
        programmes=last.succeeded,
        per_second=last.succeeded / report.seconds,
        latency={
            name: Latency(found.latency.p50, found.latency.p99)
            for name, found in report.procedures.items()
            if found.latency is not None
        },
        failures=report.failures,
        cpu_ms={name: 1000 * spent / last.succeeded for name, spent in used.items()},
    )


class _Load(Struct, frozen=True):
    folder: Path
    n2: N2Config
    population: Population
    programme: tuple[Procedure, ...]

    async def run(self, seconds: float) -> Report:
        """Run the load for so long, in a process of its own.

        Raises:
            RuntimeError: it could not be run.
        """
        report = self.folder / "report.json"
        config = LoadConfig(
            port=self.n2.port,
            udp_port=self.n2.udp_port,
            mode=Mode.USERSPACE_UDP,
            gnbs=min(4, self.population.count),
            population=self.population,
            programme=self.programme,
            identities=("suci",),
            repeat=None,
            duration=seconds,
            json=str(report),
        )
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "loadgen", "-"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await child.communicate(msgspec.json.encode(config))
        if child.returncode not in (0, 1):
            raise RuntimeError(said.decode(errors="replace").strip())
        return msgspec.json.decode(report.read_bytes(), type=Report)
