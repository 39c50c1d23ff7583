"""Which RRC connections a gNB establishes: those that OVERLOAD START leaves to it.

TS 38.413 8.7.7, 8.7.8, 9.3.1.105.
"""

from collections.abc import Mapping
from types import MappingProxyType

from loadgen.trees import Tree, number, part
from loadgen.ue.model import MOBILE_TERMINATED

_EMERGENCY = frozenset({"emergency", MOBILE_TERMINATED})
_PRIORITY = _EMERGENCY | {"highPriorityAccess", "mps-PriorityAccess", "mcs-PriorityAccess"}
_DATA = frozenset({"mo-Data", "mo-SMS", "mo-VideoCall", "mo-VoiceCall"})
_CAUSES = _PRIORITY | _DATA | {"mo-Signalling"}
_AFFECTED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "reject-non-emergency-mo-dt": _DATA,
        "reject-rrc-cr-signalling": _DATA | {"mo-Signalling"},
        "permit-emergency-sessions-and-mobile-terminated-services-only": _CAUSES - _EMERGENCY,
        "permit-high-priority-sessions-and-mobile-terminated-services-only": _CAUSES - _PRIORITY,
    }
)
"""The RRC establishment causes of the traffic that each overload action names (8.7.7.2)."""
_WITHOUT_ACTION = _CAUSES - _PRIORITY
"""For a message without an action. The clause leaves this to the gNB."""


class Admission:
    """Admits or refuses the connection requests at one gNB."""

    def __init__(self) -> None:
        self.interface_up = False
        """Whether NG SETUP succeeded."""
        self.refused = 0
        """Connection requests that were refused because of overload."""
        self._affected: frozenset[str] = frozenset()
        self._reduction = 0
        """Per cent of the affected requests to refuse."""
        self._credit = 0

    @property
    def overloaded(self) -> bool:
        """Whether the AMF asked for less signalling."""
        return self._reduction > 0

    def overload_start(self, ies: Tree) -> None:
        """Handle OVERLOAD START: refuse the traffic that its action names, or a percentage of it.

        A later message replaces an earlier one.
        """
        action = str(part(ies, "AMFOverloadResponse").get("overloadAction"))
        percent = number(ies, "AMFTrafficLoadReductionIndication")
        self._affected = _AFFECTED.get(action, _WITHOUT_ACTION)
        self._reduction = 100 if percent is None else percent

    def overload_stop(self) -> None:
        """Handle OVERLOAD STOP."""
        self._reduction = 0

    def admits(self, cause: str) -> bool:
        """Whether a connection with an RRC establishment cause may be established now."""
        if not self.interface_up:
            return False
        if self._reduction == 0 or cause not in self._affected:
            return True
        self._credit += 100 - self._reduction
        if self._credit >= 100:
            self._credit -= 100
            return True
        self.refused += 1
        return False
