"""The downlink events that a gateway has sent already."""

import time
from collections import OrderedDict
from typing import Final

SECONDS: Final = 45.0
"""For how long an id is kept at least: workers send again what is at most 30 s old."""
MOST: Final = 1 << 19
"""Maximum number of ids that are kept."""


class SentEvents:
    """The ids of recently sent downlink events: the PDU of an event is sent once.

    The worker of a redelivered event sends the outputs of its step again, since the first worker
    may have died before it sent them. It also repeats its last messages after a reconnection. A gNB
    must not get a PDU twice: an AUTHENTICATION REQUEST after SECURITY MODE COMPLETE would tell the
    UE that the core is in another state.
    """

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: OrderedDict[str, float] = OrderedDict()
        """By id, when it was sent, in seconds of the monotonic clock."""

    def check_and_add(self, identifier: str) -> bool:
        """Whether the PDU of an event was sent already; from now on it counts as sent."""
        if identifier in self._ids:
            return True
        now = time.monotonic()
        self._ids[identifier] = now
        while len(self._ids) > MOST or next(iter(self._ids.values())) < now - SECONDS:
            self._ids.popitem(last=False)
        return False
