"""What a UE says to a challenge and to a SECURITY MODE COMMAND (TS 24.501 5.4.1, 5.4.2)."""

from functions.decision import connection
from functions.decision.inputs import NasReceived
from functions.decision.ue_decision import UeDecision
from functions.gmm.authentication import aka, eap, security_mode
from functions.gmm.authentication.eap import Answer
from functions.gmm.deregistration import procedure
from functions.gmm.registration import accept, identity, initial_message
from functions.messages import ngap
from functions.messages.trees import subtree
from schemas.causes import GmmCause
from schemas.gmm.events import (
    PeiLearned,
    SecurityModeCompleted,
    SecurityModeRejected,
)
from schemas.gmm.state import Challenge

# Authentication (5.4.1)


def authentication_response(d: UeDecision, received: NasReceived) -> None:
    """Go on to the security mode control, if it is right."""
    challenge = d.ue.challenge
    if challenge is None:
        d.note("an AUTHENTICATION RESPONSE without a challenge")
        return
    found = aka.response(d, received.tree, challenge, d.env.subscriber)
    if found is Answer.NONE:
        return
    if found is not Answer.RIGHT:
        _authentication_failed(d, challenge)
        return
    registration = d.ue.registration
    capability = registration.capability if registration else b""
    if not capability and d.ue.security is not None:
        capability = d.ue.security.capability
    success = eap.result(challenge, success=True) if challenge.k_aut else b""
    if security_mode.start(d, challenge, capability, success):
        return
    if d.ue.deregistering:
        procedure.refuse(d)
    elif registration is None:
        connection.abort(d, "no common algorithms with the UE")
        d.release(ngap.NAS_UNSPECIFIED)
    else:
        accept.reject(d, GmmCause.SECURITY_CAPABILITIES_MISMATCH)


def authentication_failure(d: UeDecision, received: NasReceived) -> None:
    """Challenge the UE again where that may help (5.4.1.3.7)."""
    challenge, subscriber = d.ue.challenge, d.env.subscriber
    if challenge is None or subscriber is None:
        d.note("an AUTHENTICATION FAILURE without a challenge")
    elif not aka.failure_retried(d, received.tree, challenge, subscriber):
        _authentication_failed(d, challenge)


def _authentication_failed(d: UeDecision, challenge: Challenge) -> None:
    """5.4.1.3.5 and 5.4.1.3.7: a UE known by its 5G-GUTI may be another one; ask who it is."""
    registration = d.ue.registration
    if d.ue.deregistering:
        procedure.refuse(d)
    elif registration is not None and registration.identified_by == "guti":
        identity.request(d)
    else:
        aka.reject(d, challenge)


# Security mode (5.4.2)


def security_mode_complete(d: UeDecision, received: NasReceived) -> None:
    """Take the new context into use, and go on with what it was for."""
    nas, tree = received.nas, received.tree
    if not nas.pending or nas.count is None:
        d.note("a SECURITY MODE COMPLETE under another context")
        return
    known = d.ue.security
    d.stop_timer("T3560")
    d.emit(SecurityModeCompleted(nas.count + 1))
    imeisv = subtree(tree, "imeisv").get("imeisv")
    if imeisv is not None:
        d.emit(PeiLearned(f"imeisv-{imeisv}"))
    initial_message.complete(d, received.container, nas.count, known)


def security_mode_reject(d: UeDecision, received: NasReceived) -> None:
    """5.4.2.5: the network aborts the procedure that ran the security mode control."""
    if d.ue.pending is None:
        d.note("a SECURITY MODE REJECT without a pending command")
        return
    d.stop_timer("T3560")
    d.emit(SecurityModeRejected(str(received.tree["5gmm-cause"])))
    connection.abort(d, "security mode rejected")
    d.release(ngap.NAS_UNSPECIFIED)
