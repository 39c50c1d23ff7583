"""The end of a registration: REGISTRATION ACCEPT or REJECT (TS 24.501 5.5.1.2.4, 5.5.1.2.5)."""

import wire
from functions.decision import connection, slices
from functions.decision.slices import Nssai
from functions.decision.ue_decision import UeDecision
from functions.gmm import admission, guti
from functions.gmm.deregistration import by_network
from functions.gsm import release, user_plane
from functions.messages import ngap
from functions.messages.nas import codec, gmm
from functions.messages.nas.gmm import EMERGENCY, UPDATES, kind_of
from functions.messages.trees import Tree, subtree
from schemas.causes import GmmCause
from schemas.connection.events import ContextRequested, RadioCapabilityReported
from schemas.gmm.events import (
    Deregistered,
    GutiAllocated,
    GutiConfirmed,
    RegistrationAccepted,
    RegistrationRejected,
)
from schemas.gmm.state import Registration
from schemas.network import TrackingArea
from schemas.subscriber import Subscriber


def conclude(d: UeDecision, registration: Registration, request: Tree, uplink_count: int) -> None:
    """Accept or reject the registration of a UE that has proved its identity.

    `request` is the whole REGISTRATION REQUEST. `uplink_count` is the NAS COUNT of the message that
    proved the identity, an input of K_gNB.
    """
    connection.proved(d)
    _confirm_guti(d, registration)
    subscriber, barred = d.env.subscriber, None
    if subscriber is None:
        reject(d, GmmCause.ILLEGAL_UE)
        return
    kind = kind_of(request)
    network, tai = d.env.network, d.connection.tai
    area = network.area(tai)
    if area is None:
        served = tai.plmn in network.plmns
        reject(d, GmmCause.TRACKING_AREA_NOT_ALLOWED if served else GmmCause.PLMN_NOT_ALLOWED)
        return
    if kind == EMERGENCY and not network.emergency:
        # The type of the whole request may differ from that of its cleartext IEs.
        reject(d, GmmCause.PROTOCOL_ERROR)
        return
    emergency = kind == EMERGENCY or (d.ue.emergency and kind in UPDATES)
    if not emergency:  # no restriction applies to them (5.5.1.2.4, 5.5.1.3.4)
        barred = admission.barred(subscriber, d.connection.tai)
    if barred is not None:
        reject(d, barred)
        return
    nssai = slices.allow(slices.requested_of(request), subscriber, area)
    if not nssai.allowed and emergency:
        nssai = nssai._replace(allowed=area.slices[:1])  # no slice need be subscribed
    if not nssai.allowed:
        reject(d, GmmCause.NO_NETWORK_SLICES, slices.rejected_nssai(nssai))
        return
    _forget_radio_capability(d, request)
    told = {**_result(d, emergency=emergency), **_sessions(d, request)}
    _accept(d, subscriber, area, nssai, uplink_count, told, emergency=emergency)


def _forget_radio_capability(d: UeDecision, request: Tree) -> None:
    """Forget the radio capability of a UE that reports a change of it (5.5.1.3.4): the gNB asks
    for it again."""
    if subtree(request, "5gs-update-type").get("ng-ran-rcu") and d.ue.radio_capability:
        d.emit(RadioCapabilityReported(b""))


def _result(d: UeDecision, *, emergency: bool) -> Tree:
    """Return the registration result and the network feature support (9.11.3.6, 9.11.3.5)."""
    result: Tree = {"result": "3gpp-access"}
    support: Tree = {"ims-vops-3gpp": False}
    if emergency:
        result["emergency-registered"] = True
    if d.env.network.emergency:
        support["emc"] = "nr-only"
    return {"5gs-registration-result": result, "5gs-network-feature-support": support}


def _sessions(d: UeDecision, request: Tree) -> Tree:
    """Return the IEs about PDU sessions.

    An initial registration ends all sessions (TS 23.502 4.2.2.2.2). An update keeps those that the
    UE has, and activates the user plane of some (5.5.1.3.4).
    """
    user_plane.lose(d)
    kind = kind_of(request)
    if kind not in UPDATES:
        by_network.abort(d, "an initial registration")
        for session in user_plane.live(d):
            release.forget(d, session, "an initial registration")
        return {}
    told: Tree = {}
    release.match_status(d, request.get("pdu-session-status"))
    asked = [int(psi) for psi in request.get("uplink-data-status", ())]
    user_plane.activate(d, asked)
    told["pdu-session-status"] = user_plane.established(d)
    if "uplink-data-status" in request:
        told["pdu-session-reactivation-result"] = user_plane.not_reactivated(d, asked)
    return told


def _confirm_guti(d: UeDecision, registration: Registration) -> None:
    """Confirm the new 5G-GUTI of a UE that uses it without a REGISTRATION COMPLETE (5.5.1.2.8 a
    1)."""
    used = wire.nas_peek(registration.request).guti
    if d.ue.tmsi_pending and used is not None and used[-1] == d.ue.tmsi:
        d.emit(GutiConfirmed())


def _accept(
    d: UeDecision,
    subscriber: Subscriber,
    area: TrackingArea,
    nssai: Nssai,
    uplink_count: int,
    told: Tree,
    *,
    emergency: bool,
) -> None:
    network = d.env.network
    tmsi = guti.new_tmsi(d)
    tais = slices.registration_area(network, subscriber, area.tai, nssai.allowed)
    message = {
        "message-type": "registration-accept",
        "5g-guti": guti.mobile_identity(d, 0),
        "tai-list": slices.tai_list(tais),
        "allowed-nssai": [gmm.s_nssai(s) for s in nssai.allowed],
        **slices.rejected_nssai(nssai),
        **told,
        "t3512-value": network.timers.t3512,
        "t3502-value": network.timers.t3502,
    }
    plain = codec.template(message).registration_accept(tmsi)
    d.emit(GutiAllocated(tmsi))
    t3512 = network.timers.t3512
    d.emit(RegistrationAccepted(plain, nssai.allowed, tais, emergency, t3512))
    wanted = user_plane.wanted(d)
    if d.connection.context == "none" and (wanted or d.connection.context_requested):
        d.emit(ContextRequested(uplink_count))
        user_plane.request_context(d, d.protect(plain), sessions=wanted)
        d.start_timer("T3550", network.timers.t3550)
    else:
        send_accept(d)


def send_accept(d: UeDecision, count: int = 0) -> None:
    """Send the REGISTRATION ACCEPT of the procedure in a message of its own, and start T3550.

    The first one goes in INITIAL CONTEXT SETUP REQUEST. A gNB that has that request must not get it
    again. A gNB that has not is asked again after REGISTRATION COMPLETE.
    """
    if d.ue.registration is None:
        return
    nas = d.protect(d.ue.registration.accept)
    d.send(ngap.downlink_nas_transport(d.connection, nas))
    d.start_timer("T3550", d.env.network.timers.t3550, count)


def reject(d: UeDecision, cause: GmmCause, more: Tree | None = None) -> None:
    """Send REGISTRATION REJECT and release the connection.

    It deregisters a UE that has proved its identity, unless the cause is congestion.
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
