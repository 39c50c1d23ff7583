"""Messages that no procedure acts on: unreadable, unverified, faulty or not implemented."""

from typing import Final

import wire
from functions import ngap
from functions.connection import Origin
from functions.draft import Draft
from functions.ingress import Nas, Unreadable
from functions.trees import Tree
from schemas.causes import GmmCause
from schemas.cloudevents import CloudEvent
from schemas.step import SendNgap
from schemas.ue_events import RegistrationAborted

SERVICE_REQUEST: Final = 0x4C
UL_NAS_TRANSPORT: Final = 0x67
GMM_STATUS: Final = 0x64

TAKEN_UNVERIFIED: Final = frozenset({0x41, 0x45, 0x48, 0x57, 0x59, 0x5C, 0x5F})
"""Messages that may be acted on without a valid MAC (TS 24.501 4.4.4.3): REGISTRATION REQUEST,
DEREGISTRATION REQUEST and ACCEPT, AUTHENTICATION RESPONSE and FAILURE, IDENTITY RESPONSE with
a SUCI, SECURITY MODE REJECT."""


def send_to(d: Draft, origin: Origin, pdu: bytes) -> None:
    """Answer where the message came from, which may not be the UE's connection."""
    d.outputs.append(SendNgap(origin.gnb, origin.association, pdu))


def unreadable(d: Draft, found: Unreadable, *, initial: bool) -> None:
    """A message that cannot be deciphered, or that is authentic and wrong (clause 7)."""
    d.note(found.reason)
    if found.answer:
        d.send_nas_best(wire.nas_decode(found.answer))
    if initial:
        d.release(ngap.NAS_UNSPECIFIED)


def unverified(d: Draft, nas: Nas, *, initial: bool) -> None:
    """A message whose MAC is wrong or missing, and that needs one."""
    d.note(f"5GMM message type {nas.type:#04x} without a valid MAC")
    if nas.type == SERVICE_REQUEST:
        # TS 24.501 5.6.1.5: the UE then registers anew.
        cause = int(GmmCause.IDENTITY_CANNOT_BE_DERIVED)
        d.send_nas_plain({"message-type": "service-reject", "5gmm-cause": cause})
    if initial:
        d.release(ngap.NAS_UNSPECIFIED)


def faulty(d: Draft, reason: str, answer: bytes | None, *, initial: bool) -> None:
    """A message with a syntax error; `answer` is what clause 7 gives it, None for nothing."""
    d.note(reason)
    if answer is not None:
        d.send_nas_best(wire.nas_decode(answer))
    if initial:
        d.release(ngap.NAS_UNSPECIFIED)


def not_implemented(d: Draft, nas: Nas, tree: Tree, *, initial: bool) -> None:
    """A message type that no procedure takes."""
    if nas.type == GMM_STATUS:
        d.note(f"5GMM STATUS: {tree.get('5gmm-cause')}")
    elif nas.type == UL_NAS_TRANSPORT:
        _not_forwarded(d, tree)
    elif nas.type == SERVICE_REQUEST:
        d.note("SERVICE REQUEST is not implemented")
        cause = int(GmmCause.MESSAGE_TYPE_NOT_IMPLEMENTED)
        d.send_nas_best({"message-type": "service-reject", "5gmm-cause": cause})
    else:
        d.note(f"5GMM message type {nas.type:#04x} is not implemented")
        cause = int(GmmCause.MESSAGE_TYPE_NOT_IMPLEMENTED)
        d.send_nas_best({"message-type": "5gmm-status", "5gmm-cause": cause})
    if initial:
        d.release(ngap.NORMAL_RELEASE)


def _not_forwarded(d: Draft, request: Tree) -> None:
    """Give a payload back that nobody takes (TS 24.501 5.4.5.2.5)."""
    d.note("UL NAS TRANSPORT: no procedure takes its payload")
    answer = {
        "message-type": "dl-nas-transport",
        "payload-container-type": request["payload-container-type"],
        "payload-container": request["payload-container"],
        "5gmm-cause": int(GmmCause.PAYLOAD_NOT_FORWARDED),
    }
    if "pdu-session-id" in request:
        answer["pdu-session-id"] = request["pdu-session-id"]
    d.send_nas_best(answer)


def poisoned(d: Draft, trigger: CloudEvent) -> None:
    """An event whose decision fails each time: 5GMM cause #111, and no connection is left."""
    d.note(f"the event {trigger.id} of type {trigger.type} could not be decided")
    if d.ue.registration is not None:
        d.emit(RegistrationAborted("protocol error"))
    for timer in tuple(d.ue.timers):
        d.stop_timer(timer)
    if d.ue.connection is None:
        return
    if not d.ue.connection.releasing:
        cause = int(GmmCause.PROTOCOL_ERROR)
        d.send_nas_best({"message-type": "5gmm-status", "5gmm-cause": cause})
    d.release(ngap.NAS_UNSPECIFIED)
