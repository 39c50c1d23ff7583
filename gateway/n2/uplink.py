"""The routes of what gNBs send, and the messages that a gateway puts off or drops in a flood.

Requests of a gNB with too many unproved ones wait (`gateway.n2.shares`). Other messages are dropped
beyond the bounds of `gateway.n2.limits`.
"""

import logging
from collections.abc import Callable, Collection

import wire
from eventing import subjects
from eventing.process import is_logged
from gateway.n2.counters import N2Counters
from gateway.n2.limits import NodeLimit
from gateway.n2.peer import GnbPeer, UeConnection, bound_connections
from gateway.n2.routing import N2Route, Router
from schemas.procedures import OPENING

log = logging.getLogger(__name__)


class Uplink:
    """Decides which messages are published now, with which route and number."""

    def __init__(
        self,
        router: Router,
        counters: N2Counters,
        peers: Collection[GnbPeer],
        claims: Callable[[GnbPeer, str], bool],
    ) -> None:
        """Route nothing yet.

        Args:
            router: finds the procedure and the slot of a message.
            counters: those of the gateway.
            peers: the gNBs; the gateway keeps them up to date.
            claims: whether a gNB may have the Global RAN Node ID of its NG SETUP REQUEST.
        """
        self._router = router
        self._counters = counters
        self._peers = peers
        self._claims = claims
        self._openings = 0
        """The connections that were opened."""

    def route(self, peer: GnbPeer, payload: bytes) -> tuple[N2Route, int | None] | None:
        """Return the route of a message, and its number on its connection; None if it is not to be
        published now, because its gNB or its UE sends too many."""
        try:
            peek = wire.ngap_peek(payload)
        except wire.WireError:
            self._counters.malformed += 1
            return self._of_node(peer)
        gnb = peek.global_ran_node_id if peek.message == "NGSetupRequest" else None
        if gnb is not None and not self._claims(peer, subjects.token(gnb)):
            return None
        if peek.message == "NGReset" and peer.requests.waiting and _is_whole(payload):
            peer.requests.drop_waiting()
        ran_ue_ngap_id = peek.ran_ue_ngap_id
        if peer.ready and peek.message == "InitialUEMessage" and ran_ue_ngap_id is not None:
            connection = self._opened(peer, ran_ue_ngap_id)
            route = self._router.initial(peek, f"{peer.id}-{ran_ue_ngap_id:x}")
            if peer.requests.offer(connection, route, payload):
                return route, 0
            self._counters.put_off += 1
            return None
        if not peer.ready or peek.amf_ue_ngap_id is None:
            return self._of_node(peer)
        return self._connected(peer, peek, ran_ue_ngap_id)

    def _admits(self, peer: GnbPeer, limit: NodeLimit) -> bool:
        """Whether a message of a gNB that is not on a connection may be published."""
        admitted = limit.admits()
        if not admitted:
            self._excess(peer, "itself or unknown UEs")
        return admitted

    def _excess(self, peer: GnbPeer, about: str) -> None:
        self._counters.excess += 1
        peer.excess += 1
        if is_logged(peer.excess):
            log.warning(
                "%s: %d message(s) dropped, the last about %s", peer.gnb, peer.excess, about
            )

    def _of_node(self, peer: GnbPeer) -> tuple[N2Route, None] | None:
        """Return the route of a message about a gNB itself."""
        return (self._router.node(peer.gnb), None) if self._admits(peer, peer.node) else None

    def _opened(self, peer: GnbPeer, ran_ue_ngap_id: int) -> UeConnection:
        """Return a new UE connection of a gNB."""
        self._openings += 1
        if self._openings % 1024 == 0:
            bound_connections(self._peers)
        return peer.opened(ran_ue_ngap_id)

    def _connected(
        self, peer: GnbPeer, peek: wire.NgapPeek, ran_ue_ngap_id: int | None
    ) -> tuple[N2Route, int | None] | None:
        """Return the route of a message with UE IDs, and its number on the connection."""
        if ran_ue_ngap_id is None:
            limit = peer.arrivals if peek.message == "HandoverFailure" else peer.node
            admitted = self._admits(peer, limit)
            return (self._router.connected(peek, None), None) if admitted else None
        opens = peek.message in OPENING
        connection = None if opens else peer.connections.get(ran_ue_ngap_id)
        if connection is not None:
            if not connection.limit.admits():
                self._excess(peer, f"the UE {ran_ue_ngap_id}")
                return None
            connection.sequence += 1
            if peek.message == "UEContextReleaseComplete":
                del peer.connections[ran_ue_ngap_id]
            return self._router.connected(peek, connection.hint), connection.sequence
        if not self._admits(peer, peer.arrivals if opens else peer.node):
            return None
        if opens:
            # After a handover the count starts again with the first message of the target gNB.
            self._opened(peer, ran_ue_ngap_id)
        return self._router.connected(peek, None), 0 if opens else None


def _is_whole(reset: bytes) -> bool:
    """Whether an NG RESET is about all UEs of its gNB."""
    try:
        ies = wire.ngap_decode(reset)["ies"]
    except wire.WireError:
        return False
    return any("nG-Interface" in ie.get("ResetType", {}) for ie in ies)
