"""Whether an event may be decided now, or an earlier event of its UE may still come.

The events of a UE arrive by several consumers, one for each procedure, without a common order.
Their order is that of their positions in the stream. An event is *early* if the state does not
show that all before it are processed, or if it would end a connection with messages before it. An
early event waits until the stream has no earlier event (`eventing.jetstream.earlier`).
"""

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Final

import wire
from eventing.jetstream.earlier import Waiting
from functions.runtime.job import Job
from functions.ue.dispatch import CLOCK_SKEW_MS
from schemas.cloudevents import CloudEvent, EventType
from schemas.connection.state import Connection, Place
from schemas.identity import index_ngap, slot_of, slot_of_amf_ue_ngap_id
from schemas.position import Position
from schemas.ue.state import Ue, connections

TRANSFER: Final = 30.0
"""Seconds from the storage of a message after which the transfer of its connection has failed:
twice T3510."""

_NOWHERE: Final = Position(0, 0, 0)
"""The position of an event that no stream has carried: no event stands before it."""


def is_early(event: CloudEvent, state: object, now: int) -> bool:
    """Whether an event must wait for the events before it.

    These do: a message after a gap in the numbers of its connection; a message on a connection that
    is being transferred; an event that opens, moves, takes over or ends a connection of a UE with a
    connection; a wake-up, if a decision at the time `now`, in milliseconds, may take a timer for
    expired: the answer that stops the timer may stand in the stream.
    """
    if not isinstance(state, Ue):
        return False
    match event.type:
        case EventType.NGAP_UPLINK:
            return _is_early_message(event, state)
        case EventType.CONNECTION_LOST | EventType.IDENTIFIED:
            return bool(connections(state))
        case EventType.TIMER:
            return any(timer.at <= now + CLOCK_SKEW_MS for timer in state.timers.values())
        case _:
            return False


def _is_early_message(event: CloudEvent, state: Ue) -> bool:
    if not event.partitionkey.startswith("ngap-"):
        return event.sequence == 0 and bool(connections(state))  # INITIAL UE MESSAGE
    here, successor = _connection_of(event, state)
    if here is None:
        return False
    if successor:
        return _is_for_successor(event, here)
    ends_source = state.handover is not None and state.handover.stage == "executing"
    if here is state.target and ends_source:
        return True  # HANDOVER NOTIFY
    return event.sequence is not None and _is_after_gap(event, event.sequence, here)


def _connection_of(event: CloudEvent, state: Ue) -> tuple[Connection | None, str]:
    """Return the connection of an event, and the aggregate that it is transferred to, if any."""
    here, successor = state.connection, state.successor
    for found in state.parked:
        if event.partitionkey == index_ngap(found.connection.amf_ue_ngap_id):
            here, successor = found.connection, found.successor
    for other in state.stale if state.target is None else (state.target, *state.stale):
        if event.partitionkey == index_ngap(other.amf_ue_ngap_id):
            here, successor = other, ""
    if here is None or event.partitionkey != index_ngap(here.amf_ue_ngap_id):
        return None, ""
    return here, successor


def _is_for_successor(event: CloudEvent, here: Connection) -> bool:
    """Whether a message on a transferred connection is for the successor, and no copy of a message
    from before the transfer."""
    return event.sequence is None or event.sequence > here.sequence


def _is_after_gap(event: CloudEvent, sequence: int, here: Connection) -> bool:
    if event.source.endswith(f"/{here.gnb}/{here.association}"):
        return sequence > here.sequence + 1
    # From another gNB: a PATH SWITCH REQUEST, or a message after it.
    return sequence == 0 or not _is_late(event, here)


def _is_late(event: CloudEvent, here: Connection) -> bool:
    """Whether a message is from the RAN end of a connection before its path switch.

    A message from neither end belongs to a path switch with a request that has not arrived yet. So
    does a message from the previous gNB with another RAN-UE-NGAP-ID: the UE has gone back.
    """
    before: Place | None = here.before
    if before is None or not event.source.endswith(f"/{before.gnb}/{before.association}"):
        return False
    try:
        ran_ue_ngap_id = wire.ngap_peek(event.data).ran_ue_ngap_id
    except wire.WireError:
        return True
    return ran_ue_ngap_id in (None, before.ran_ue_ngap_id)


def waits_for_transfer(event: CloudEvent, state: object, now: int) -> bool:
    """Whether an event waits for the transfer of its connection, at a time in milliseconds.

    The stream does not show that: the event that transfers the connection may stand in the slot of
    a SUPI that this aggregate does not know. If it became a dead letter, its UE has given up within
    `TRANSFER` seconds.
    """
    if not isinstance(state, Ue) or event.type != EventType.NGAP_UPLINK:
        return False
    here, successor = _connection_of(event, state)
    if here is None or not successor or not _is_for_successor(event, here):
        return False
    return event.position is not None and now - event.position.stored < TRANSFER * 1000


def is_transferring(state: object) -> bool:
    """Whether a connection of a UE is being transferred to another aggregate, or was since."""
    return isinstance(state, Ue) and bool(
        state.successor or any(one.successor for one in state.parked)
    )


def waiting(event: CloudEvent, state: Ue) -> Waiting:
    """Return what an early event waits for: the earlier events of its UE's slots.

    A connection that was opened before the UE was identified has a slot of its own.
    """
    slots = {slot_of_amf_ue_ngap_id(one.amf_ue_ngap_id) for one in connections(state)}
    own = slot_of(state.supi) if state.supi else event.slot or 0
    slots |= {event.slot or 0, own}
    return Waiting(event.position or _NOWHERE, frozenset(slots), own)


def waits(job: Job, state: object, now: int) -> bool:
    """Whether an event waits for the events before it, and note which slots they are of.

    An event that has its turn waits again if the stream was not asked for all of these slots: the
    UE has got another connection since.
    """
    transfer = waits_for_transfer(job.event, state, now)
    if not isinstance(state, Ue) or not (transfer or is_early(job.event, state, now)):
        return False
    asked, job.waiting = job.waiting, waiting(job.event, state)
    if job.has_turn and not transfer and (asked is None or job.waiting.slots <= asked.slots):
        return False
    job.has_turn = False
    return True


def in_order(jobs: Sequence[Job]) -> list[Job]:
    """Return `jobs` by position, those of one N2 connection and association by their numbers.

    The numbers are the order in which the gateway read the messages. Their positions differ from
    that if JetStream stored a message only when the gateway published it again.
    """
    found = sorted(jobs, key=_place)
    if any(_compare(one, two) > 0 for one, two in pairwise(found)):
        found.sort(key=cmp_to_key(_compare))  # some are of a stream that was lost since
    places: dict[tuple[str, str], list[int]] = {}
    for index, job in enumerate(found):
        if job.event.sequence is not None and job.event.source.startswith("/n2/"):
            places.setdefault((job.event.partitionkey, job.event.source), []).append(index)
    for indexes in places.values():
        if len(indexes) > 1:
            numbered = sorted((found[index] for index in indexes), key=_number)
            for index, job in zip(indexes, numbered, strict=True):
                found[index] = job
    return found


def _place(job: Job) -> tuple[int, int]:
    position = job.event.position or _NOWHERE
    return position.sequence, position.index


def _compare(one: Job, two: Job) -> int:
    first, second = one.event.position or _NOWHERE, two.event.position or _NOWHERE
    return second.precedes(first) - first.precedes(second)


def _number(job: Job) -> int:
    return job.event.sequence or 0
