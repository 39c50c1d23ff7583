"""The 5GMM common procedures that the network starts, the UE's side (TS 24.501 5.4)."""

from loadgen.identity import nssai_of_nas, tais_of
from loadgen.trees import part
from loadgen.ue import messages
from loadgen.ue.base import UeBase
from loadgen.ue.checks import check_configured_nssai
from loadgen.ue.model import Procedure, Send, State
from loadgen.ue.nas_security import CIPHERED_NEW_CONTEXT, NEW_CONTEXT, Received
from loadgen.ue.profile import imeisv_identity
from loadgen.violation import Kind

_CONDITIONAL_IE_ERROR = 100
_NO_IDENTITY = b"\x00"
_UPDATES = frozenset({Procedure.MOBILITY_UPDATE, Procedure.PERIODIC_UPDATE})


def authentication_request(ue: UeBase, received: Received) -> None:
    """Answer a challenge with RES* or with the cause of a failure (5.4.1.3)."""
    if ue.running_procedure is None and ue.state is not State.REGISTERED:
        ue.unexpected("authentication-request")
        return
    ue.stop("T3520")
    reply = ue.authentication.challenge(received.tree, ue.channel)
    if reply is None:
        ue.send(messages.gmm_status(_CONDITIONAL_IE_ERROR))
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


def security_mode_command(ue: UeBase, pdu: bytes, received: Received) -> None:
    """Take a security context into use, or reject the command (5.4.2.3 to 5.4.2.5)."""
    if pdu[1] & 0x0F != NEW_CONTEXT:
        text = f"security-mode-command with security header type {pdu[1] & 0x0F}"
        ue.violate(Kind.NAS_HEADER, text)
        return
    tree, algorithms = received.tree, ue.profile.algorithms
    protected_request = ue.channel.initial_count is not None
    refusal = ue.channel.command(pdu, tree, algorithms.ea, algorithms.ia)
    if refusal is not None:
        ue.send(messages.security_mode_reject(refusal.value))
        return
    ue.stop("T3516", "T3520")
    ue.authentication.delete_response()
    asked = tree.get("imeisv-request") == "requested"
    imeisv = imeisv_identity(ue.profile.imeisv) if asked else None
    again = part(tree, "additional-5g-security-information").get("rinmr") is True
    container = None
    if ue.running_procedure is not None and (again or not protected_request):
        container = ue.running_procedure.entire
    complete = ue.nas.message(messages.security_mode_complete(imeisv, container))
    ue.out.append(Send(ue.channel.protect(complete, CIPHERED_NEW_CONTEXT)))


def identity_request(ue: UeBase, received: Received) -> None:
    """Send the requested identity, or no identity if the UE does not have it (5.4.3.3)."""
    asked = received.tree.get("identity-type")
    if asked == "suci":
        ue.send(messages.identity_response(ue.suci()))
    elif asked == "imeisv":
        ue.send(messages.identity_response(imeisv_identity(ue.profile.imeisv)))
    elif asked == "guti" and ue.guti is not None:
        ue.send(messages.identity_response(ue.guti.identity()))
    else:
        ue.send(messages.identity_response(_NO_IDENTITY))


def configuration_update(ue: UeBase, received: Received) -> None:
    """Handle CONFIGURATION UPDATE COMMAND, and acknowledge it if requested (5.4.4).

    If a registration is requested, the UE registers after its release (5.4.4.3). A UE that is
    deregistering ignores the command (5.5.2.2.6). So does a UE with a registration update: the
    command has crossed the request, which ends the procedure of the network (5.4.4.6 d).
    """
    running = ue.running_procedure
    updating = running is not None and running.name in _UPDATES
    if ue.state is State.DEREGISTERED_INITIATED or (
        ue.state is State.REGISTERED_INITIATED and updating
    ):
        return
    if ue.state not in (State.REGISTERED, State.SERVICE_REQUEST_INITIATED):
        ue.unexpected("configuration-update-command")
        return
    tree = received.tree
    ue.take_guti(tree)
    if "tai-list" in tree:
        ue.areas = tais_of(tree["tai-list"])
        if ue.tai not in ue.areas:
            text = f"the registration area is {sorted(ue.areas)}, but the UE is in {ue.tai}"
            ue.violate(Kind.ACCEPT_TAI_LIST, text)
    if "allowed-nssai" in tree:
        ue.allowed_nssai = nssai_of_nas(tree["allowed-nssai"])
    check_configured_nssai(ue, tree)
    ue.configure_slices(tree)
    asked = part(tree, "configuration-update-indication")
    if asked.get("red") is True:
        ue.pending_procedure = Procedure.MOBILITY_UPDATE
    if asked.get("ack") is True:
        ue.send(messages.CONFIGURATION_UPDATE_COMPLETE)
    ue.record.configured += 1
