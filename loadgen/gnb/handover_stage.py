"""How far a handover is."""

from enum import Enum, auto


class Stage(Enum):
    """How far a handover is."""

    PREPARING = auto()
    """HANDOVER REQUIRED was sent; the UE is where it was."""
    EXECUTING = auto()
    """The UE has left its source, and is not in its target."""
    COMPLETING = auto()
    """The UE is in its target: HANDOVER NOTIFY was sent, and the source waits for its release."""
    CANCELLING = auto()
    """HANDOVER CANCEL was sent."""
    SWITCHING = auto()
    """The UE is in its target by Xn: PATH SWITCH REQUEST was sent."""
    OVER = auto()
