"""A UPF restarts under load: the core restores its sessions, and serves UEs meanwhile."""

import asyncio
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.overload.core import failures_of, running_core
from loadgen import Procedure

SHARE: Final = 0.7
"""The load during the restart, as a share of the capacity."""
RESTORED: Final = 120.0
"""Seconds: the bound for the time until all sessions are restored."""
P99: Final = 2.0
"""Seconds: the bound for the p99 of a session establishment."""
LOAD: Final = 60.0
"""Seconds of load around the restart, at least."""


class Storm(Struct, frozen=True):
    """The outcome of a restart."""

    sessions: int
    """Sessions that the UPF had."""
    restored: float | None
    """Seconds until the UPF had all of them again; None if it never had."""
    session_p99: float
    """Seconds."""
    failures: dict[str, int]
    sessions_lost: int

    @property
    def faults(self) -> list[str]:
        """What is out of its bounds."""
        found = {
            "not all sessions are restored in time": self.restored is None
            or self.restored > RESTORED,
            f"the p99 of session is {self.session_p99:.1f} s": self.session_p99 >= P99,
            f"procedures failed: {self.failures}": bool(self.failures),
            "sessions are lost": self.sessions_lost > 0,
        }
        return [text for text, wrong in found.items() if wrong]

    @property
    def line(self) -> str:
        """The figures as ``name=value``."""
        restored = "never" if self.restored is None else f"{self.restored:.1f}"
        return (
            f"sessions={self.sessions} restored={restored} session_p99={self.session_p99:.2f} "
            f"failures={sum(self.failures.values())} lost={self.sessions_lost}"
        )


async def restart(folder: Path, sessions: int) -> Storm:
    """Restart the only UPF of a new core that has `sessions` sessions, under load.

    Raises:
        RuntimeError: the load could not be run.
    """
    async with running_core(folder, upfs=1) as there:
        (upf,) = there.upfs
        capacity = await there.capacity(10.0)
        crowd = await there.ues(sessions)
        await there.arriving(crowd, SHARE * capacity, 60.0)
        load = asyncio.ensure_future(there.opened(SHARE * capacity, LOAD, 60.0))
        await asyncio.sleep(5.0)  # the load has begun
        before = there.addresses
        upf.restart()
        begun, restored = asyncio.get_running_loop().time(), None
        while not load.done() or restored is None:
            waited = asyncio.get_running_loop().time() - begun
            if restored is None and before <= there.addresses:
                restored = waited
            if waited > 2 * RESTORED:
                break
            await asyncio.sleep(0.5)
        report = await load
        found = report.procedures[Procedure.SESSION].admitted
        return Storm(
            sessions=len(before),
            restored=restored,
            session_p99=found.p99 if found is not None else float("inf"),
            failures=failures_of(report),
            sessions_lost=there.lost(report),
        )
