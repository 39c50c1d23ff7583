"""Violations that the faults injected into a UE's signalling may have caused.

Such a violation is tolerated: it is counted, and the core is not blamed.
"""

from math import inf

from loadgen.faults import FaultKind
from loadgen.violation import Kind

LASTING = 120.0
"""Seconds for which a fault may have effects. The core repeats for less (TS 24.501 10.2)."""

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
"""Effects of a message that one side lost, or received late or twice."""
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
"""Further effects of a corrupted bit in a message without protection."""


class InjectedFaults:
    """When faults were last injected into the signalling of one UE."""

    __slots__ = ("_corrupted", "_last")

    def __init__(self) -> None:
        self._last = self._corrupted = -inf

    def mark(self, kind: FaultKind, now: float) -> None:
        """Note that a fault was injected, or that a delayed message was delivered."""
        self._last = now
        if kind is FaultKind.CORRUPT:
            self._corrupted = now

    def active(self, now: float) -> bool:
        """Whether a fault may still have effects."""
        return now - self._last < LASTING

    def since(self, then: float) -> bool:
        """Whether a fault may have had effects after a time."""
        return self._last + LASTING > then

    def surface(self, now: float) -> None:
        """Note that an effect of an old fault became visible now and may have further effects."""
        self._last = max(self._last, now)

    def garbled(self, now: float) -> bool:
        """Whether a corrupted message may still have effects."""
        return now - self._corrupted < LASTING

    def tolerates(self, kind: Kind, now: float) -> bool:
        """Whether a fault may have caused a violation."""
        if self.garbled(now):
            return kind in _GARBLED
        return self.active(now) and kind in _OUT_OF_STEP
