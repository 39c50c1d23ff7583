"""The service request procedure (TS 24.501 5.6.1, TS 23.502 4.2.3.2)."""

from typing import Final

import wire
from functions.decision import connection, ran_parameters
from functions.decision.collisions import Start, Verdict, check, reasons
from functions.decision.inputs import Input, NasReceived
from functions.decision.ue_decision import UeDecision
from functions.gmm import admission, configuration_update
from functions.gsm import emergency, release, user_plane
from functions.messages import ngap
from functions.messages.nas import codec
from functions.messages.nas.gmm import sessions_of
from functions.messages.trees import Tree
from schemas.causes import GmmCause
from schemas.gmm.events import ConfigurationUpdateStopped, Deregistered, GutiConfirmed, PagingEnded
from schemas.ue.states import Condition

FALLBACK: Final = "emergency-services-fallback"
EMERGENCY: Final = ("emergency-services", FALLBACK)
TERMINATED: Final = "mobile-terminated-services"
"""Service types (9.11.3.50)."""

ENDS_REGISTRATION: Final = frozenset(
    {
        GmmCause.ILLEGAL_UE,
        GmmCause.SERVICES_NOT_ALLOWED,
        GmmCause.IDENTITY_CANNOT_BE_DERIVED,
        GmmCause.PLMN_NOT_ALLOWED,
        GmmCause.TRACKING_AREA_NOT_ALLOWED,
        GmmCause.ROAMING_NOT_ALLOWED,
        GmmCause.NO_SUITABLE_CELLS,
        GmmCause.N1_MODE_NOT_ALLOWED,
    }
)
"""Causes after which the UE is deregistered (5.6.1.5)."""


def decide(d: UeDecision, received: Input) -> None:
    """Decide about a SERVICE REQUEST with a valid MAC."""
    match received:
        case NasReceived(nas, tree, initial):
            _request(d, wire.nas_peek(nas.plain), tree, initial=initial)
        case _:
            d.note(f"nothing to do for {received!r}")


def _request(d: UeDecision, peek: wire.NasPeek, tree: Tree, *, initial: bool) -> None:
    connection.proved(d)
    user_plane.lose(d)
    if d.ue.tmsi_pending and peek.s_tmsi is not None and peek.s_tmsi[2] == d.ue.tmsi:
        d.emit(GutiConfirmed())  # it has received the 5G-GUTI (5.5.1.2.8 c)
    if reasons(d, Start.SERVICE_REQUEST, Verdict.ABORT) & _ABORTED:
        # 5.5.1.2.8: the UE has ended the registration. 5.4.2.7 c: security mode control is aborted.
        connection.abort(d, "a SERVICE REQUEST")
    verdict = check(d, Start.SERVICE_REQUEST)
    if verdict is Verdict.REJECT:
        _reject(d, GmmCause.IMPLICITLY_DEREGISTERED, tree, initial=initial)
        return
    terminated = d.ue.paging is not None or tree.get("service-type") == TERMINATED
    paged = _paged(d)
    if verdict is Verdict.IGNORE:
        d.note("a SERVICE REQUEST while the UE is being deregistered")  # 5.5.2.3.5 f
        return
    back_off = admission.back_off(d) if initial and not terminated and _can_wait(tree) else None
    if back_off is not None:
        _reject(d, GmmCause.CONGESTION, tree, initial=True, more=back_off)
        d.env.rejected = False  # it shows load, and no fault of this version
        return
    cause = _refused(d, tree)
    if cause is not None:
        _reject(d, cause, tree, initial=initial)
        return
    release.match_status(d, sessions_of(tree, "pdu-session-status"))
    asked = sessions_of(tree, "uplink-data-status") or []
    if not initial and _is_in_vain(d, asked):
        d.note("the gNB does not respond")
        d.release(ngap.RELEASED_BY_CORE)
        return
    user_plane.activate(d, [*asked, *paged])
    if initial and terminated:
        configuration_update.paged(d)
    _accept(d, tree, asked)
    if tree.get("ue-request-type") == "nas-signalling-connection-release":
        _let_go(d)


_ABORTED: Final = (
    Condition.REGISTRATION | Condition.SECURITY_MODE_CONTROL | Condition.DEREGISTRATION_BY_UE
).value


def _refused(d: UeDecision, tree: Tree) -> GmmCause | None:
    """Return the cause to reject a registered UE (5.6.1.5), None for none.

    A service request for emergency services is like any other. No UE is told to fall back to
    another network for them. A UE with an emergency PDU session is served without restrictions.
    """
    here = d.connection.tai
    area = d.env.network.area(here)
    subscriber = d.env.subscriber
    if tree.get("service-type") == FALLBACK:
        return GmmCause.PROTOCOL_ERROR
    if subscriber is None:
        return d.env.network.causes.of_removed_subscriber(here.plmn)
    barred = admission.barred(subscriber, here)
    if barred is not None and not (d.ue.emergency or emergency.session_of(d)):
        return barred
    if area is None or here not in d.ue.registration_area:
        # #9 makes the UE register at once in its new tracking area.
        return GmmCause.IDENTITY_CANNOT_BE_DERIVED
    return None


def _is_in_vain(d: UeDecision, asked: list[int]) -> bool:
    """Whether the UE asks again for resources that its gNB was asked for long ago. Only the release
    of the connection goes before what the gNB has not answered."""
    waits = any(
        s.id in asked and s.user_plane in ("pending", "requested") for s in user_plane.live(d)
    )
    return waits and user_plane.is_overdue(d)


def _paged(d: UeDecision) -> list[int]:
    """End the paging. Return the sessions that the UE was paged for."""
    paging = d.ue.paging
    if paging is None:
        return []
    d.stop_timer("T3513")
    d.emit(PagingEnded("the UE answered"))
    return [s.id for s in user_plane.live(d) if s.n4.seid in paging.seids]


def _accept(d: UeDecision, request: Tree, asked: list[int]) -> None:
    """Send SERVICE ACCEPT, with the resources of the sessions that need them.

    The allowed PDU session status has no effect: no session uses another access.
    """
    accept: Tree = {
        "message-type": "service-accept",
        # Always sent: the network may have released sessions in CM-IDLE (TS 23.502 4.3.4.2).
        "pdu-session-status": user_plane.established(d),
    }
    if "uplink-data-status" in request:
        accept["pdu-session-reactivation-result"] = user_plane.not_reactivated(d, asked)
    nas = d.protect(codec.encode(accept))
    sessions = user_plane.wanted(d)
    here = d.connection
    if here.context == "none" and (sessions or here.context_requested):
        user_plane.request_context(d, nas, sessions=sessions)
    else:
        ran_parameters.send_nas(d, nas)


def _let_go(d: UeDecision) -> None:
    """Release the connection on request of the UE (5.6.1.4.1, case o).

    It stops a configuration update (5.4.4.6 e).
    """
    if d.ue.update is not None and d.ue.update.command:
        d.emit(ConfigurationUpdateStopped("the UE requests the release of its connection"))
    d.release(ngap.NORMAL_RELEASE)


def _can_wait(request: Tree) -> bool:
    """Whether a request may be rejected during congestion (5.3.9)."""
    return request.get("service-type") not in (*EMERGENCY, "high-priority-access")


def _reject(
    d: UeDecision, cause: GmmCause, request: Tree, *, initial: bool, more: Tree | None = None
) -> None:
    """Send SERVICE REJECT (5.6.1.5).

    The connection is released, unless the UE had it before and stays registered.
    """
    ends = cause in ENDS_REGISTRATION
    message: Tree = {"message-type": "service-reject", "5gmm-cause": int(cause), **(more or {})}
    if "pdu-session-status" in request:
        stay = user_plane.established(d) if d.ue.registered and not ends else []
        message["pdu-session-status"] = stay
    d.send_nas_best(message)
    if ends and d.ue.registered:
        d.emit(Deregistered(f"service rejected: {cause.text}"))
    if initial or ends or not d.ue.registered:
        d.release(ngap.NAS_UNSPECIFIED)
