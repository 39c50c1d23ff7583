"""Events for many UEs, for one output or a shared wake-up. An index lists the UEs, page by page."""

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
"""Number of UEs in a page. The next page is sent when JetStream has stored this one."""


class Recipients(NamedTuple):
    """The index entries below a prefix, and the event for each of them."""

    kind: str
    prefix: str
    event: Callable[[str, str], CloudEvent | None]
    """Returns the event for the rest of a key and its owner; None if the owner is not a
    recipient."""


async def events_of(engine: Engine, recipients: Recipients) -> AsyncIterator[list[CloudEvent]]:
    """Yield the events of the recipients, page by page. They are the same while the index does not
    change."""
    prefix, after = recipients.prefix, ""
    while page := await engine.scan(recipients.kind, prefix, after, PAGE):
        after = page[-1][0]
        found = (recipients.event(key.removeprefix(prefix), owner) for key, owner in page)
        yield [event for event in found if event is not None]


def recipients_of(aggregate: str, base: str, output: FanOut | FanOutSessions) -> Recipients:
    """Return the recipients of an output. The ids of their events start with `base`."""
    if isinstance(output, FanOut):
        return _connections(aggregate, base, output)
    return _sessions(aggregate, base, output)


def _connections(aggregate: str, base: str, output: FanOut) -> Recipients:
    """Return the UEs of a gNB's association, or those with the given ids."""
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

    return Recipients("gnb", f"{output.gnb}/{output.association}/", lost)


def _sessions(aggregate: str, base: str, output: FanOutSessions) -> Recipients:
    """Return the PDU sessions of a UPF."""

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

    return Recipients("upf", f"{output.upf}/", lost)
