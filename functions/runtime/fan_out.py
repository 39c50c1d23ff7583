"""An event for each of many UEs, of an output or of a wake-up that they share: found in an index,
told page by page.
"""

from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from schemas.aggregates import slot_of_aggregate
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    CloudEvent,
    ConnectionLost,
    EventType,
    SessionLost,
)
from schemas.identity import index_ngap, index_seid, slot_of_amf_ue_ngap_id, slot_of_seid
from schemas.procedures import Procedure
from schemas.step import FanOut, FanOutSessions, encode
from statestore.contract import Engine

PAGE = 200
"""UEs that are told at a time; the next are told when JetStream has these."""


class Audience(NamedTuple):
    """Who is told: the entries of an index below a prefix, and what each is told."""

    kind: str
    prefix: str
    event: Callable[[str, str], CloudEvent | None]
    """Of the rest of a key and its owner; None for one that is not meant."""


async def events_of(engine: Engine, audience: Audience) -> AsyncIterator[list[CloudEvent]]:
    """What an audience is told, page by page: the same each time, as long as the index is."""
    prefix, after = audience.prefix, ""
    while page := await engine.scan(audience.kind, prefix, after, PAGE):
        after = page[-1][0]
        found = (audience.event(key.removeprefix(prefix), owner) for key, owner in page)
        yield [event for event in found if event is not None]


def audience_of(aggregate: str, base: str, output: FanOut | FanOutSessions) -> Audience:
    """Who an output is for. The ids of their events begin with `base`."""
    if isinstance(output, FanOut):
        return _connections(aggregate, base, output)
    return _sessions(aggregate, base, output)


def _connections(aggregate: str, base: str, output: FanOut) -> Audience:
    """The UEs of an association of a gNB, or those of them whose ids are named."""
    everyone = not output.amf_ue_ngap_ids and not output.ran_ue_ngap_ids
    amf_ids, ran_ids = frozenset(output.amf_ue_ngap_ids), frozenset(output.ran_ue_ngap_ids)

    def lost(key: str, owner: str) -> CloudEvent | None:
        amf_id, ran_id = (int(part, 16) for part in key.split("/"))
        if not (everyone or amf_id in amf_ids or ran_id in ran_ids):
            return None
        return CloudEvent(
            id=f"{base}/{amf_id:010x}",
            source=f"/{aggregate}",
            type=EventType.CONNECTION_LOST,
            partitionkey=index_ngap(amf_id),
            data=encode(ConnectionLost(amf_id, output.reason, output.order, output.association)),
            datacontenttype=MSGPACK_MEDIA_TYPE,
            procedure=output.procedure,
            slot=slot_of_aggregate(owner, slot_of_amf_ue_ngap_id(amf_id)),
        )

    return Audience("gnb", f"{output.gnb}/{output.association}/", lost)


def _sessions(aggregate: str, base: str, output: FanOutSessions) -> Audience:
    """The PDU sessions of a UPF."""

    def lost(key: str, owner: str) -> CloudEvent:
        seid = int(key, 16)
        return CloudEvent(
            id=f"{base}/{key}",
            source=f"/{aggregate}",
            type=EventType.SESSION_LOST,
            partitionkey=index_seid(seid),
            data=encode(SessionLost(seid, output.recovery_time_stamp, output.at, output.kept)),
            datacontenttype=MSGPACK_MEDIA_TYPE,
            procedure=Procedure.SESSION,
            slot=slot_of_aggregate(owner, slot_of_seid(seid)),
        )

    return Audience("upf", f"{output.upf}/", lost)
