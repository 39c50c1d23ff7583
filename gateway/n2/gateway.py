"""The N2 gateway: many gNBs; each uplink PDU is an event, each downlink event a PDU.

The gateway publishes each uplink PDU to JetStream. The number of PDUs that wait for JetStream has a
bound. Beyond the bound the gateway reads from no gNB (their SCTP windows close) and sends OVERLOAD
START. If workers do not keep up, OVERLOAD START asks for the reduction of traffic that they need
(`gateway.n2.overload`), of the gNBs with more than their share (`gateway.n2.indications`). Requests
of a gNB with too many unproved ones wait here (`gateway.n2.shares`). Other messages that the
gateway has read are dropped only in a flood (`gateway.n2.limits`).
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
from eventing.jetstream.connection import BusError, listen
from eventing.jetstream.messages import opened
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.sealed import DownlinkOpener, SealError
from eventing.jetstream.streams import waiting_bytes
from gateway.n2 import downlink
from gateway.n2.admission import DEFAULT_PLACES, Places
from gateway.n2.counters import N2Counters
from gateway.n2.downlink import DownlinkPdu
from gateway.n2.indications import Indications
from gateway.n2.limits import ANSWERED, NodeLimit
from gateway.n2.peer import MAX_DOWNLINK, CorePdu, GnbPeer, UeConnection, bound_connections
from gateway.n2.reception import Reception
from gateway.n2.routing import N2Route, Router
from gateway.outbox import Outbox
from gateway.sent_events import SentEvents
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    NGAP_MEDIA_TYPE,
    AssociationLost,
    CloudEvent,
    EventType,
)
from schemas.procedures import OPENING, Procedure
from schemas.step import encode
from transport import NGAP_PPID, Association, BufferFull, Transport, TransportError

log = logging.getLogger(__name__)

MAX_PDU: Final = 1 << 18
"""Maximum octets of an uplink PDU; the rest is cut off. No gNB sends a longer NGAP PDU. The core
answers the cut PDU as malformed, and the whole PDU would exceed NATS's limit."""

OVERLOAD_AFTER: Final = 0.5
"""Seconds beyond the bound after which the gateway sends OVERLOAD START."""
DEPTH_POLL: Final = 1.0
"""Seconds between two checks of the octets that wait in the stream."""
STALLED: Final = 30.0
"""Seconds for which the send buffer of an association may stay full. SCTP lets a peer keep its
window closed for ever (RFC 9260 6.1 A)."""
RELIEF: Final = 0.25
"""The share of the bound at which the gateway reads from gNBs again."""


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
        self._outbox = Outbox(publisher, self._relax)
        self._router = router
        self._opener = opener
        self._bound = max_under_way
        self._max_bytes = max_bytes
        self._full = False
        self._associations = 0
        self._openings = 0
        self._peers: dict[int, GnbPeer] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._chores: set[asyncio.Task[None]] = set()
        self._sent = SentEvents()
        self._paused_since = 0.0
        self.counters = N2Counters()
        self._indications = Indications(
            self._peers,
            self.counters,
            self._flush,
            self._publish_waiting,
            lambda: self._outbox.delay,
            after,
            weights,
        )
        self._reducing: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._transport: Transport | None = None
        self._watching: asyncio.Task[None] | None = None
        self.reception = Reception(places)
        self._receiving: asyncio.Task[None] | None = None

    def start(self, transport: Transport) -> None:
        """Start to publish. `transport` is paused when JetStream does not keep up."""
        self._transport = transport
        self._outbox.start()
        self._watching = self._loop.create_task(self._watch_depth())
        self._reducing = self._loop.create_task(self._indications.run(self._client))
        watch = self.reception.watch(lambda: bool(self._paused_since))
        self._receiving = self._loop.create_task(watch)

    async def stop(self, seconds: float = 3.0) -> None:
        """Close all associations, and publish the waiting events for up to `seconds`."""
        if self._transport is not None:
            await self._transport.close()
        await self._outbox.stop(seconds)
        for task in (self._watching, self._reducing, self._receiving, *self._chores):
            if task is not None:
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
        peer = GnbPeer(f"{self._outbox.boot}-{self._associations:x}", association)
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
            if self.counters.wrong_ppid & (self.counters.wrong_ppid - 1) == 0:
                log.warning("association %s: a message with the PPID %d", peer.id, ppid)
            return
        self.counters.uplink += 1
        if len(payload) > MAX_PDU:
            log.info("association %s: a message of %d octets", peer.id, len(payload))
            payload = payload[:MAX_PDU]
        found = self._route(peer, payload)
        if found is not None:
            self._publish(peer, found[0], payload, found[1])

    def writable(self, association: Association) -> None:
        """Send the waiting PDUs of an association that was full."""
        peer = self._peers.get(id(association))
        if peer is not None:
            peer.full_since = 0.0
            self._flush(peer)

    # Uplink

    def _route(self, peer: GnbPeer, payload: bytes) -> tuple[N2Route, int | None] | None:
        """Return the route of a message, and its number on its connection; None if it is not to be
        published now, because its gNB or its UE sends too many."""
        try:
            peek = wire.ngap_peek(payload)
        except wire.WireError:
            self.counters.malformed += 1
            return self._of_node(peer)
        if peek.message == "NGSetupRequest" and peek.global_ran_node_id is not None:
            gnb = subjects.token(peek.global_ran_node_id)
            if peer.named and peer.gnb != gnb:
                self._lose(peer, f"NG SETUP of {gnb} on its association")
                peer.forget()
            if not self.reception.claims(peer, gnb):
                return None
            peer.claim(gnb)
        ran_ue_ngap_id = peek.ran_ue_ngap_id
        if peer.ready and peek.message == "InitialUEMessage" and ran_ue_ngap_id is not None:
            connection = self._opened(peer, ran_ue_ngap_id)
            route = self._router.initial(peek, f"{peer.id}-{ran_ue_ngap_id:x}")
            if peer.requests.offer(connection, route, payload):
                return route, 0
            self.counters.put_off += 1
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
        self.counters.excess += 1
        peer.excess += 1
        if peer.excess & (peer.excess - 1) == 0:
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
            bound_connections(self._peers.values())
        return peer.opened(ran_ue_ngap_id)

    def _connected(
        self, peer: GnbPeer, peek: wire.NgapPeek, ran_ue_ngap_id: int | None
    ) -> tuple[N2Route, int | None] | None:
        """Return the route of a message with UE IDs, and its number on the connection."""
        if ran_ue_ngap_id is None:
            return (
                (self._router.connected(peek, None), None)
                if self._admits(peer, peer.node)
                else None
            )
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
        if not self._paused_since and self.waiting >= self._bound:
            self._hold()

    def _publish(self, peer: GnbPeer, route: N2Route, payload: bytes, sequence: int | None) -> None:
        self._enqueue(peer, route, EventType.NGAP_UPLINK, payload, NGAP_MEDIA_TYPE, sequence)

    def _publish_waiting(self, peer: GnbPeer) -> None:
        """Publish the waiting requests of a gNB for which there is room now."""
        while (found := peer.requests.next()) is not None:
            self._publish(peer, found.route, found.pdu, 0)
        self.counters.given_up += peer.requests.take_dropped()

    # Flow control

    async def _watch_depth(self) -> None:
        """Stop reading while too much waits in the stream: the workers do not keep up."""
        while True:
            await asyncio.sleep(DEPTH_POLL)
            try:
                depth = await waiting_bytes(self._client)
            except BusError as err:
                log.warning("%s", err)
                continue
            if depth >= self._max_bytes:
                self._full = True
                if not self._paused_since:
                    self._hold()
            elif self._full and depth <= self._max_bytes * RELIEF:
                self._full = False
                self._relax()

    def _relax(self) -> None:
        if self._paused_since and not self._full and self.waiting <= self._bound * RELIEF:
            self._resume()

    def _hold(self) -> None:
        """Stop reading from gNBs, and send OVERLOAD START if the overload lasts."""
        self._paused_since = self._loop.time()
        if self._transport is not None:
            self._transport.pause()
        self._loop.call_later(OVERLOAD_AFTER, self._report_overload, self._paused_since)

    def _report_overload(self, since: float) -> None:
        if self._paused_since != since:
            return
        self.counters.overloads += 1
        self._indications.everything = True
        log.warning("%d events wait for JetStream: OVERLOAD START", self.waiting)
        self._indications.ask_all()

    def _resume(self) -> None:
        self._paused_since = 0.0
        self._indications.everything = False
        if self._transport is not None:
            self._transport.resume()
        self._indications.ask_all()

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
            if self.counters.refused & (self.counters.refused - 1) == 0:
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
            if self._has_room(peer, len(peer.early), paging=peek.message == "Paging"):
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
            if peek.message in ANSWERED:
                peer.arrivals.answered()
            self._send(peer, stream, pdu, paging=paging)
        else:
            if peer.requests.told(connection, peek):
                self._publish_waiting(peer)
            if procedure in _PROCEDURES:
                connection.hint = Procedure(procedure)
            self._send_in_order(
                peer, connection, DownlinkPdu(stream, pdu, *nats_binding.counts(counted))
            )

    def _send_in_order(self, peer: GnbPeer, connection: UeConnection, message: DownlinkPdu) -> None:
        order = connection.downlink
        held = order.held
        for stream, pdu, _, _ in order.add(message):
            self._send(peer, stream, pdu)
        if order.held and not held:
            self._loop.call_later(downlink.WAIT, self._overdue, peer, connection)

    def _overdue(self, peer: GnbPeer, connection: UeConnection) -> None:
        for stream, pdu, _, _ in connection.downlink.flush():
            self._send(peer, stream, pdu)

    def _completed(self, peer: GnbPeer) -> None:
        """Note a completed NG SETUP, and abort older associations of the same gNB."""
        peer.ready = True
        for other in list(self._peers.values()):
            if other is not peer and other.gnb == peer.gnb:
                log.info("association %s replaces %s", peer.id, other.id)
                other.association.abort()

    def _send(self, peer: GnbPeer, stream: int, pdu: bytes, *, paging: bool = False) -> None:
        if self._has_room(peer, len(peer.downlink), paging=paging):
            peer.downlink.append((stream, pdu))
            self._flush(peer)

    def _has_room(self, peer: GnbPeer, waiting: int, *, paging: bool) -> bool:
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

    def _flush(self, peer: GnbPeer) -> None:
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
                self.counters.downlink += 1
            peer.downlink.popleft()

    def _end_stalled(self, peer: GnbPeer, since: float) -> None:
        """Abort an association with a full send buffer, which would otherwise keep it for good."""
        if peer.full_since == since:
            self._undeliverable(peer, f"it has read nothing for {STALLED:.0f} s")
            peer.association.abort()

    def _undeliverable(self, peer: GnbPeer, why: str) -> None:
        self.counters.undeliverable += 1
        peer.dropped += 1
        if peer.dropped & (peer.dropped - 1) == 0:
            log.warning("%s: %d PDU(s) not delivered: %s", peer.gnb, peer.dropped, why)

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
