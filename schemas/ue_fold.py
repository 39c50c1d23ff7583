"""`evolve`: the state of a UE after one more event. Total and pure."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from schemas import beside, gmm_fold, handover_fold
from schemas import ue_events as e
from schemas.session import PduSession
from schemas.ue import Connection, Paging, Timer, Ue
from schemas.ue_events import UeEvent


def evolve(ue: Ue, event: UeEvent) -> Ue:
    """The state after `event`."""
    return _EVOLVE[type(event)](ue, event)


def fold(ue: Ue, events: Iterable[UeEvent]) -> Ue:
    """The state after all of `events`."""
    for event in events:
        ue = _EVOLVE[type(event)](ue, event)
    return ue


def _same(ue: Ue, _: object) -> Ue:
    return ue


def _connection_established(ue: Ue, event: e.ConnectionEstablished) -> Ue:
    return gmm_fold.connected(replace(ue, connection=event.connection))


def _uplink_taken(ue: Ue, event: e.UplinkTaken) -> Ue:
    changes: dict[str, Any] = {}
    if ue.connection is not None:
        here: dict[str, Any] = {"sequence": max(ue.connection.sequence, event.sequence)}
        if event.tai is not None:
            here["tai"] = event.tai
        if event.cell is not None:
            here["cell"] = event.cell
        if event.nas_count is not None:
            here["secured"] = True
            if not ue.connection.secured:
                here["kgnb_count"] = event.nas_count
        changes["connection"] = replace(ue.connection, **here)
    if event.nas_count is not None and ue.security is not None:
        changes["security"] = replace(ue.security, uplink=event.nas_count + 1)
    return replace(ue, **changes)


def _downlink_counted(ue: Ue, event: e.DownlinkCounted) -> Ue:
    moved = event.nas_count + 1
    if event.pending:
        return (
            ue if ue.pending is None else replace(ue, pending=replace(ue.pending, downlink=moved))
        )
    return ue if ue.security is None else replace(ue, security=replace(ue.security, downlink=moved))


def _on_connection(**changes: Any) -> Callable[[Ue, object], Ue]:
    def evolve_connection(ue: Ue, _: object) -> Ue:
        if ue.connection is None:
            return ue
        return replace(ue, connection=replace(ue.connection, **changes))

    return evolve_connection


def _context_requested(ue: Ue, event: e.ContextRequested) -> Ue:
    if ue.connection is None:
        return ue
    connection = replace(
        ue.connection,
        context="pending",
        kgnb_count=event.kgnb_count,
        nh=b"",
        ncc=0,
        rekeyed=False,
    )
    return replace(ue, connection=connection)


def _context_modifying(ue: Ue, event: e.ContextModifying) -> Ue:
    if ue.connection is None:
        return ue
    ambr = event.ambr or ue.connection.ambr
    modifying = "key" if event.key else "ambr"
    return replace(ue, connection=replace(ue.connection, ambr=ambr, modifying=modifying))


def _context_modified(ue: Ue, _: e.ContextModified) -> Ue:
    here = ue.connection
    if here is None:
        return ue
    changes: dict[str, Any] = {"modifying": ""}
    target = ue.target
    if here.modifying == "key":
        changes |= {"rekeyed": False, "nh": b"", "ncc": 0}
        target = None if target is None else replace(target, rekeyed=False)
    return replace(ue, connection=replace(here, **changes), target=target)


def _connection_releasing(ue: Ue, event: e.ConnectionReleasing) -> Ue:
    def mark(connection: Connection) -> Connection:
        if connection.amf_ue_ngap_id != event.amf_ue_ngap_id:
            return connection
        return replace(connection, releasing=event.cause)

    here = ue.connection
    return replace(
        ue,
        connection=None if here is None else mark(here),
        beside=tuple(replace(b, connection=mark(b.connection)) for b in ue.beside),
        stale=tuple(mark(connection) for connection in ue.stale),
        target=None if ue.target is None else mark(ue.target),
    )


def _connection_attended(ue: Ue, event: e.ConnectionAttended) -> Ue:
    return gmm_fold.connected(beside.attend(ue, event.amf_ue_ngap_id))


def _connection_abandoned(ue: Ue, event: e.ConnectionAbandoned) -> Ue:
    if ue.connection is None or ue.connection.amf_ue_ngap_id != event.amf_ue_ngap_id:
        return beside.forget(ue, event.amf_ue_ngap_id, keep=True)
    return replace(ue, connection=None, stale=(*ue.stale, ue.connection))


def _connection_released(ue: Ue, event: e.ConnectionReleased) -> Ue:
    gone = event.amf_ue_ngap_id
    if ue.target is not None and ue.target.amf_ue_ngap_id == gone:
        ue = handover_fold.without_target(ue)
    ue = beside.forget(ue, gone)
    here = ue.connection
    stale = tuple(c for c in ue.stale if c.amf_ue_ngap_id != gone)
    if here is None or here.amf_ue_ngap_id == gone:
        here = next((c for c in reversed(stale) if not c.releasing), None)
        stale = tuple(c for c in stale if c is not here)
    return replace(ue, connection=here, stale=stale)


def _radio_capability(ue: Ue, event: e.RadioCapabilityReported) -> Ue:
    return replace(ue, radio_capability=event.capability)


def _identified(ue: Ue, event: e.SubscriberIdentified) -> Ue:
    return replace(ue, supi=event.supi)


def _identity_requested(ue: Ue, _: e.IdentityRequested) -> Ue:
    if ue.registration is None:
        return ue
    return replace(ue, registration=replace(ue.registration, stage="identifying"))


def _handed_over(ue: Ue, event: e.HandedOver) -> Ue:
    return replace(ue, successor=event.to)


def _authentication_started(ue: Ue, event: e.AuthenticationStarted) -> Ue:
    registration = ue.registration
    if registration is not None:
        registration = replace(registration, stage="authenticating")
    return replace(ue, challenge=event.challenge, sqn=event.sqn, registration=registration)


def _authentication_over(ue: Ue, _: object) -> Ue:
    return replace(ue, challenge=None)


def _sqn(ue: Ue, event: e.SqnResynchronised) -> Ue:
    return replace(ue, sqn=event.sqn)


def _security_mode_started(ue: Ue, event: e.SecurityModeStarted) -> Ue:
    registration = ue.registration
    if registration is not None:
        registration = replace(registration, stage="securing")
    return replace(ue, pending=event.context, registration=registration)


def _security_mode_completed(ue: Ue, event: e.SecurityModeCompleted) -> Ue:
    if ue.pending is None:
        return ue
    connection = ue.connection
    if connection is not None:
        connection = replace(
            connection,
            secured=True,
            kgnb_count=event.uplink - 1,
            nh=b"",
            ncc=0,
            rekeyed=connection.context != "none",
            modifying="old-key" if connection.modifying == "key" else connection.modifying,
        )
    security = replace(ue.pending, uplink=event.uplink, eap_success=b"")
    return replace(ue, security=security, pending=None, connection=connection)


def _security_mode_rejected(ue: Ue, _: e.SecurityModeRejected) -> Ue:
    return replace(ue, pending=None)


def _security_deleted(ue: Ue, _: e.SecurityContextDeleted) -> Ue:
    return replace(ue, security=None)


def _pei(ue: Ue, event: e.PeiLearned) -> Ue:
    return replace(ue, pei=event.pei)


def _registration_started(ue: Ue, event: e.RegistrationStarted) -> Ue:
    return replace(ue, registration=event.registration)


def _request_completed(ue: Ue, event: e.RequestCompleted) -> Ue:
    if ue.registration is None:
        return ue
    return replace(ue, registration=replace(ue.registration, complete_request=event.request))


def _guti_allocated(ue: Ue, event: e.GutiAllocated) -> Ue:
    # Two re-allocations in a row without a confirmation: the UE has the oldest or the newest.
    kept = ue.old_tmsi if ue.tmsi_pending else ue.tmsi
    return replace(ue, tmsi=event.tmsi, old_tmsi=kept, tmsi_pending=True)


def _guti_confirmed(ue: Ue, _: e.GutiConfirmed) -> Ue:
    return gmm_fold.guti_known(replace(ue, tmsi_pending=False))


def _registration_accepted(ue: Ue, event: e.RegistrationAccepted) -> Ue:
    registration = ue.registration
    if registration is not None:
        registration = replace(registration, stage="accepted", accept=event.accept)
    return replace(
        ue,
        registered=True,
        registration=registration,
        update=None,
        emergency=event.emergency,
        allowed_nssai=event.allowed_nssai,
        registration_area=event.registration_area,
        t3512=event.t3512,
    )


def _registration_completed(ue: Ue, _: e.RegistrationCompleted) -> Ue:
    return replace(ue, registration=None)


def _registration_ended(ue: Ue, _: object) -> Ue:
    return replace(ue, registration=None, challenge=None, pending=None, deregistering=False)


def _deregistration_pending(ue: Ue, _: e.DeregistrationPending) -> Ue:
    return replace(ue, deregistering=True)


def _deregistered(ue: Ue, _: e.Deregistered) -> Ue:
    # What outlives a registration: the identities and the native security context.
    return replace(
        ue,
        registered=False,
        emergency=False,
        registration=None,
        challenge=None,
        pending=None,
        deregistering=False,
        allowed_nssai=(),
        registration_area=(),
        update=None,
        network_deregistration=None,
        timers=gmm_fold.unwatched(ue.timers),
    )


def _on_session(
    change: Callable[[PduSession, Any], PduSession],
) -> Callable[[Ue, Any], Ue]:
    """A fold that changes the session whose SEID the event has."""

    def evolve_session(ue: Ue, event: Any) -> Ue:
        sessions = tuple(change(s, event) if s.n4.seid == event.seid else s for s in ue.sessions)
        return replace(ue, sessions=sessions)

    return evolve_session


def _session_requested(ue: Ue, event: e.SessionRequested) -> Ue:
    return replace(ue, sessions=(*ue.sessions, event.session))


def _n4_sent(ue: Ue, event: e.N4Sent) -> Ue:
    def sent(session: PduSession, _: object) -> PduSession:
        return replace(session, n4=replace(session.n4, sent=event.request))

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
            if session.user_plane in ("off", "wanted") and not n4.allocates:
                uplink = None  # nobody sends there: the next one is another
        if n4.sent.message == "delete" or n4.sent.downlink is not None:
            reported = 0
    if event.up_seid:
        changes |= {"up_seid": event.up_seid, "since": n4.sent.at if n4.sent is not None else 0}
    return replace(session, n4=replace(n4, **changes), uplink=uplink, reported=reported)


def _n4_failed(session: PduSession, _: e.N4Failed) -> PduSession:
    return replace(session, n4=replace(session.n4, sent=None))


def _n4_lost(session: PduSession, _: e.N4Lost) -> PduSession:
    n4 = replace(session.n4, up_seid=0, since=0, downlink=None, ambr=None, sent=None)
    return replace(session, n4=n4, reported=0)


def _n4_replaced(session: PduSession, event: e.N4Replaced) -> PduSession:
    n4 = replace(session.n4, up_seid=event.up_seid, downlink=None, ambr=None, sent=None)
    return replace(session, n4=n4, reported=0)


def _user_plane_requested(session: PduSession, event: e.UserPlaneRequested) -> PduSession:
    return replace(session, user_plane="requested", amf_ue_ngap_id=event.amf_ue_ngap_id)


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


def _indication_taken(ue: Ue, event: e.IndicationTaken) -> Ue:
    return replace(ue, indication=event.indication)


def _indication_ended(ue: Ue, _: e.IndicationEnded) -> Ue:
    return replace(ue, indication=None)


def _session_modifying(session: PduSession, event: e.SessionModifying) -> PduSession:
    return replace(session, stage="modifying", ambr=event.ambr, pti=event.pti)


def _session_modified(session: PduSession, _: e.SessionModified) -> PduSession:
    return replace(session, stage="active") if session.stage == "modifying" else session


def _session_releasing(session: PduSession, event: e.SessionReleasing) -> PduSession:
    return replace(session, stage="releasing", pti=event.pti, release_cause=event.cause)


def _session_gone(session: PduSession, _: e.SessionGone) -> PduSession:
    return replace(session, stage="gone", user_plane="off", access=None, amf_ue_ngap_id=0)


def _session_ended(ue: Ue, event: e.SessionEnded) -> Ue:
    return replace(ue, sessions=tuple(s for s in ue.sessions if s.n4.seid != event.seid))


def _paging_started(ue: Ue, event: e.PagingStarted) -> Ue:
    return replace(ue, paging=Paging(event.seids))


def _paging_ended(ue: Ue, _: e.PagingEnded) -> Ue:
    return replace(ue, paging=None)


def _paging_failed(ue: Ue, _: e.PagingFailed) -> Ue:
    return ue if ue.paging is None else replace(ue, paging=replace(ue.paging, failed=True))


def _timer_started(ue: Ue, event: e.TimerStarted) -> Ue:
    timers = {**ue.timers, event.name: Timer(event.at, event.count)}
    return replace(ue, timers=timers)


def _timer_stopped(ue: Ue, event: e.TimerStopped) -> Ue:
    return replace(ue, timers={k: v for k, v in ue.timers.items() if k != event.name})


def _wake_scheduled(ue: Ue, event: e.WakeScheduled) -> Ue:
    """It is for the timer that was started with it, or is the next to end."""
    timer = next((name for name, timer in ue.timers.items() if timer.at == event.at), "")
    return replace(ue, wake_at=event.at, wake_for=timer)


_EVOLVE: dict[type, Callable[[Ue, Any], Ue]] = {
    e.ConnectionEstablished: _connection_established,
    e.UplinkTaken: _uplink_taken,
    e.DownlinkCounted: _downlink_counted,
    e.ContextRequested: _context_requested,
    e.ContextSetUp: _on_connection(context="set-up"),
    e.ContextSetupFailed: _on_connection(context="none"),
    e.ContextModifying: _context_modifying,
    e.ContextModified: _context_modified,
    e.ContextModificationFailed: _on_connection(modifying=""),
    e.ConnectionReleasing: _connection_releasing,
    e.ConnectionSetAside: lambda ue, _: beside.set_aside(ue),
    e.ConnectionAttended: _connection_attended,
    e.ConnectionAbandoned: _connection_abandoned,
    e.ConnectionReleased: _connection_released,
    e.RadioCapabilityReported: _radio_capability,
    e.SubscriberIdentified: _identified,
    e.IdentityRequested: _identity_requested,
    e.HandedOver: _handed_over,
    e.AuthenticationStarted: _authentication_started,
    e.AuthenticationSucceeded: _authentication_over,
    e.AuthenticationFailed: _authentication_over,
    e.SqnResynchronised: _sqn,
    e.SecurityModeStarted: _security_mode_started,
    e.SecurityModeCompleted: _security_mode_completed,
    e.SecurityModeRejected: _security_mode_rejected,
    e.SecurityContextDeleted: _security_deleted,
    e.PeiLearned: _pei,
    e.RegistrationStarted: _registration_started,
    e.RequestCompleted: _request_completed,
    e.GutiAllocated: _guti_allocated,
    e.GutiConfirmed: _guti_confirmed,
    e.RegistrationAccepted: _registration_accepted,
    e.RegistrationCompleted: _registration_completed,
    e.RegistrationRejected: _registration_ended,
    e.RegistrationAborted: _registration_ended,
    e.DeregistrationPending: _deregistration_pending,
    e.Deregistered: _deregistered,
    e.SessionRequested: _session_requested,
    e.N4Sent: _n4_sent,
    e.N4Answered: _on_session(_n4_answered),
    e.N4Failed: _on_session(_n4_failed),
    e.N4Lost: _on_session(_n4_lost),
    e.N4Replaced: _on_session(_n4_replaced),
    e.UserPlaneWanted: _on_session(lambda s, _: replace(s, user_plane="wanted")),
    e.UserPlaneRequested: _resources_requested,
    e.UserPlaneOn: _on_session(_user_plane_on),
    e.UserPlaneOff: _on_session(_user_plane_off),
    e.UserPlaneMoved: _on_session(_user_plane_moved),
    e.IndicationTaken: _indication_taken,
    e.IndicationEnded: _indication_ended,
    e.SecondaryRatUsed: _same,
    e.SessionModifying: _on_session(_session_modifying),
    e.SessionModified: _on_session(_session_modified),
    e.SessionReleasing: _on_session(_session_releasing),
    e.SessionGone: _on_session(_session_gone),
    e.SessionEnded: _session_ended,
    e.DownlinkReported: _on_session(lambda s, _: replace(s, reported=s.reported + 1)),
    e.PagingStarted: _paging_started,
    e.PagingEnded: _paging_ended,
    e.PagingFailed: _paging_failed,
    **gmm_fold.EVOLVE,
    **handover_fold.EVOLVE,
    e.TimerStarted: _timer_started,
    e.TimerStopped: _timer_stopped,
    e.WakeScheduled: _wake_scheduled,
    e.Noted: _same,
}
