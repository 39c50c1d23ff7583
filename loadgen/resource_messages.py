"""The messages about PDU session resources, and their answers (TS 38.413 8.2)."""

from loadgen.resources import IN_SETUP, Answer, Resources, not_modified, refused
from loadgen.trees import Tree
from loadgen.ue_context import UeContext


def handle(
    message: str, resources: Resources, context: UeContext, ies: Tree, *, again: bool
) -> tuple[str, Answer]:
    """Do what a message says; the name of the answer, and what is in it.

    Args:
        message: its name.
        resources: those of the gNB.
        context: the UE's; without a UE in it nothing can be set up.
        ies: those of the message.
        again: whether these very octets came before.
    """
    match message:
        case "PDUSessionResourceSetupRequest":
            answer = _set_up(resources, context, ies, again=again)
            return "PDUSessionResourceSetupResponse", answer
        case "PDUSessionResourceModifyRequest":
            return "PDUSessionResourceModifyResponse", _modify(resources, context, ies)
        case _:
            ue = None if context.camped is None else context.camped.ue
            released = resources.release(ue, context.resources, ies)
            return "PDUSessionResourceReleaseResponse", Answer(released, _nas_pdu(ies))


def _set_up(resources: Resources, context: UeContext, ies: Tree, *, again: bool) -> Answer:
    if context.camped is None:
        return Answer(refused(ies, IN_SETUP, context.lost_cause), [])
    done = resources.set_up(context.camped.ue, context.resources, ies, IN_SETUP, again=again)
    return Answer(done.ies, done.nas + _nas_pdu(ies))


def _modify(resources: Resources, context: UeContext, ies: Tree) -> Answer:
    if context.camped is None:
        return Answer(not_modified(ies, context.lost_cause), [])
    return resources.modify(context.camped.ue, context.resources, ies)


def _nas_pdu(ies: Tree) -> list[bytes]:
    nas = ies.get("NAS-PDU")
    return [bytes.fromhex(nas)] if isinstance(nas, str) else []
