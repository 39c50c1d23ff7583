"""The events of the N4 gateway."""

from typing import NamedTuple

from gateway.n4.path import State
from gateway.n4.peer import Peer
from gateway.n4.pfcp import FIRST_OF_SESSIONS
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


class Route(NamedTuple):
    """The routing attributes of an event."""

    procedure: Procedure
    partitionkey: str
    slot: int
    sequence: int | None = None


def node(peer: Peer) -> Route:
    """Where messages about a UPF itself go."""
    return Route(Procedure.UPF, peer.key, peer.slot)


def session(seid: int, message: str) -> Route:
    """Where a message of a session goes, by the core's own SEID."""
    procedure = PFCP_MESSAGES.get(message, Procedure.SESSION)
    return Route(procedure, index_seid(seid), slot_of_seid(seid))


def request(peer: Peer, message_type: int, seid: int | None, message: str) -> Route | None:
    """Where a request of a UPF goes; None for one of a session that has no SEID (7.2.2.2)."""
    if message_type < FIRST_OF_SESSIONS:
        return node(peer)
    return None if seid is None else session(seid, message)


def answer(event: CloudEvent, message: str) -> Route:
    """Where the answer to a request of the core goes, `event`, or word that there is none."""
    other = Procedure.UPF if event.partitionkey.startswith(_UPF) else Procedure.SESSION
    procedure = PFCP_MESSAGES.get(message, other)
    return Route(procedure, event.partitionkey, event.slot or 0, event.sequence)


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
        self._put(peer, answer(asked, ""), EventType.PFCP_UNANSWERED, octets)

    def path(self, peer: Peer, state: State, stamp: int) -> None:
        """What is new of the way to a UPF. `served` comes again, and can wait."""
        if state == "served" and self.full:
            return
        data = encode(UpfPath(peer.node_id, state, stamp))
        route = node(peer)
        self._put(peer, route, EventType.UPF_PATH, data, MSGPACK_MEDIA_TYPE)

    def load(self, peer: Peer, told: UpfLoadReported) -> None:
        """What a UPF has told of its load."""
        self._put(peer, node(peer), EventType.UPF_LOAD, encode(told), MSGPACK_MEDIA_TYPE)

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
