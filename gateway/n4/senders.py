"""The UPF that a datagram comes from: the one place that accepts the messages of peers.

A message is accepted if its source address is the address that the core sends requests to, or in
the configured `addresses` of a UPF. No address is learnt from a message.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

import wire
from gateway.n4 import pfcp
from gateway.n4.endpoint import Address, is_same_place
from gateway.n4.peer import UpfPeer
from schemas.config.n4 import UpfConfig, node_id_of

MAX_CACHED: Final = 4096
"""Source addresses with cached UPFs; at more, the cache is emptied."""


class Senders:
    """The UPFs of a gateway, by the addresses that they send from."""

    def __init__(self, upfs: Sequence[UpfConfig]) -> None:
        self.all = [UpfPeer(upf) for upf in upfs]
        self._cached: dict[str, tuple[UpfPeer, ...]] = {}

    def locate(self, peer: UpfPeer, address: Address) -> None:
        """Set the address of a UPF for requests."""
        peer.address = address
        self._cached.clear()

    def accept(self, address: Address) -> tuple[UpfPeer, ...]:
        """Return the UPFs that may send from an address and any port (TS 29.244 4.2.2); empty if
        its messages are not accepted."""
        found = self._cached.get(address[0])
        if found is None:
            if len(self._cached) >= MAX_CACHED:
                self._cached.clear()
            host = _host(address)
            found = tuple(peer for peer in self.all if _sends_from(peer, host))
            self._cached[address[0]] = found
        return found

    def sender(
        self, peers: tuple[UpfPeer, ...], peek: wire.PfcpPeek | None, address: Address
    ) -> UpfPeer | None:
        """Return the UPF that has sent a request, of those that may send from its address.

        Several UPFs can have one address behind NAT. The port, the Node ID, or the Recovery Time
        Stamp of a heartbeat tells them apart. None if nothing does, as in a report. `peek` is None
        for a truncated message.
        """
        if len(peers) == 1:
            return peers[0]
        for peer in peers:
            if peer.address is not None and is_same_place(peer.address, address):
                return peer
        if peek is None:
            found = list[UpfPeer]()
        elif peek.message_type == pfcp.HEARTBEAT_REQUEST:
            stamp = peek.recovery_time_stamp
            found = [peer for peer in peers if peer.requests.incarnation.current == stamp]
        else:
            named = node_id_of(peek.node_id or "")
            found = [peer for peer in peers if peer.node_id == named]
        return found[0] if len(found) == 1 else None

    def source(self, peers: tuple[UpfPeer, ...], address: Address) -> str:
        """Return the `source` attribute for a session message from an address.

        It has the Node IDs of all UPFs that may have sent the message. A report is only accepted
        about a session of one of these UPFs.
        """
        if len(peers) == 1:
            return peers[0].source
        for peer in peers:
            if peer.address is not None and is_same_place(peer.address, address):
                return peer.source
        source = f"/n4/{','.join(peer.node_id for peer in peers)}"
        for peer in peers:
            if source not in peer.sources:
                peer.sources.append(source)
        return source


def _sends_from(peer: UpfPeer, host: IPv4Address | IPv6Address) -> bool:
    if peer.address is not None and _host(peer.address) == host:
        return True
    return any(host in network for network in peer.networks)


def _host(address: Address) -> IPv4Address | IPv6Address:
    """Return the IP address of a socket address. An IPv6 socket shows IPv4 as a mapped address."""
    found = ip_address(address[0].partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
