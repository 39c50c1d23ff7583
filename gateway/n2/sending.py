"""Sends PDUs to gNBs: in the order of each UE's NAS COUNTs, and as their associations have room."""

import asyncio
import logging
from typing import Final

from eventing.process import is_logged
from gateway.n2 import downlink
from gateway.n2.counters import N2Counters
from gateway.n2.downlink import DownlinkPdu
from gateway.n2.peer import MAX_DOWNLINK, GnbPeer, UeConnection
from transport import BufferFull, TransportError

log = logging.getLogger(__name__)

STALLED: Final = 30.0
"""Seconds for which the send buffer of an association may stay full. SCTP lets a peer keep its
window closed for ever (RFC 9260 6.1 A)."""


class Sending:
    """The PDUs on their way to the gNBs of a gateway."""

    def __init__(self, counters: N2Counters) -> None:
        """`counters` are those of the gateway."""
        self._counters = counters
        self._loop = asyncio.get_running_loop()

    def send_in_order(self, peer: GnbPeer, connection: UeConnection, message: DownlinkPdu) -> None:
        """Send a PDU of a connection after those with lower NAS COUNTs, which may come late."""
        order = connection.downlink
        held = order.held
        for stream, pdu, _, _ in order.add(message):
            self.send(peer, stream, pdu)
        if order.held and not held:
            self._loop.call_later(downlink.WAIT, self._overdue, peer, connection)

    def _overdue(self, peer: GnbPeer, connection: UeConnection) -> None:
        for stream, pdu, _, _ in connection.downlink.flush():
            self.send(peer, stream, pdu)

    def send(self, peer: GnbPeer, stream: int, pdu: bytes, *, paging: bool = False) -> None:
        """Send a PDU, or keep it until the association has room."""
        if self.has_room(peer, len(peer.downlink), paging=paging):
            peer.downlink.append((stream, pdu))
            self.flush(peer)

    def has_room(self, peer: GnbPeer, waiting: int, *, paging: bool) -> bool:
        """Whether a PDU can wait for its gNB.

        NGAP has no timers for lost requests, because SCTP loses nothing: the core would wait for an
        answer without end. So an association without room ends, and the core learns that its
        connections are lost. PAGING is repeated, and never takes the last room.
        """
        if waiting < (MAX_DOWNLINK // 2 if paging else MAX_DOWNLINK):
            return True
        self._undeliverable(peer, "too many wait")
        if not paging:
            peer.association.abort()
        return False

    def flush(self, peer: GnbPeer) -> None:
        """Send the PDUs that wait for a gNB, as far as its association has room."""
        while peer.downlink:
            stream, pdu = peer.downlink[0]
            try:
                peer.association.send(stream, pdu)
            except BufferFull:
                if not peer.full_since:
                    peer.full_since = self._loop.time()
                    self._loop.call_later(STALLED, self._end_stalled, peer, peer.full_since)
                return
            except TransportError as err:
                self._undeliverable(peer, str(err))
            else:
                self._counters.downlink += 1
            peer.downlink.popleft()

    def _end_stalled(self, peer: GnbPeer, since: float) -> None:
        """Abort an association with a full send buffer, which would otherwise keep it for good."""
        if peer.full_since == since:
            self._undeliverable(peer, f"it has read nothing for {STALLED:.0f} s")
            peer.association.abort()

    def _undeliverable(self, peer: GnbPeer, why: str) -> None:
        self._counters.undeliverable += 1
        peer.dropped += 1
        if is_logged(peer.dropped):
            log.warning("%s: %d PDU(s) not delivered: %s", peer.gnb, peer.dropped, why)
