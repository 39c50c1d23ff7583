"""The path switch after a handover by Xn (TS 23.502 4.9.1.2.2, TS 38.413 8.4.4).

The request moves the connection to the other gNB, with the same AMF-UE-NGAP-ID. The gNB gets the
answer once the UPFs have the new tunnels, which `functions.ue.reconcile` asks them for.
"""

from msgspec.structs import replace

from functions.decision import connection, protocol_errors
from functions.decision.collisions import Start, Verdict, reasons
from functions.decision.connection import Origin
from functions.decision.ue_decision import UeDecision
from functions.gsm import n4, release, user_plane, user_plane_security
from functions.messages import ngap
from functions.messages.ngap import Cause
from functions.messages.ngap import handover as messages
from functions.messages.ngap.handover import Admitted
from functions.messages.trees import Tree
from functions.mobility import end
from functions.mobility.keys import may_go, next_hop
from functions.mobility.target import area_of
from schemas.connection.events import ContextSetUp
from schemas.connection.state import Place
from schemas.gsm.events import UserPlaneOff, UserPlaneOn, UserPlanePending
from schemas.gsm.state import PduSession, UpSecurity
from schemas.identity import Tai
from schemas.mobility.events import NasNotDelivered, PathSwitched, PathSwitchFailed
from schemas.mobility.state import Moving
from schemas.ue.state import inactive_of


def requested(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Process PATH SWITCH REQUEST."""
    here = d.ue.connection
    before = (here.tai, here.cell) if here is not None else (Tai("", 0), 0)
    tai, cell = ngap.location_of(ies) or before
    asked = messages.switched(ies)
    refusal = _refusal(d, amf_ue_ngap_id, tai, asked)
    origin = Origin(d.source)
    if refusal is not None:
        d.note(f"PATH SWITCH REQUEST: {ngap.cause_text(refusal)}")
        failure = messages.path_switch_refused(ies, refusal)
        if failure is not None:
            protocol_errors.send_to(d, origin, failure)
        return
    along = {a.psi: s for a in asked if (s := _switchable(d, a)) is not None}
    place = Place(origin.gnb, origin.association, ies["RAN-UE-NGAP-ID"], 0, tai, cell, d.order)
    undelivered = d.ue.handover is not None and d.ue.handover.undelivered
    _instead(d, place)
    if d.connection.context == "pending":
        d.emit(ContextSetUp())  # the response of the previous gNB has not come yet
    sessions = tuple(_moving(d, along[a.psi], a) for a in asked if a.psi in along)
    left = tuple(a.psi for a in asked if a.psi not in along)
    d.emit(PathSwitched(place, sessions, left))
    if undelivered:
        d.emit(NasNotDelivered())
    _check_capability(d, ies)
    for moving in sessions:
        if moving.access is not None:
            d.emit(UserPlaneOn(moving.seid, moving.access))
    why = messages.failures(ies)
    insecure: list[PduSession] = []
    for session in user_plane.live(d):
        if session.id not in along and session.user_plane in ("on", "requested"):
            cause = why.get(session.id)
            reason = ngap.cause_text(cause) if cause else "not switched by the gNB"
            _left(d, session, reason)
            if user_plane_security.refused(reason) is not None:
                insecure.append(session)
    release.insecure(d, insecure)
    d.start_timer(connection.HANDOVER_TIMER, d.env.network.timers.handover_preparation)


def _refusal(d: UeDecision, amf_ue_ngap_id: int, tai: Tai, asked: list[Admitted]) -> Cause | None:
    """Return the reason that the UE cannot move to the gNB, None if it can."""
    if connection.find(d, amf_ue_ngap_id) is None:
        return ngap.UNKNOWN_LOCAL_ID
    if not d.connection_is(amf_ue_ngap_id) or not may_go(d, Start.XN_HANDOVER):
        return ngap.WRONG_STATE
    if area_of(d, tai) is None:
        return messages.NOT_ALLOWED
    if len({a.psi for a in asked}) < len(asked):
        return messages.SAME_SESSION_TWICE
    if all(_switchable(d, a) is None for a in asked):
        return messages.UNKNOWN_SESSION
    return None


def _switchable(d: UeDecision, asked: Admitted) -> PduSession | None:
    """Return the session that the gNB has taken over, None if no gNB had resources for it."""
    session = user_plane.by_id(d, asked.psi)
    if session is None or asked.access is None or not session.n4.up_seid:
        return None
    here = session.stage != "releasing" and session.user_plane in ("on", "requested")
    return session if here else None


def _instead(d: UeDecision, place: Place) -> None:
    """End another handover, which this one replaces."""
    ongoing = d.ue.handover
    if ongoing is None or not reasons(d, Start.XN_HANDOVER, Verdict.ABORT):
        return
    here = d.connection
    same = (here.gnb, here.association, here.ran_ue_ngap_id) == (
        place.gnb,
        place.association,
        place.ran_ue_ngap_id,
    )
    if ongoing.stage == "switching" and not same:
        named = [*(moving.psi for moving in ongoing.sessions), *ongoing.refused]
        _send_failure(d, dict.fromkeys(named, messages.FAILED_IN_TARGET))
    end.end(d, "the UE is at another gNB by Xn", messages.CANCELLED)


def _check_capability(d: UeDecision, ies: Tree) -> None:
    """Note UE security capabilities that differ from those of the UE, which win (TS 33.501
    6.7.3.1)."""
    security = d.ue.security
    told = ies.get("UESecurityCapabilities")
    if security is None or told is None:
        return
    stored = ngap.security_capabilities(security.capability)
    if any(told.get(name) != value for name, value in stored.items()):
        d.note("the UE security capabilities of the gNB differ from those of the UE")


def _moving(d: UeDecision, session: PduSession, asked: Admitted) -> Moving:
    """Return a session that the gNB has taken over. If the gNB has another user plane security
    policy, note it: the policy of the session wins (TS 33.501 6.6.1)."""
    differs = user_plane_security.differs(session, asked.transfer)
    if differs:
        d.note(f"the gNB has another user plane security policy of the PDU session {session.id}")
    return Moving(session.n4.seid, session.id, asked.access, differs)


def _left(d: UeDecision, session: PduSession, reason: str) -> None:
    """Record that the gNB has not taken a session over. A session that waited for resources
    still needs them."""
    d.emit(UserPlaneOff(session.n4.seid, reason))
    if session.user_plane == "requested":
        d.emit(UserPlanePending(session.n4.seid))


def reconcile(d: UeDecision) -> None:
    """Answer the gNB once no session waits for its UPF."""
    ongoing = d.ue.handover
    if ongoing is None or ongoing.stage != "switching":
        return
    if not any(_waits(n4.find(d, moving.seid), moving) for moving in ongoing.sessions):
        conclude(d)


def _waits(session: PduSession | None, moving: Moving) -> bool:
    """Whether a UPF does not have the new tunnel yet."""
    return _has(session, moving) and session is not None and not _at_upf(session, moving)


def _has(session: PduSession | None, moving: Moving) -> bool:
    return (
        session is not None
        and session.stage not in ("releasing", "released")
        and session.user_plane == "on"
        and session.access == moving.access
    )


def _at_upf(session: PduSession, moving: Moving) -> bool:
    return bool(session.n4.up_seid) and session.n4.downlink == moving.access


def conclude(d: UeDecision) -> None:
    """Send PATH SWITCH REQUEST ACKNOWLEDGE for the sessions that have switched, FAILURE if none
    has.

    A session that was released after the request counts as switched: its resources are released
    after the acknowledge, and the UE stays connected if it has no other session.
    """
    ongoing, security = d.ue.handover, d.ue.security
    if ongoing is None:
        return
    ended = d.connection.unneeded
    done: dict[int, UpSecurity | None] = {}
    released: dict[int, Cause] = dict.fromkeys(ongoing.refused, messages.UNKNOWN_SESSION)
    for moving in ongoing.sessions:
        session = n4.find(d, moving.seid)
        switched = session is not None and _has(session, moving) and _at_upf(session, moving)
        if switched or moving.psi in ended:
            done[moving.psi] = session.security if session is not None and moving.policy else None
            continue
        released[moving.psi] = messages.FAILED_IN_TARGET
        if session is not None and _has(session, moving):
            d.emit(UserPlaneOff(moving.seid, "its UPF did not switch the path"))
    if not done or security is None or not may_go(d, Start.XN_HANDOVER):
        released |= dict.fromkeys(done, messages.FAILED_IN_TARGET)
        _fail(d, released)
        return
    hop = next_hop(d)
    d.send(
        messages.path_switch_request_acknowledge(
            replace(d.connection, inactive=inactive_of(d.ue)),
            security.capability,
            hop,
            done,
            released,
            d.ue.allowed_nssai,
        )
    )
    end.end(d, "the path is switched", messages.SUCCESSFUL)
    user_plane.release(d)
    user_plane.request(d)


def _fail(d: UeDecision, released: dict[int, Cause]) -> None:
    """Release the UE from a gNB that cannot serve it. The UE has to connect again."""
    _send_failure(d, released)
    d.emit(PathSwitchFailed())
    for session in user_plane.live(d):
        if session.user_plane in ("on", "requested"):
            d.emit(UserPlaneOff(session.n4.seid, "the path was not switched"))
    end.end(d, "no session could be switched", messages.FAILED_IN_TARGET)
    d.release(messages.FAILED_IN_TARGET)


def _send_failure(d: UeDecision, released: dict[int, Cause]) -> None:
    here = d.connection
    ids = here.amf_ue_ngap_id, here.ran_ue_ngap_id
    d.send(messages.path_switch_request_failure(*ids, released))
