"""The UPFs that a gateway serves, found by address or Node ID, and the requests they sent."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from gateway.n4.endpoint import Address
from gateway.n4.path import LoadControl, Path
from gateway.n4.requests import Requests
from schemas.cloudevents import CloudEvent
from schemas.config.n4 import UpfConfig, node_id_of
from schemas.identity import slot_of

MAX_LEARNT: Final = 16
"""Additional addresses that are kept for a UPF; the oldest is dropped first."""

KEPT: Final = 30.0
"""Seconds for which a request of a UPF is kept; the UPF's T1 and N1 end earlier."""
MAX_KEPT: Final = 8192
"""Requests of a UPF that are kept."""
REPUBLISH: Final = 3.0
"""Seconds after which the event of a repeated request is published again: its response may be
lost."""


class ReceivedRequest:
    """A request of a UPF, and its response once the core has sent it."""

    __slots__ = ("address", "event", "octets", "published", "response", "since")

    def __init__(self, octets: bytes, address: Address, event: CloudEvent, now: float) -> None:
        self.octets = octets
        self.address = address
        self.event: CloudEvent | None = event
        """The event; None once there is a response."""
        self.response = b""
        self.since = now
        self.published = now
        """Time when the event was last published."""


class ReceivedRequests:
    """The recent requests of one UPF, by sequence number and type (TS 29.244 6.4).

    A repeated request gets the same response. A request with other octets or from another port is
    a new one: a UPF that has restarted reuses sequence numbers.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._requests: OrderedDict[tuple[int, int], ReceivedRequest] = OrderedDict()

    def find(
        self, sequence: int, message_type: int, octets: bytes, address: Address
    ) -> ReceivedRequest | None:
        """Return the earlier reception of the same request; None if it is new."""
        found = self._requests.get((sequence, message_type))
        if found is None or found.since + KEPT <= self._clock():
            return None
        return found if (found.octets, found.address) == (octets, address) else None

    def add(
        self, sequence: int, message_type: int, octets: bytes, address: Address, event: CloudEvent
    ) -> None:
        """Keep a request with its event for the core."""
        now = self._clock()
        while self._requests:
            oldest = next(iter(self._requests.values()))
            if oldest.since + KEPT > now and len(self._requests) < MAX_KEPT:
                break
            self._requests.popitem(last=False)
        key = (sequence, message_type)
        self._requests.pop(key, None)
        self._requests[key] = ReceivedRequest(octets, address, event, now)

    def overdue(self, found: ReceivedRequest) -> CloudEvent | None:
        """Return the event to publish again if the response to a request is late."""
        now = self._clock()
        if found.event is None or found.published + REPUBLISH > now:
            return None
        found.published = now
        return found.event

    def is_answered(self, sequence: int, message_type: int) -> bool:
        """Whether the request of a response has its response already."""
        found = self._requests.get((sequence, message_type - 1))
        return found is not None and bool(found.response)

    def answer(self, sequence: int, message_type: int, octets: bytes) -> Address | None:
        """Keep the core's response; return the sender of its request, None if unknown."""
        found = self._requests.get((sequence, message_type - 1))
        if found is None:
            return None
        found.response, found.event = octets, None
        return found.address


class UpfPeer:
    """A UPF."""

    requests: Requests
    path: Path

    def __init__(self, upf: UpfConfig) -> None:
        """The gateway adds `requests` and `path`."""
        self.node_id = node_id_of(upf.node_id)
        self.host = upf.host or self.node_id
        self.port = upf.port
        self.address: Address | None = None
        """The destination of requests; None while the host has no address."""
        self.received = ReceivedRequests()
        self.load = LoadControl()
        self.learnt: OrderedDict[tuple[str, int], None] = OrderedDict()
        """Additional addresses that the UPF has sent from."""
        self.key = f"upf/{self.node_id}"
        """The partition key of its events: the name of its aggregate."""
        self.slot = slot_of(self.node_id)
        self.source = f"/n4/{self.node_id}"
        """The `source` attribute of its events."""


class UpfPeers:
    """All UPFs of a gateway."""

    def __init__(self, upfs: Sequence[UpfConfig]) -> None:
        self.all = [UpfPeer(upf) for upf in upfs]
        self._by_node_id = {peer.node_id: peer for peer in self.all}
        self._by_address: dict[tuple[str, int], UpfPeer] = {}

    def locate(self, peer: UpfPeer, address: Address) -> None:
        """Set the address of a UPF."""
        if peer.address is not None and self._by_address.get(peer.address[:2]) is peer:
            del self._by_address[peer.address[:2]]
        peer.address = address
        self._by_address[_key(address)] = peer

    def at(self, address: Address) -> UpfPeer | None:
        """Return the UPF that sends from an address.

        A request may come from any port (TS 29.244 4.2.2), so a host's only UPF matches any port.
        """
        found = self._by_address.get(_key(address))
        if found is not None:
            return found
        there = [p for p in self.all if p.address is not None and p.address[0] == address[0]]
        return there[0] if len(there) == 1 else None

    def named(self, node_id: str | None, address: Address) -> UpfPeer | None:
        """Return the UPF with a Node ID, and learn the additional address it sends from."""
        peer = self._by_node_id.get(node_id_of(node_id or ""))
        if peer is None:
            return None
        key = _key(address)
        self._by_address[key] = peer
        peer.learnt[key] = None
        peer.learnt.move_to_end(key)
        if len(peer.learnt) > MAX_LEARNT:
            oldest, _ = peer.learnt.popitem(last=False)
            if self._by_address.get(oldest) is peer and oldest != _key(peer.address or ("", 0)):
                del self._by_address[oldest]
        return peer


def _key(address: Address) -> tuple[str, int]:
    return address[0], address[1]
