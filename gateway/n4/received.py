"""The requests of UPFs and the core's responses to them (TS 29.244 6.4)."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from gateway.n4.endpoint import Address
from schemas.cloudevents import CloudEvent

KEPT: Final = 30.0
"""Seconds for which a request of a UPF is kept; the UPF's T1 and N1 end earlier."""
MAX_KEPT: Final = 8192
"""Requests that are kept for each UPF of the gateway."""
REPUBLISH: Final = 3.0
"""Seconds after which the event of a repeated request is published again: its response may be
lost."""


class ReceivedRequest:
    """A request of a UPF, and its response once the core has sent it."""

    __slots__ = ("address", "event", "incarnation", "octets", "published", "response", "since")

    def __init__(
        self,
        octets: bytes,
        address: Address,
        event: CloudEvent,
        incarnation: int | None,
        now: float,
    ) -> None:
        self.octets = octets
        self.address = address
        self.incarnation = incarnation
        self.event: CloudEvent | None = event
        """The event; None once there is a response."""
        self.response = b""
        self.since = now
        self.published = now
        """Time when the event was last published."""

    def answer(self, response: bytes) -> None:
        """Keep the core's response."""
        self.response, self.event = response, None


class ReceivedRequests:
    """The recent requests of all UPFs, by source, partition key, sequence number and type (6.4).

    The key is that of the session or of the UPF, so two UPFs behind one address cannot be confused.
    A repeated request gets the same response. A request with other octets, from another port or of
    another incarnation of the UPF is a new one: a UPF that has restarted reuses sequence numbers,
    and its restored sessions have their former SEIDs.
    """

    def __init__(self, upfs: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`upfs` is the number of UPFs of the gateway."""
        self._upfs = upfs
        self._clock = clock
        self._requests: OrderedDict[tuple[str, str, int, int], ReceivedRequest] = OrderedDict()

    def find(
        self,
        source: str,
        key: str,
        sequence: int,
        message_type: int,
        octets: bytes,
        address: Address,
        incarnation: int | None = None,
    ) -> ReceivedRequest | None:
        """Return the earlier reception of the same request; None if it is new.

        `incarnation` is the Recovery Time Stamp of the UPF for a request about a session, None for
        other requests.
        """
        found = self._requests.get((source, key, sequence, message_type))
        if found is None or found.since + KEPT <= self._clock():
            return None
        same = (found.octets, found.address, found.incarnation) == (octets, address, incarnation)
        return found if same else None

    def add(
        self,
        sequence: int,
        message_type: int,
        octets: bytes,
        address: Address,
        event: CloudEvent,
        incarnation: int | None = None,
    ) -> None:
        """Keep a request with its event for the core. `incarnation` is as in `find`."""
        now = self._clock()
        while self._requests:
            oldest = next(iter(self._requests.values()))
            if oldest.since + KEPT > now and len(self._requests) < MAX_KEPT * self._upfs:
                break
            self._requests.popitem(last=False)
        name = event.source, event.partitionkey, sequence, message_type
        self._requests.pop(name, None)
        self._requests[name] = ReceivedRequest(octets, address, event, incarnation, now)

    def overdue(self, found: ReceivedRequest) -> CloudEvent | None:
        """Return the event to publish again if the response to a request is late."""
        now = self._clock()
        if found.event is None or found.published + REPUBLISH > now:
            return None
        found.published = now
        return found.event

    def of_response(
        self, sources: Sequence[str], key: str, sequence: int, message_type: int
    ) -> ReceivedRequest | None:
        """Return the request of a response to a UPF with these `sources`; None if unknown."""
        for source in sources:
            found = self._requests.get((source, key, sequence, message_type - 1))
            if found is not None:
                return found
        return None
