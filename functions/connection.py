"""The N2 connection of a UE: made by its first message, left for another, proved or not."""

from functions import ngap
from functions.draft import Draft
from functions.trees import Tree
from schemas.cloudevents import Identified
from schemas.identity import Tai, make_amf_ue_ngap_id, slot_of
from schemas.ue import Connection
from schemas.ue_events import (
    ConnectionAbandoned,
    ConnectionEstablished,
    ConnectionReleased,
    ConnectionReleasing,
)


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
    """Take the connection that an INITIAL UE MESSAGE opens (TS 38.413 8.6.1)."""
    leave(d, origin, ran_ue_ngap_id)
    supi = d.ue.supi or (d.key if d.key.startswith("imsi-") else "")
    amf_ue_ngap_id = make_amf_ue_ngap_id(slot_of(supi) if supi else d.slot, d.env.random_int(30))
    location = ngap.location_of(ies)
    tai, cell = location or (Tai("", 0), 0)
    d.emit(
        ConnectionEstablished(
            Connection(
                gnb=origin.gnb,
                association=origin.association,
                ran_ue_ngap_id=ran_ue_ngap_id,
                amf_ue_ngap_id=amf_ue_ngap_id,
                sequence=sequence,
                tai=tai,
                cell=cell,
                establishment_cause=ies.get("RRCEstablishmentCause", ""),
                context_requested="UEContextRequest" in ies,
            )
        )
    )


def adopt(d: Draft, found: Identified) -> None:
    """Take a connection over from the aggregate of a UE unknown, its AMF-UE-NGAP-ID and all."""
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
                cell=found.cell,
                establishment_cause=found.establishment_cause,
                context_requested=found.context_requested,
                adopted=found.sequence,
            )
        )
    )


def leave(d: Draft, origin: Origin, ran_ue_ngap_id: int) -> None:
    """Step back from the connection there is, for a new one.

    It is kept until the UE has proved on the new one who it is, unless the gNB has given its
    RAN-UE-NGAP-ID to the new one and so has forgotten it.
    """
    old = d.ue.connection
    if old is None:
        return
    reused = (old.gnb, old.association, old.ran_ue_ngap_id) == (
        origin.gnb,
        origin.association,
        ran_ue_ngap_id,
    )
    if reused:
        d.emit(ConnectionReleased(old.amf_ue_ngap_id, "the gNB uses its RAN-UE-NGAP-ID again"))
    else:
        d.emit(ConnectionAbandoned(old.amf_ue_ngap_id))


def proved(d: Draft) -> None:
    """Release the connections before this one: the UE has proved that it is here."""
    for old in d.ue.stale:
        if old.releasing:
            continue
        d.send(ngap.ue_context_release_command(old, ngap.RELEASED_BY_CORE), old)
        cause = ngap.cause_text(ngap.RELEASED_BY_CORE)
        d.emit(ConnectionReleasing(old.amf_ue_ngap_id, cause))
        d.start_timer("ng-release", d.env.network.timers.ng_release)


def find(d: Draft, amf_ue_ngap_id: int) -> Connection | None:
    """The connection of an AMF-UE-NGAP-ID, the current one or one before it."""
    candidates = (d.ue.connection, *d.ue.stale)
    return next((c for c in candidates if c and c.amf_ue_ngap_id == amf_ue_ngap_id), None)
