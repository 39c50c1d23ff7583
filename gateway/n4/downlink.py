"""From the core to UPFs: requests get their sequence numbers, answers go back as they are."""

from collections.abc import Callable

import wire
from eventing.batch import events_of
from eventing.binding import BadEventError
from gateway.n4.counters import Counters, rarely
from gateway.n4.endpoint import MAX_DATAGRAM, Address
from gateway.n4.peer import Peer
from gateway.n4.requests import Fate
from gateway.n4.uplink import ACCEPTED, ASSOCIATION_SETUP_REQUEST, ASSOCIATION_SETUP_RESPONSE
from schemas.cloudevents import CloudEvent


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
