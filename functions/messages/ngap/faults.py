"""Responses to NGAP messages with protocol errors (TS 38.413 clause 10)."""

from collections.abc import Mapping
from typing import Any, Final

import wire
from functions.messages import ngap
from functions.messages.ngap import Cause, handover
from functions.messages.trees import Tree
from schemas.network import Network

PATH_SWITCH_REQUEST: Final = "PathSwitchRequest"

UNKNOWN: Final = "unknown"
"""The name of a message with an unknown procedure code (`wire.NgapPeek`)."""

FAILURES: Final[Mapping[str, str]] = {
    "HandoverRequired": "HandoverPreparationFailure",
    "UEContextSuspendRequest": "UEContextSuspendFailure",
    "UEContextResumeRequest": "UEContextResumeFailure",
}
"""The failure message of each UE-associated request, if its ids and a cause are sufficient.
`handover.path_switch_refused` makes PATH SWITCH REQUEST FAILURE, which lists sessions."""

REPORTED: Final = frozenset(
    {"UEContextSuspendRequest", "UEContextResumeRequest", "PDUSessionResourceModifyIndication"}
)
"""UE-associated requests with Criticality Diagnostics in the response
(`UeDecision.diagnostics`)."""

_BY_CRITICALITY: Final[tuple[tuple[str, Cause] | None, ...]] = (
    ("reject", {"protocol": "abstract-syntax-error-reject"}),
    None,
    ("notify", {"protocol": "abstract-syntax-error-ignore-and-notify"}),
    None,
)
"""The response to an unknown procedure, by its criticality; None for `ignore`."""

_TRIGGERS: Final = {
    "InitiatingMessage": "initiating-message",
    "SuccessfulOutcome": "successful-outcome",
    "UnsuccessfulOutcome": "unsuccessful-outcome",
}


def accepted_order(faults: Tree | None, network: Network, gnb: str) -> tuple[Tree | None, str]:
    """Return the syntax errors of a message that must be answered, and a note about its order.

    Args:
        faults: the result of `wire.ngap_check`.
        network: it has the setting of each RAN node: `lenient` to accept IEs in any order, which
            is an error by 10.3.6.
        gnb: the Global RAN Node ID of the sender.

    Returns:
        The errors, None if there are none; and a note with the IEs that are accepted in their
        order, empty if there are none.
    """
    if faults is None or "order" not in faults or network.ie_order_of(gnb) == "strict":
        return faults, ""
    return faults["in_any_order"], f"any order is accepted: {'; '.join(faults['order'])}"


def refusal(
    request: str, amf_ue_ngap_id: int, ran_ue_ngap_id: int, cause: Cause, diagnostics: Tree | None
) -> bytes:
    """Return the failure message of a request in `FAILURES`."""
    ies: list[Tree] = [
        {"AMF-UE-NGAP-ID": amf_ue_ngap_id},
        {"RAN-UE-NGAP-ID": ran_ue_ngap_id},
        {"Cause": dict(cause)},
    ]
    if diagnostics is not None:
        ies.append({"CriticalityDiagnostics": diagnostics})
    return wire.ngap_encode({"message": FAILURES[request], "ies": ies})


def response(
    peek: wire.NgapPeek, pdu: bytes, faults: Mapping[str, Any], *, releasing: bool = False
) -> bytes | None:
    """Return the response to a message with syntax errors (10.3); None for no response.

    The response is the failure message of the procedure, if it has one that the received IEs can
    fill, or an ERROR INDICATION. On a connection that is being released it is always an ERROR
    INDICATION, because procedures there have no outcome. There is no response to an ERROR
    INDICATION (10.5), and a response that is rejected ends its procedure without one (10.3.4.2).
    """
    if peek.message == "ErrorIndication":
        return None
    if peek.direction != "InitiatingMessage" and faults["reject"]:
        return None
    amf_id, ran_id = peek.amf_ue_ngap_id, peek.ran_ue_ngap_id
    fails = faults["reject"] and not releasing
    diagnostics = faults["diagnostics_for_response"]
    if fails and peek.message == PATH_SWITCH_REQUEST:
        ies = ngap.ies_of(wire.ngap_decode(pdu))
        failure = handover.path_switch_refused(ies, faults["cause"], diagnostics)
        if failure is not None:
            return failure
    if fails and peek.message in FAILURES and amf_id is not None and ran_id is not None:
        return refusal(peek.message, amf_id, ran_id, faults["cause"], diagnostics)
    return ngap.error_indication(
        faults["cause"],
        amf_ue_ngap_id=amf_id,
        ran_ue_ngap_id=ran_id,
        diagnostics=faults["diagnostics"],
    )


def not_in_this_state(
    procedure_code: int, amf_ue_ngap_id: int | None, ran_ue_ngap_id: int | None
) -> bytes:
    """Return the ERROR INDICATION for a message that the state of the receiver forbids, if its
    procedure has no failure message (10.4)."""
    return ngap.error_indication(
        ngap.WRONG_STATE,
        amf_ue_ngap_id=amf_ue_ngap_id,
        ran_ue_ngap_id=ran_ue_ngap_id,
        diagnostics={
            "procedureCode": procedure_code,
            "triggeringMessage": _TRIGGERS["InitiatingMessage"],
        },
    )


def not_comprehended(peek: wire.NgapPeek, pdu: bytes) -> bytes | None:
    """Return the ERROR INDICATION for an unsupported procedure (10.3.4.1); None for no response.

    The criticality in the third octet says whether the sender must be notified. A response in a
    known procedure without a request is a logical error (10.4).
    """
    if peek.direction != "InitiatingMessage" and peek.message != UNKNOWN:
        return None
    found = _BY_CRITICALITY[pdu[2] >> 6]
    if found is None:
        return None
    criticality, cause = found
    return ngap.error_indication(
        cause,
        amf_ue_ngap_id=peek.amf_ue_ngap_id,
        ran_ue_ngap_id=peek.ran_ue_ngap_id,
        diagnostics={
            "procedureCode": peek.procedure_code,
            "triggeringMessage": _TRIGGERS[peek.direction],
            "procedureCriticality": criticality,
        },
    )
