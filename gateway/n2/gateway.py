"""The N2 gateway: many gNBs; each uplink PDU is an event, each downlink event a PDU.

The gateway publishes each uplink PDU to JetStream. The number of PDUs that wait for JetStream has a
bound. Beyond it the gateway reads from no gNB and sends OVERLOAD START (`gateway.n2.pressure`). If
workers do not keep up, OVERLOAD START asks for the reduction of traffic that they need
(`gateway.n2.overload`), of the gNBs with more than their share (`gateway.n2.indications`). Requests
of a gNB with too many unproved ones wait here. Other messages that the gateway has read are dropped
only in a flood (`gateway.n2.uplink`).
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.subscription import Subscription

import wire
from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import BadEventError
from eventing.fair_shares import NO_WEIGHTS
from eventing.jetstream.connection import listen
from eventing.jetstream.messages import opened
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.sealed import DownlinkOpener, SealError
from eventing.process import is_logged
from gateway.n2.admission import DEFAULT_PLACES, Places
from gateway.n2.counters import N2Counters
from gateway.n2.downlink import DownlinkPdu
from gateway.n2.indications import Indications
from gateway.n2.peer import CorePdu, GnbPeer
from gateway.n2.pressure import Pressure
from gateway.n2.reception import Reception
from gateway.n2.routing import N2Route, Router
from gateway.n2.sending import Sending
from gateway.n2.shares import WaitingRoom
from gateway.n2.uplink import Uplink
from gateway.outbox import Outbox
from gateway.sent_events import SentEvents
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    NGAP_MEDIA_TYPE,
    AssociationLost,
    CloudEvent,
    EventType,
)
from schemas.procedures import Procedure
from schemas.step import encode
from transport import NGAP_PPID, Association, Transport

log = logging.getLogger(__name__)

MAX_PDU: Final = 1 << 18
"""Maximum octets of an uplink PDU; the rest is cut off. No gNB sends a longer NGAP PDU. The core
answers the cut PDU as malformed, and the whole PDU would exceed NATS's limit."""


class N2Gateway:
    """A `transport.Handler` between gNBs and JetStream."""

    def __init__(
        self,
        client: Client,
        publisher: Publisher,
        router: Router,
        opener: DownlinkOpener,
        max_under_way: int,
        max_bytes: int,
        after: float = 0.0,
        places: Places = DEFAULT_PLACES,
        weights: Mapping[str, float] = NO_WEIGHTS,
    ) -> None:
        """Create a gateway without gNBs.

        Args:
            client: the connection to NATS.
            publisher: publishes events.
            router: finds the procedure and the slot of a PDU.
            opener: opens the sealed messages for gNBs.
            max_under_way: the bound of events that JetStream has not stored.
            max_bytes: the bound of the octets in the stream.
            after: see `LoadReduction`.
            places: the places for associations.
            weights: the weights of gNBs by Global RAN Node ID.
        """
        self._client = client
        self._outbox = Outbox(publisher, self._published)
        self._router = router
        self._opener = opener
        self._associations = 0
        self._peers: dict[int, GnbPeer] = {}
        self._waiting_room = WaitingRoom()
        self._subscriptions: dict[str, Subscription] = {}
        self._chores: set[asyncio.Task[None]] = set()
        self._sent = SentEvents()
        self.counters = N2Counters()
        self._sending = Sending(self.counters)
        self._uplink = Uplink(router, self.counters, self._peers.values(), self._claims)
        self._indications = Indications(
            self._peers,
            self.counters,
            self._sending.flush,
            self._publish_waiting,
            lambda: self._outbox.delay,
            after,
            weights,
        )
        shared = self._outbox, self._indications, self.counters
        self._pressure = Pressure(client, *shared, max_under_way, max_bytes)
        self.reception = Reception(places)
        self._loop = asyncio.get_running_loop()
        self._transport: Transport | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, transport: Transport) -> None:
        """Start to publish. `transport` is paused when JetStream does not keep up."""
        self._transport = transport
        self._outbox.start()
        self._tasks = [
            self._pressure.start(transport),
            self._loop.create_task(self._indications.run(self._client)),
            self._loop.create_task(self.reception.watch(lambda: self._pressure.paused)),
        ]

    async def stop(self, seconds: float = 3.0) -> None:
        """Close all associations, and publish the waiting events for up to `seconds`."""
        if self._transport is not None:
            await self._transport.close()
        await self._outbox.stop(seconds)
        for task in (*self._tasks, *self._chores):
            task.cancel()

    @property
    def waiting(self) -> int:
        """Number of events that JetStream has not stored yet."""
        return self._outbox.waiting

    @property
    def backlog(self) -> int:
        """Number of PDUs that wait for gNBs with a full association."""
        return sum(len(peer.downlink) for peer in self._peers.values())

    @property
    def gnbs(self) -> list[str]:
        """The gNBs with a completed NG SETUP."""
        return sorted(peer.gnb for peer in self._peers.values() if peer.ready)

    # transport.Handler

    def up(self, association: Association) -> None:
        """Handle a new association."""
        self._associations += 1
        peer = GnbPeer(
            f"{self._outbox.boot}-{self._associations:x}", association, self._waiting_room
        )
        if not self.reception.enter(peer):
            return
        self._peers[id(association)] = peer
        log.info("association %s with %s", peer.id, association.peer)
        self._chore(self._listen(peer))

    def down(self, association: Association, reason: str) -> None:
        """Handle a lost association: all its UE connections are lost too."""
        peer = self._peers.pop(id(association), None)
        if peer is None:
            return
        peer.requests.forget()
        self.reception.leave(peer)
        log.info("association %s is lost: %s", peer.id, reason)
        subscription = self._subscriptions.pop(peer.id, None)
        if subscription is not None:
            self._chore(subscription.unsubscribe())
        if peer.named:
            self._lose(peer, reason)

    def _lose(self, peer: GnbPeer, reason: str) -> None:
        """Tell the core that a RAN node has lost its association."""
        lost = AssociationLost(peer.id, reason)
        route = self._router.node(peer.gnb)
        self._enqueue(
            peer, route, EventType.ASSOCIATION_LOST, encode(lost), MSGPACK_MEDIA_TYPE, None
        )

    def received(self, association: Association, stream: int, ppid: int, payload: bytes) -> None:
        """Handle a PDU from a gNB."""
        del stream
        peer = self._peers[id(association)]
        if ppid != NGAP_PPID:
            # TS 38.412 clause 7 assigns 60 to NGAP; another payload cannot be read.
            self.counters.wrong_ppid += 1
            if is_logged(self.counters.wrong_ppid):
                log.warning("association %s: a message with the PPID %d", peer.id, ppid)
            return
        self.counters.uplink += 1
        if len(payload) > MAX_PDU:
            log.info("association %s: a message of %d octets", peer.id, len(payload))
            payload = payload[:MAX_PDU]
        found = self._uplink.route(peer, payload)
        if found is not None:
            self._publish(peer, found[0], payload, found[1])

    def writable(self, association: Association) -> None:
        """Send the waiting PDUs of an association that was full."""
        peer = self._peers.get(id(association))
        if peer is not None:
            peer.full_since = 0.0
            self._sending.flush(peer)

    # Uplink

    def _claims(self, peer: GnbPeer, gnb: str) -> bool:
        """Whether an association may be the RAN node of its NG SETUP REQUEST. It is no other node
        any more (TS 38.413 8.7.1)."""
        if peer.named and peer.gnb != gnb:
            self._lose(peer, f"NG SETUP of {gnb} on its association")
            peer.forget()
        if not self.reception.claims(peer, gnb):
            return False
        peer.claim(gnb)
        return True

    def _enqueue(
        self,
        peer: GnbPeer,
        route: N2Route,
        event_type: EventType,
        data: bytes,
        media_type: str,
        sequence: int | None,
    ) -> None:
        event = CloudEvent(
            id=self._outbox.next_id(),
            source=peer.source,
            type=event_type,
            partitionkey=route.partitionkey,
            data=data,
            datacontenttype=media_type,
            procedure=route.procedure,
            slot=route.slot,
            sequence=sequence,
        )
        self._outbox.put(event)
        self._pressure.added()

    def _published(self) -> None:
        """Note that fewer events wait in the outbox."""
        self._pressure.relax()

    def _publish(self, peer: GnbPeer, route: N2Route, payload: bytes, sequence: int | None) -> None:
        self._enqueue(peer, route, EventType.NGAP_UPLINK, payload, NGAP_MEDIA_TYPE, sequence)

    def _publish_waiting(self, peer: GnbPeer) -> None:
        """Publish the waiting requests of a gNB for which there is room now."""
        while (found := peer.requests.next()) is not None:
            self._publish(peer, found.route, found.pdu, 0)
        self.counters.given_up += peer.requests.take_dropped()

    # Downlink

    async def _listen(self, peer: GnbPeer) -> None:
        def handler(_: str, __: str, data: bytes, ___: dict[str, str] | None) -> None:
            self._message(peer, data)

        found = await listen(self._client, subjects.downlinks_of(peer.id), handler)
        if id(peer.association) in self._peers:
            self._subscriptions[peer.id] = found
        else:
            await found.unsubscribe()

    def _message(self, peer: GnbPeer, data: bytes) -> None:
        try:
            batch = self._opener.open(peer.id, data)
            entries = opened(batch) if batch is not None else None
        except (SealError, BadEventError) as err:
            self.counters.refused += 1
            if is_logged(self.counters.refused):
                count = self.counters.refused
                log.warning("association %s: %d message(s) refused: %s", peer.id, count, err)
            return
        if entries is None:
            self.counters.repeated += 1
            return
        for one in entries:
            self._deliver(peer, one.data_base64, one.id, one.procedure, one.nascount)

    def _deliver(
        self,
        peer: GnbPeer,
        pdu: bytes,
        identifier: str,
        procedure: str | None,
        counted: str,
    ) -> None:
        if self._sent.check_and_add(identifier):
            self.counters.repeated += 1
            return
        try:
            peek = wire.ngap_peek(pdu)
        except wire.WireError:
            log.exception("a downlink message that is not an NGAP PDU")
            return
        if not peer.ready and peek.message not in _BEFORE_SETUP:
            # Another worker may send to the gNB as soon as the step of NG SETUP is stored.
            if self._sending.has_room(peer, len(peer.early), paging=peek.message == "Paging"):
                peer.early.append(CorePdu(pdu, procedure, counted))
            return
        self.reception.answered(peer, peek.message)
        if peek.message == "NGSetupResponse":
            self._completed(peer)
        self._dispatch(peer, peek, CorePdu(pdu, procedure, counted))
        while peer.ready and peer.early:
            early = peer.early.popleft()
            self._dispatch(peer, wire.ngap_peek(early.pdu), early)
        self._indications.ask(peer)

    def _dispatch(self, peer: GnbPeer, peek: wire.NgapPeek, message: CorePdu) -> None:
        pdu, procedure, counted = message
        ran_ue_ngap_id = peek.ran_ue_ngap_id
        connection = peer.connections.get(ran_ue_ngap_id) if ran_ue_ngap_id is not None else None
        stream = peer.stream_for(peek.amf_ue_ngap_id)
        if connection is None:
            paging = peek.message == "Paging"
            if peek.message == "HandoverRequest":
                peer.arrivals.answered()
            self._sending.send(peer, stream, pdu, paging=paging)
        else:
            if peer.requests.told(connection, peek):
                self._publish_waiting(peer)
            if procedure in _PROCEDURES:
                connection.hint = Procedure(procedure)
            self._sending.send_in_order(
                peer, connection, DownlinkPdu(stream, pdu, *nats_binding.counts(counted))
            )

    def _completed(self, peer: GnbPeer) -> None:
        """Note a completed NG SETUP, and abort older associations of the same gNB."""
        peer.ready = True
        for other in list(self._peers.values()):
            if other is not peer and other.gnb == peer.gnb:
                log.info("association %s replaces %s", peer.id, other.id)
                other.association.abort()

    def _chore(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._chores.add(task)
        task.add_done_callback(self._chore_ended)

    def _chore_ended(self, task: asyncio.Task[None]) -> None:
        self._chores.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a subscription could not be changed", exc_info=task.exception())


_PROCEDURES: Final = frozenset(str(procedure) for procedure in Procedure)

_BEFORE_SETUP: Final = frozenset({"NGSetupResponse", "NGSetupFailure", "ErrorIndication"})
"""The messages that a gNB may get before NG SETUP RESPONSE: NG SETUP is the first procedure of an
association (TS 38.413 8.7.1.1), and ERROR INDICATION answers what is not a procedure."""
