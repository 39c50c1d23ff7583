"""Release the connections of many UEs: after NG RESET (TS 38.413 8.7.4) or a lost association."""

from msgspec import DecodeError, msgpack

import wire
from functions.messages import ngap
from functions.messages.ngap import node
from functions.messages.trees import Tree, subtree
from functions.ran.decision import GnbDecision
from schemas.cloudevents import AssociationLost
from schemas.ran import AssociationEnded, NgReset


def reset(d: GnbDecision, ies: Tree) -> None:
    """Process an NG RESET (8.7.4.2.2): release the UE contexts and send NG RESET ACKNOWLEDGE.

    The answer to a partial reset lists the connections of the request.
    """
    cause = ngap.cause_text(ies.get("Cause", ngap.UNSPECIFIED))
    association = d.origin.association
    reason = f"NG RESET ({cause})"
    items: list[Tree] | None = subtree(ies, "ResetType").get("partOfNG-Interface")
    if items is None:
        d.release_ues(association, reason)
        d.emit(NgReset(cause))
        _acknowledge(d, [])
        return
    amf_ids = tuple(item["aMF-UE-NGAP-ID"] for item in items if "aMF-UE-NGAP-ID" in item)
    ran_ids = tuple(
        item["rAN-UE-NGAP-ID"]
        for item in items
        if "aMF-UE-NGAP-ID" not in item and "rAN-UE-NGAP-ID" in item
    )
    if amf_ids or ran_ids:
        d.release_ues(association, reason, amf_ue_ngap_ids=amf_ids, ran_ue_ngap_ids=ran_ids)
    d.emit(NgReset(cause, len(items)))
    _acknowledge(d, [{"UE-associatedLogicalNG-connectionList": items}])


def _acknowledge(d: GnbDecision, ies: list[Tree]) -> None:
    ies = [*ies, *node.diagnosed(d.diagnostics)]
    d.send_pdu(wire.ngap_encode({"message": "NGResetAcknowledge", "ies": ies}))


def association_lost(d: GnbDecision, data: bytes) -> None:
    """Process the loss of an association of the node."""
    try:
        lost = msgpack.decode(data, type=AssociationLost)
    except DecodeError as err:
        d.note(f"the data of an association-lost event is not valid: {err}")
        return
    d.emit(AssociationEnded(lost.association, lost.reason))
    d.release_ues(lost.association, f"association lost: {lost.reason}")
