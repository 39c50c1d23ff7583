"""A line of what a clause determines of the table of states and messages."""

from typing import Final, NamedTuple


class Expected(NamedTuple):
    """What must come of some cells."""

    clause: str
    states: str
    """Their names, apart by spaces."""
    message: str
    ways: str
    """Letters of `cells.WAYS`; empty for a message of NGAP."""
    sends: tuple[str, ...] | None = None
    """All that is sent, each as `outcomes` has it or the beginning of that; None for anything."""
    events: str = ""
    """Events that there are among others, apart by spaces."""
    never: str = ""
    """Events that there are not."""
    now: str = ""
    """What the state has in it afterwards, apart by semicolons."""
    wrong: str = ""
    """Why the code does something else, for a finding that is not mended yet."""


NOTHING: Final[tuple[str, ...]] = ()
SECURE: Final = (
    "accepted completing connected establishing-gnb active active-signalling servicing updating "
    "modifying session-releasing deregistered-by-network configuring handover-preparing "
    "handover-executing path-switching"
)
"""States in which the secure exchange of NAS messages is established."""
IDLE: Final = "idle active-idle paging paged-in-vain unreachable"
RELEASE: Final = "UEContextReleaseCommand"
CHALLENGE: Final = "AUTHENTICATION REQUEST"
ACCEPT: Final = "REGISTRATION ACCEPT"
