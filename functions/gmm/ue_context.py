"""The UE CONTEXT MODIFICATION procedure (TS 38.413 8.3.4), the failure of INITIAL CONTEXT SETUP
(8.3.1.3), and other reports of a gNB about a UE."""

from typing import NamedTuple

from functions.decision import connection, ran_parameters
from functions.decision.collisions import Start, Verdict, check
from functions.decision.inputs import Input, NgapReceived
from functions.decision.ue_decision import UeDecision
from functions.gsm import usage, user_plane
from functions.messages import ngap
from functions.messages.ngap import Cause, faults, ue_context
from functions.messages.ngap.handover import TRIGGERED
from functions.messages.trees import Tree, subtree
from schemas.connection.events import (
    ContextModificationFailed,
    ContextModified,
    ContextModifying,
    ContextSetupFailed,
)
from schemas.connection.state import Connection
from schemas.subscriber import Ambr
from schemas.ue.state import inactive_of


def reconcile(d: UeDecision) -> None:
    """Give the gNB another key, and values that have changed since it was sent them. One request at
    a time; none during a handover."""
    here = d.ue.connection
    if here is None:
        return
    key = here.rekeyed and d.ue.security is not None
    changed = _changed(d, here)
    if not key and changed == _Changed():
        return
    key = key and check(d, Start.KEY_MODIFICATION) is Verdict.START
    if check(d, Start.AMBR_MODIFICATION) is not Verdict.START:
        changed = _Changed()
    if not key and changed == _Changed():
        return
    security = d.ue.security if key else None
    d.emit(ContextModifying(key, *changed))
    pdu = ue_context.ue_context_modification_request(
        d.connection, security, changed.ambr, changed.rfsp, inactive=changed.inactive
    )
    d.send(pdu)


class _Changed(NamedTuple):
    """The values that a gNB has to be sent."""

    ambr: Ambr | None = None
    rfsp: int = 0
    inactive: bool = False
    """Whether its assistance information for RRC INACTIVE is outdated."""


def _changed(d: UeDecision, here: Connection) -> _Changed:
    """Return the values that the gNB of a connection has in another version.

    A UE that has not confirmed its new 5G-GUTI may still use the old one. An RFSP index cannot be
    withdrawn.
    """
    subscribed = d.env.subscriber.ambr if d.env.subscriber is not None else None
    ambr = subscribed if here.ambr is not None and subscribed != here.ambr else None
    index = ran_parameters.rfsp(d)
    rfsp = index if here.context == "set-up" and index != here.rfsp else 0
    inactive = (
        here.inactive is not None
        and not d.ue.tmsi_pending
        and inactive_of(d.ue) not in (None, here.inactive)
    )
    return _Changed(ambr, rfsp, inactive)


def answered(d: UeDecision, message: str, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Process the answer of the gNB.

    A gNB that cannot use another key (TS 33.501 6.9.4.4) loses the connection: the next connection
    uses the new key. If a handover is the reason, the target gets the key, or the gNB is asked
    again after the handover.
    """
    here = d.ue.connection
    if here is None or not d.connection_is(amf_ue_ngap_id) or not here.modifying:
        d.note(f"{message} without a pending request")
        return
    if message == "UEContextModificationResponse":
        d.emit(ContextModified())
        return
    asked, reason = here.modifying, ngap.cause_text(ies.get("Cause", ngap.UNSPECIFIED))
    d.emit(ContextModificationFailed(reason))
    if reason in TRIGGERED and not here.releasing:
        connection.handover_triggered(d)
    elif asked != "ambr":
        d.release(ngap.NAS_UNSPECIFIED)


def setup_failed(d: UeDecision, cause: Cause, amf_ue_ngap_id: int) -> None:
    """Process an INITIAL CONTEXT SETUP FAILURE (TS 38.413 8.3.1.3): release the connection.

    A gNB that loses the UE may send it although no request is pending, before a request or after
    its response. It has no UE context then, so the local error handling (10.4) is the release, as
    for a UE CONTEXT RELEASE REQUEST. A gNB that refuses a second request in the state that it has,
    keeps its UE context.
    """
    here = connection.find(d, amf_ue_ngap_id)
    if here is None:
        return
    if d.connection_is(amf_ue_ngap_id) and here.context == "pending":
        d.emit(ContextSetupFailed(ngap.cause_text(cause)))
        connection.abort(d, "the gNB did not set up the UE context")
        d.release(ngap.NAS_UNSPECIFIED)
        user_plane.unanswered(d, amf_ue_ngap_id)
        return
    d.note(f"InitialContextSetupFailure without a pending request: {ngap.cause_text(cause)}")
    if here.context != "set-up" or cause != ngap.WRONG_STATE:
        d.release(cause, here)


def decide(d: UeDecision, received: Input) -> None:
    """Decide about a message of the gNB."""
    match received:
        case NgapReceived("SecondaryRATDataUsageReport", ies):
            usage.record(d, ies)
        case NgapReceived("UEContextSuspendRequest" as request, _, amf_ue_ngap_id):
            _refuse(d, request, amf_ue_ngap_id)
        case NgapReceived("UEContextResumeRequest" as request, _, amf_ue_ngap_id):
            if _refuse(d, request, amf_ue_ngap_id):
                _drop(d, amf_ue_ngap_id)
        case NgapReceived(
            "UEContextModificationResponse" | "UEContextModificationFailure" as answer, ies, number
        ):
            answered(d, answer, ies, number)
        case NgapReceived(message, ies):
            d.note(_said(message, ies))
        case _:
            d.note(f"nothing to do for {received!r}")


def _said(message: str, ies: Tree) -> str:
    """Return a report in one line.

    There is no LMF: each Routing ID of NRPPa is unknown, and the message is ignored (8.10.4).
    """
    cause = ngap.cause_text(ies.get("Cause", ngap.UNSPECIFIED))
    trace = ies.get("NGRANTraceID", "")
    about = {
        "RRCInactiveTransitionReport": ies.get("RRCState"),
        "LocationReport": subtree(ies, "LocationReportingRequestType").get("eventType"),
        "LocationReportingFailureIndication": cause,
        "UplinkUEAssociatedNRPPaTransport": f"the unknown Routing ID {ies.get('RoutingID')}",
        "CellTrafficTrace": f"{trace} for {ies.get('TraceCollectionEntityIPAddress')}",
        "TraceFailureIndication": f"{trace}, {cause}",
    }
    return f"{message}: {about.get(message)}"


# Suspension


def _refuse(d: UeDecision, request: str, amf_ue_ngap_id: int) -> bool:
    """Refuse a suspension. Return whether the gNB was answered.

    No UE has negotiated User Plane CIoT 5GS Optimisation (TS 23.501 5.31.18), so it is a logical
    error (10.4).
    """
    here = connection.find(d, amf_ue_ngap_id)
    if here is None or here.releasing:
        d.note("the connection is being released")
        return False
    cause, ids = ngap.WRONG_STATE, (here.amf_ue_ngap_id, here.ran_ue_ngap_id)
    d.note(f"{request} is refused: {ngap.cause_text(cause)}")
    d.send(faults.refusal(request, *ids, cause, d.diagnostics), here)
    return True


def _drop(d: UeDecision, amf_ue_ngap_id: int) -> None:
    """Release the connection after UE CONTEXT RESUME FAILURE (8.3.12.3)."""
    if d.connection_is(amf_ue_ngap_id):
        connection.abort(d, "the N2 connection is released")
    connection.released(d, amf_ue_ngap_id, "UE CONTEXT RESUME FAILURE")
