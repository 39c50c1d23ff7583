"""Whether a gNB admits a new RRC connection: the NG interface and the AMF's overload decide."""

from loadgen.trees import Tree, number, part

_SPARES_SIGNALLING = "reject-non-emergency-mo-dt"


class Admission:
    """Admission of RRC connections for signalling (TS 38.413 8.7.6, 9.3.1.105)."""

    def __init__(self) -> None:
        self.interface_up = False
        self.refused = 0
        """How many attempts were turned away."""
        self._reduction = 0
        self._credit = 0

    @property
    def overloaded(self) -> bool:
        """Whether the AMF asked for less signalling."""
        return self._reduction > 0

    def overload_start(self, ies: Tree) -> None:
        """Take OVERLOAD START: all signalling, or the percentage that it says, is turned away."""
        action = part(ies, "AMFOverloadResponse").get("overloadAction")
        percent = number(ies, "AMFTrafficLoadReductionIndication")
        everything = 100 if percent is None else percent
        self._reduction = 0 if action == _SPARES_SIGNALLING else everything
        self._credit = 0

    def overload_stop(self) -> None:
        """Take OVERLOAD STOP."""
        self._reduction = 0

    def admits(self) -> bool:
        """Whether one more connection may be established now."""
        if not self.interface_up:
            return False
        self._credit += 100 - self._reduction
        if self._credit >= 100:
            self._credit -= 100
            return True
        self.refused += 1
        return False
