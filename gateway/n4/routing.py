"""Where a PFCP message goes: the keys and the procedure of its event."""

from typing import NamedTuple

from gateway.n4.header import FIRST_OF_SESSIONS
from gateway.n4.peer import Peer
from schemas.cloudevents import CloudEvent
from schemas.identity import index_seid, slot_of_seid
from schemas.procedures import PFCP_MESSAGES, Procedure

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
