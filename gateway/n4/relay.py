"""The relay of PFCP messages between UPFs and the core, as events on the bus."""

from collections.abc import Callable

import wire
from eventing.cloudevents.nats_binding import BadEventError
from eventing.jetstream.messages import events_of
from gateway.n4 import events, pfcp
from gateway.n4.endpoint import MAX_DATAGRAM, Address, N4Counters, address_text, log_seldom
from gateway.n4.events import N4Events
from gateway.n4.peer import UpfPeer
from gateway.n4.pfcp import PfcpHeader
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
        elif (peer := self._senders.sender(peers, peek, address)) is not None:
            self._known(peer, octets, peek, address)
            if peek.message_type >= pfcp.FIRST_OF_SESSIONS and not self._events.full:
                load = peer.load.read(octets, peer.path.stamp)
                if load is not None:
                    self._events.load(peer, load)
        elif peek.request and peek.message_type >= pfcp.FIRST_OF_SESSIONS:
            self._known(peers[0], octets, peek, address)  # its SEID is all that counts
        else:
            self._drop(address, f"{peek.message} of which UPF? Several have this address")

    def _known(self, peer: UpfPeer, octets: bytes, peek: wire.PfcpPeek, address: Address) -> None:
        if not peek.request:
            self._response(peer, octets, peek)
        elif peek.message_type == pfcp.HEARTBEAT_REQUEST:
            self._heartbeat(peer, octets, peek, address)
        else:
            header = PfcpHeader(peek.version, peek.message_type, peek.seid, peek.sequence)
            self._request(peer, octets, header, peek.message, address)

    def _malformed_message(self, octets: bytes, address: Address) -> None:
        """Handle a truncated message. The core rejects a request with a whole header (7.6.3)."""
        header, fault = pfcp.header_of(octets), wire.pfcp_check(octets) or {}
        peers = self._senders.accept(address)
        if not peers:
            self._drop_unknown(address)
        elif header is not None and fault.get("action") == "reject":
            peer = self._senders.sender(peers, None, address) or peers[0]
            self._request(peer, octets, header, "", address)
        else:
            self._drop(address, fault.get("text", "it cannot be read"))

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
            header = PfcpHeader(peek.version, peek.message_type, peek.seid, peek.sequence)
            self._request(peer, octets, header, peek.message, address)
        if peer.requests.incarnation.is_later(peek.recovery_time_stamp):
            peer.requests.begin_incarnation(peek.recovery_time_stamp)
        peer.path.heartbeat_received(peek.recovery_time_stamp)

    def _request(
        self, peer: UpfPeer, octets: bytes, header: PfcpHeader, message: str, address: Address
    ) -> None:
        number = header.sequence, header.message_type
        route = events.route_of_request(peer, header.message_type, header.seid, message)
        if route is None:
            self._drop(address, "its header has no SEID")
            return
        of_session = header.message_type >= pfcp.FIRST_OF_SESSIONS
        received = octets, address
        incarnation = peer.requests.incarnation.current if of_session else None
        earlier = self._received.find(route.partitionkey, *number, *received, incarnation)
        if earlier is not None:
            self._counters.duplicates += 1
            if earlier.response:
                self._send(earlier.response, address)
            elif (event := self._received.overdue(earlier)) is not None:
                self._events.again(event)
        elif self._has_room(peer):
            event = self._events.uplink(peer, route, octets)
            self._received.add(*number, *received, event, incarnation)

    def _response(self, peer: UpfPeer, octets: bytes, peek: wire.PfcpPeek) -> None:
        stamp = peek.recovery_time_stamp
        if peek.message_type == pfcp.HEARTBEAT_RESPONSE and stamp is None:
            self._counters.malformed += 1  # ignored (7.6.1)
            return
        request = peer.requests.answered(peek.sequence, peek.message_type)
        if request is None:
            self._unmatched(peer, octets, peek)
            return
        if request.is_of_session:
            peer.path.session_answered()
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
            self._events.uplink(peer, route, octets)

    def _unmatched(self, peer: UpfPeer, octets: bytes, peek: wire.PfcpPeek) -> None:
        """Handle a response without a request. The core deletes a session that it established."""
        if peer.requests.was_answered(peek.sequence):
            self._counters.duplicates += 1
            return
        self._counters.unmatched += 1
        established = peek.message_type == pfcp.SESSION_ESTABLISHMENT_RESPONSE
        if established and peek.cause == pfcp.ACCEPTED and peek.seid and self._has_room(peer):
            self._events.uplink(peer, events.route_of_session(peek.seid, peek.message), octets)
            return
        text = "UPF %s answers no request of ours: %s, sequence %d"
        log_seldom(self._counters.unmatched, text, peer.node_id, peek.message, peek.sequence)

    def _has_room(self, peer: UpfPeer) -> bool:
        if not self._events.full:
            return True
        self._counters.overloads += 1
        text = "JetStream does not keep up: a message of UPF %s is dropped"
        log_seldom(self._counters.overloads, text, peer.node_id)
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
        name = key, peek.sequence, peek.message_type
        if self._received.is_answered(*name):
            self._counters.under_way += 1
            return
        request = self._received.answer(*name, data)
        if peek.message_type == pfcp.ASSOCIATION_SETUP_RESPONSE and peek.cause == pfcp.ACCEPTED:
            stamp = None
            if request is not None:
                stamp = wire.pfcp_peek(request.octets).recovery_time_stamp
            if stamp is not None:
                peer.requests.begin_incarnation(stamp)
            peer.path.is_associated()
        address = request.address if request is not None else peer.address
        if address is not None:
            self._send(data, address)

    def _drop(self, peer: UpfPeer, why: str) -> None:
        self._counters.malformed += 1
        text = "a message for UPF %s is dropped: %s"
        log_seldom(self._counters.malformed, text, peer.node_id, why)
