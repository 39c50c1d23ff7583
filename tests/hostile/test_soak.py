"""A soak: UEs do all procedures for minutes, while processes are killed and strangers send garbage.

EVCORE_SOAK is its duration in seconds, and EVCORE_SEED the seed of the garbage.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from bench.core import UPFS, config_of, provisioned
from bench.kill.figures import Outage, Procedures
from bench.kill.part import driver_of, idle, load_of
from bench.kill.victims import Victims
from bench.memory import family
from evcore import emulated
from evcore.local.core import local_core
from evcore.local.data import DataDirectory
from loadgen import Procedure
from loadgen.load.driver import connector_of
from loadgen.ue.model import SKIPPED, Ended
from tests.e2e import checks
from tests.hostile.malformed import N2_STRANGER, malformed

SECONDS: Final = float(os.environ.get("EVCORE_SOAK", "300"))
SEED: Final = int(os.environ.get("EVCORE_SEED", "17"))
UES: Final = 64
THINK: Final = 1.0
"""Mean of the seconds between two procedures of a UE. Without it the load takes all processors, and
the emulated UPFs, in its process, answer too late after each kill."""

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.timeout(SECONDS + 300)]

PROGRAMME: Final = (
    Procedure.REGISTER,
    Procedure.SESSION,
    Procedure.IDLE,
    Procedure.SERVICE_REQUEST,
    Procedure.IDLE,
    Procedure.PAGE,
    Procedure.IDLE,
    Procedure.SERVICE_REQUEST,
    Procedure.XN_HANDOVER,
    Procedure.N2_HANDOVER,
    Procedure.HANDOVER_REFUSED,
    Procedure.PERIODIC_UPDATE,
    Procedure.IDLE,
    Procedure.MOBILITY_UPDATE,
    Procedure.RELEASE_SESSION,
    Procedure.DEREGISTER,
)
LAST: Final = (Procedure.REGISTER, Procedure.DEREGISTER)
_ROUND: Final = ("workers", "nats-server", "n4", "fork-server")
KILLED: Final = (*_ROUND, *_ROUND, "workers", "nats-server", "n2")
"""Every kind of process, one each five seconds. With the N2 gateway all associations are lost."""
RECOVERY: Final = 15.0
"""Seconds after the N2 gateway is back in which a procedure may fail: gNBs associate again after
pauses of up to 4 s (`loadgen.load.link`), and a UE that lost its connection waits for T3510."""
MOST_MIB: Final = {
    "nats-server": 400,
    "gateway.n2": 200,
    "gateway.n4": 200,
    "functions.runtime": 300,
    "evcore.local.fork_server": 200,
}
"""Largest resident memory of each process, in MiB."""


async def test_all_procedures_beside_kills_and_garbage(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    population = await provisioned(data, data.prepare(), UES)
    config = config_of(UPFS)
    load = load_of(
        *(config, population),
        programme=PROGRAMME,
        think=THINK,
        profile="foreign",
        seed=SEED,
        duration=SECONDS,
    )
    async with emulated.running_upfs(config.upf) as upfs, local_core(data, config) as core:
        assert await upfs.associated()
        await idle(core)
        addresses = (config.n2.host, config.n2.udp_port), (config.n4.host, config.n4.port)
        connector = connector_of(replace(load, local_host=N2_STRANGER))
        procedures = Observed()
        async with (
            malformed(*addresses, connector, SEED) as garbage,
            Victims(core) as victims,
            memory_of_processes() as memory,
            asyncio.TaskGroup() as tasks,
        ):
            tasks.create_task(victims.kill(KILLED, SECONDS))
            report = await driver_of(load, upfs, procedures).run()
        await idle(core)
        figures = f"procedures={report.count} sent={garbage.sent} memory={memory}"
        print(f"soak: {figures} kills={len(victims.outages)} failed={report.failed}")
        lost = [one for n, one in enumerate(victims.outages) if KILLED[n % len(KILLED)] == "n2"]
        assert unexplained(procedures.observed, lost) == []
        assert report.violations == [], report.violations[:9]
        assert upfs.violations == [], upfs.violations[:9]
        assert report.cut_off is None
        assert report.count > UES * len(PROGRAMME), "each UE did all procedures"
        assert min(garbage.sent.values()) > SECONDS, "beside enough garbage"

        # A UE that lost its connection may be registered still, with a session: it comes back.
        last = load_of(config, population, programme=LAST, repeat=1, seed=SEED + 1)
        again = await driver_of(last, upfs, Procedures()).run()
        assert again.ok, checks.failed(again)
        await idle(core)
        await checks.no_sessions(data)
        assert upfs.rules_left == 0
    assert await checks.index_entries(data, "gnb") == []
    await checks.verified(data)
    assert {name: most for name, most in memory.items() if most > MOST_MIB.get(name, 0)} == {}


class Observed(Procedures):
    """A recorder that also notes when it was told of a failure.

    The time of a failure itself may be that of the last message of the UE before.
    """

    def __init__(self) -> None:
        super().__init__()
        self.observed: list[tuple[float, str]] = []
        """Times on the monotonic clock, and sentences."""

    def ended(self, end: Ended, who: str) -> None:
        super().ended(end, who)
        if end.cause not in (None, SKIPPED):
            self.observed.append((time.monotonic(), f"{who}: {end.procedure} failed: {end.cause}"))


def unexplained(observed: Sequence[tuple[float, str]], lost: Sequence[Outage]) -> list[str]:
    """Return the failures that are not of UEs that lost the association of their gNB."""
    return [
        f"{sentence}, {_ago(at, lost)}"
        for at, sentence in observed
        if not any(outage.begun <= at <= outage.ended + RECOVERY for outage in lost)
    ]


def _ago(at: float, lost: Sequence[Outage]) -> str:
    before = [at - outage.begun for outage in lost if outage.begun <= at]
    return f"{min(before):.1f} s after a loss" if before else "before the first loss"


@asynccontextmanager
async def memory_of_processes() -> AsyncGenerator[dict[str, int]]:
    """Note the largest resident memory of each process of the core, by name, in MiB."""
    found: dict[str, int] = {}

    async def watch() -> None:
        while True:
            for pid, name in family(os.getpid()).items():
                if pid != os.getpid() and name:
                    with contextlib.suppress(OSError, StopIteration):
                        found[name] = max(found.get(name, 0), _resident(pid))
            await asyncio.sleep(2.0)

    watching = asyncio.ensure_future(watch())
    try:
        yield found
    finally:
        watching.cancel()


def _resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith("VmRSS:"))
    return int(line.split()[1]) >> 10
