"""Events for many UEs, for one output or a shared wake-up. An index lists the UEs, page by page."""

from collections.abc import Callable
from typing import Final, NamedTuple

from schemas.aggregates import slot_of_aggregate
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    CloudEvent,
    ConnectionLost,
    EventType,
    FanOutDue,
    SessionLost,
)
from schemas.identity import index_ngap, index_seid, slot_of_amf_ue_ngap_id, slot_of_seid
from schemas.procedures import Procedure
from schemas.step import FanOut, FanOutSessions, encode
from statestore.contract import Engine

PAGE = 64
"""Maximum number of events in a page. The next page follows when the event for it, which stands
behind this page in the queue, is processed (`functions.runtime.pace`)."""
SCHEDULED: Final = "page-"
"""How the name of a page begins that is scheduled for its turn."""
SCANNED: Final = 200
"""Maximum number of index entries in a scan."""


class Recipients(NamedTuple):
    """The index entries below a prefix, and the event for each of them."""

    kind: str
    prefix: str
    event: Callable[[str, str], CloudEvent | None]
    """Returns the event for the rest of a key and its owner; None if the owner is not a
    recipient."""


class EventPage(NamedTuple):
    """Some events for the recipients of an index, and where the next page begins."""

    events: list[CloudEvent]
    after: str
    """The key of the last entry that was read; empty if no entry is left."""


async def read_page(engine: Engine, recipients: Recipients, after: str) -> EventPage:
    """Return the events of the recipients after an index key, at most `PAGE`. They are the same
    while the index does not change."""
    found: list[CloudEvent] = []
    while entries := await engine.scan(recipients.kind, recipients.prefix, after, SCANNED):
        for key, owner in entries:
            after = key
            event = recipients.event(key.removeprefix(recipients.prefix), owner)
            if event is not None:
                found.append(event)
            if len(found) == PAGE:
                return EventPage(found, after)
        if len(entries) < SCANNED:
            break
    return EventPage(found, "")


def due_event(due: FanOutDue, output: FanOut | FanOutSessions, slot: int) -> CloudEvent:
    """Return the event for the next page of an output. `slot` is any slot of the partition in which
    it waits."""
    procedure = output.procedure if isinstance(output, FanOut) else Procedure.SESSION
    return CloudEvent(
        id=f"{due.aggregate}/{due.seq}/{due.index}/page/{due.after}{'/turn' * due.in_turn}",
        source=f"/{due.aggregate}",
        type=EventType.FAN_OUT,
        partitionkey=due.aggregate,
        data=encode(due),
        datacontenttype=MSGPACK_MEDIA_TYPE,
        procedure=procedure,
        slot=slot,
    )


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
            data=encode(
                SessionLost(
                    seid, output.recovery_time_stamp, output.at, output.kept, output.restarted
                )
            ),
            datacontenttype=MSGPACK_MEDIA_TYPE,
            procedure=Procedure.SESSION,
            slot=slot_of_aggregate(owner, slot_of_seid(seid)),
        )

    return Recipients("upf", f"{output.upf}/", lost)
