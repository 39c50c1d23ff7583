"""From UPFs to the core: each message an event, but for what the edge can answer itself."""

from collections.abc import Callable
from typing import Final

import wire
from eventing.cloudevents.nats_binding import BadEventError
from eventing.jetstream.messages import events_of
from gateway.n4 import events as routing
from gateway.n4 import path, pfcp
from gateway.n4.endpoint import MAX_DATAGRAM, Address, Counters, rarely, written
from gateway.n4.events import Events
from gateway.n4.peer import Peer, Peers
from gateway.n4.pfcp import Header
from gateway.n4.requests import VERSION_NOT_SUPPORTED, Fate
from schemas.cloudevents import CloudEvent

ASSOCIATION_SETUP_REQUEST: Final = 5
ASSOCIATION_SETUP_RESPONSE: Final = 6
SESSION_ESTABLISHMENT_RESPONSE: Final = 51
ACCEPTED: Final = 1
NO_ASSOCIATION: Final = 72
"""Values of Cause (TS 29.244 8.2.1)."""


class Uplink:
    """Takes datagrams of the UDP endpoint."""

    def __init__(
        self,
        peers: Peers,
        events: Events,
        counters: Counters,
        send: Callable[[bytes, Address], None],
    ) -> None:
        self._peers = peers
        self._events = events
        self._counters = counters
        self._send = send

    def received(self, datagram: bytes, address: Address) -> None:
        """A datagram: one message, or several where they follow on (7.2.2.2)."""
        for octets, peek in pfcp.messages(datagram):
            self._counters.uplink += 1
            if peek is None:
                self._no_message(octets, address)
            else:
                self._message(octets, peek, address)

    def _message(self, octets: bytes, peek: wire.PfcpPeek, address: Address) -> None:
        peer = self._peers.at(address)
        if peer is None and peek.message_type < pfcp.FIRST_OF_SESSIONS:
            peer = self._peers.named(peek.node_id, address)
        if peer is None:
            self._unknown(address)
        elif peek.version != 1:
            self._other_version(peek, address)
        elif peek.message == "unknown":
            self._malformed(address, f"there is no message type {peek.message_type}")
        else:
            self._known(peer, octets, peek, address)
            if peek.message_type >= pfcp.FIRST_OF_SESSIONS and not self._events.full:
                told = peer.load.heard(octets, peer.path.stamp)
                if told is not None:
                    self._events.load(peer, told)

    def _known(self, peer: Peer, octets: bytes, peek: wire.PfcpPeek, address: Address) -> None:
        if not peek.request:
            self._answer(peer, octets, peek)
        elif peek.message_type == path.HEARTBEAT_REQUEST:
            self._heartbeat(peer, octets, peek, address)
        else:
            found = Header(peek.version, peek.message_type, peek.seid, peek.sequence)
            self._request(peer, octets, found, peek.message, address)

    def _no_message(self, octets: bytes, address: Address) -> None:
        """What ends early. A request with a whole header is for the core to refuse (7.6.3)."""
        found, fault = pfcp.read(octets), wire.pfcp_check(octets) or {}
        peer = self._peers.at(address)
        if peer is None:
            self._unknown(address)
        elif found is not None and fault.get("action") == "reject":
            self._request(peer, octets, found, "", address)
        else:
            self._malformed(address, fault.get("text", "it is not read"))

    def _other_version(self, peek: wire.PfcpPeek, address: Address) -> None:
        """7.6.2."""
        if peek.message_type == VERSION_NOT_SUPPORTED:
            self._malformed(address, f"it is of version {peek.version}")
            return
        message = "VersionNotSupportedResponse"
        answer = wire.pfcp_encode({"message": message, "sequence": peek.sequence, "ies": []})
        self._send(answer, address)

    def _heartbeat(self, peer: Peer, octets: bytes, peek: wire.PfcpPeek, address: Address) -> None:
        """Answered here, once the core has told this UPF its Recovery Time Stamp; the core answers
        those before that, and so tells it."""
        if peek.recovery_time_stamp is None:
            self._malformed(address, "a heartbeat without Recovery Time Stamp")
            return
        stamp = peer.path.core_stamp
        if stamp is not None:
            self._send(path.heartbeat("HeartbeatResponse", peek.sequence, stamp), address)
        else:
            found = Header(peek.version, peek.message_type, peek.seid, peek.sequence)
            self._request(peer, octets, found, peek.message, address)
        peer.path.asked(peek.recovery_time_stamp)

    def _request(
        self, peer: Peer, octets: bytes, found: Header, message: str, address: Address
    ) -> None:
        key = found.sequence, found.message_type
        taken = peer.answers.find(*key, octets, address)
        if taken is not None:
            self._counters.duplicates += 1
            if taken.answer:
                self._send(taken.answer, address)
            elif (event := peer.answers.again(taken)) is not None:
                self._events.again(event)
            return
        route = routing.request(peer, found.message_type, found.seid, message)
        if route is None:
            self._malformed(address, "its header has no SEID")
        elif self._room(peer):
            event = self._events.uplink(peer, route, octets)
            peer.answers.take(*key, octets, address, event)

    def _answer(self, peer: Peer, octets: bytes, peek: wire.PfcpPeek) -> None:
        stamp = peek.recovery_time_stamp
        if peek.message_type == path.HEARTBEAT_RESPONSE and stamp is None:
            self._counters.malformed += 1  # as if it had not come (7.6.1)
            return
        asked = peer.requests.answered(peek.sequence, peek.message_type)
        if asked is None:
            self._unmatched(peer, octets, peek)
            return
        if peek.message_type == path.HEARTBEAT_RESPONSE and stamp is not None:
            peer.path.answered(stamp, own=asked.event is None)
        elif asked.event is None:
            peer.path.silent()
        elif peek.message_type == ASSOCIATION_SETUP_RESPONSE and peek.cause == ACCEPTED:
            peer.path.is_associated()
        elif peek.cause == NO_ASSOCIATION:
            peer.path.doubt()
        if asked.event is not None:
            self._events.uplink(peer, routing.answer(asked.event, peek.message), octets)

    def _unmatched(self, peer: Peer, octets: bytes, peek: wire.PfcpPeek) -> None:
        """An answer that nobody waits for. A session that it made is not to be left there."""
        if peer.requests.was_answered(peek.sequence):
            self._counters.duplicates += 1
            return
        self._counters.unmatched += 1
        made = peek.message_type == SESSION_ESTABLISHMENT_RESPONSE and peek.cause == ACCEPTED
        if made and peek.seid and self._room(peer):
            self._events.uplink(peer, routing.session(peek.seid, peek.message), octets)
            return
        text = "UPF %s answers what it was not asked: %s, sequence %d"
        rarely(self._counters.unmatched, text, peer.node_id, peek.message, peek.sequence)

    def _room(self, peer: Peer) -> bool:
        if not self._events.full:
            return True
        self._counters.overloads += 1
        text = "JetStream does not keep up: a message of UPF %s is not taken"
        rarely(self._counters.overloads, text, peer.node_id)
        return False

    def _malformed(self, address: Address, why: str) -> None:
        self._counters.malformed += 1
        text = "a message from %s is dropped: %s"
        rarely(self._counters.malformed, text, written(address), why)

    def _unknown(self, address: Address) -> None:
        self._counters.unknown_source += 1
        text = "a message from %s, which is no UPF's address, is dropped"
        rarely(self._counters.unknown_source, text, written(address))


class Downlink:
    """Takes the messages of the subjects of UPFs."""

    def __init__(self, counters: Counters, send: Callable[[bytes, Address], None]) -> None:
        self._counters = counters
        self._send = send

    def deliver(self, peer: Peer, headers: dict[str, str] | None, data: bytes) -> None:
        """One message for a UPF, or several."""
        try:
            events = events_of(headers, data)
        except BadEventError as err:
            self._counters.downlink += 1
            self._no_message(peer, str(err))
            return
        for event in events:
            self._one(peer, event)

    def _one(self, peer: Peer, event: CloudEvent) -> None:
        self._counters.downlink += 1
        data = event.data
        try:
            peek = wire.pfcp_peek(data)
        except wire.WireError as err:
            self._no_message(peer, str(err))
            return
        if len(data) > MAX_DATAGRAM:
            self._no_message(peer, f"{len(data)} octets are too many for UDP")
            return
        if peek.recovery_time_stamp is not None:
            peer.path.core_told(peek.recovery_time_stamp)
        if peek.request:
            self._ask(peer, event, peek)
        else:
            self._answer(peer, peek, data)

    def _ask(self, peer: Peer, event: CloudEvent, peek: wire.PfcpPeek) -> None:
        if peek.message_type == ASSOCIATION_SETUP_REQUEST:
            peer.path.is_associating()
        fate = peer.requests.ask(event, event.data, peek.message_type)
        if fate is Fate.UNDER_WAY:
            self._counters.under_way += 1
        elif fate is Fate.NO_ROOM:
            self._counters.undeliverable += 1
            text = "a request to UPF %s is dropped: too many wait"
            rarely(self._counters.undeliverable, text, peer.node_id)

    def _answer(self, peer: Peer, peek: wire.PfcpPeek, data: bytes) -> None:
        if peek.message_type == ASSOCIATION_SETUP_RESPONSE and peek.cause == ACCEPTED:
            peer.path.is_associated()
        asked_from = peer.answers.answer(peek.sequence, peek.message_type, data)
        address = asked_from or peer.address
        if address is not None:
            self._send(data, address)

    def _no_message(self, peer: Peer, why: str) -> None:
        self._counters.malformed += 1
        text = "a message for UPF %s is dropped: %s"
        rarely(self._counters.malformed, text, peer.node_id, why)
