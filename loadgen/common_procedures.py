"""The 5GMM common procedures that the network starts (TS 24.501 5.4), the UE's side."""

from typing import TYPE_CHECKING

from loadgen import nas_ue
from loadgen.nas_security import CIPHERED_NEW_CONTEXT, NEW_CONTEXT, Received
from loadgen.profile import imeisv_identity
from loadgen.trees import part
from loadgen.ue_model import Send, State
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.ue import Ue

_CONDITIONAL_IE_ERROR = 100
_NO_IDENTITY = b"\x00"


def authentication_request(ue: "Ue", received: Received) -> None:
    """Answer a challenge (5.4.1.3): RES*, or the failure with its cause."""
    if ue.running_procedure is None and ue.state is not State.REGISTERED:
        ue.downlink.unexpected("authentication-request")
        return
    ue.stop("T3520")
    reply = ue.authentication.challenge(received.tree, ue.channel)
    if reply is None:
        ue.send(nas_ue.status(_CONDITIONAL_IE_ERROR))
        return
    failed = reply.cause is not None
    if failed:
        ue.stop("T3516")
        ue.start("T3520", ue.values.t3520)
    else:
        ue.start("T3516", ue.values.t3516)
    if ue.running_procedure is not None:
        ue.running_procedure.challenged(failed=failed)
    ue.send(reply.plain)


def security_mode_command(ue: "Ue", pdu: bytes, received: Received) -> None:
    """Take a context into use, or refuse it (5.4.2.3 to 5.4.2.5)."""
    if pdu[1] & 0x0F != NEW_CONTEXT:
        text = f"security-mode-command with security header type {pdu[1] & 0x0F}"
        ue.violate(Kind.NAS_HEADER, text)
        return
    tree, algorithms = received.tree, ue.profile.algorithms
    protected_request = ue.channel.initial_count is not None
    refusal = ue.channel.command(pdu, tree, algorithms.ea, algorithms.ia)
    if refusal is not None:
        ue.send(nas_ue.security_mode_reject(refusal.value))
        return
    ue.stop("T3516", "T3520")
    ue.authentication.delete_response()
    asked = tree.get("imeisv-request") == "requested"
    imeisv = imeisv_identity(ue.profile.imeisv) if asked else None
    again = part(tree, "additional-5g-security-information").get("rinmr") is True
    container = None
    if ue.running_procedure is not None and (again or not protected_request):
        container = ue.running_procedure.entire
    complete = nas_ue.security_mode_complete(imeisv, container)
    ue.out.append(Send(ue.channel.protect(complete, CIPHERED_NEW_CONTEXT)))


def identity_request(ue: "Ue", received: Received) -> None:
    """Give the identity that is asked for, or none (5.4.3.3)."""
    asked = received.tree.get("identity-type")
    if asked == "suci":
        ue.send(nas_ue.identity_response(ue.suci()))
    elif asked == "imeisv":
        ue.send(nas_ue.identity_response(imeisv_identity(ue.profile.imeisv)))
    elif asked == "guti" and ue.guti is not None:
        ue.send(nas_ue.identity_response(ue.guti.identity()))
    else:
        ue.send(nas_ue.identity_response(_NO_IDENTITY))
