"""The events of the N4 gateway."""

from gateway.n4 import routing
from gateway.n4.path import State
from gateway.n4.peer import Peer
from gateway.n4.routing import Route
from gateway.outbox import Outbox
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    PFCP_MEDIA_TYPE,
    CloudEvent,
    EventType,
    UpfLoadTold,
    UpfPath,
)
from schemas.step import encode


class Events:
    """Makes events, and hands them to the outbox."""

    def __init__(self, outbox: Outbox, bound: int) -> None:
        self._outbox = outbox
        self._bound = bound

    @property
    def full(self) -> bool:
        """Whether JetStream does not keep up, and what a UPF repeats is not to be taken."""
        return self._outbox.waiting >= self._bound

    def uplink(self, peer: Peer, route: Route, octets: bytes) -> CloudEvent:
        """A message of a UPF."""
        return self._put(peer, route, EventType.PFCP_UPLINK, octets)

    def unanswered(self, peer: Peer, asked: CloudEvent, octets: bytes) -> None:
        """A request of the core that the UPF has not answered."""
        self._put(peer, routing.answer(asked, ""), EventType.PFCP_UNANSWERED, octets)

    def path(self, peer: Peer, state: State, stamp: int) -> None:
        """What is new of the way to a UPF. `served` comes again, and can wait."""
        if state == "served" and self.full:
            return
        data = encode(UpfPath(peer.node_id, state, stamp))
        route = routing.node(peer)
        self._put(peer, route, EventType.UPF_PATH, data, MSGPACK_MEDIA_TYPE)

    def load(self, peer: Peer, told: UpfLoadTold) -> None:
        """What a UPF has told of its load."""
        self._put(peer, routing.node(peer), EventType.UPF_LOAD, encode(told), MSGPACK_MEDIA_TYPE)

    def again(self, event: CloudEvent) -> None:
        """An event that the core may have had: it drops what it has taken, and answers again."""
        self._outbox.put(event, repeated=True)

    def _put(
        self,
        peer: Peer,
        route: Route,
        event_type: EventType,
        data: bytes,
        media_type: str = PFCP_MEDIA_TYPE,
    ) -> CloudEvent:
        event = CloudEvent(
            id=self._outbox.next_id(),
            source=peer.source,
            type=event_type,
            partitionkey=route.partitionkey,
            data=data,
            datacontenttype=media_type,
            procedure=route.procedure,
            slot=route.slot,
            sequence=route.sequence,
        )
        self._outbox.put(event)
        return event
