"""The N2 connections of a UE: established, parked, left, released.

The current connection is the last on which the UE proved its identity. It keeps its procedures and
its user plane until the UE proves its identity on another. Another sender that claims the identity
has a parked connection, with a registration and a challenge of its own. While a decision processes
a message of a parked connection, that connection is the current one.
"""

from typing import Final

from functions.decision.ue_decision import UeDecision
from functions.messages import ngap
from functions.messages.trees import Tree
from schemas.aggregates import ue_aggregate
from schemas.cloudevents import ConnectionLost, EventType, Identified
from schemas.connection import fold as connection_fold
from schemas.connection.events import (
    ConnectionAbandoned,
    ConnectionActivated,
    ConnectionEstablished,
    ConnectionParked,
    ConnectionReleased,
    ConnectionTransferred,
)
from schemas.connection.state import Connection, ParkedConnection
from schemas.gmm.events import RegistrationAborted
from schemas.identity import Tai, make_amf_ue_ngap_id, slot_of
from schemas.mobility.events import HandoverTriggered
from schemas.procedures import Procedure
from schemas.step import HandOff, encode
from schemas.ue.state import Ue, connections
from schemas.ue.states import BUSY, conditions

HANDOVER_TIMER = "handover"
"""The timer of each stage of a handover."""

COMMON_TIMERS = connection_fold.TIMERS
"""The timers of the procedures that `abort` ends."""

MAX_PARKED = 4
"""Number of parked connections. The oldest is dropped first.

To keep a UE from registering, an attacker has to open this many connections in the time of a
registration.
"""

MAX_RELEASING = 32
"""Number of connections that may wait for their release. The first is forgotten first."""


class Origin:
    """The association that an uplink message came on: the `source` of its event."""

    __slots__ = ("association", "gnb")

    def __init__(self, source: str) -> None:
        _, _, gnb, association = source.split("/", 3)
        self.gnb = gnb
        self.association = association


def source(gnb: str, association: str) -> str:
    """Return the `source` attribute of events of an association of a gNB."""
    return f"/n2/{gnb}/{association}"


def establish(
    d: UeDecision,
    origin: Origin,
    ran_ue_ngap_id: int,
    ies: Tree,
    sequence: int,
    *,
    proved: bool = False,
) -> None:
    """Establish the connection of an INITIAL UE MESSAGE (TS 38.413 8.6.1).

    `proved` is whether the message proves that this UE has sent it. The procedures of the
    connection before have then lost their lower layer.
    """
    leave(d, origin, ran_ue_ngap_id, proved=proved)
    location = ngap.location_of(ies)
    tai, cell = location or (Tai("", 0), 0)
    d.emit(
        ConnectionEstablished(
            Connection(
                gnb=origin.gnb,
                association=origin.association,
                ran_ue_ngap_id=ran_ue_ngap_id,
                amf_ue_ngap_id=new_amf_ue_ngap_id(d),
                sequence=sequence,
                tai=tai,
                order=d.order,
                position=d.position,
                cell=cell,
                establishment_cause=ies.get("RRCEstablishmentCause", ""),
                context_requested="UEContextRequest" in ies,
            )
        )
    )


def new_amf_ue_ngap_id(d: UeDecision) -> int:
    """Return an AMF-UE-NGAP-ID that no connection of the UE has, and none that it remembers had.

    The index excludes those of other UEs.
    """
    supi = d.ue.supi or (d.key if d.key.startswith("imsi-") else "")
    slot = slot_of(supi) if supi else d.slot
    made = make_amf_ue_ngap_id(slot, d.env.random_int(30))
    while find(d, made) is not None or made in d.ue.released:
        made = make_amf_ue_ngap_id(slot, d.env.random_int(30))
    return made


def adopt(d: UeDecision, found: Identified) -> None:
    """Take a connection over from another aggregate, with its AMF-UE-NGAP-ID.

    If the connection came by the 5G-GUTI of a known UE, that UE is told that it lost the
    connection.
    """
    origin = Origin(source(found.gnb, found.association))
    leave(d, origin, found.ran_ue_ngap_id, proved=False)
    d.emit(
        ConnectionEstablished(
            Connection(
                gnb=found.gnb,
                association=found.association,
                ran_ue_ngap_id=found.ran_ue_ngap_id,
                amf_ue_ngap_id=found.amf_ue_ngap_id,
                sequence=found.sequence,
                tai=found.tai,
                order=found.order,
                position=found.position,
                cell=found.cell,
                establishment_cause=found.establishment_cause,
                context_requested=found.context_requested,
                adopted=found.sequence,
            )
        )
    )
    before = d.source.removeprefix("/")
    if before.startswith(ue_aggregate("imsi-")) and before != ue_aggregate(d.ue.supi or d.key):
        lost = ConnectionLost(found.amf_ue_ngap_id, "the connection belongs to another UE")
        slot = slot_of(before.partition("/")[2])
        to = Procedure.AN_RELEASE
        d.hand_off(HandOff(EventType.CONNECTION_LOST, to, before, encode(lost), slot))


def leave(d: UeDecision, origin: Origin, ran_ue_ngap_id: int, *, proved: bool) -> None:
    """Leave the current connection for a new one.

    The current connection is parked until the new one is proved. It is then released at once if no
    UE proved its identity on it; otherwise it is kept until the UE is served on the new one. A
    connection with the same RAN-UE-NGAP-ID is released: the gNB has forgotten it. So is one that
    was transferred to another aggregate.
    """
    for old in connections(d.ue):
        if (old.gnb, old.association, old.ran_ue_ngap_id) == (
            origin.gnb,
            origin.association,
            ran_ue_ngap_id,
        ):
            if d.connection_is(old.amf_ue_ngap_id):
                abort(d, "the UE has a new connection")
            released(d, old.amf_ue_ngap_id, "the gNB reuses its RAN-UE-NGAP-ID")
    here = d.ue.connection
    if here is None:
        return
    if not proved and not here.releasing:
        d.emit(ConnectionParked(here.amf_ue_ngap_id))
        _bound(d)
        return
    abort(d, "the UE has a new connection")
    if d.ue.successor:
        released(d, here.amf_ue_ngap_id, f"transferred to {d.ue.successor}", unconfirmed=True)
        return
    for old in d.ue.stale:
        d.release(ngap.RELEASED_BY_CORE, old)  # one earlier connection is enough
    if not here.secured:
        d.release(ngap.RELEASED_BY_CORE)
    d.emit(ConnectionAbandoned(here.amf_ue_ngap_id))


def _bound(d: UeDecision) -> None:
    """Drop the oldest parked connections if there are too many with a new one."""
    unproved = [found for found in d.ue.parked if not found.connection.secured]
    for oldest in unproved[: max(0, len(unproved) + 1 - MAX_PARKED)]:
        drop(d, oldest)
    bound_releasing(d)


def bound_releasing(d: UeDecision) -> None:
    """Forget the first connections that wait for their release if there are too many."""
    waiting = [old for old in d.ue.stale if old.releasing]
    for old in waiting[: max(0, len(waiting) - MAX_RELEASING)]:
        reason = "too many connections wait for their release"
        released(d, old.amf_ue_ngap_id, reason, unconfirmed=True)


def drop(d: UeDecision, found: ParkedConnection) -> None:
    """Release a parked connection and end its procedures."""
    old = found.connection
    if found.successor:
        released(d, old.amf_ue_ngap_id, f"transferred to {found.successor}", unconfirmed=True)
    else:
        d.emit(ConnectionAbandoned(old.amf_ue_ngap_id))
        d.release(ngap.RELEASED_BY_CORE, old)


def activate(d: UeDecision, amf_ue_ngap_id: int | None) -> None:
    """Make a parked connection the current one."""
    if any(b.connection.amf_ue_ngap_id == amf_ue_ngap_id for b in d.ue.parked):
        d.emit(ConnectionActivated(amf_ue_ngap_id or 0))


def resume(d: UeDecision) -> None:
    """Return to the connection on which the UE proved its identity, at the end of a decision.

    If the UE has just proved its identity on the current one, the others are dropped.
    """
    if not d.ue.parked:
        return
    here = d.ue.connection
    secured = [found for found in d.ue.parked if found.connection.secured]
    if here is not None and here.secured and not here.releasing:
        for old in secured:
            drop(d, old)
    elif secured:
        activate(d, secured[-1].connection.amf_ue_ngap_id)


def released(d: UeDecision, amf_ue_ngap_id: int, reason: str, *, unconfirmed: bool = False) -> None:
    """Record that a connection is released; `unconfirmed` if the gNB may still have it.

    If it was the current one, the one before it is the current one again.
    """
    if d.ue.successor and d.connection_is(amf_ue_ngap_id):
        d.emit(ConnectionTransferred(""))
    d.emit(ConnectionReleased(amf_ue_ngap_id, reason, unconfirmed))
    if not releasing(d):
        d.stop_timer("ng-release")


def releasing(d: UeDecision) -> list[Connection]:
    """Return the connections that wait for UE CONTEXT RELEASE COMPLETE."""
    return [c for c in connections(d.ue) if c.releasing]


def proved(d: UeDecision) -> None:
    """Release all other connections: the UE has proved its identity on this one."""
    for found in d.ue.parked:
        drop(d, found)
    for old in d.ue.stale:
        d.release(ngap.RELEASED_BY_CORE, old)
    bound_releasing(d)


def abort(d: UeDecision, reason: str) -> None:
    """End the registration, the authentication and the security mode control, without an answer."""
    for timer in COMMON_TIMERS:
        d.stop_timer(timer)
    if busy(d.ue):
        d.emit(RegistrationAborted(reason))


def busy(ue: Ue) -> bool:
    """Whether the UE has a procedure that `abort` ends."""
    return conditions(ue) & _BUSY != 0


_BUSY: Final = BUSY.value


def find(d: UeDecision, amf_ue_ngap_id: int) -> Connection | None:
    """Return the connection of an AMF-UE-NGAP-ID, current or not, None if there is none."""
    return next((c for c in connections(d.ue) if c.amf_ue_ngap_id == amf_ue_ngap_id), None)


def handover_triggered(d: UeDecision) -> None:
    """Record that the gNB has refused a request because of a handover.

    It gets no requests until the handover has ended (TS 23.502 4.9.1.3.2).
    """
    if d.ue.handover is None and d.connection.context == "set-up":
        d.emit(HandoverTriggered())
        d.start_timer(HANDOVER_TIMER, d.env.network.timers.handover_execution)
