"""Accept or reject a registration (TS 24.501 5.5.1.2.4, 5.5.1.2.5)."""

import wire
from functions.decision import connection, ran_parameters, slices
from functions.decision.slices import Nssai
from functions.decision.ue_decision import UeDecision
from functions.gmm import admission, configured_nssai, guti
from functions.gmm.deregistration import by_network
from functions.gsm import emergency as emergency_session
from functions.gsm import release, user_plane
from functions.messages import ngap
from functions.messages.nas import codec, gmm
from functions.messages.nas.gmm import EMERGENCY, PERIODIC, UPDATES, kind_of, sessions_of
from functions.messages.trees import Tree, subtree
from schemas.causes import GmmCause
from schemas.connection.events import RadioCapabilityReported
from schemas.gmm.events import (
    Deregistered,
    GutiAllocated,
    GutiConfirmed,
    RegistrationAccepted,
    RegistrationRejected,
)
from schemas.gmm.state import ConfiguredNssai, Registration
from schemas.identity import SNssai
from schemas.network import TrackingArea
from schemas.subscriber import Subscriber


def conclude(d: UeDecision, registration: Registration, request: Tree, uplink_count: int) -> None:
    """Accept or reject the registration of a UE that has proved its identity.

    `request` is the complete REGISTRATION REQUEST. `uplink_count` is the NAS COUNT of the message
    that proved the identity, an input of K_gNB.
    """
    connection.proved(d)
    _confirm_guti(d, registration)
    subscriber = d.env.subscriber
    network, tai = d.env.network, d.connection.tai
    causes = network.causes
    if subscriber is None:
        reject(d, causes.of_unknown_subscriber(tai.plmn))
        return
    kind = kind_of(request)
    area = network.area(tai)
    if area is None:
        served = tai.plmn in network.plmns
        known = causes.of_unknown_tracking_area if served else causes.of_unknown_plmn
        reject(d, known(tai.plmn))
        return
    services = network.emergency_services
    if kind == EMERGENCY and services is None:
        # The complete request may have another registration type than its cleartext IEs.
        reject(d, GmmCause.PROTOCOL_ERROR)
        return
    emergency = kind == EMERGENCY or (d.ue.emergency and kind in UPDATES)
    # An emergency registration has no restrictions (5.5.1.2.4, 5.5.1.3.4).
    barred = None if emergency else admission.barred(subscriber, tai)
    if barred is not None and kind in UPDATES and emergency_session.session_of(d) is not None:
        # The UE keeps its emergency PDU session, and is registered for nothing else (5.5.1.3.4).
        emergency_session.release_others(d)
        emergency, barred = True, None
    if barred is not None:
        reject(d, barred)
        return
    here = d.connection
    lacking = d.env.lacking_slices(area, here.gnb, here.association)
    nssai = slices.allow(network, _requested(d, request), subscriber, area, lacking)
    if emergency:
        chosen = area.slices[0] if services is None else services.nssai
        nssai = Nssai((chosen,), (), ())  # subscribed or not
    if not nssai.allowed:
        reject(d, GmmCause.NO_NETWORK_SLICES, slices.rejected_nssai(nssai))
        return
    _forget_radio_capability(d, request)
    drx = gmm.drx_of(request, d.ue.drx)
    result = _result_ies(d, area, emergency=emergency)
    ies = {**result, **_reconcile_sessions(d, request, nssai)}
    configured = None if emergency else configured_nssai.for_accept(d, request, nssai)
    ies |= configured_nssai.ies(d, configured)
    if gmm.REQUESTED_DRX in request:
        ies["negotiated-drx-parameters"] = gmm.drx_parameters(drx)
    _accept(d, subscriber, area, nssai, configured, uplink_count, ies, drx, emergency=emergency)


def _requested(d: UeDecision, request: Tree) -> tuple[SNssai, ...]:
    """Return the requested NSSAI. A periodic update has none and asks for no other slices
    (5.5.1.3.2)."""
    if kind_of(request) == PERIODIC and "requested-nssai" not in request:
        return d.ue.allowed_nssai
    return slices.requested_of(request)


def _forget_radio_capability(d: UeDecision, request: Tree) -> None:
    """Delete the radio capability if the UE reports a change (5.5.1.3.4), and at an initial
    registration (TS 23.501 5.4.4.1): the USIM may be in another device. The gNB then asks the UE
    again."""
    if not d.ue.radio_capability and d.ue.paging_capability is None:
        return
    changed = bool(subtree(request, "5gs-update-type").get("ng-ran-rcu"))
    if changed or kind_of(request) not in UPDATES:
        d.emit(RadioCapabilityReported(b""))


def _result_ies(d: UeDecision, area: TrackingArea, *, emergency: bool) -> Tree:
    """Return the 5GS registration result and network feature support (9.11.3.6, 9.11.3.5)."""
    result: Tree = {"result": "3gpp-access"}
    support: Tree = {"ims-vops-3gpp": area.ims_vops}
    if emergency:
        result["emergency-registered"] = True
    if d.env.network.emergency_services is not None:
        support["emc"] = "nr-only"
    return {"5gs-registration-result": result, "5gs-network-feature-support": support}


def _reconcile_sessions(d: UeDecision, request: Tree, nssai: Nssai) -> Tree:
    """Release or activate PDU sessions as the request asks. Return the IEs about the result.

    An initial registration releases all sessions (TS 23.502 4.2.2.2.2). An update keeps the
    sessions in allowed slices that the UE reports, and activates the user plane of the requested
    ones (5.5.1.3.4, TS 23.501 5.15.5.2.2).
    """
    user_plane.lose(d)
    kind = kind_of(request)
    if kind not in UPDATES:
        by_network.abort(d, "an initial registration")
        for session in user_plane.live(d):
            release.forget(d, session, "an initial registration")
        user_plane.release(d)  # before the accept
        return {}
    ies: Tree = {}
    release.match_slices(d, nssai.allowed)
    release.match_status(d, sessions_of(request, "pdu-session-status"))
    asked = sessions_of(request, "uplink-data-status") or []
    user_plane.activate(d, asked)
    ies["pdu-session-status"] = user_plane.established(d)
    if "uplink-data-status" in request:
        ies["pdu-session-reactivation-result"] = user_plane.not_reactivated(d, asked)
    return ies


def _confirm_guti(d: UeDecision, registration: Registration) -> None:
    """Confirm the new 5G-GUTI if the UE already uses it (5.5.1.2.8 a 1).

    The UE has then received the previous REGISTRATION ACCEPT, without a REGISTRATION COMPLETE.
    """
    unproved = registration.retransmit and not registration.complete_request
    if not d.ue.tmsi_pending or unproved:
        return
    used = wire.nas_peek(registration.complete_request or registration.request).guti
    if used is not None and used[-1] == d.ue.tmsi:
        d.emit(GutiConfirmed())


def _accept(
    d: UeDecision,
    subscriber: Subscriber,
    area: TrackingArea,
    nssai: Nssai,
    configured: ConfiguredNssai | None,
    uplink_count: int,
    ies: Tree,
    drx: int,
    *,
    emergency: bool,
) -> None:
    """Send REGISTRATION ACCEPT with the additional `ies`, and record the registration.

    `drx` is the UE specific DRX cycle in radio frames, 0 for none.

    If the gNB needs the UE context, the message goes in the INITIAL CONTEXT SETUP REQUEST.
    """
    network = d.env.network
    tmsi = guti.new_tmsi(d)
    tais = slices.registration_area(network, subscriber, area.tai, nssai)
    message = {
        "message-type": "registration-accept",
        "5g-guti": guti.mobile_identity(d, 0),
        **_equivalent_plmns(d),
        "tai-list": slices.tai_list(tais),
        "allowed-nssai": [gmm.s_nssai(s) for s in nssai.allowed],
        **slices.rejected_nssai(nssai),
        **ies,
        "t3512-value": network.timers.t3512,
        "t3502-value": network.timers.t3502,
    }
    plain = codec.template(message).registration_accept(tmsi)
    d.emit(GutiAllocated(tmsi))
    t3512 = network.timers.t3512
    d.emit(RegistrationAccepted(plain, nssai.allowed, tais, emergency, t3512, configured, drx))
    sessions = user_plane.wanted(d)
    if d.connection.context == "none" and (sessions or d.connection.context_requested):
        nas = d.protect(plain)
        user_plane.request_context(d, nas, sessions=sessions, kgnb_count=uplink_count)
        d.start_timer("T3550", network.timers.t3550)
    else:
        send_accept(d)


def _equivalent_plmns(d: UeDecision) -> Tree:
    """Return the equivalent PLMNs IE (9.11.3.45). The UE deletes its list if there is none."""
    plmns = d.env.network.equivalents(d.plmn)
    return {"equivalent-plmns": list(plmns)} if plmns else {}


def send_accept(d: UeDecision, count: int = 0) -> None:
    """Send the REGISTRATION ACCEPT in a DOWNLINK NAS TRANSPORT, and start T3550.

    A gNB that has the UE context gets the allowed NSSAI too, which may be a new one (TS 38.413
    8.6.2.2). A retransmission does not repeat the INITIAL CONTEXT SETUP REQUEST: the gNB gets it
    once.
    """
    if d.ue.registration is None:
        return
    nas = d.protect(d.ue.registration.accept)
    allowed = d.ue.allowed_nssai if d.connection.context != "none" else ()
    ran_parameters.send_nas(d, nas, allowed)
    d.start_timer("T3550", d.env.network.timers.t3550, count)


def reject(d: UeDecision, cause: GmmCause, more: Tree | None = None) -> None:
    """Send REGISTRATION REJECT with the IEs in `more`, and release the connection.

    If the UE has proved its identity and the cause is not congestion, deregister the UE.
    """
    for timer in connection.COMMON_TIMERS:
        d.stop_timer(timer)
    message = {"message-type": "registration-reject", "5gmm-cause": int(cause), **(more or {})}
    d.send_nas_best(message)
    d.emit(RegistrationRejected(cause.text))
    if d.connection.secured and d.ue.registered and cause != GmmCause.CONGESTION:
        connection.proved(d)
        d.emit(Deregistered(f"registration rejected: {cause.text}"))
    d.release(ngap.NAS_UNSPECIFIED)
