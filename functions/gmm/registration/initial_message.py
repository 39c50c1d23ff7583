"""The initial NAS message in a SECURITY MODE COMPLETE (TS 24.501 5.4.2.4, 4.4.6).

A UE without a security context sends only some IEs of its initial message in the clear, where an
attacker can change them. With SECURITY MODE COMPLETE it sends the whole message, protected. That
message is then the one that triggered the procedure: nothing of the first one counts any more.
"""

from typing import Final

import wire
from functions.decision import connection
from functions.decision.inputs import Nas
from functions.decision.ue_decision import UeDecision
from functions.gmm.authentication import aka, security_mode
from functions.gmm.deregistration import procedure as deregistration
from functions.gmm.registration import accept
from functions.gmm.registration import request as registration_request
from functions.messages.nas.gmm import in_the_clear
from functions.messages.trees import Tree, subtree
from schemas.causes import GmmCause
from schemas.gmm.events import RegistrationStarted, RequestCompleted
from schemas.gmm.state import Registration, SecurityContext

REGISTRATION_REQUEST: Final = b"\x7e\x00\x41"
DEREGISTRATION_REQUEST: Final = b"\x7e\x00\x45"
"""The first octets of these messages: plain 5GMM, and the message type (9.7)."""


def complete(
    d: UeDecision, container: bytes | None, count: int, known: SecurityContext | None
) -> None:
    """Go on with the procedure of the message in `container`; None for no container.

    `count` is the NAS COUNT of the SECURITY MODE COMPLETE. `known` is the security context before
    it.
    """
    head = (container or b"")[:3]
    if d.ue.registration is None and not d.ue.deregistering:
        return  # the UE was authenticated again, and that is all
    if container is not None and head == REGISTRATION_REQUEST:
        _registration(d, container, count, known)
    elif container is not None and head == DEREGISTRATION_REQUEST:
        _deregistration(d, container)
    else:
        _without(d, count)


def _deregistration(d: UeDecision, container: bytes) -> None:
    if d.ue.registration is not None:
        d.note("the REGISTRATION REQUEST was a DEREGISTRATION REQUEST of the UE")
    request = wire.nas_read(container).tree or {}
    connection.proved(d)
    connection.abort(d, "the UE deregisters")
    deregistration.complete(d, switch_off=deregistration.is_switch_off(request))


def _without(d: UeDecision, count: int) -> None:
    """Go on with the first message. If it was not protected, only the IEs count that a UE may send
    in the clear."""
    if d.ue.deregistering:
        connection.proved(d)
        deregistration.complete(d, switch_off=False)
        return
    registration = d.ue.registration
    if registration is None:
        return
    request = registration_request.again(registration.complete_request or registration.request)
    if registration.retransmit:
        d.note("the UE did not send its complete REGISTRATION REQUEST again")
        request = in_the_clear(request)
    accept.conclude(d, registration, request, count)


def _registration(
    d: UeDecision, container: bytes, count: int, known: SecurityContext | None
) -> None:
    first = d.ue.registration
    read = wire.nas_read(container)
    if first is None:
        d.note("the DEREGISTRATION REQUEST was a REGISTRATION REQUEST of the UE")
        connection.abort(d, "the UE registers")
        if read.tree is not None:
            nas = Nas(container[2], container, 0, verified=True, count=count)
            registration_request.begin(d, nas, read.tree)
            return
    if first is None or read.tree is None or read.answer is not None:
        d.note(read.fault or "an unknown IE that must be understood")
        accept.reject(d, GmmCause.INVALID_MANDATORY_INFORMATION)
        return
    # A 5G-GUTI of another AMF does not show that this core knows the UE.
    known_before = first.identified_by == "guti" or wire.nas_peek(container).suci is not None
    capability = wire.ue_security_capability(container)
    if capability is None and not first.retransmit:
        capability = first.capability  # of a protected request
    elif capability is None:
        capability = known.capability if known is not None and known_before else b""
    refused = registration_request.refused(d, read.tree, capability, known_before=known_before)
    if refused is not None:
        accept.reject(d, refused)
    else:
        _judge(d, container, read.tree, first, capability, count)


def _judge(
    d: UeDecision,
    container: bytes,
    request: Tree,
    first: Registration,
    capability: bytes,
    count: int,
) -> None:
    """Accept or reject the registration of a complete request, with the `capability` in it."""
    peek = wire.nas_peek(container)
    if peek.supi not in (None, d.ue.supi):
        d.note(f"the complete REGISTRATION REQUEST is that of {peek.supi}")
        accept.reject(d, GmmCause.SEMANTICALLY_INCORRECT)
        return
    context = d.ue.security
    if context is None or capability == context.capability:
        d.emit(RequestCompleted(container))
    elif security_mode.algorithms(d, capability) == (context.nia, context.nea):
        d.note("the complete REGISTRATION REQUEST has other security capabilities")
        d.emit(RequestCompleted(container, capability))
    else:
        _authenticate_again(d, container, request, first, capability)
        return
    accept.conclude(d, d.ue.registration or first, request, count)


def _authenticate_again(
    d: UeDecision, container: bytes, request: Tree, first: Registration, capability: bytes
) -> None:
    """Authenticate the UE again, because other algorithms fit the capabilities of its complete
    request (TS 33.501 6.7.2). If they change once more, the registration is rejected."""
    d.note("other algorithms fit the complete REGISTRATION REQUEST")
    if first.corrected or None in security_mode.algorithms(d, capability):
        accept.reject(d, GmmCause.SECURITY_CAPABILITIES_MISMATCH)
    elif d.env.subscriber is None:
        cause = d.env.network.causes.of_unknown_subscriber(d.connection.tai.plmn)
        accept.reject(d, cause)
    else:
        ngksi = subtree(request, "ngksi").get("native")
        by = first.identified_by
        d.emit(RegistrationStarted(Registration(container, capability, ngksi, by, corrected=True)))
        aka.start(d, d.env.subscriber)
