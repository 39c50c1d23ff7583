"""Strangers: UEs that leave without ever having proved their identity (docs/decisions/0031)."""

from typing import Final

from functions.decision.ue_decision import UeDecision
from schemas.identity import slot_of
from schemas.stranger import StrangerRecorded
from schemas.ue.state import is_stranger

NUMBER_BITS: Final = 64


def record(d: UeDecision) -> None:
    """Record that the log of a UE may be removed: it has never proved its identity, and has no
    connection.

    This is done once. The time remains the same if the stranger comes back, so that its log does
    not grow for ever. A step without another event is not made longer: it is not stored.
    """
    ue = d.ue
    if ue.authenticated or ue.stranger is not None or not d.events or not is_stranger(ue):
        return
    slot = slot_of(ue.supi) if ue.supi else d.slot
    d.emit(StrangerRecorded(d.env.now, slot, d.env.random_int(NUMBER_BITS)))
