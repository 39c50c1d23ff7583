"""The product's rules for the messages and states of the model."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from eventing.jetstream.delivery import Delivery
from functions.runtime import turn
from functions.runtime.job import Job
from schemas.cloudevents import CloudEvent, EventType
from schemas.connection.state import Connection, Place
from schemas.identity import Tai, index_ngap, make_amf_ue_ngap_id, slot_of
from schemas.position import Position
from schemas.ue.state import Ue
from tests.order.states import Log, Message

_TAI: Final = Tai("00101", 1)
_NO_DELIVERY: Final = Delivery("", b"", {}, "", 1, "")


def own_slot(ue: int) -> int:
    """Return the slot of a UE."""
    return slot_of(_supi(ue))


def slot_of_message(message: Message) -> int:
    """Return the slot of a message in the first message of the stream that carries it."""
    return own_slot(message.ue) + message.foreign


def is_early(message: Message, log: Log, *, foreign: bool) -> bool:
    """Whether the worker looks for earlier events; see `turn.is_early`.

    `foreign` is whether the current connection has another slot than the UE.
    """
    return _is_early(message, log.connection, log.end, log.number, foreign)


@cache
def _is_early(message: Message, connection: int, end: int, number: int, foreign: bool) -> bool:
    ue = _ue(message.ue, connection, end, number, foreign)
    return turn.is_early(_event(message, None, foreign), ue, 0)


@cache
def slots(message: Message, connection: int, *, foreign: bool) -> frozenset[int]:
    """Return the slots in which earlier events are looked for; see `turn.waiting`."""
    ue = _ue(message.ue, connection, 0, 0, foreign)
    return turn.waiting(_event(message, None, foreign), ue).slots


def in_order(events: Sequence[tuple[Message, Position]]) -> list[int]:
    """Return the indexes of events in the order of a worker's decisions; see `turn.in_order`."""
    jobs = [Job(_NO_DELIVERY, _event(*event), 0.0) for event in events]
    index = {id(job): index for index, job in enumerate(jobs)}
    return [index[id(job)] for job in turn.in_order(jobs)]


@cache
def _event(message: Message, position: Position | None, foreign: bool = False) -> CloudEvent:
    number = _amf_ue_ngap_id(message.ue, message.connection, foreign)
    return CloudEvent(
        message.name,
        f"/n2/gnb-{message.end}/{message.end}",
        EventType.NGAP_UPLINK,
        "tmsi-1" if message.opens else index_ngap(number),
        slot=own_slot(message.ue),
        sequence=message.number,
        position=position,
    )


def _ue(ue: int, connection: int, end: int, number: int, foreign: bool) -> Ue:
    if not connection:
        return Ue(supi=_supi(ue))
    return Ue(
        supi=_supi(ue),
        connection=Connection(
            f"gnb-{end}",
            str(end),
            1,
            _amf_ue_ngap_id(ue, connection, foreign),
            number,
            _TAI,
            before=Place(f"gnb-{end - 1}", str(end - 1), 1, 0, _TAI) if end else None,
        ),
    )


def _amf_ue_ngap_id(ue: int, connection: int, foreign: bool) -> int:
    return make_amf_ue_ngap_id(own_slot(ue) + foreign, connection)


def _supi(ue: int) -> str:
    return f"imsi-00101000000000{ue}"
