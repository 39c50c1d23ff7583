"""The relay of PFCP messages between UPFs and the core, as events on the bus."""

from collections.abc import Callable

import wire
from eventing.cloudevents.nats_binding import BadEventError
from eventing.jetstream.messages import events_of
from gateway.n4 import events, pfcp
from gateway.n4.endpoint import MAX_DATAGRAM, Address, N4Counters, address_text, log_seldom
from gateway.n4.events import N4Events, N4Route
from gateway.n4.peer import UpfPeer
from gateway.n4.pfcp import PfcpHeader
from gateway.n4.rate import Bucket
from gateway.n4.received import ReceivedRequests
from gateway.n4.requests import Fate
from gateway.n4.senders import Senders
from gateway.sent_events import SentEvents
from schemas.cloudevents import CloudEvent


class UplinkRelay:
    """Handles the datagrams of UPFs. The gateway answers some messages without the core."""

    def __init__(
        self,
        senders: Senders,
        published: N4Events,
        received: ReceivedRequests,
        counters: N4Counters,
        send: Callable[[bytes, Address], None],
    ) -> None:
        self._senders = senders
        self._events = published
        self._received = received
        self._counters = counters
        self._send = send

    def received(self, datagram: bytes, address: Address) -> None:
        """Handle a datagram: one message, or several with the follow-on flag (7.2.2.2)."""
        for octets, peek in pfcp.messages(datagram):
            self._counters.uplink += 1
            if peek is None:
                self._malformed_message(octets, address)
            else:
                self._message(octets, peek, address)

    def _message(self, octets: bytes, peek: wire.PfcpPeek, address: Address) -> None:
        peers = self._senders.accept(address)
        if not peers:
            self._drop_unknown(address)
        elif peek.version != 1:
            self._other_version(peek, address)
        elif peek.message == "unknown":
            self._drop(address, f"there is no message type {peek.message_type}")
        elif not peek.request:
            self._response(peers, octets, peek, address)
        elif peek.message_type >= pfcp.FIRST_OF_SESSIONS:
            self._session_request(peers, octets, pfcp.header(peek), peek.message, address)
        elif (peer := self._senders.sender(peers, peek, address)) is None:
            if peek.message_type == pfcp.HEARTBEAT_REQUEST:
                for peer in peers:
                    peer.path.verify()  # one of them may have restarted
            self._drop(address, f"{peek.message} of which UPF? Several have this address")
        elif peek.message_type == pfcp.HEARTBEAT_REQUEST:
            self._heartbeat(peer, octets, peek, address)
        else:
            self._node_request(peer, octets, pfcp.header(peek), peek.message, address)

    def _malformed_message(self, octets: bytes, address: Address) -> None:
        """Handle a truncated message. The core rejects a request with a whole header (7.6.3)."""
        header, fault = pfcp.header_of(octets), wire.pfcp_check(octets) or {}
        peers = self._senders.accept(address)
        if not peers:
            self._drop_unknown(address)
        elif header is None or fault.get("action") != "reject":
            self._drop(address, fault.get("text", "it cannot be read"))
        elif header.message_type >= pfcp.FIRST_OF_SESSIONS:
            self._session_request(peers, octets, header, "", address)
        else:
            peer = self._senders.sender(peers, None, address) or peers[0]
            self._node_request(peer, octets, header, "", address)

    def _other_version(self, peek: wire.PfcpPeek, address: Address) -> None:
        """Answer a message of another version (7.6.2)."""
        if peek.message_type == pfcp.VERSION_NOT_SUPPORTED:
            self._drop(address, f"it is of version {peek.version}")
            return
        message = "VersionNotSupportedResponse"
        response = wire.pfcp_encode({"message": message, "sequence": peek.sequence, "ies": []})
        self._send(response, address)

    def _heartbeat(
        self, peer: UpfPeer, octets: bytes, peek: wire.PfcpPeek, address: Address
    ) -> None:
        """Answer a heartbeat request, if the core has sent this UPF its Recovery Time Stamp.

        Before that the core answers, and so sends it.
        """
        if peek.recovery_time_stamp is None:
            self._drop(address, "a heartbeat without Recovery Time Stamp")
            return
        stamp = peer.path.core_stamp
        if stamp is not None:
            self._send(pfcp.heartbeat("HeartbeatResponse", peek.sequence, stamp), address)
        else:
            self._node_request(peer, octets, pfcp.header(peek), peek.message, address)
        peer.path.heartbeat_received(peek.recovery_time_stamp)

    def _node_request(
        self, peer: UpfPeer, octets: bytes, header: PfcpHeader, message: str, address: Address
    ) -> None:
        """Handle a request about the association. It is not proved that the UPF has sent it."""
        if self._is_within([peer.node_requests], address, message):
            route = events.route_of_node(peer)
            self._request(peer.source, route, octets, header, address, None)

    def _session_request(
        self,
        peers: tuple[UpfPeer, ...],
        octets: bytes,
        header: PfcpHeader,
        message: str,
        address: Address,
    ) -> None:
        if header.seid is None:
            self._drop(address, "its header has no SEID")
            return
        if not self._is_within([peer.reports for peer in peers], address, message):
            return
        source = self._senders.source(peers, address)
        peer = next((one for one in peers if one.source == source), None)
        incarnation = None if peer is None else peer.requests.incarnation.current
        route = events.route_of_session(header.seid, message)
        self._request(source, route, octets, header, address, incarnation)

    def _request(
        self,
        source: str,
        route: N4Route,
        octets: bytes,
        header: PfcpHeader,
        address: Address,
        incarnation: int | None,
    ) -> None:
        number = header.sequence, header.message_type
        received = octets, address
        earlier = self._received.find(source, route.partitionkey, *number, *received, incarnation)
        if earlier is not None:
            self._counters.duplicates += 1
            if earlier.response:
                self._send(earlier.response, address)
            elif (event := self._received.overdue(earlier)) is not None:
                self._events.again(event)
        elif self._has_room(source):
            event = self._events.uplink(source, route, octets)
            self._received.add(*number, *received, event, incarnation)

    def _response(
        self, peers: tuple[UpfPeer, ...], octets: bytes, peek: wire.PfcpPeek, address: Address
    ) -> None:
        stamp = peek.recovery_time_stamp
        if peek.message_type == pfcp.HEARTBEAT_RESPONSE and stamp is None:
            self._counters.malformed += 1  # ignored (7.6.1)
            return
        peer = next((one for one in peers if one.requests.is_pending(peek.sequence)), peers[0])
        request = peer.requests.answered(octets, peek, address)
        if request is None:
            self._unmatched(peers, octets, peek, address)
            return
        if request.is_of_session:
            peer.path.session_answered()
            self._load(peer, octets)
        if peek.message_type == pfcp.HEARTBEAT_RESPONSE and stamp is not None:
            if peer.requests.begin_incarnation(stamp):
                peer.path.restarted()
            peer.path.heartbeat_answered(stamp, own=request.event is None)
        elif request.event is None:
            peer.path.heartbeat_unanswered()
        elif peek.message_type == pfcp.ASSOCIATION_SETUP_RESPONSE and peek.cause == pfcp.ACCEPTED:
            if stamp is not None:
                peer.requests.begin_incarnation(stamp)
            peer.path.is_associated()
        elif peek.cause == pfcp.NO_ASSOCIATION:
            peer.path.association_denied()
        if request.event is not None:
            route = events.route_of_response(request.event, peek.message)
            self._events.uplink(peer.source, route, octets)

    def _load(self, peer: UpfPeer, octets: bytes) -> None:
        """Publish a changed load in a response of the UPF."""
        if not self._events.full:
            load = peer.load.read(octets, peer.path.stamp)
            if load is not None:
                self._events.load(peer, load)

    def _unmatched(
        self, peers: tuple[UpfPeer, ...], octets: bytes, peek: wire.PfcpPeek, address: Address
    ) -> None:
        """Handle a response without a request. The core deletes a session that it established, if
        it is one of its own: the SEID of the core shows that."""
        if any(peer.requests.was_answered(peek.sequence) for peer in peers):
            self._counters.duplicates += 1
            return
        self._counters.unmatched += 1
        for peer in peers:
            peer.requests.guessed()
        source = self._senders.source(peers, address)
        established = peek.message_type == pfcp.SESSION_ESTABLISHMENT_RESPONSE
        useful = established and peek.cause == pfcp.ACCEPTED
        buckets = [peer.unmatched for peer in peers]
        within = useful and self._is_within(buckets, address, peek.message)
        if peek.seid and within and self._has_room(source):
            self._events.uplink(source, events.route_of_session(peek.seid, peek.message), octets)
            return
        text = "%s at %s answers no request of ours: %s, sequence %d"
        where = address_text(address)
        sent = peek.message, peek.sequence
        log_seldom(self._counters.unmatched, text, source, where, *sent)

    def _is_within(self, buckets: list[Bucket], address: Address, message: str) -> bool:
        """Count a message that a UPF was not asked for. Return whether it is within the rate of one
        of the UPFs that may have sent it."""
        if any(bucket.take() for bucket in buckets):
            return True
        self._counters.excess += 1
        text = "too many messages come from %s: %s is dropped"
        log_seldom(self._counters.excess, text, address_text(address), message or "a message")
        return False

    def _has_room(self, source: str) -> bool:
        if not self._events.full:
            return True
        self._counters.overloads += 1
        text = "JetStream does not keep up: a message of %s is dropped"
        log_seldom(self._counters.overloads, text, source)
        return False

    def _drop(self, address: Address, why: str) -> None:
        self._counters.malformed += 1
        text = "a message from %s is dropped: %s"
        log_seldom(self._counters.malformed, text, address_text(address), why)

    def _drop_unknown(self, address: Address) -> None:
        self._counters.unknown_source += 1
        text = "a message from %s is dropped: no UPF has this address"
        log_seldom(self._counters.unknown_source, text, address_text(address))


class DownlinkRelay:
    """Handles the core's messages to UPFs. Requests get their sequence numbers here."""

    def __init__(
        self,
        received: ReceivedRequests,
        counters: N4Counters,
        send: Callable[[bytes, Address], None],
    ) -> None:
        self._received = received
        self._counters = counters
        self._send = send
        self._sent = SentEvents()

    def deliver(self, peer: UpfPeer, headers: dict[str, str] | None, data: bytes) -> None:
        """Handle a message from the bus: one PFCP message or a batch."""
        try:
            found = events_of(headers, data)
        except BadEventError as err:
            self._counters.downlink += 1
            self._drop(peer, str(err))
            return
        for event in found:
            self._message(peer, event)

    def _message(self, peer: UpfPeer, event: CloudEvent) -> None:
        self._counters.downlink += 1
        data = event.data
        try:
            peek = wire.pfcp_peek(data)
        except wire.WireError as err:
            self._drop(peer, str(err))
            return
        if len(data) > MAX_DATAGRAM:
            self._drop(peer, f"{len(data)} octets are too many for UDP")
            return
        if peek.recovery_time_stamp is not None:
            peer.path.core_sent(peek.recovery_time_stamp)
        if peek.request:
            self._request(peer, event, peek)
        else:
            self._response(peer, event.partitionkey, peek, data)

    def _request(self, peer: UpfPeer, event: CloudEvent, peek: wire.PfcpPeek) -> None:
        if self._sent.check_and_add(event.id):
            self._counters.under_way += 1
            return
        if peek.message_type == pfcp.ASSOCIATION_SETUP_REQUEST:
            peer.path.is_associating()
        fate = peer.requests.submit(event, event.data, peek.message_type)
        if fate in (Fate.UNDER_WAY, Fate.SUPERSEDED):
            self._counters.under_way += 1
        elif fate is Fate.ENDED:
            if not peer.requests.incarnation.is_known(event.incarnation):
                # Its clock was set back, and another gateway has told the core of the restart.
                peer.path.restart_suspected()
        elif fate is Fate.NO_ROOM:
            self._counters.undeliverable += 1
            text = "a request to UPF %s is dropped: too many wait"
            log_seldom(self._counters.undeliverable, text, peer.node_id)

    def _response(self, peer: UpfPeer, key: str, peek: wire.PfcpPeek, data: bytes) -> None:
        """Send a response of the core to the address that its request came from.

        A request gets one response: another is the response to a copy of the request, and the
        session may be deleted by now.
        """
        number = peek.sequence, peek.message_type
        request = self._received.of_response(peer.sources, key, *number)
        if request is not None and request.response:
            self._counters.under_way += 1
            return
        if request is not None:
            request.answer(data)
        address = request.address if request is not None else peer.address
        if address is not None:
            self._send(data, address)

    def _drop(self, peer: UpfPeer, why: str) -> None:
        self._counters.malformed += 1
        text = "a message for UPF %s is dropped: %s"
        log_seldom(self._counters.malformed, text, peer.node_id, why)
