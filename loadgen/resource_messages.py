"""The messages about PDU session resources, and their answers (TS 38.413 8.2)."""

from loadgen.resources import IN_SETUP, Answer, Resources, not_modified, refused
from loadgen.session_model import Resource
from loadgen.trees import Tree
from loadgen.ue import Ue

_LOST = "radio-connection-with-ue-lost"


def handle(
    message: str,
    resources: Resources,
    own: dict[int, Resource],
    ue: Ue | None,
    ies: Tree,
    *,
    again: bool,
) -> tuple[str, Answer]:
    """Do what a message says; the name of the answer, and what is in it.

    Args:
        message: its name.
        resources: those of the gNB.
        own: those of the UE's context.
        ue: the UE; None where its radio link is lost, and nothing can be set up.
        ies: those of the message.
        again: whether these very octets came before.
    """
    match message:
        case "PDUSessionResourceSetupRequest":
            return "PDUSessionResourceSetupResponse", _set_up(resources, own, ue, ies, again=again)
        case "PDUSessionResourceModifyRequest":
            return "PDUSessionResourceModifyResponse", _modify(resources, own, ue, ies)
        case _:
            released = resources.release(ue, own, ies)
            return "PDUSessionResourceReleaseResponse", Answer(released, _nas_pdu(ies))


def _set_up(
    resources: Resources, own: dict[int, Resource], ue: Ue | None, ies: Tree, *, again: bool
) -> Answer:
    if ue is None:
        return Answer(refused(ies, IN_SETUP, _LOST), [])
    done = resources.set_up(ue, own, ies, IN_SETUP, again=again)
    return Answer(done.ies, done.nas + _nas_pdu(ies))


def _modify(resources: Resources, own: dict[int, Resource], ue: Ue | None, ies: Tree) -> Answer:
    if ue is None:
        return Answer(not_modified(ies, _LOST), [])
    return resources.modify(ue, own, ies)


def _nas_pdu(ies: Tree) -> list[bytes]:
    nas = ies.get("NAS-PDU")
    return [bytes.fromhex(nas)] if isinstance(nas, str) else []
