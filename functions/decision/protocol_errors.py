"""Messages that no procedure acts on: unreadable, unverified, faulty or not implemented."""

from typing import Final

import wire
from functions.decision import connection
from functions.decision.connection import Origin
from functions.decision.inputs import Nas, Unreadable
from functions.decision.ue_decision import UeDecision
from functions.messages import ngap
from functions.messages.ngap import faults as ngap_faults
from functions.messages.trees import Tree
from schemas.causes import GmmCause
from schemas.connection.state import NO_RAN_UE_NGAP_ID
from schemas.procedures import Procedure
from schemas.step import FanOut, SendNgap

REGISTRATION_REQUEST: Final = 0x41
REGISTRATION_COMPLETE: Final = 0x43
DEREGISTRATION_REQUEST: Final = 0x45
SERVICE_REQUEST: Final = 0x4C
SECURITY_MODE_COMPLETE: Final = 0x5E
UL_NAS_TRANSPORT: Final = 0x67
GMM_STATUS: Final = 0x64

INITIAL_MESSAGES: Final = frozenset({REGISTRATION_REQUEST, DEREGISTRATION_REQUEST, SERVICE_REQUEST})
"""Messages that open a connection (TS 24.501 4.4.4.1)."""

PROCESSED_UNVERIFIED: Final = frozenset({0x41, 0x45, 0x48, 0x57, 0x59, 0x5C, 0x5F})
"""Messages that are processed without a valid MAC (TS 24.501 4.4.4.3): REGISTRATION REQUEST,
DEREGISTRATION REQUEST and ACCEPT, AUTHENTICATION RESPONSE and FAILURE, IDENTITY RESPONSE with
a SUCI, SECURITY MODE REJECT."""

PROCESSED_WHILE_RELEASING: Final = frozenset({REGISTRATION_COMPLETE, DEREGISTRATION_REQUEST})
"""Messages that change the state of the UE on its side: they count on a connection that is being
released, too."""


def send_to(d: UeDecision, origin: Origin, pdu: bytes) -> None:
    """Send an answer to the association of a message. It may be another than the UE's."""
    d.outputs.append(SendNgap(origin.gnb, origin.association, pdu))


def read(d: UeDecision, origin: Origin, pdu: bytes) -> wire.NgapRead | None:
    """Read an NGAP message. Answer an unreadable one (TS 38.413 10.2), and return None."""
    try:
        return wire.ngap_read(pdu)
    except wire.WireError as err:
        _not_read(d, origin, err)
        return None


def _not_read(d: UeDecision, origin: Origin, err: wire.WireError) -> None:
    d.note(str(err))
    send_to(d, origin, ngap.error_indication(ngap.TRANSFER_SYNTAX_ERROR))


def rejected_faults(d: UeDecision, origin: Origin, received: wire.NgapRead, pdu: bytes) -> bool:
    """Answer the syntax errors of an NGAP message. Return whether they reject the message.

    See TS 38.413 10.2 and 10.3. The configuration says if any order of IEs is accepted. If a
    response can report an error that does not reject the message, the error goes into
    `UeDecision.diagnostics`.
    """
    peek = received.peek
    try:
        faults = received.check()
    except wire.WireError as err:
        _not_read(d, origin, err)
        return True
    faults, accepted = ngap_faults.accepted_order(faults, d.env.network, origin.gnb)
    if accepted:
        d.note(f"{peek.message}: {accepted}")
    if faults is None:
        return False
    d.note("; ".join(faults["deviations"]))
    if not faults["reject"] and peek.message in ngap_faults.REPORTED:
        d.diagnostics = faults["diagnostics_for_response"]
        return False
    known = connection.find(d, peek.amf_ue_ngap_id or 0)
    releasing = known is not None and bool(known.releasing)
    answer = ngap_faults.response(peek, pdu, faults, releasing=releasing)
    if answer is not None:
        send_to(d, origin, answer)
    return bool(faults["reject"])


def not_in_this_state(d: UeDecision, message: str, amf_ue_ngap_id: int) -> None:
    """Send an ERROR INDICATION for a message that the state of the UE forbids (TS 38.413 10.4)."""
    here = connection.find(d, amf_ue_ngap_id)
    d.note(f"{message} in a state that forbids it")
    if here is not None and not here.releasing:
        told = here.ran_ue_ngap_id != NO_RAN_UE_NGAP_ID
        ids = (here.amf_ue_ngap_id, here.ran_ue_ngap_id if told else None)
        d.send(ngap_faults.not_in_this_state(_CODES[message], *ids), here)


_CODES: Final = {
    "HandoverNotify": 11,
    "UplinkRANStatusTransfer": 49,
    "UplinkRANEarlyStatusTransfer": 62,
}
"""Procedure codes (TS 38.413 9.4.7)."""


def erroneous_id(d: UeDecision, origin: Origin, ran_ue_ngap_id: int | None) -> None:
    """Release the connection with a RAN-UE-NGAP-ID that came with the AMF-UE-NGAP-ID of another UE.

    The RAN node releases it too (TS 38.413 10.6).
    """
    if ran_ue_ngap_id is not None:
        reason = ngap.cause_text(ngap.INCONSISTENT_REMOTE_ID)
        to, ids = Procedure.AN_RELEASE, (ran_ue_ngap_id,)
        lost = FanOut(
            origin.gnb, origin.association, reason, to, ran_ue_ngap_ids=ids, order=d.order
        )
        d.outputs.append(lost)


def ngap_procedure(d: UeDecision, origin: Origin, peek: wire.NgapPeek, pdu: bytes) -> None:
    """Answer an NGAP procedure that this core does not support (TS 38.413 10.3.4.1)."""
    d.note(f"{peek.message} is not supported")
    answer = ngap_faults.not_comprehended(peek, pdu)
    if answer is not None:
        send_to(d, origin, answer)


def discarded(d: UeDecision, nas: Nas, *, secured: bool) -> str:
    """Return why a message is discarded, empty if it is not.

    `secured`: the secure exchange of NAS messages was established before the message came.
    """
    name = f"5GMM message type {nas.type:#04x}"
    if nas.pending and nas.type != SECURITY_MODE_COMPLETE:
        # 9.3.1: a new context protects only a SECURITY MODE COMPLETE.
        return f"{name} under a security context that is not in use"
    if secured and not nas.verified:
        # 4.4.4.3: after the secure exchange is established, every message needs a MAC.
        return f"{name} without a valid MAC after the secure exchange was established"
    if d.connection.releasing and not (nas.verified and nas.type in PROCESSED_WHILE_RELEASING):
        return f"{name} on a connection that is being released"
    return ""


def unreadable(d: UeDecision, found: Unreadable, *, initial: bool) -> None:
    """Answer a message that cannot be deciphered, or that is authentic and wrong (clause 7)."""
    d.note(found.reason)
    if found.answer and not d.connection.releasing:
        d.send_nas_best(wire.nas_decode(found.answer))
    if initial:
        d.release(ngap.NAS_UNSPECIFIED)


def unverified(d: UeDecision, nas: Nas, *, initial: bool) -> None:
    """Answer a message without the valid MAC that it needs."""
    d.note(f"5GMM message type {nas.type:#04x} without a valid MAC")
    if nas.type == SERVICE_REQUEST:
        # TS 24.501 5.6.1.5: the UE then starts an initial registration.
        cause = int(GmmCause.IDENTITY_CANNOT_BE_DERIVED)
        d.send_nas_plain({"message-type": "service-reject", "5gmm-cause": cause})
    if initial:
        d.release(ngap.NAS_UNSPECIFIED)


def unbegun(d: UeDecision, opened: Nas | Unreadable) -> None:
    """Release a new connection if its INITIAL UE MESSAGE has started no procedure.

    The NAS message was no initial message, or its sender is not proved. No timer would ever end the
    connection.
    """
    ue = d.ue
    if ue.connection is None or ue.successor:
        return
    initial = isinstance(opened, Nas) and opened.type in INITIAL_MESSAGES
    if not initial or not (connection.busy(ue) or ue.connection.secured):
        d.release(ngap.NAS_UNSPECIFIED)


def faulty(d: UeDecision, nas: Nas, reason: str, answer: bytes | None, *, initial: bool) -> None:
    """Answer a message with a syntax error by `answer`, as clause 7 has it; None for no answer.

    A request that can be rejected is rejected with the cause of `answer` (5.5.1.2.8 b, 5.6.1.8 b):
    a UE without a secure exchange discards a 5GMM STATUS (4.4.4.2).
    """
    d.note(reason)
    if answer is not None:
        tree = wire.nas_decode(answer)
        rejection = _REJECTIONS.get(nas.type)
        if rejection is not None and "5gmm-cause" in tree:
            tree = {"message-type": rejection, "5gmm-cause": tree["5gmm-cause"]}
        d.send_nas_best(tree)
    if initial:
        d.release(ngap.NAS_UNSPECIFIED)


_REJECTIONS: Final = {
    REGISTRATION_REQUEST: "registration-reject",
    SERVICE_REQUEST: "service-reject",
}


def not_implemented(d: UeDecision, nas: Nas, tree: Tree, *, initial: bool) -> None:
    """Answer a message type that no procedure processes."""
    if nas.type == GMM_STATUS:
        d.note(f"5GMM STATUS: {tree.get('5gmm-cause')}")
    else:
        d.note(f"5GMM message type {nas.type:#04x} is not implemented")
        cause = int(GmmCause.MESSAGE_TYPE_NOT_IMPLEMENTED)
        d.send_nas_best({"message-type": "5gmm-status", "5gmm-cause": cause})
    if initial:
        d.release(ngap.NORMAL_RELEASE)


def not_forwarded(d: UeDecision, request: Tree) -> None:
    """Return a payload that no procedure processes (TS 24.501 5.4.5.2.5)."""
    d.note("UL NAS TRANSPORT with an unsupported payload")
    answer = {
        "message-type": "dl-nas-transport",
        "payload-container-type": request["payload-container-type"],
        "payload-container": request["payload-container"],
        "5gmm-cause": int(GmmCause.PAYLOAD_NOT_FORWARDED),
    }
    if "pdu-session-id" in request:
        answer["pdu-session-id"] = request["pdu-session-id"]
    d.send_nas_best(answer)
