"""The fold of the events of handovers."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from schemas.connection.state import Connection, Place
from schemas.mobility import events as e
from schemas.mobility.state import Handover
from schemas.ue.state import Ue, inactive_of


def place_of(connection: Connection) -> Place:
    """Return the RAN end of a connection."""
    return Place(
        connection.gnb,
        connection.association,
        connection.ran_ue_ngap_id,
        connection.sequence,
        connection.tai,
        connection.cell,
        connection.order,
    )


def _moved(connection: Connection, place: Place) -> Connection:
    return replace(
        connection,
        gnb=place.gnb,
        association=place.association,
        ran_ue_ngap_id=place.ran_ue_ngap_id,
        sequence=place.sequence,
        tai=place.tai,
        cell=place.cell,
        order=place.order,
        adopted=0,
        modifying="",
        asked={},
        unneeded=(),
        before=place_of(connection),
        inactive=None,
    )


def _triggered(ue: Ue, _: e.HandoverTriggered) -> Ue:
    if ue.connection is None or ue.handover is not None:
        return ue
    return replace(ue, handover=Handover("triggered", ue.connection.amf_ue_ngap_id))


def _not_delivered(ue: Ue, _: e.NasNotDelivered) -> Ue:
    if ue.handover is None:
        return ue
    return replace(ue, handover=replace(ue.handover, undelivered=True))


def _next_hop(ue: Ue, event: e.NextHopDerived) -> Ue:
    if ue.connection is None:
        return ue
    here = replace(ue.connection, nh=event.nh, ncc=event.ncc, rekeyed=False)
    return replace(ue, connection=here)


def _begun(ue: Ue, event: e.HandoverPrepared | e.PathSwitched, handover: Handover) -> Ue:
    undelivered = ue.handover is not None and ue.handover.undelivered
    begun = replace(
        handover, sessions=event.sessions, refused=event.refused, undelivered=undelivered
    )
    return replace(ue, handover=begun)


def _prepared(ue: Ue, event: e.HandoverPrepared) -> Ue:
    here = ue.connection
    if here is None:
        return ue
    ue = replace(ue, target=event.target)
    return _begun(ue, event, Handover("preparing", here.amf_ue_ngap_id))


def _admitted(ue: Ue, event: e.HandoverAdmitted) -> Ue:
    if ue.handover is None or ue.target is None:
        return ue
    target = replace(ue.target, ran_ue_ngap_id=event.ran_ue_ngap_id, order=event.order)
    handover = replace(ue.handover, stage="executing", sessions=event.sessions)
    return replace(ue, handover=handover, target=target)


def _target_uplink_processed(ue: Ue, event: e.TargetUplinkProcessed) -> Ue:
    def processed(found: Connection) -> Connection:
        if found.amf_ue_ngap_id != event.amf_ue_ngap_id:
            return found
        return replace(found, sequence=max(found.sequence, event.sequence))

    target = None if ue.target is None else processed(ue.target)
    return replace(ue, target=target, stale=tuple(map(processed, ue.stale)))


def _completed(ue: Ue, event: e.HandoverCompleted) -> Ue:
    source, target = ue.connection, ue.target
    if source is None or target is None:
        return ue
    here = replace(
        target,
        tai=event.tai,
        cell=event.cell,
        secured=source.secured,
        context="set-up",
        kgnb_count=source.kgnb_count,
        nh=source.nh,
        ncc=source.ncc,
        rekeyed=source.rekeyed,
        establishment_cause=source.establishment_cause,
    )
    return replace(ue, connection=here, target=None, handover=None, stale=(*ue.stale, source))


def _switched(ue: Ue, event: e.PathSwitched) -> Ue:
    here = ue.connection
    if here is None:
        return ue
    ue = replace(ue, connection=_moved(here, event.place))
    return _begun(ue, event, Handover("switching", here.amf_ue_ngap_id))


def _switch_failed(ue: Ue, _: e.PathSwitchFailed) -> Ue:
    here = ue.connection
    if here is None or here.before is None:
        return ue
    return replace(ue, connection=_moved(here, here.before))


def _ended(ue: Ue, _: e.HandoverEnded) -> Ue:
    """The PATH SWITCH REQUEST ACKNOWLEDGE has the assistance information for RRC INACTIVE."""
    here, ongoing = ue.connection, ue.handover
    if here is not None and ongoing is not None and ongoing.stage == "switching":
        ue = replace(ue, connection=replace(here, inactive=inactive_of(ue)))
    stale = ue.stale if ue.target is None else (*ue.stale, ue.target)
    return replace(without_target(ue), handover=None, stale=stale)


def without_target(ue: Ue) -> Ue:
    """Return the UE without the target of its handover.

    If the target started another chain of keys, the source gNB, where the UE stays, does not have
    it.
    """
    here, target, ongoing = ue.connection, ue.target, ue.handover
    begun = target is not None and target.rekeyed
    source = 0 if ongoing is None else ongoing.source
    if here is not None and begun and here.amf_ue_ngap_id == source:
        here = replace(here, rekeyed=True, nh=b"", ncc=0)
    return replace(ue, connection=here, target=None)


EVOLVE: Final[dict[type, Callable[[Ue, Any], Ue]]] = {
    e.HandoverTriggered: _triggered,
    e.NasNotDelivered: _not_delivered,
    e.NextHopDerived: _next_hop,
    e.HandoverPrepared: _prepared,
    e.HandoverAdmitted: _admitted,
    e.TargetUplinkProcessed: _target_uplink_processed,
    e.HandoverCompleted: _completed,
    e.PathSwitched: _switched,
    e.PathSwitchFailed: _switch_failed,
    e.HandoverEnded: _ended,
}
"""The folds of the events of handovers."""
