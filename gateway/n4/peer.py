"""The UPFs that a gateway serves, and which of them an address or a Node ID is of."""

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
"""Addresses that a UPF was heard from beside its own; the first one goes first."""


class Peer:
    """A UPF."""

    requests: Requests
    path: Path

    def __init__(self, upf: UpfConfig) -> None:
        """The gateway gives it its `requests` and its `path`."""
        self.node_id = node_id_of(upf.node_id)
        self.host = upf.host or self.node_id
        self.port = upf.port
        self.address: Address | None = None
        """Where it is asked; None while its host has no address."""
        self.answers = Answers()
        self.load = LoadControl()
        self.learnt: OrderedDict[tuple[str, int], None] = OrderedDict()
        self.key = f"upf/{self.node_id}"
        """The partition key of its events: the name of its aggregate."""
        self.slot = slot_of(self.node_id)
        self.source = f"/n4/{self.node_id}"
        """The `source` attribute of its events."""


class Peers:
    """All UPFs of a gateway."""

    def __init__(self, upfs: Sequence[UpfConfig]) -> None:
        self.all = [Peer(upf) for upf in upfs]
        self._by_node_id = {peer.node_id: peer for peer in self.all}
        self._by_address: dict[tuple[str, int], Peer] = {}

    def located(self, peer: Peer, address: Address) -> None:
        """A UPF's host has an address."""
        if peer.address is not None and self._by_address.get(peer.address[:2]) is peer:
            del self._by_address[peer.address[:2]]
        peer.address = address
        self._by_address[_key(address)] = peer

    def at(self, address: Address) -> Peer | None:
        """The UPF that sends from an address.

        A request may come from any port (TS 29.244 4.2.2): from a host with one UPF, any will do.
        """
        found = self._by_address.get(_key(address))
        if found is not None:
            return found
        there = [p for p in self.all if p.address is not None and p.address[0] == address[0]]
        return there[0] if len(there) == 1 else None

    def named(self, node_id: str | None, address: Address) -> Peer | None:
        """The UPF of a Node ID, which is heard from an address that is not its own."""
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


KEPT: Final = 30.0
"""Seconds for which a request is known to have been there; T1 and N1 of the UPF end before."""
MAX_KEPT: Final = 8192
"""Requests of a UPF that are known."""
PATIENCE: Final = 3.0
"""Seconds after which a request that was repeated is told the core again: its answer is lost."""


class Taken:
    """A request of a UPF, and its answer once there is one."""

    __slots__ = ("address", "answer", "event", "octets", "since", "told")

    def __init__(self, octets: bytes, address: Address, event: CloudEvent, now: float) -> None:
        self.octets = octets
        self.address = address
        self.event: CloudEvent | None = event
        self.answer = b""
        self.since = now
        self.told = now
        """When the core was told of it last."""


class Answers:
    """The requests that a UPF has sent of late, by sequence number and type.

    One that is not the same octet by octet, from the same port, is another one: a UPF that has
    restarted counts anew.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._taken: OrderedDict[tuple[int, int], Taken] = OrderedDict()

    def find(
        self, sequence: int, message_type: int, octets: bytes, address: Address
    ) -> Taken | None:
        """The same request, if it was there before."""
        taken = self._taken.get((sequence, message_type))
        if taken is None or taken.since + KEPT <= self._clock():
            return None
        return taken if (taken.octets, taken.address) == (octets, address) else None

    def take(
        self, sequence: int, message_type: int, octets: bytes, address: Address, event: CloudEvent
    ) -> None:
        """Remember a request that the core is told of."""
        now = self._clock()
        while self._taken:
            oldest = next(iter(self._taken.values()))
            if oldest.since + KEPT > now and len(self._taken) < MAX_KEPT:
                break
            self._taken.popitem(last=False)
        key = (sequence, message_type)
        self._taken.pop(key, None)
        self._taken[key] = Taken(octets, address, event, now)

    def again(self, taken: Taken) -> CloudEvent | None:
        """The event to tell the core again, when the answer to `taken` is late."""
        now = self._clock()
        if taken.event is None or taken.told + PATIENCE > now:
            return None
        taken.told = now
        return taken.event

    def answer(self, sequence: int, message_type: int, octets: bytes) -> Address | None:
        """Keep the core's answer; where the request came from, None if it is not known."""
        taken = self._taken.get((sequence, message_type - 1))
        if taken is None:
            return None
        taken.answer, taken.event = octets, None
        return taken.address
