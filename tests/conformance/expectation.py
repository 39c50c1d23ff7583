"""An expected outcome of some cells of the table of states and messages."""

from typing import Final, NamedTuple


class Expected(NamedTuple):
    """The expected outcome of some cells."""

    clause: str
    states: str
    """Names of states, separated by spaces."""
    message: str
    ways: str
    """Letters of `cells.WAYS`; empty for an NGAP message."""
    sends: tuple[str, ...] | None = None
    """All sent messages, each as in `outcomes` or the beginning of that. None allows any messages.
    """
    events: str = ""
    """Events that must be in the outcome, separated by spaces."""
    never: str = ""
    """Events that must not be in the outcome, separated by spaces."""
    now: str = ""
    """Parts of the state afterwards, separated by semicolons."""
    wrong: str = ""
    """The reason for another outcome, for a finding that is still open."""


NOTHING: Final[tuple[str, ...]] = ()
SECURE: Final = (
    "accepted completing connected establishing-gnb active active-signalling servicing updating "
    "modifying session-releasing deregistered-by-network configuring handover-preparing "
    "handover-executing path-switching"
)
"""States with an established secure exchange of NAS messages."""
IDLE: Final = "idle active-idle paging paged-in-vain unreachable"
RELEASE: Final = "UEContextReleaseCommand"
CHALLENGE: Final = "AUTHENTICATION REQUEST"
ACCEPT: Final = "REGISTRATION ACCEPT"
