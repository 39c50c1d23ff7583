"""The N2 connection of a UE: made by its first message, left for another, proved or not."""

from functions import ngap
from functions.draft import Draft
from functions.trees import Tree
from schemas.aggregates import ue_aggregate
from schemas.cloudevents import ConnectionLost, EventType, Identified
from schemas.identity import Tai, make_amf_ue_ngap_id, slot_of
from schemas.procedures import Procedure
from schemas.step import HandOff, encode
from schemas.ue import Connection
from schemas.ue_events import (
    ConnectionAbandoned,
    ConnectionEstablished,
    ConnectionReleased,
    HandedOver,
    RegistrationAborted,
)

COMMON_TIMERS = ("T3550", "T3560", "T3570")
"""The timers of what `abort` ends."""


class Origin:
    """Where an uplink message came from: the `source` of its event."""

    __slots__ = ("association", "gnb")

    def __init__(self, source: str) -> None:
        _, _, gnb, association = source.split("/", 3)
        self.gnb = gnb
        self.association = association


def source(gnb: str, association: str) -> str:
    """The `source` attribute of events of an association of a gNB."""
    return f"/n2/{gnb}/{association}"


def establish(
    d: Draft,
    origin: Origin,
    ran_ue_ngap_id: int,
    ies: Tree,
    sequence: int,
) -> None:
    """Take the connection that an INITIAL UE MESSAGE opens (TS 38.413 8.6.1).

    A procedure that ran on the connection before has lost its lower layer with it.
    """
    abort(d, "the UE has a new connection")
    leave(d, origin, ran_ue_ngap_id)
    location = ngap.location_of(ies)
    tai, cell = location or (Tai("", 0), 0)
    d.emit(
        ConnectionEstablished(
            Connection(
                gnb=origin.gnb,
                association=origin.association,
                ran_ue_ngap_id=ran_ue_ngap_id,
                amf_ue_ngap_id=_new_amf_ue_ngap_id(d),
                sequence=sequence,
                tai=tai,
                order=d.order,
                cell=cell,
                establishment_cause=ies.get("RRCEstablishmentCause", ""),
                context_requested="UEContextRequest" in ies,
            )
        )
    )


def _new_amf_ue_ngap_id(d: Draft) -> int:
    """An AMF-UE-NGAP-ID that no connection of the UE has; the index sees to those of others."""
    supi = d.ue.supi or (d.key if d.key.startswith("imsi-") else "")
    slot = slot_of(supi) if supi else d.slot
    made = make_amf_ue_ngap_id(slot, d.env.random_int(30))
    while find(d, made) is not None:
        made = make_amf_ue_ngap_id(slot, d.env.random_int(30))
    return made


def adopt(d: Draft, found: Identified) -> None:
    """Take a connection over from the aggregate that had it, its AMF-UE-NGAP-ID and all.

    A UE that is known, whose 5G-GUTI it came by, is told that the connection is not its own.
    """
    leave(d, Origin(source(found.gnb, found.association)), found.ran_ue_ngap_id)
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
                cell=found.cell,
                establishment_cause=found.establishment_cause,
                context_requested=found.context_requested,
                adopted=found.sequence,
            )
        )
    )
    before = d.source.removeprefix("/")
    if before.startswith(ue_aggregate("imsi-")) and before != ue_aggregate(d.ue.supi or d.key):
        lost = ConnectionLost(found.amf_ue_ngap_id, "the connection is another UE's")
        slot = slot_of(before.partition("/")[2])
        to = Procedure.CONTEXT_RELEASE
        d.hand_off(HandOff(EventType.CONNECTION_LOST, to, before, encode(lost), slot))


def leave(d: Draft, origin: Origin, ran_ue_ngap_id: int) -> None:
    """Step back from the connections there are, for a new one.

    One on which the UE has proved who it is, is kept until it has on the new one; one on which
    nobody has is released. What had the RAN-UE-NGAP-ID of the new one is gone: the gNB has
    forgotten it. So is one that was given to another aggregate, as far as this one goes.
    """
    if d.ue.connection is not None and d.ue.successor:
        released(d, d.ue.connection.amf_ue_ngap_id, f"handed over to {d.ue.successor}")
    for old in (d.ue.connection, *d.ue.stale):
        if old is not None and (old.gnb, old.association, old.ran_ue_ngap_id) == (
            origin.gnb,
            origin.association,
            ran_ue_ngap_id,
        ):
            reason = "the gNB uses its RAN-UE-NGAP-ID again"
            released(d, old.amf_ue_ngap_id, reason)
    here = d.ue.connection
    if here is not None:
        if not here.secured:
            d.release(ngap.RELEASED_BY_CORE)
        d.emit(ConnectionAbandoned(here.amf_ue_ngap_id))


def released(d: Draft, amf_ue_ngap_id: int, reason: str) -> None:
    """A connection is gone. If it was the UE's, the one before it is the UE's again."""
    if d.ue.successor and d.connection_is(amf_ue_ngap_id):
        d.emit(HandedOver(""))
    d.emit(ConnectionReleased(amf_ue_ngap_id, reason))
    if not releasing(d):
        d.stop_timer("ng-release")


def releasing(d: Draft) -> list[Connection]:
    """The connections whose UE CONTEXT RELEASE COMMAND has no answer yet."""
    return [c for c in (d.ue.connection, *d.ue.stale) if c is not None and c.releasing]


def proved(d: Draft) -> None:
    """Release the connections before this one: the UE has proved that it is here."""
    for old in d.ue.stale:
        d.release(ngap.RELEASED_BY_CORE, old)


def abort(d: Draft, reason: str) -> None:
    """End what the UE is about without an answer: registration, authentication and all."""
    for timer in COMMON_TIMERS:
        d.stop_timer(timer)
    if d.ue.registration or d.ue.challenge or d.ue.pending or d.ue.deregistering:
        d.emit(RegistrationAborted(reason))


def find(d: Draft, amf_ue_ngap_id: int) -> Connection | None:
    """The connection of an AMF-UE-NGAP-ID, the current one or one before it."""
    candidates = (d.ue.connection, *d.ue.stale)
    return next((c for c in candidates if c and c.amf_ue_ngap_id == amf_ue_ngap_id), None)
