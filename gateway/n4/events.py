"""The events of the N4 gateway, and their routes: keys and procedures."""

from typing import NamedTuple

from gateway.n4.path import State
from gateway.n4.peer import UpfPeer
from gateway.outbox import Outbox
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    PFCP_MEDIA_TYPE,
    CloudEvent,
    EventType,
    UpfLoadReported,
    UpfPath,
)
from schemas.identity import index_seid, slot_of_seid
from schemas.procedures import PFCP_MESSAGES, Procedure
from schemas.step import encode

_UPF = "upf/"


class N4Route(NamedTuple):
    """The routing attributes of an event."""

    procedure: Procedure
    partitionkey: str
    slot: int
    sequence: int | None = None


def route_of_node(peer: UpfPeer) -> N4Route:
    """Return the route of node messages of a UPF."""
    return N4Route(Procedure.UPF, peer.key, peer.slot)


def route_of_session(seid: int, message: str) -> N4Route:
    """Return the route of a session message, by the core's SEID."""
    procedure = PFCP_MESSAGES.get(message, Procedure.SESSION)
    return N4Route(procedure, index_seid(seid), slot_of_seid(seid))


def route_of_response(request: CloudEvent, message: str) -> N4Route:
    """Return the route of the response to a request of the core, or of its timeout."""
    other = Procedure.UPF if request.partitionkey.startswith(_UPF) else Procedure.SESSION
    procedure = PFCP_MESSAGES.get(message, other)
    return N4Route(procedure, request.partitionkey, request.slot or 0, request.sequence)


class N4Events:
    """Makes events, and puts them into the outbox."""

    def __init__(self, outbox: Outbox, bound: int) -> None:
        self._outbox = outbox
        self._bound = bound

    @property
    def full(self) -> bool:
        """Whether JetStream does not keep up: the gateway drops messages that UPFs repeat."""
        return self._outbox.waiting >= self._bound

    def uplink(self, source: str, route: N4Route, octets: bytes) -> CloudEvent:
        """Publish a message of a UPF, and return its event. `source` is as in `Senders.source`."""
        return self._put(source, route, EventType.PFCP_UPLINK, octets)

    def unanswered(self, peer: UpfPeer, request: CloudEvent, octets: bytes) -> None:
        """Publish that the UPF has not answered a request of the core."""
        self._put(peer.source, route_of_response(request, ""), EventType.PFCP_UNANSWERED, octets)

    def ended(self, peer: UpfPeer, request: CloudEvent, octets: bytes, incarnation: int) -> None:
        """Publish that a restart of the UPF has ended a request of the core."""
        route = route_of_response(request, "")
        self._put(peer.source, route, EventType.PFCP_ENDED, octets, incarnation=incarnation)

    def path(self, peer: UpfPeer, state: State, stamp: int) -> None:
        """Publish the state of a UPF's path. `served` is dropped under load: it is repeated."""
        if state == "served" and self.full:
            return
        data = encode(UpfPath(peer.node_id, state, stamp))
        route = route_of_node(peer)
        self._put(peer.source, route, EventType.UPF_PATH, data, MSGPACK_MEDIA_TYPE)

    def load(self, peer: UpfPeer, load: UpfLoadReported) -> None:
        """Publish the load that a UPF reports."""
        route = route_of_node(peer)
        self._put(peer.source, route, EventType.UPF_LOAD, encode(load), MSGPACK_MEDIA_TYPE)

    def again(self, event: CloudEvent) -> None:
        """Publish an event again. A core that has processed it sends the same response."""
        self._outbox.put(event, repeated=True)

    def _put(
        self,
        source: str,
        route: N4Route,
        event_type: EventType,
        data: bytes,
        media_type: str = PFCP_MEDIA_TYPE,
        incarnation: int | None = None,
    ) -> CloudEvent:
        event = CloudEvent(
            id=self._outbox.next_id(),
            source=source,
            type=event_type,
            partitionkey=route.partitionkey,
            data=data,
            datacontenttype=media_type,
            procedure=route.procedure,
            slot=route.slot,
            sequence=route.sequence,
            incarnation=incarnation,
        )
        self._outbox.put(event)
        return event
