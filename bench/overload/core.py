"""A core with UPFs in this process, which can be restarted and looked into, and its loads."""

import os
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from bench.core import Load, config_of, provisioned
from evcore import emulated
from evcore.local.core import LocalCore, local_core
from evcore.local.data import DataDirectory
from loadgen import Procedure
from loadgen.report.report import Report
from loadgen.upf.config import UpfConfig as Emulated
from loadgen.upf.upf import Upf
from loadgen.upf.violation import PfcpKind
from loadgen.violation import Kind
from schemas.config.reading import Config, Secrets, UpfConfig

PROGRAMME: Final = (Procedure.REGISTER, Procedure.SESSION, Procedure.IDLE)
CLOSED_UES: Final = 256
"""UEs of the closed loop that measures the capacity."""
GNBS: Final = 8
LONGEST: Final = 1.2
"""The longest time for all arrivals of a load, in shares of the expected time."""
PRIORITY: Final = -10
"""The nice value of this process, with its UPFs, and of the load generator. They answer at once, as
on a machine of their own: an overloaded core takes all that it can get of a shared one, and a
procedure would wait for its UE."""
AUTOGROUP: Final = Path("/proc/self/autogroup")
"""The nice value of a session with automatic groups (sched(7)): there, that of a process has no
effect on other sessions."""
_ADDRESS_IN_USE: Final = PfcpKind.UE_ADDRESS_IN_USE


class LoadedCore:
    """A running core, its UPFs, and UEs that have not been used yet."""

    def __init__(
        self, core: LocalCore, data: DataDirectory, secrets: Secrets, upfs: list[Upf]
    ) -> None:
        self.core = core
        self.upfs = upfs
        self._data, self._secrets = data, secrets
        self._used = 0

    async def ues(self, count: int) -> Load:
        """Provision new subscribers. Return their load generator."""
        population = await provisioned(self._data, self._secrets, count, self._used)
        self._used += count
        return Load(self._data.root, self.core.config.n2, population)

    async def closed(self, load: Load, seconds: float, **more: Any) -> Report:
        """Make UEs repeat the programme, with a deregistration at its end, for some seconds.

        Raises:
            RuntimeError: the load could not be run.
        """
        programme = (*PROGRAMME, Procedure.DEREGISTER)
        usual: dict[str, Any] = {"programme": programme, "repeat": None, "gnbs": GNBS}
        return await load.with_settings(None, duration=seconds, **usual | more)

    async def opened(self, rate: float, seconds: float, drain: float) -> Report:
        """Start the programme in `rate` new UEs per second, as a Poisson process.

        Each UE runs it once. After the arrivals, the UEs have `drain` seconds to end it.

        Raises:
            RuntimeError: the load could not be run.
        """
        return await self.arriving(await self.ues(int(rate * seconds)), rate, drain)

    async def arriving(self, load: Load, rate: float, drain: float) -> Report:
        """Start the programme once in each UE, `rate` a second; see `opened`.

        Raises:
            RuntimeError: the load could not be run.
        """
        # Without a duration there is no limit, and a UE may wait for T3346 for half an hour.
        duration = LONGEST * load.population.count / rate
        return await load.with_settings(
            programme=PROGRAMME, rate=rate, repeat=1, duration=duration, drain=drain, gnbs=GNBS
        )

    async def capacity(self, seconds: float) -> float:
        """Return the programmes per second of a closed loop of new UEs.

        Raises:
            RuntimeError: the load could not be run, or no UE completed its programme.
        """
        load = await self.ues(CLOSED_UES)
        await self.closed(load, 2.0)
        report = await self.closed(load, seconds)
        served = within(report, seconds)
        if not served:
            raise RuntimeError(f"no UE completed its programme: {failures_of(report)}")
        return served / seconds

    @property
    def addresses(self) -> set[str]:
        """The addresses of the UEs that have a session at a UPF."""
        return {address for upf in self.upfs for _, address in upf.sessions}

    def lost(self, report: Report) -> int:
        """Return the number of sessions that the core lost in a load: released without a request,
        missing in a PDU session status, or missing at the UPFs at the end."""
        there = self.addresses
        missing = sum(1 for one in report.sessions if one.address not in there)
        return missing + report.sessions_lost + report.sessions_released

    def addresses_twice(self, report: Report) -> int:
        """Return how often an address was given to a session while another session had it."""
        at_upfs = sum(
            1 for upf in self.upfs for one in upf.violations if one.kind is _ADDRESS_IN_USE
        )
        return report.violation_counts.get(Kind.SESSION_ADDRESS, 0) + at_upfs


def within(report: Report, seconds: float) -> int:
    """Return the programmes that were completed in the first `seconds` of a load. Its last UEs may
    end much later: those that a gNB has refused wait for T302."""
    last = report.procedures.get(PROGRAMME[-1])
    return sum(one.succeeded for one in last.timeline if one.at < seconds) if last else 0


def failures_of(report: Report) -> dict[str, int]:
    """Return the number of failed procedures by procedure and cause."""
    return {
        f"{name} {cause}": count
        for name, found in report.procedures.items()
        for cause, count in found.failures.items()
    }


@asynccontextmanager
async def running_core(folder: Path, upfs: int = 2) -> AsyncGenerator[LoadedCore]:
    """Run a new core with UPFs for the duration of a block."""
    data = DataDirectory(folder)
    secrets, config = data.prepare(), config_of(upfs)
    async with AsyncExitStack() as stack:
        there = [upf_of(config, table) for table in config.upf]
        for upf in there:
            await upf.start()
            stack.callback(upf.close)
        core = await stack.enter_async_context(local_core(data, config))
        stack.enter_context(_first())  # after the core has its processes
        yield LoadedCore(core, data, secrets, there)


@contextmanager
def _first() -> Generator[None]:
    """Give this process and its later children `PRIORITY` for the duration of a block."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        _prioritize(PRIORITY)
    except OSError as err:
        sys.stderr.write(f"the load generator has no priority, so latencies are too long: {err}\n")
    try:
        yield
    finally:
        with suppress(OSError):
            _prioritize(before)


def _prioritize(nice: int) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    if AUTOGROUP.exists():
        AUTOGROUP.write_text(str(nice))


def upf_of(config: Config, table: UpfConfig) -> Upf:
    """Return the emulated UPF of a table, not started."""
    host = table.host or table.node_id
    core = emulated.core_of(config)
    return Upf(Emulated(node_id=table.node_id, host=host, port=table.port, cp=core))
