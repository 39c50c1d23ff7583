"""Bursts: more UEs arrive than the core can serve."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.overload.core import LoadedCore, failures_of, running_core, within
from loadgen import Procedure
from loadgen.report.report import Report

SHARES: Final = (0.5, 0.9, 1.2, 2.0, 4.0)
"""Offered loads, as shares of the capacity."""
SLACK: Final = 1.3
"""The time after a burst in which all UEs are registered, in shares of backlog/capacity."""
P99: Final = 3.0
"""Seconds: the bound for the p99 of an admitted procedure."""
GOODPUT: Final = 0.9
"""The bound for the goodput in overload, as a share of the capacity."""


class Burst(Struct, frozen=True):
    """The outcome of one offered load."""

    share: float
    """The offered load as a share of the capacity."""
    capacity: float
    """Programmes per second of the closed loop."""
    ues: int
    registered: int
    """UEs that had registered when the load ended."""
    goodput: float
    """Programmes per second while UEs arrived."""
    p99: dict[str, float]
    """By procedure, seconds from the request that was accepted."""
    cleared: float
    """Seconds from the last arrival until the last UE had registered."""
    allowed: float
    """The bound for `cleared`: `SLACK` times backlog/capacity."""
    failures: dict[str, int]
    expiries: int
    """Requests of UEs that had no answer in time."""
    rejects: int
    held: int
    """RRC connections that gNBs refused for the AMF's overload."""
    sessions_lost: int
    addresses_twice: int
    error_indications: int

    @property
    def faults(self) -> list[str]:
        """What is out of its bounds."""
        worst = max(self.p99.values(), default=0.0)
        found = {
            "UEs are not registered": self.registered < self.ues,
            f"procedures failed: {self.failures}": bool(self.failures),
            f"p99 is {worst:.1f} s": worst >= P99,
            f"goodput is {self.goodput / self.capacity:.2f}": self.share >= 2
            and self.goodput < GOODPUT * self.capacity,
            f"cleared after {self.cleared:.0f} s, not {self.allowed:.0f} s": self.share >= 2
            and self.cleared > self.allowed,
            "sessions are lost": self.sessions_lost > 0,
            "an address is given twice": self.addresses_twice > 0,
            "gNBs got ERROR INDICATIONs": self.error_indications > 0,
        }
        return [text for text, wrong in found.items() if wrong]

    @property
    def line(self) -> str:
        """The figures as ``name=value``."""
        return (
            f"share={self.share:g} capacity={self.capacity:.0f} ues={self.ues} "
            f"registered={self.registered} goodput={self.goodput / self.capacity:.2f} "
            f"p99={max(self.p99.values(), default=0.0):.2f} cleared={self.cleared:.0f} "
            f"allowed={self.allowed:.0f} expiries={self.expiries} rejects={self.rejects} "
            f"held={self.held} lost={self.sessions_lost} twice={self.addresses_twice} "
            f"error_indications={self.error_indications}"
        )


async def burst(folder: Path, share: float, seconds: float) -> Burst:
    """Offer a share of the capacity to a new core for some seconds.

    Raises:
        RuntimeError: the load could not be run.
    """
    async with running_core(folder) as there:
        capacity = await there.capacity(min(seconds, 15.0))
        drain = SLACK * max(0.0, share - 1) * seconds + 60.0
        report = await there.opened(share * capacity, seconds, drain)
        return outcome(there, report, share, capacity, seconds)


def outcome(
    there: LoadedCore, report: Report, share: float, capacity: float, seconds: float
) -> Burst:
    """Return the outcome of an offered load."""
    register = report.procedures[Procedure.REGISTER]
    ended = max((one.at + 1 for one in register.timeline if one.succeeded), default=0)
    backlog = report.ues - sum(one.succeeded for one in register.timeline if one.at < seconds)
    return Burst(
        share=share,
        capacity=capacity,
        ues=report.ues,
        registered=register.succeeded,
        goodput=within(report, seconds) / seconds,
        p99={
            name: found.admitted.p99
            for name, found in report.procedures.items()
            if found.admitted is not None
        },
        cleared=max(0.0, ended - seconds),
        allowed=SLACK * backlog / capacity,
        failures=failures_of(report),
        expiries=report.expiries,
        rejects=sum(report.rejects.values()),
        held=report.held,
        sessions_lost=there.lost(report),
        addresses_twice=there.addresses_twice(report),
        error_indications=report.error_indications_received,
    )
