"""A UE and two gNBs on associations of their own. A test says when what they send leaves.

No timer of the UE runs, so nothing repeats a message that the core has lost.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Final

from loadgen import Population
from loadgen.gnb.context import UeContext
from loadgen.gnb.gnb import Gnb
from loadgen.gnb.messages import GnbConfig
from loadgen.gnb.neighbours import Neighbours
from loadgen.load.link import Connector, Link
from loadgen.timers import Deadlines
from loadgen.ue.model import CONNECTION_LOST, Procedure, State
from loadgen.ue.ue import Ue
from loadgen.violation import Violation

GNBS: Final = 2
_WAIT: Final = 60.0


class Radio:
    """Two gNBs, and a UE that camps on the first."""

    def __init__(self, population: Population, connector: Connector) -> None:
        self.violations: list[Violation] = []
        self.holds_after = ""
        """A procedure: once it has ended, nothing leaves until `flush`."""
        self._holding = False
        self._changed = asyncio.Event()
        self._ended: list[tuple[Procedure, str | None]] = []
        deadlines, neighbours = Deadlines(), Neighbours()
        report = self.violations.append
        plmn, slices = population.plmn, population.slices
        self.gnbs = [
            Gnb(
                GnbConfig(f"gnb-{number}", number, plmn=plmn, slices=slices),
                deadlines,
                on_violation=report,
                neighbours=neighbours,
            )
            for number in range(1, 1 + GNBS)
        ]
        self.links = [
            Link(gnb, connector, self._progressed, capture=None, rng=Random(1)) for gnb in self.gnbs
        ]
        cell = self.gnbs[0].cell
        tai = plmn, cell.config.tac
        self.ue = Ue(population.profile(0), tai, on_violation=report)
        self.camped = cell.camp(self.ue)

    def _progressed(self, _link: Link) -> None:
        for gnb in self.gnbs:
            for _camped, ended in gnb.cell.ended:
                self._ended.append((ended.procedure, ended.cause))
                self._holding = self._holding or ended.procedure == self.holds_after
            gnb.cell.ended.clear()
        if not self._holding:
            for link in self.links:
                link.flush()
        self._changed.set()

    async def _until(self, ready: str, number: int = 0) -> None:
        async with asyncio.timeout(_WAIT):
            while not (self._ended if ready == "ended" else self.gnbs[number].ready):
                self._changed.clear()
                await self._changed.wait()

    async def set_up(self) -> None:
        """Wait until both gNBs have an AMF."""
        for number in range(GNBS):
            await self._until("set-up", number)

    def begin(self, procedure: Procedure, gnb: int) -> None:
        """Begin a procedure of the UE by a gNB. What the gNB sends waits for `flush`."""
        self._holding = True
        cell = self.gnbs[gnb].cell
        if self.camped.cell is not cell:
            cell.take(self.camped)
        cell.begin(self.camped, procedure, time.monotonic())

    def lose(self) -> UeContext:
        """Lose the radio link of the UE, which the gNB does not notice. Return the context that
        the gNB keeps."""
        context = self.camped.context
        assert context is not None
        context.camped = self.camped.context = None
        if self.ue.state is State.REGISTERED:
            self.ue.released(time.monotonic(), CONNECTION_LOST)
        else:
            self.ue.power_cycle()
        self.ue.out.clear()
        self._ended.clear()
        return context

    def flush(self, gnb: int) -> None:
        """Send what a gNB has held back."""
        self.links[gnb].flush()

    async def done(self, procedure: Procedure) -> None:
        """Wait until a procedure has ended well, with nothing held back."""
        self._holding, self.holds_after = False, ""
        await self._end_of(procedure)

    async def held(self, procedure: Procedure) -> None:
        """Wait until a procedure has ended well. What the gNB sends for its end is held back."""
        self._holding, self.holds_after = False, procedure
        await self._end_of(procedure)

    async def _end_of(self, procedure: Procedure) -> None:
        for link in self.links:
            link.flush()
        await self._until("ended")
        assert self._ended.pop(0) == (procedure, None), self.violations


@asynccontextmanager
async def radio(population: Population, connector: Connector) -> AsyncGenerator[Radio]:
    """Two gNBs with an AMF, and a UE."""
    made = Radio(population, connector)
    tasks = [asyncio.create_task(link.run()) for link in made.links]
    try:
        await made.set_up()
        yield made
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
