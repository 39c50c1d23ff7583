"""The deadline of an event: what is left of the timer of its UE, or its objective."""

import time
from typing import Final

from eventing.jetstream.deadline_queue import key_of, opens
from eventing.jetstream.delivery import Delivery, stored_at
from functions.runtime.cache import Cache
from schemas.aggregates import ue_aggregate
from schemas.config.objectives import Objectives
from schemas.identity import index_ngap
from schemas.procedures import Procedure
from schemas.ue.state import Ue
from statestore.contract import IndexKey

TIMER: Final = 15.0
"""Seconds that a UE waits for the end of a procedure (TS 24.501 table 10.2.1): T3510, T3517,
T3521."""
SESSION_TIMER: Final = 16.0
"""T3580, T3581 and T3582, in seconds (TS 24.501 table 10.3.1)."""

_INDEXES: Final = frozenset({"ngap", "tmsi", "seid"})


class Deadlines:
    """The deadlines of deliveries to one worker.

    A timer of a UE counts from the first message of its procedure. That time, and the slices of the
    UE, are in its state, and only a cached state is used. Leases route the events of a UE to one
    worker, so the state is cached after the first event.
    """

    def __init__(self, objectives: Objectives) -> None:
        self._objectives = objectives
        self.cache: Cache | None = None
        """The states of the worker, when it has started."""

    def __call__(self, delivery: Delivery) -> float:
        """Return the deadline of an event, in seconds since 1970."""
        stored = stored_at(delivery.reply)
        stored = time.time() if stored is None else stored
        ue = None if opens(delivery) and not self._objectives else self._ue(delivery)
        procedure = delivery.consumer.rpartition("-")[0]
        timer = SESSION_TIMER if procedure == Procedure.SESSION else TIMER
        deadline = (stored if ue is None else _begun(ue, key_of(delivery), stored)) + timer
        if not self._objectives:
            return deadline
        objective = self._objectives.of(procedure)
        if ue is not None and self._objectives.slices:
            objective = min(objective, self._objectives.of_ue(ue))
        return min(deadline, stored + objective)

    def _ue(self, delivery: Delivery) -> Ue | None:
        """Return the cached state of the UE of an event."""
        if self.cache is None:
            return None
        key = key_of(delivery)
        kind = key.partition("-")[0]
        if kind in _INDEXES:
            name = self.cache.owner(IndexKey(kind, key))
        else:
            name = ue_aggregate(key) if kind == "imsi" else key
        aggregate = self.cache.get(name) if name else None
        return aggregate.state if aggregate and isinstance(aggregate.state, Ue) else None


def _begun(ue: Ue, key: str, stored: float) -> float:
    """Return when the first message of the UE's procedure was stored, in seconds since 1970.

    Args:
        ue: the state of the UE.
        key: the partition key of the event: its connection, or its session at a UPF.
        stored: the time of storage of the event, if it is the first of its procedure.
    """
    here = [(one.connection, one.registration) for one in ue.parked]
    if ue.connection is not None:
        here.append((ue.connection, ue.registration))
    for connection, registration in here:
        if key == index_ngap(connection.amf_ue_ngap_id) and connection.position is not None:
            if registration is not None:
                return min(stored, connection.position.stored / 1000)
            break
    for session in ue.sessions:
        # The establishment request at the UPF is sent with the decision about the UE's request.
        sent = session.n4.sent
        if session.stage == "establishing":
            since = sent.at if sent is not None and sent.count == 0 else session.n4.since
            return min(stored, since / 1000) if since else stored
    return stored
