"""Attempts of a UE after injected faults made a procedure fail (TS 24.501 5.5.1.3.7, 5.6.1.7)."""

from typing import NamedTuple

from msgspec import Struct

from loadgen.ue.base import UeBase
from loadgen.ue.model import HANDOVERS, SKIPPED, Procedure

MAX_RECOVERIES = 5
"""Attempts of the procedure, and then of an initial registration."""
TIMER = "recovery"
_NO_RETRY = HANDOVERS | {
    Procedure.IDLE,
    Procedure.RELEASE_SESSION,
    Procedure.DEREGISTER,
    Procedure.SWITCH_OFF,
}
"""Procedures that need no further attempt: their failure leaves the UE in a usable state."""


class RecoveredEnd(NamedTuple):
    """The end of a procedure, for the driver."""

    name: Procedure
    cause: str | None
    began: float
    recovered: bool


class FailedProcedure(Struct):
    """A procedure that injected faults made fail."""

    name: Procedure
    began: float
    failures: int = 0
    """How often it failed."""
    registrations: int = 0
    """How often an initial registration was tried instead."""
    current: Procedure | None = None
    """The procedure that runs for it; None while the UE waits for the next attempt."""


class Recovery:
    """The attempts of one UE. A violation is not an effect of faults and is not retried."""

    __slots__ = ("_failed", "_ue")

    def __init__(self, ue: UeBase) -> None:
        self._ue = ue
        self._failed: FailedProcedure | None = None

    @property
    def of(self) -> Procedure | None:
        """The procedure that is retried, or None."""
        return None if self._failed is None else self._failed.name

    def clear(self) -> None:
        """Stop all attempts: the UE is switched off."""
        self._failed = None
        self._ue.stop(TIMER)

    def ended(self, name: Procedure, cause: str | None, began: float) -> RecoveredEnd | None:
        """Handle the end of a procedure.

        Returns:
            The end to report; None if the UE tries again.
        """
        failed = self._failed
        if failed is None:
            if not self._caused_by_faults(cause):
                return RecoveredEnd(name, cause, began, recovered=False)
            if name in _NO_RETRY:
                return RecoveredEnd(name, None, began, recovered=True)
            failed = self._failed = FailedProcedure(name, began)
        elif cause in (None, SKIPPED):
            self._failed = None
            return RecoveredEnd(failed.name, None, failed.began, recovered=True)
        elif not self._caused_by_faults(cause):
            self._failed = None
            return RecoveredEnd(failed.name, cause, failed.began, recovered=False)
        return self._retry(failed, cause)

    def _caused_by_faults(self, cause: str | None) -> bool:
        ue = self._ue
        failed = cause is not None and not cause.startswith("violation-")
        return failed and ue.faults.active(ue.now)

    def _retry(self, failed: FailedProcedure, cause: str | None) -> RecoveredEnd | None:
        if failed.current is Procedure.REGISTER:
            failed.registrations += 1
        else:
            failed.failures += 1
        if failed.registrations >= MAX_RECOVERIES:
            self._failed = None
            return RecoveredEnd(failed.name, cause, failed.began, recovered=False)
        failed.current = None
        self._ue.start(TIMER, self._ue.values.recovery * self._ue.rng.uniform(1.0, 2.0))
        return None

    def expired(self) -> Procedure | None:
        """Return the procedure to start for the next attempt."""
        ue, failed = self._ue, self._failed
        if failed is None:
            return None
        lost = not ue.registered or failed.failures >= MAX_RECOVERIES
        if failed.name is Procedure.REGISTER or lost:
            # After five failures, or if the network does not know the UE: register.
            ue.usim_invalid = False
            ue.attempts = 0
            ue.stop("T3502", "T3511")
            failed.current = Procedure.REGISTER
        elif failed.name is Procedure.PAGE:
            # The UE stops waiting for a page and sends data itself.
            failed.current = Procedure.SERVICE_REQUEST
        else:
            failed.current = failed.name
        return failed.current
