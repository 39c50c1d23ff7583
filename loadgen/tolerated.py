"""What the faults that were injected into a UE's signalling excuse the core for."""

from enum import StrEnum
from math import inf

from loadgen.violation import Kind

LASTING = 120.0
"""Seconds for which a fault may have consequences: the core repeats for less (TS 24.501 10.2)."""


class FaultKind(StrEnum):
    """What can be done to a message."""

    DROP = "drop"
    DELAY = "delay"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    """It is held until the next one of its UE in the same direction has passed."""
    CORRUPT = "corrupt"
    """A bit of its NAS message is another."""
    WRONG = "wrong"
    """The gNB answers that it has failed, where it has not."""


_OUT_OF_STEP = frozenset(
    {
        Kind.NAS_COUNT_BACK,
        Kind.NAS_DUPLICATE,
        Kind.NAS_NO_CONTEXT,
        Kind.NAS_UNEXPECTED,
        Kind.NAS_STATUS,
        Kind.NAS_CONTRADICTION,
        Kind.NAS_UNPROTECTED,
        Kind.NGKSI_IN_USE,
        Kind.AUTN_SQN,
        Kind.SMC_NGKSI,
        Kind.NGAP_IDS,
        Kind.NGAP_UNEXPECTED,
        Kind.NGAP_ERROR_INDICATION,
        Kind.CONTEXT_MISSING,
        Kind.CONTEXT_REPEATED,
        Kind.SM_IDENTITY,
        Kind.SM_UNEXPECTED,
        Kind.SM_STATUS,
        Kind.RESOURCE_SESSION,
        Kind.RESOURCE_AMBR,
        Kind.SERVICE_STATUS,
        Kind.SERVICE_REACTIVATION,
        Kind.SERVICE_USER_PLANE,
        Kind.UPDATE_STATUS,
        Kind.HANDOVER_STATUS,
        Kind.HANDOVER_SESSIONS,
        Kind.HANDOVER_CONTAINER,
        Kind.HANDOVER_UNANSWERED,
        Kind.HANDOVER_RELEASE,
        Kind.HANDOVER_TUNNEL,
    }
)
"""What either side may run into when a message was lost, late or twice there."""
_GARBLED = _OUT_OF_STEP | {
    Kind.NAS_MAC,
    Kind.NAS_MALFORMED,
    Kind.NAS_HEADER,
    Kind.NAS_NOT_CIPHERED,
    Kind.AUTN_MAC,
    Kind.AUTN_SEPARATION_BIT,
    Kind.EAP_UNSUPPORTED,
    Kind.SMC_ALGORITHM,
    Kind.SMC_CAPABILITIES,
    Kind.CONTEXT_CAPABILITIES,
    Kind.CONTEXT_IMEISV,
    Kind.CONTEXT_NSSAI,
}
"""What else may come of a bit that is another, in a message without protection."""


class Disturbance:
    """The faults that one UE has met with."""

    __slots__ = ("_corrupted", "_last")

    def __init__(self) -> None:
        """None yet."""
        self._last = self._corrupted = -inf

    def mark(self, kind: FaultKind, now: float) -> None:
        """A fault was injected, or what was held is let go."""
        self._last = now
        if kind is FaultKind.CORRUPT:
            self._corrupted = now

    def active(self, now: float) -> bool:
        """Whether something may still come of a fault."""
        return now - self._last < LASTING

    def since(self, then: float) -> bool:
        """Whether a fault may have had consequences after a time, seen or not."""
        return self._last + LASTING > then

    def surface(self, now: float) -> None:
        """What a fault has done is only seen now: it has its consequences from now on."""
        self._last = max(self._last, now)

    def garbled(self, now: float) -> bool:
        """Whether something may still come of octets that were changed."""
        return now - self._corrupted < LASTING

    def excuses(self, kind: Kind, now: float) -> bool:
        """Whether a violation may be our own doing."""
        if self.garbled(now):
            return kind in _GARBLED
        return self.active(now) and kind in _OUT_OF_STEP
