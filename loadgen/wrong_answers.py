"""Answers of a gNB that say it has failed, where it has not (TS 38.413 8.2, 8.3, 8.4)."""

from typing import TYPE_CHECKING

from loadgen import handover_messages, ngap_gnb
from loadgen.transfers import unsuccessful
from loadgen.trees import Tree, items, number
from loadgen.ue_context import UeContext

if TYPE_CHECKING:
    from loadgen.cell import Cell

_CAUSE = "failure-in-radio-interface-procedure"


def wrong_answer(cell: "Cell", context: UeContext, message: str, pdu: bytes) -> bytes | None:
    """The PDU to send instead of an answer; None for one that is always right.

    What the gNB says it does not have, it gives up.
    """
    ids = cell.ids(context)
    match message:
        case "InitialContextSetupResponse":
            cause = {"radioNetwork": _CAUSE}
            return ngap_gnb.initial_context_setup_failure(ids, cause)
        case "UEContextModificationResponse":
            cause = {"Cause": {"radioNetwork": _CAUSE}}
            return ngap_gnb.encode("UEContextModificationFailure", *ids, cause)
        case "PDUSessionResourceSetupResponse":
            return _sessions_failed(cell, context, ids, pdu)
        case "HandoverRequestAcknowledge":
            amf, handover = context.amf_ue_ngap_id or 0, context.handover
            if handover is None:
                return None
            handover.target = None
            context.handover, context.disturbed = None, True
            cell.forget(context)
            return handover_messages.handover_failure(amf)
        case _:
            return None


def _sessions_failed(
    cell: "Cell", context: UeContext, ids: tuple[Tree, Tree], pdu: bytes
) -> bytes | None:
    done = items(ngap_gnb.ies_of(pdu), "PDUSessionResourceSetupListSURes")
    psis = [number(item, "pDUSessionID") or 0 for item in done]
    if not psis:
        return None
    for psi in psis:
        cell.resources.drop(context.resources, psi)
    transfer = "pDUSessionResourceSetupUnsuccessfulTransfer"
    failed = [{"pDUSessionID": psi, transfer: unsuccessful(_CAUSE)} for psi in psis]
    name = "PDUSessionResourceFailedToSetupListSURes"
    return ngap_gnb.encode("PDUSessionResourceSetupResponse", *ids, {name: failed})
