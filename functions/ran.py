"""The interface management procedures of a RAN node (TS 38.413 8.7), and its errors.

Its state is a `Gnb`, not a `Ue`, so it has a `decide` of its own.
"""

from typing import Final

from msgspec import DecodeError, msgpack

import wire
from functions import ngap
from functions.connection import Origin
from functions.env import Env
from functions.trees import Tree, subtree
from schemas import gnb as fold
from schemas.cloudevents import AssociationLost, CloudEvent, EventType, order_of
from schemas.gnb import (
    AssociationEnded,
    BroadcastPlmn,
    ConfigurationUpdated,
    ConfigurationUpdateFailed,
    Gnb,
    GnbEvent,
    NgReset,
    NgSetUp,
    NgSetupFailed,
    SupportedTa,
)
from schemas.identity import SNssai, Tai
from schemas.procedures import Procedure
from schemas.step import FanOut, Output, SendNgap
from schemas.ue_events import Noted

VERSION: Final = "1"

UNKNOWN_PLMN: Final = {"misc": "unknown-PLMN-or-SNPN"}
SLICE_NOT_SUPPORTED: Final = {"radioNetwork": "slice-not-supported"}
UNSPECIFIED: Final = {"misc": "unspecified"}


class GnbDraft:
    """A decision about a RAN node while it is being made."""

    __slots__ = ("env", "events", "gnb", "order", "origin", "outputs")

    def __init__(self, gnb: Gnb, env: Env, trigger: CloudEvent) -> None:
        self.gnb = gnb
        self.env = env
        self.origin = Origin(trigger.source)
        self.order = order_of(trigger.id)
        self.events: list[GnbEvent] = []
        self.outputs: list[Output] = []

    def emit(self, event: GnbEvent) -> None:
        """Let a fact be."""
        self.events.append(event)
        self.gnb = fold.evolve(self.gnb, event)

    def note(self, text: str) -> None:
        """Record why something was not done."""
        self.emit(Noted(text))

    def send(self, message: str, ies: list[Tree]) -> None:
        """Answer on the association that the message came by."""
        self.send_pdu(wire.ngap_encode({"message": message, "ies": ies}))

    def send_pdu(self, pdu: bytes) -> None:
        """Answer with a PDU that is made."""
        self.outputs.append(SendNgap(self.origin.gnb, self.origin.association, pdu))

    def release_ues(self, association: str, reason: str, **ids: tuple[int, ...]) -> None:
        """Tell the UEs of an association, or those of the ids, that their connection is gone."""
        to = Procedure.CONTEXT_RELEASE
        # Another association had another gateway, perhaps, which numbered its events by itself.
        order = self.order if association == self.origin.association else 0
        self.outputs.append(FanOut(self.origin.gnb, association, reason, to, **ids, order=order))


def decide(gnb: Gnb, trigger: CloudEvent, env: Env) -> tuple[list[GnbEvent], list[Output]]:
    """Decide about one event of a RAN node."""
    if trigger.type not in (EventType.NGAP_UPLINK, EventType.ASSOCIATION_LOST):
        return [Noted(f"an event of type {trigger.type} is not for a RAN node")], []
    d = GnbDraft(gnb, env, trigger)
    if trigger.type == EventType.NGAP_UPLINK:
        _ngap(d, trigger.data)
    else:
        _association_lost(d, trigger.data)
    return d.events, d.outputs


def _ngap(d: GnbDraft, data: bytes) -> None:
    try:
        peek = wire.ngap_peek(data)
        faults = wire.ngap_check(data)
    except wire.WireError as err:
        # Clause 10.2: nothing of the message can be used.
        d.note(str(err))
        if data[:2] != _ERROR_INDICATION:
            d.send_pdu(ngap.error_indication(ngap.TRANSFER_SYNTAX_ERROR))
        return
    if peek.message != "NGSetupRequest" and d.gnb.association != d.origin.association:
        d.note(f"{peek.message} before NG SETUP")
        if peek.direction == "InitiatingMessage" and peek.message != "ErrorIndication":
            # Not for a response (10.4) nor for an error of an error (10.5).
            d.send_pdu(ngap.error_indication(ngap.WRONG_STATE))
        return
    if faults is not None and _answered_faults(d, peek, faults):
        return
    tree = wire.ngap_decode(data)
    ies = ngap.ies_of(tree)
    match peek.message:
        case "NGSetupRequest":
            _ng_setup(d, peek.global_ran_node_id or "", ies)
        case "RANConfigurationUpdate":
            _configuration_update(d, ies)
        case "NGReset":
            _ng_reset(d, ies)
        case "NGResetAcknowledge":
            d.note("NG RESET ACKNOWLEDGE")
        case "ErrorIndication":
            d.note(f"ERROR INDICATION: {ngap.cause_text(ies.get('Cause', {}))}")
        case _ if peek.amf_ue_ngap_id is not None:
            _unknown_ue(d, peek)
        case _:
            _unsupported(d, peek, data)


def _answered_faults(d: GnbDraft, peek: wire.NgapPeek, faults: Tree) -> bool:
    """Clause 10.3: whether the message was answered for its faults and goes no further."""
    d.note("; ".join(faults["deviations"]))
    failure = _FAILURES.get(peek.message)
    if failure is not None and faults["reject"]:
        diagnostics = {"CriticalityDiagnostics": faults["diagnostics_for_response"]}
        d.send(failure, [{"Cause": faults["cause"]}, diagnostics])
        return True
    answer = ngap.fault_indication(peek, faults)
    if answer is not None:
        d.send_pdu(answer)
    return bool(faults["reject"])


_ERROR_INDICATION: Final = b"\x00\x09"
"""How one begins, whatever follows: an initiating message, and its procedure code."""

_FAILURES: Final = {
    "NGSetupRequest": "NGSetupFailure",
    "RANConfigurationUpdate": "RANConfigurationUpdateFailure",
}


def _read_supported(items: list[Tree]) -> tuple[SupportedTa, ...]:
    return tuple(
        SupportedTa(
            item["tAC"],
            tuple(
                BroadcastPlmn(
                    plmn["pLMNIdentity"],
                    tuple(
                        ngap.read_s_nssai(slice_["s-NSSAI"])
                        for slice_ in plmn["tAISliceSupportList"]
                    ),
                )
                for plmn in item["broadcastPLMNList"]
            ),
        )
        for item in items
    )


def _refusal(env: Env, supported: tuple[SupportedTa, ...]) -> Tree | None:
    """The cause that the Supported TA List is refused for, None where it can be served.

    One tracking area in common is enough: the node may serve other cores by its others.
    """
    network = env.network
    broadcast = [(ta.tac, b) for ta in supported for b in ta.broadcast]
    if not any(b.plmn in network.plmns for _, b in broadcast):
        return UNKNOWN_PLMN  # 8.7.1.3
    areas = [(network.area(Tai(b.plmn, tac)), b.slices) for tac, b in broadcast]
    served = [(area.slices, slices) for area, slices in areas if area is not None]
    if not served:
        return UNSPECIFIED
    if not any(_overlap(ours, theirs) for ours, theirs in served):
        return SLICE_NOT_SUPPORTED
    return None


def _overlap(ours: tuple[SNssai, ...], theirs: tuple[SNssai, ...]) -> bool:
    return not set(ours).isdisjoint(theirs)


def _ng_setup(d: GnbDraft, node_id: str, ies: Tree) -> None:
    network, association = d.env.network, d.origin.association
    supported = _read_supported(ies["SupportedTAList"])
    refusal = _refusal(d.env, supported)
    if refusal is not None:
        if d.gnb.association == association:
            # What the interface had before is erased by the request (8.7.1.1).
            d.release_ues(association, "NG SETUP")
            d.emit(AssociationEnded(association, "NG SETUP was refused"))
        d.emit(NgSetupFailed(association, ngap.cause_text(refusal)))
        d.send("NGSetupFailure", [{"Cause": refusal}, {"TimeToWait": "v10s"}])
        return
    if d.gnb.association:
        # 8.7.1.1: a setup erases all UE contexts, as an NG RESET does.
        d.release_ues(d.gnb.association, "NG SETUP")
    name, drx = ies.get("RANNodeName", ""), ies.get("DefaultPagingDRX", "")
    d.emit(NgSetUp(node_id, name, association, supported, drx))
    plmns = [
        {
            "pLMNIdentity": plmn,
            "sliceSupportList": [{"s-NSSAI": ngap.s_nssai(s)} for s in network.slices(plmn)],
        }
        for plmn in network.plmns
    ]
    d.send(
        "NGSetupResponse",
        [
            {"AMFName": network.name},
            {"ServedGUAMIList": [{"gUAMI": ngap.guami(network.guami)}]},
            {"RelativeAMFCapacity": network.relative_capacity},
            {"PLMNSupportList": plmns},
        ],
    )


def _configuration_update(d: GnbDraft, ies: Tree) -> None:
    """8.7.2. What the message leaves out stays as it is."""
    supported = None
    if "SupportedTAList" in ies:
        supported = _read_supported(ies["SupportedTAList"])
        refusal = _refusal(d.env, supported)
        if refusal is not None:
            d.emit(ConfigurationUpdateFailed(ngap.cause_text(refusal)))
            d.send("RANConfigurationUpdateFailure", [{"Cause": refusal}, {"TimeToWait": "v10s"}])
            return
    d.emit(ConfigurationUpdated(ies.get("RANNodeName"), supported, ies.get("DefaultPagingDRX")))
    d.send("RANConfigurationUpdateAcknowledge", [])


def _ng_reset(d: GnbDraft, ies: Tree) -> None:
    """8.7.4.2.2: the contexts are released, and the acknowledge lists what was asked for."""
    cause = ngap.cause_text(ies.get("Cause", ngap.UNSPECIFIED))
    association = d.origin.association
    reason = f"NG RESET ({cause})"
    items: list[Tree] | None = subtree(ies, "ResetType").get("partOfNG-Interface")
    if items is None:
        d.release_ues(association, reason)
        d.emit(NgReset(cause))
        d.send("NGResetAcknowledge", [])
        return
    by_amf = tuple(item["aMF-UE-NGAP-ID"] for item in items if "aMF-UE-NGAP-ID" in item)
    by_ran = tuple(
        item["rAN-UE-NGAP-ID"]
        for item in items
        if "aMF-UE-NGAP-ID" not in item and "rAN-UE-NGAP-ID" in item
    )
    if by_amf or by_ran:
        d.release_ues(association, reason, amf_ue_ngap_ids=by_amf, ran_ue_ngap_ids=by_ran)
    d.emit(NgReset(cause, len(items)))
    d.send("NGResetAcknowledge", [{"UE-associatedLogicalNG-connectionList": items}])


def _unknown_ue(d: GnbDraft, peek: wire.NgapPeek) -> None:
    """A message of a UE whose AMF-UE-NGAP-ID nobody has (10.6)."""
    d.note(f"{peek.message} with the unknown AMF-UE-NGAP-ID {peek.amf_ue_ngap_id}")
    if peek.message == "UEContextReleaseComplete":
        return
    pdu = ngap.error_indication(
        ngap.UNKNOWN_LOCAL_ID,
        amf_ue_ngap_id=peek.amf_ue_ngap_id,
        ran_ue_ngap_id=peek.ran_ue_ngap_id,
    )
    d.send_pdu(pdu)


def _unsupported(d: GnbDraft, peek: wire.NgapPeek, data: bytes) -> None:
    """A procedure that is not comprehended (10.3.4.1): answered by its criticality."""
    d.note(f"{peek.message} (procedure {peek.procedure_code}) is not supported")
    answer = ngap.not_comprehended(peek, data)
    if answer is not None:
        d.send_pdu(answer)


def _association_lost(d: GnbDraft, data: bytes) -> None:
    try:
        lost = msgpack.decode(data, type=AssociationLost)
    except DecodeError as err:
        d.note(f"the loss of an association without its data: {err}")
        return
    d.emit(AssociationEnded(lost.association, lost.reason))
    d.release_ues(lost.association, f"association lost: {lost.reason}")
