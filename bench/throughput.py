"""Registrations a second, their latencies, and what each process spends on one.

A closed loop: each UE registers with its SUCI (5G-AKA, security mode control, initial context
setup), deregisters, and begins again, as fast as the core answers. The load runs in a process
of its own, as the gateway, the workers and nats-server do.
"""

import asyncio
import contextlib
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.cpu import CpuMeter
from evcore import population as populations
from evcore.local.core import LocalCore, local_core
from evcore.local.data import DataDirectory
from loadgen import LoadConfig, Population, Procedure
from loadgen.report import Report
from schemas.config import Config, N2Config
from transport import Mode

WARM_UP = 2.0
"""Seconds of load before what is measured, so that functions are not at zero."""


class Run(Struct, frozen=True):
    """One run of some UEs."""

    registrations: int
    per_second: float
    p50: float
    p99: float
    failures: int
    cpu_ms: dict[str, float]
    """CPU milliseconds a registration and its deregistration, by process."""


async def runs_of(folder: Path, ues: int, seconds: float, count: int) -> list[Run]:
    """Some runs of `ues` UEs, on a fresh core.

    Raises:
        RuntimeError: the load could not be run.
    """
    data = DataDirectory(folder)
    secrets = data.prepare()
    population = Population(
        count=ues, schemes=("null", "A", "B"), home_keys=populations.home_keys(secrets)
    )
    await populations.provision(data.root, population)
    n2 = N2Config(port=38412, udp_port=9899, transport=Mode.USERSPACE_UDP)
    async with local_core(data, Config(n2=n2)) as core:
        await _load(folder, n2, population, WARM_UP)
        return [await _measured(core, folder, n2, population, seconds) for _ in range(count)]


async def _measured(
    core: LocalCore, folder: Path, n2: N2Config, population: Population, seconds: float
) -> Run:
    def pids() -> dict[str, list[int]]:
        return {
            "gateway": [core.gateway.pid] if core.gateway is not None else [],
            "workers": [worker.pid for worker in core.scaler.workers],
            "nats-server": [core.broker.process.pid],
        }

    meter = CpuMeter(pids)
    metering = asyncio.ensure_future(meter.run())
    report = await _load(folder, n2, population, seconds)
    metering.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await metering
    meter.look()
    register = report.procedures[Procedure.REGISTER]
    latency = register.latency
    if latency is None:
        raise RuntimeError(f"no UE registered: {register.failures}")
    used = {**meter.totals(), "loadgen": report.cpu_seconds}
    return Run(
        registrations=register.succeeded,
        per_second=register.succeeded / report.seconds,
        p50=latency.p50,
        p99=latency.p99,
        failures=report.failures,
        cpu_ms={name: 1000 * spent / register.succeeded for name, spent in used.items()},
    )


async def _load(folder: Path, n2: N2Config, population: Population, seconds: float) -> Report:
    report = folder / "report.json"
    config = LoadConfig(
        port=n2.port,
        udp_port=n2.udp_port,
        mode=Mode.USERSPACE_UDP,
        gnbs=min(4, population.count),
        population=population,
        programme=(Procedure.REGISTER, Procedure.DEREGISTER),
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
