"""The fold of the events of PDU sessions."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from schemas.connection.fold import without
from schemas.connection.state import Connection
from schemas.gsm import events as e
from schemas.gsm.state import PduSession
from schemas.ue.state import Ue


def _on_session(
    change: Callable[[PduSession, Any], PduSession],
) -> Callable[[Ue, Any], Ue]:
    """Return a fold that changes the session with the event's SEID."""

    def evolve_session(ue: Ue, event: Any) -> Ue:
        sessions = tuple(change(s, event) if s.n4.seid == event.seid else s for s in ue.sessions)
        return replace(ue, sessions=sessions)

    return evolve_session


def _at_gnb(
    change: Callable[[Connection, Any], Connection],
) -> Callable[[Ue, Any], Ue]:
    """Return a fold that changes the connection of the event, current or stale."""

    def evolve_connection(ue: Ue, event: Any) -> Ue:
        here, of = ue.connection, event.amf_ue_ngap_id
        if here is not None and here.amf_ue_ngap_id == of:
            return replace(ue, connection=change(here, event))
        stale = tuple(change(c, event) if c.amf_ue_ngap_id == of else c for c in ue.stale)
        return replace(ue, stale=stale)

    return evolve_connection


def _resources_asked(here: Connection, event: e.ResourcesAsked) -> Connection:
    unneeded = () if event.kind == "release" else here.unneeded
    return replace(here, asked={**here.asked, event.kind: event.at}, unneeded=unneeded)


def _resources_answered(here: Connection, event: e.ResourcesAnswered) -> Connection:
    return replace(here, asked=without(here.asked, event.kind))


def _resources_unneeded(here: Connection, event: e.ResourcesUnneeded) -> Connection:
    return replace(here, unneeded=tuple(sorted({*here.unneeded, event.psi})))


def _session_unconfirmed(session: PduSession, _: e.SessionUnconfirmed) -> PduSession:
    return replace(session, stage="active") if session.stage == "establishing" else session


def _session_requested(ue: Ue, event: e.SessionRequested) -> Ue:
    return replace(ue, sessions=(*ue.sessions, event.session))


def _n4_sent(ue: Ue, event: e.N4Sent) -> Ue:
    def sent(session: PduSession, _: object) -> PduSession:
        incarnation = event.request.incarnation or session.n4.incarnation
        n4 = replace(session.n4, sent=event.request, incarnation=incarnation)
        return replace(session, n4=n4)

    ue = replace(ue, n4_requests=max(ue.n4_requests, event.request.number))
    return _on_session(sent)(ue, event)


def _n4_answered(session: PduSession, event: e.N4Answered) -> PduSession:
    n4 = session.n4
    changes: dict[str, Any] = {"sent": None}
    uplink, reported = event.uplink or session.uplink, session.reported
    if n4.sent is not None:
        changes |= {"downlink": n4.sent.downlink, "ambr": n4.sent.ambr}
        if n4.sent.message == "delete":
            changes["up_seid"] = 0
            if session.user_plane in ("off", "pending") and not n4.allocates:
                uplink = None  # no gNB sends to it: the UPF allocates another one
        if n4.sent.message == "delete" or n4.sent.downlink is not None:
            reported = 0
    if event.up_seid:
        since = n4.sent.at if n4.sent is not None else 0
        changes |= {"up_seid": event.up_seid, "since": since, "refused": 0}
    return replace(session, n4=replace(n4, **changes), uplink=uplink, reported=reported)


def _n4_failed(session: PduSession, _: e.N4Failed) -> PduSession:
    return replace(session, n4=replace(session.n4, sent=None))


def _n4_lost(session: PduSession, event: e.N4Lost) -> PduSession:
    n4 = replace(session.n4, up_seid=0, since=0, downlink=None, ambr=None, sent=None)
    n4 = replace(n4, incarnation=event.incarnation or n4.incarnation)
    return replace(session, n4=n4, reported=0)


def _uplink_replaced(session: PduSession, event: e.UplinkReplaced) -> PduSession:
    n4 = replace(session.n4, sent=None, refused=session.n4.refused + 1)
    return replace(session, n4=n4, uplink=event.uplink)


def _n4_replaced(session: PduSession, event: e.N4Replaced) -> PduSession:
    n4 = replace(session.n4, up_seid=event.up_seid, downlink=None, ambr=None, sent=None)
    return replace(session, n4=n4, reported=0)


def _user_plane_requested(session: PduSession, event: e.UserPlaneRequested) -> PduSession:
    accepted = session.accepted or session.stage == "establishing"
    return replace(
        session,
        user_plane="requested",
        amf_ue_ngap_id=event.amf_ue_ngap_id,
        accepted=accepted,
    )


def _resources_requested(ue: Ue, event: e.UserPlaneRequested) -> Ue:
    here = ue.connection
    told = event.ambr
    if here is not None and told and here.amf_ue_ngap_id == event.amf_ue_ngap_id:
        ue = replace(ue, connection=replace(here, ambr=told))
    return _on_session(_user_plane_requested)(ue, event)


def _user_plane_on(session: PduSession, event: e.UserPlaneOn) -> PduSession:
    stage = "active" if session.stage == "establishing" else session.stage
    return replace(session, user_plane="on", access=event.access, stage=stage)


def _user_plane_off(session: PduSession, _: e.UserPlaneOff) -> PduSession:
    return replace(session, user_plane="off", access=None, amf_ue_ngap_id=0)


def _user_plane_moved(session: PduSession, event: e.UserPlaneMoved) -> PduSession:
    return replace(session, access=event.access) if session.user_plane == "on" else session


def _indication_received(ue: Ue, event: e.IndicationReceived) -> Ue:
    return replace(ue, indication=event.indication)


def _indication_completed(ue: Ue, _: e.IndicationCompleted) -> Ue:
    return replace(ue, indication=None)


def _session_modifying(session: PduSession, event: e.SessionModifying) -> PduSession:
    return replace(session, stage="modifying", ambr=event.ambr, pti=event.pti)


def _session_modified(session: PduSession, _: e.SessionModified) -> PduSession:
    return replace(session, stage="active") if session.stage == "modifying" else session


def _session_releasing(session: PduSession, event: e.SessionReleasing) -> PduSession:
    return replace(session, stage="releasing", pti=event.pti, release_cause=event.cause)


def _session_released(session: PduSession, _: e.SessionReleased) -> PduSession:
    return replace(session, stage="released", user_plane="off", access=None, amf_ue_ngap_id=0)


def _session_deleted(ue: Ue, event: e.SessionDeleted) -> Ue:
    return replace(ue, sessions=tuple(s for s in ue.sessions if s.n4.seid != event.seid))


EVOLVE: Final[dict[type, Callable[[Ue, Any], Ue]]] = {
    e.SessionRequested: _session_requested,
    e.N4Sent: _n4_sent,
    e.N4Answered: _on_session(_n4_answered),
    e.N4Failed: _on_session(_n4_failed),
    e.N4Lost: _on_session(_n4_lost),
    e.N4Replaced: _on_session(_n4_replaced),
    e.UplinkReplaced: _on_session(_uplink_replaced),
    e.ResourcesAsked: _at_gnb(_resources_asked),
    e.ResourcesAnswered: _at_gnb(_resources_answered),
    e.ResourcesUnneeded: _at_gnb(_resources_unneeded),
    e.UserPlanePending: _on_session(lambda s, _: replace(s, user_plane="pending")),
    e.UserPlaneRequested: _resources_requested,
    e.UserPlaneOn: _on_session(_user_plane_on),
    e.UserPlaneOff: _on_session(_user_plane_off),
    e.UserPlaneMoved: _on_session(_user_plane_moved),
    e.IndicationReceived: _indication_received,
    e.IndicationCompleted: _indication_completed,
    e.SecondaryRatUsed: lambda ue, _: ue,
    e.SessionUnconfirmed: _on_session(_session_unconfirmed),
    e.SessionModifying: _on_session(_session_modifying),
    e.SessionModified: _on_session(_session_modified),
    e.SessionReleasing: _on_session(_session_releasing),
    e.SessionReleased: _on_session(_session_released),
    e.SessionDeleted: _session_deleted,
    e.DownlinkReported: _on_session(lambda s, _: replace(s, reported=s.reported + 1)),
}
"""The folds of these events, by their types."""
