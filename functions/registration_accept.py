"""The end of a registration: REGISTRATION ACCEPT or REJECT (TS 24.501 5.5.1.2.4, 5.5.1.2.5)."""

import wire
from functions import connection, ngap, session_release, slices, user_plane
from functions.draft import Draft
from functions.slices import Nssai
from functions.trees import Tree, subtree
from schemas.causes import GmmCause
from schemas.identity import Guti, Tai, make_tmsi_plaintext, slot_of
from schemas.network import TrackingArea
from schemas.subscriber import Subscriber
from schemas.ue import Registration
from schemas.ue_events import (
    ContextRequested,
    Deregistered,
    GutiAllocated,
    GutiConfirmed,
    RegistrationAccepted,
    RegistrationRejected,
)


def conclude(d: Draft, registration: Registration, uplink_count: int) -> None:
    """Accept or reject the registration of a UE that has proved who it is.

    `uplink_count` is the NAS COUNT of the message that proved it: K_gNB's input.
    """
    connection.proved(d)
    _confirm_guti(d, registration)
    subscriber = d.env.subscriber
    if subscriber is None:
        reject(d, GmmCause.ILLEGAL_UE)
        return
    request = wire.nas_decode(registration.complete_request or registration.request)
    network, tai = d.env.network, d.connection.tai
    area = network.area(tai)
    if area is None:
        served = tai.plmn in network.plmns
        reject(d, GmmCause.TRACKING_AREA_NOT_ALLOWED if served else GmmCause.PLMN_NOT_ALLOWED)
        return
    barred = _barred(subscriber, d.connection.tai)
    if barred is not None:
        reject(d, barred)
        return
    nssai = slices.allow(slices.requested_of(request), subscriber, area)
    if not nssai.allowed:
        reject(d, GmmCause.NO_NETWORK_SLICES, _rejected(nssai))
        return
    _accept(d, subscriber, area, nssai, uplink_count, _sessions(d, request))


def _sessions(d: Draft, request: Tree) -> Tree:
    """What the UE is told of its PDU sessions.

    An initial registration ends them (TS 23.502 4.2.2.2.2); an update keeps those that the UE
    has, and brings the user plane of some up (5.5.1.3.4).
    """
    user_plane.lose(d)
    kind = subtree(request, "5gs-registration-type").get("registration-type")
    if kind not in _UPDATES:
        for session in user_plane.live(d):
            session_release.forget(d, session, "an initial registration")
        return {}
    told: Tree = {}
    session_release.reconcile(d, request.get("pdu-session-status"))
    asked = [int(psi) for psi in request.get("uplink-data-status", ())]
    user_plane.want(d, asked)
    told["pdu-session-status"] = user_plane.established(d)
    if "uplink-data-status" in request:
        told["pdu-session-reactivation-result"] = user_plane.not_reactivated(d, asked)
    return told


_UPDATES = ("mobility-registration-updating", "periodic-registration-updating")


def _confirm_guti(d: Draft, registration: Registration) -> None:
    """5.5.1.2.8 a) 1): a UE that uses its new 5G-GUTI has it, though it never said so."""
    guti = wire.nas_peek(registration.request).guti
    if d.ue.tmsi_pending and guti is not None and guti[-1] == d.ue.tmsi:
        d.emit(GutiConfirmed())


def _barred(subscriber: Subscriber, tai: Tai) -> GmmCause | None:
    if subscriber.barred:
        return GmmCause.SERVICES_NOT_ALLOWED
    if not subscriber.nr_allowed:
        return GmmCause.N1_MODE_NOT_ALLOWED
    if tai.tac in subscriber.forbidden_tacs:
        return GmmCause.TRACKING_AREA_NOT_ALLOWED
    return None


def _accept(
    d: Draft,
    subscriber: Subscriber,
    area: TrackingArea,
    nssai: Nssai,
    uplink_count: int,
    sessions: Tree,
) -> None:
    network = d.env.network
    tmsi = _new_tmsi(d)
    tais = slices.registration_area(network, subscriber, area.tai, nssai.allowed)
    message = {
        "message-type": "registration-accept",
        "5gs-registration-result": {"result": "3gpp-access"},
        "5g-guti": {"guti": _guti_tree(Guti(network.guami, tmsi))},
        "tai-list": slices.tai_list(tais),
        "allowed-nssai": [slices.nas_s_nssai(s) for s in nssai.allowed],
        **_rejected(nssai),
        **sessions,
        "5gs-network-feature-support": {"ims-vops-3gpp": False},
        "t3512-value": network.timers.t3512,
        "t3502-value": network.timers.t3502,
    }
    plain = wire.nas_encode(message)
    d.emit(GutiAllocated(tmsi))
    d.emit(RegistrationAccepted(plain, nssai.allowed, tais))
    wanted = user_plane.wanted(d)
    if d.connection.context == "none" and (wanted or d.connection.context_requested):
        d.emit(ContextRequested(uplink_count))
        user_plane.request_context(d, d.protect(plain), sessions=wanted)
        d.start_timer("T3550", network.timers.t3550)
    else:
        send_accept(d)


def send_accept(d: Draft, count: int = 0) -> None:
    """Send the REGISTRATION ACCEPT of the procedure by itself, and start T3550.

    It first goes in the INITIAL CONTEXT SETUP REQUEST. A gNB that has that must not get another
    one, and one that has not is asked again once the UE has answered (`complete`).
    """
    if d.ue.registration is None:
        return
    nas = d.protect(d.ue.registration.accept)
    d.send(ngap.downlink_nas_transport(d.connection, nas))
    d.start_timer("T3550", d.env.network.timers.t3550, count)


def reject(d: Draft, cause: GmmCause, more: Tree | None = None) -> None:
    """Send REGISTRATION REJECT and let the connection go.

    A UE that has proved who it is, is deregistered by it.
    """
    for timer in connection.COMMON_TIMERS:
        d.stop_timer(timer)
    message = {"message-type": "registration-reject", "5gmm-cause": int(cause), **(more or {})}
    d.send_nas_best(message)
    d.emit(RegistrationRejected(cause.text))
    if d.connection.secured and d.ue.registered:
        d.emit(Deregistered(f"registration rejected: {cause.text}"))
    d.release(ngap.NAS_UNSPECIFIED)


def _rejected(nssai: Nssai) -> Tree:
    items = [
        {"s-nssai": slices.nas_s_nssai(s), "cause": cause}
        for group, cause in (
            (nssai.rejected_in_plmn, "not-available-in-plmn-or-snpn"),
            (nssai.rejected_in_area, "not-available-in-registration-area"),
        )
        for s in group
    ]
    return {"rejected-nssai": items} if items else {}


def _new_tmsi(d: Draft) -> int:
    """A 5G-TMSI that shows nothing of the slot that it carries, and that the UE has not had.

    Another UE may have it: then the append fails, and this is decided again with other entropy.
    """
    cipher, slot = wire.TmsiCipher(d.env.network.tmsi_key), slot_of(d.ue.supi)
    made = d.ue.tmsi
    while made is None or made in (d.ue.tmsi, d.ue.old_tmsi):
        made = cipher.encrypt(make_tmsi_plaintext(slot, d.env.random_int(22)))
    return made


def _guti_tree(guti: Guti) -> Tree:
    return {
        "plmn": guti.guami.plmn,
        "amf-region-id": guti.guami.region,
        "amf-set-id": guti.guami.set,
        "amf-pointer": guti.guami.pointer,
        "tmsi": guti.tmsi,
    }
