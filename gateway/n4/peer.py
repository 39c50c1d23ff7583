"""The UPFs that a gateway serves, and which of them an address or a Node ID is of."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from gateway.n4.answers import Answers
from gateway.n4.endpoint import Address
from gateway.n4.load import LoadControl
from gateway.n4.path import Path
from gateway.n4.requests import Requests
from schemas.config_n4 import UpfConfig, node_id_of
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
