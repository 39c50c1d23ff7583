"""The service request procedure (TS 24.501 5.6.1, TS 23.502 4.2.3.2)."""

from typing import Final

import wire
from functions import connection, ngap, session_release, user_plane
from functions.draft import Draft
from functions.inputs import Input, NasReceived
from functions.trees import Tree
from schemas.causes import GmmCause
from schemas.ue_events import GutiConfirmed, PagingEnded

VERSION: Final = "1"

EMERGENCY: Final = ("emergency-services", "emergency-services-fallback")


def decide(d: Draft, received: Input) -> None:
    """Decide about a SERVICE REQUEST whose MAC is right."""
    match received:
        case NasReceived(nas, tree):
            _request(d, wire.nas_peek(nas.plain), tree)
        case _:
            d.note(f"nothing to do for {received!r}")


def _request(d: Draft, peek: wire.NasPeek, tree: Tree) -> None:
    connection.proved(d)
    user_plane.lose(d)
    if d.ue.tmsi_pending and peek.s_tmsi is not None and peek.s_tmsi[2] == d.ue.tmsi:
        d.emit(GutiConfirmed())  # a UE that uses its new 5G-GUTI has it (5.5.1.2.8 c)
    if d.ue.registration is not None and d.ue.registration.stage != "accepted":
        connection.abort(d, "a SERVICE REQUEST")  # 5.5.1.2.8: the UE is done with it
    if not d.ue.registered:
        reject(d, GmmCause.IMPLICITLY_DEREGISTERED)
        return
    cause = _refused(d, tree)
    if cause is not None:
        reject(d, cause)
        return
    session_release.reconcile(d, tree.get("pdu-session-status"))
    asked = [int(psi) for psi in tree.get("uplink-data-status", ())]
    user_plane.want(d, [*asked, *_paged(d)])
    accept: Tree = {
        "message-type": "service-accept",
        # Told unasked, too: the network may have released some in idle (TS 23.502 4.3.4.2).
        "pdu-session-status": user_plane.established(d),
    }
    if "uplink-data-status" in tree:
        accept["pdu-session-reactivation-result"] = user_plane.not_reactivated(d, asked)
    _accept(d, accept)


def _refused(d: Draft, tree: Tree) -> GmmCause | None:
    """5.6.1.5: why a UE that is registered is not served here."""
    area = d.env.network.area(d.connection.tai)
    subscriber = d.env.subscriber
    if tree.get("service-type") in EMERGENCY:
        return GmmCause.SERVICES_NOT_ALLOWED
    if subscriber is None:
        return GmmCause.ILLEGAL_UE
    if subscriber.barred:
        return GmmCause.SERVICES_NOT_ALLOWED
    if area is None or d.connection.tai not in d.ue.registration_area:
        # The UE has to register where it is; #9 makes it do so at once.
        return GmmCause.IDENTITY_CANNOT_BE_DERIVED
    return None


def _paged(d: Draft) -> list[int]:
    """The sessions with downlink packets that the UE was paged for."""
    paging = d.ue.paging
    if paging is None:
        return []
    d.stop_timer("T3513")
    d.emit(PagingEnded("the UE has come"))
    return [s.id for s in user_plane.live(d) if s.n4.seid in paging.seids]


def _accept(d: Draft, accept: Tree) -> None:
    """SERVICE ACCEPT, with the resources of the sessions where there are any to set up."""
    nas = d.protect(wire.nas_encode(accept))
    sessions = user_plane.wanted(d)
    here = d.connection
    if here.context == "none" and (sessions or here.context_requested):
        user_plane.request_context(d, nas, sessions=sessions)
    else:
        d.send(ngap.downlink_nas_transport(here, nas))


def reject(d: Draft, cause: GmmCause) -> None:
    """SERVICE REJECT (5.6.1.5), and the connection goes unless the UE was on one."""
    d.send_nas_best({"message-type": "service-reject", "5gmm-cause": int(cause)})
    d.release(ngap.NAS_UNSPECIFIED)
