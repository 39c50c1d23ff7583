"""What a UE does when injected faults have spoilt a procedure (TS 24.501 5.5.1.3.7, 5.6.1.7)."""

from typing import TYPE_CHECKING

from msgspec import Struct

from loadgen.ue.model import HANDOVERS, SKIPPED, Procedure

if TYPE_CHECKING:
    from loadgen.ue.ue import Ue

MAX_ATTEMPTS = 5
"""Of the procedure, and then of an initial registration."""
TIMER = "recovery"
_OVER = HANDOVERS | {
    Procedure.IDLE,
    Procedure.RELEASE_SESSION,
    Procedure.DEREGISTER,
    Procedure.SWITCH_OFF,
}
"""Procedures whose failure leaves the UE in a state that is as good as any."""


class Trouble(Struct):
    """A procedure that was spoilt."""

    name: Procedure
    began: float
    failures: int = 0
    """How often it has failed."""
    fallen_back: int = 0
    """How many initial registrations it has come to."""
    current: Procedure | None = None
    """What runs for it now; None while the UE waits to try again."""


class Recovery:
    """The attempts of one UE. A violation is no fault of ours, and nothing to recover from."""

    __slots__ = ("_trouble", "_ue")

    def __init__(self, ue: "Ue") -> None:
        self._ue = ue
        self._trouble: Trouble | None = None

    @property
    def of(self) -> Procedure | None:
        """The procedure that is to be saved, if any."""
        return None if self._trouble is None else self._trouble.name

    def clear(self) -> None:
        """The UE is switched off."""
        self._trouble = None
        self._ue.stop(TIMER)

    def ended(
        self, name: Procedure, cause: str | None, began: float
    ) -> tuple[Procedure, str | None, float, bool] | None:
        """A procedure has come to an end.

        Returns:
            what to tell of it: name, cause, when it began, and whether it recovered; None where
            the UE tries again, and there is nothing to tell yet.
        """
        trouble = self._trouble
        if trouble is None:
            if not self._spoilt(cause):
                return name, cause, began, False
            if name in _OVER:
                return name, None, began, True
            trouble = self._trouble = Trouble(name, began)
        elif cause in (None, SKIPPED):
            self._trouble = None
            return trouble.name, None, trouble.began, True
        elif not self._spoilt(cause):
            self._trouble = None
            return trouble.name, cause, trouble.began, False
        return self._again(trouble, cause)

    def _spoilt(self, cause: str | None) -> bool:
        ue = self._ue
        told = cause is not None and not cause.startswith("violation-")
        return told and ue.disturbance.active(ue.now)

    def _again(
        self, trouble: Trouble, cause: str | None
    ) -> tuple[Procedure, str | None, float, bool] | None:
        if trouble.current is Procedure.REGISTER:
            trouble.fallen_back += 1
        else:
            trouble.failures += 1
        if trouble.fallen_back >= MAX_ATTEMPTS:
            self._trouble = None
            return trouble.name, cause, trouble.began, False
        trouble.current = None
        self._ue.start(TIMER, self._ue.values.recovery * self._ue.rng.uniform(1.0, 2.0))
        return None

    def expired(self) -> Procedure | None:
        """The UE tries again: what it begins."""
        ue, trouble = self._ue, self._trouble
        if trouble is None:
            return None
        lost = not ue.registered or trouble.failures >= MAX_ATTEMPTS
        if trouble.name is Procedure.REGISTER or lost:
            # Five times in vain, or the network does not know it: an initial registration.
            ue.usim_invalid = False
            ue.attempts = 0
            ue.stop("T3502", "T3511")
            trouble.current = Procedure.REGISTER
        elif trouble.name is Procedure.PAGE:
            # Nobody waits for ever to be paged: the UE has something to send, too.
            trouble.current = Procedure.SERVICE_REQUEST
        else:
            trouble.current = trouble.name
        return trouble.current
