"""A RAN node: the procedures of its interface (TS 38.413 8.7 to 8.16), and protocol errors.

The state is a `Gnb`, not a `Ue`, so this module has its own `decide`.
"""

from collections.abc import Callable
from typing import Final

import wire
from functions.decision.env import Env
from functions.messages import ngap
from functions.messages.ngap import faults as ngap_faults
from functions.messages.ngap import node
from functions.messages.ngap.handover import path_switch_refused
from functions.messages.trees import Tree, subtree
from functions.ran import configuration, ng_setup, reset, transfer
from functions.ran.decision import GnbDecision
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import slot_of
from schemas.procedures import UE_MESSAGES
from schemas.ran import Gnb, GnbEvent
from schemas.step import Output
from schemas.stranger import StrangerRecorded

_ERROR_INDICATION: Final = b"\x00\x09"
"""First octets of an ERROR INDICATION: an initiating message, and its procedure code."""


def decide(gnb: Gnb, trigger: CloudEvent, env: Env) -> tuple[list[GnbEvent], list[Output]]:
    """Decide one event of a RAN node."""
    d = GnbDecision(gnb, env, trigger)
    match trigger.type:
        case EventType.NGAP_UPLINK:
            _ngap(d, trigger.data)
        case EventType.ASSOCIATION_LOST:
            reset.association_lost(d, trigger.data)
        case EventType.NETWORK_CHANGED:
            configuration.network_changed(d)
        case EventType.TIMER:
            configuration.timer(d)
        case _:
            d.note(f"an event of type {trigger.type} is not for a RAN node")
    _record_stranger(d)
    return d.events, d.outputs


def _record_stranger(d: GnbDecision) -> None:
    """Record once that the log of a node without an accepted NG SETUP may be removed."""
    if not d.gnb.id and d.gnb.stranger is None and d.events:
        slot = slot_of(d.origin.gnb)
        d.emit(StrangerRecorded(d.env.now, slot, d.env.random_int(64)))


def _ngap(d: GnbDecision, data: bytes) -> None:
    try:
        peek = wire.ngap_peek(data)
        faults = wire.ngap_check(data)
    except wire.WireError as err:
        # Clause 10.2: no part of the message can be used.
        d.note(str(err))
        if data[:2] != _ERROR_INDICATION:
            d.send_pdu(ngap.error_indication(ngap.TRANSFER_SYNTAX_ERROR))
        return
    faults, accepted = ngap_faults.accepted_order(faults, d.env.network, d.origin.gnb)
    if accepted:
        d.note(f"{peek.message}: {accepted}")
    of_node = peek.message in _HANDLERS
    if not of_node and peek.message not in UE_MESSAGES:
        _not_comprehended(d, peek, data)
    elif peek.message != "NGSetupRequest" and d.gnb.association != d.origin.association:
        _not_set_up(d, peek)
    elif not of_node and peek.amf_ue_ngap_id is not None:
        _unknown_ue(d, peek, data)  # takes priority over other errors (10.5)
    elif faults is not None and _respond_to_faults(d, peek, data, faults):
        pass
    elif of_node:
        _HANDLERS[peek.message](d, peek, ngap.ies_of(wire.ngap_decode(data)))
    elif peek.direction == "InitiatingMessage":
        _unknown_ue(d, peek, data)
    else:
        d.note(f"{peek.message} of an unknown UE")


def _not_comprehended(d: GnbDecision, peek: wire.NgapPeek, data: bytes) -> None:
    """Respond to an unsupported procedure according to its criticality (10.3.4.1)."""
    d.note(f"{peek.message} (procedure {peek.procedure_code}) is not supported")
    response = ngap_faults.not_comprehended(peek, data)
    if response is not None:
        d.send_pdu(response)


def _not_set_up(d: GnbDecision, peek: wire.NgapPeek) -> None:
    """Respond to a message before NG SETUP (8.7.1.1), a logical error (10.4).

    There is no response to a response message.
    """
    d.note(f"{peek.message} before NG SETUP")
    if peek.direction != "InitiatingMessage" or peek.message == "ErrorIndication":
        return
    if peek.message in node.FAILURES:
        d.fail(peek.message, ngap.WRONG_STATE)
    else:
        ids = (peek.amf_ue_ngap_id, peek.ran_ue_ngap_id)
        d.send_pdu(ngap_faults.not_in_this_state(peek.procedure_code, *ids))


def _respond_to_faults(d: GnbDecision, peek: wire.NgapPeek, data: bytes, faults: Tree) -> bool:
    """Respond to syntax errors (clause 10.3). Return whether processing of the message ends.

    Errors with the criticality `notify` are reported in the response, if the procedure has one.
    """
    d.note("; ".join(faults["deviations"]))
    if peek.message in _WITH_DIAGNOSTICS:
        d.diagnostics = faults["diagnostics_for_response"]
        if not faults["reject"]:
            return False
        if peek.message in node.FAILURES:
            d.fail(peek.message, faults["cause"])
            return True
    response = ngap_faults.response(peek, data, faults)
    if response is not None:
        d.send_pdu(response)
    return bool(faults["reject"])


_WITH_DIAGNOSTICS: Final = frozenset({"NGSetupRequest", "RANConfigurationUpdate", "NGReset"})
"""Requests with a Criticality Diagnostics IE in the response."""


def _unknown_ue(d: GnbDecision, peek: wire.NgapPeek, data: bytes) -> None:
    """Respond to a message with an unknown AMF-UE-NGAP-ID: a PATH SWITCH REQUEST has a failure
    message (10.4), others get an ERROR INDICATION (10.6)."""
    d.note(f"{peek.message} with the unknown AMF-UE-NGAP-ID {peek.amf_ue_ngap_id}")
    if peek.message == "UEContextReleaseComplete":
        return
    failure = None
    if peek.message == ngap_faults.PATH_SWITCH_REQUEST:
        failure = path_switch_refused(ngap.ies_of(wire.ngap_decode(data)), ngap.UNKNOWN_LOCAL_ID)
    d.send_pdu(
        failure
        or ngap.error_indication(
            ngap.UNKNOWN_LOCAL_ID,
            amf_ue_ngap_id=peek.amf_ue_ngap_id,
            ran_ue_ngap_id=peek.ran_ue_ngap_id,
        )
    )


def _ng_setup(d: GnbDecision, peek: wire.NgapPeek, ies: Tree) -> None:
    ng_setup.setup(d, peek.global_ran_node_id or "", ies)


def _configuration_update(d: GnbDecision, peek: wire.NgapPeek, ies: Tree) -> None:
    configuration.update(d, peek.global_ran_node_id, ies)


def _reset(d: GnbDecision, _: wire.NgapPeek, ies: Tree) -> None:
    reset.reset(d, ies)


def _updated(d: GnbDecision, _: wire.NgapPeek, __: Tree) -> None:
    configuration.acknowledged(d)


def _update_failed(d: GnbDecision, _: wire.NgapPeek, ies: Tree) -> None:
    configuration.failed(d, ies)


def _error(d: GnbDecision, _: wire.NgapPeek, ies: Tree) -> None:
    d.note(f"ERROR INDICATION: {ngap.cause_text(ies.get('Cause', {}))}")
    configuration.not_supported(d, subtree(ies, "CriticalityDiagnostics"))


_HANDLERS: Final[dict[str, Callable[[GnbDecision, wire.NgapPeek, Tree], None]]] = {
    "NGSetupRequest": _ng_setup,
    "RANConfigurationUpdate": _configuration_update,
    "AMFConfigurationUpdateAcknowledge": _updated,
    "AMFConfigurationUpdateFailure": _update_failed,
    "NGReset": _reset,
    "NGResetAcknowledge": transfer.noted,
    "ErrorIndication": _error,
    "UplinkRANConfigurationTransfer": transfer.configuration,
    "UplinkRIMInformationTransfer": transfer.rim,
    "UplinkNonUEAssociatedNRPPaTransport": transfer.nrppa,
    "PWSRestartIndication": transfer.pws,
    "PWSFailureIndication": transfer.pws,
}
"""Non-UE-associated messages."""
