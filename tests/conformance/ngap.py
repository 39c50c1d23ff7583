"""Samples of the messages that an NG-RAN node sends."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import wire
from schemas.cloudevents import CloudEvent
from tests.conformance.answers import handover_acknowledged, handover_notified
from tests.conformance.bench import NODES, Bench, Place
from tests.conformance.ngap_table import DOWN, MESSAGES
from tests.functions.gnb import OM_INTERVENTION, SLICE, setup_request, supported

Tree = dict[str, Any]


class Sample(NamedTuple):
    """One message of a gNB."""

    message: str
    variant: str
    ies: Callable[[Bench], list[Tree]]
    bare: bool = False
    """Whether the message has no identifiers of the UE's connection."""
    make: Callable[[Bench], CloudEvent] | None = None
    """The maker of a message that another gNB than the UE's sends."""

    @property
    def name(self) -> str:
        """The message's name and the variant."""
        return f"{self.message}: {self.variant}" if self.variant else self.message

    def event(self, bench: Bench) -> CloudEvent:
        """Return the message as the gateway routes it."""
        if self.make is not None:
            return self.make(bench)
        ids = [] if self.bare else bench.ids()
        return bench.pdu(encode(self.message, [*ids, *self.ies(bench)]))


def encode(message: str, ies: list[Tree]) -> bytes:
    """Return a PDU without the identifiers that the message does not have."""
    kept = [ie for ie in ies if next(iter(ie)) not in _LACKING.get(message, ())]
    return wire.ngap_encode({"message": message, "ies": kept})


_IDS: Final = ("AMF-UE-NGAP-ID", "RAN-UE-NGAP-ID")
_LACKING: Final = {
    "HandoverFailure": ("RAN-UE-NGAP-ID",),
    "PathSwitchRequest": ("AMF-UE-NGAP-ID",),
    "RANCPRelocationIndication": ("AMF-UE-NGAP-ID",),
    "RetrieveUEInformation": _IDS,
    "UERadioCapabilityIDMappingResponse": _IDS,
}


def _of(message: str, variant: str = "", /, *ies: Tree, bare: bool = False) -> Sample:
    return Sample(message, variant, lambda _: list(ies), bare)


def _cause(group: str, value: str) -> Tree:
    return {"Cause": {group: value}}


def sessions(bench: Bench, name: str, item: str, transfer: Tree | None) -> list[Tree]:
    """Return a list of the UE's PDU sessions, or of session 1 if the UE has none."""
    ids = sorted({s.id for s in bench.ue.sessions}) or [1]
    made: list[Tree] = []
    for psi in ids:
        value = bench.set_up_transfer() if transfer is None else transfer
        made.append({"pDUSessionID": psi, item: value})
    return [{name: made}]


_FAILED: Final = {"cause": {"radioNetwork": "radio-resources-not-available"}}
_UNSUCCESSFUL: Final = "pDUSessionResourceSetupUnsuccessfulTransfer"
_LOST: Final = _cause("radioNetwork", "radio-connection-with-ue-lost")


def _set_up(suffix: str) -> Callable[[Bench], list[Tree]]:
    name, item = f"PDUSessionResourceSetupList{suffix}", "pDUSessionResourceSetupResponseTransfer"
    return lambda bench: sessions(bench, name, item, None)


def _not_set_up(suffix: str) -> Callable[[Bench], list[Tree]]:
    name = f"PDUSessionResourceFailedToSetupList{suffix}"
    return lambda bench: sessions(bench, name, _UNSUCCESSFUL, _FAILED)


def _reset_of_ue(bench: Bench) -> list[Tree]:
    ids = {key: value for item in bench.ids() for key, value in item.items()}
    item = {"aMF-UE-NGAP-ID": ids["AMF-UE-NGAP-ID"], "rAN-UE-NGAP-ID": ids["RAN-UE-NGAP-ID"]}
    return [{"Cause": OM_INTERVENTION}, {"ResetType": {"partOfNG-Interface": [item]}}]


def _nas_undelivered(_: Bench) -> list[Tree]:
    return [{"NAS-PDU": "7e0043"}, _cause("radioNetwork", "ng-intra-system-handover-triggered")]


def _target(bench: Bench) -> Place | None:
    return next((p for p in bench.places() if p.connection is p.ue.target), None)


def _handover_required(bench: Bench) -> list[Tree]:
    tai = {"pLMNIdentity": "001-01", "tAC": bench.other.tac}
    number = f"{int(bench.other.gnb.rpartition('-')[2], 16):06x}"
    gnb = {"pLMNIdentity": "001-01", "gNB-ID": {"gNB-ID": {"value": number, "length": 24}}}
    node = {"globalRANNodeID": {"globalGNB-ID": gnb}, "selectedTAI": tai}
    return [
        {"HandoverType": "intra5gs"},
        _cause("radioNetwork", "handover-desirable-for-radio-reason"),
        {"TargetID": {"targetRANNodeID": node}},
        *sessions(bench, "PDUSessionResourceListHORqd", "handoverRequiredTransfer", {}),
        {"SourceToTarget-TransparentContainer": "0102"},
    ]


def _path_switch(bench: Bench) -> CloudEvent:
    ids = {name: value for item in bench.ids() for name, value in item.items()}
    flows = [{"qosFlowIdentifier": 1}]
    transfer = {"dL-NGU-UP-TNLInformation": bench.tunnel(), "qosFlowAcceptedList": flows}
    node, ran_id = bench.other, bench.new_ran_id()
    ies: list[Tree] = [
        {"RAN-UE-NGAP-ID": ran_id},
        {"SourceAMF-UE-NGAP-ID": ids["AMF-UE-NGAP-ID"]},
        {"UserLocationInformation": bench.location(node)},
        {"UESecurityCapabilities": _CAPABILITIES},
        *sessions(
            bench, "PDUSessionResourceToBeSwitchedDLList", "pathSwitchRequestTransfer", transfer
        ),
    ]
    made = bench.pdu(wire.ngap_encode({"message": "PathSwitchRequest", "ies": ies}), node)
    bench.node, bench.ran_id = node, ran_id
    return made


_CAPABILITIES: Final = {
    "nRencryptionAlgorithms": "c000",
    "nRintegrityProtectionAlgorithms": "c000",
    "eUTRAencryptionAlgorithms": "0000",
    "eUTRAintegrityProtectionAlgorithms": "0000",
}


def _of_target(message: str) -> Callable[[Bench], CloudEvent]:
    """Return the maker of a message of the handover target, or of the other gNB."""

    def make(bench: Bench) -> CloudEvent:
        place = _target(bench)
        if place is not None and message == "HandoverRequestAcknowledge":
            return handover_acknowledged(bench, place)
        if place is not None and message == "HandoverNotify":
            return handover_notified(bench, place)
        amf_id = place.connection.amf_ue_ngap_id if place is not None else 5
        ids = [{"AMF-UE-NGAP-ID": amf_id}, {"RAN-UE-NGAP-ID": bench.new_ran_id()}]
        return bench.pdu(encode(message, [*ids, *_OF_TARGET[message]]), bench.other)

    return make


_ADMITTED: Final[Tree] = {
    "handoverRequestAcknowledgeTransfer": {
        "dL-NGU-UP-TNLInformation": {
            "gTPTunnel": {"transportLayerAddress": "10.4.0.1", "gTP-TEID": 1}
        },
        "qosFlowSetupResponseList": [{"qosFlowIdentifier": 1}],
    }
}
_OF_TARGET: Final[dict[str, list[Tree]]] = {
    "HandoverRequestAcknowledge": [
        {"PDUSessionResourceAdmittedList": [{"pDUSessionID": 1, **_ADMITTED}]},
        {"TargetToSource-TransparentContainer": "0102"},
    ],
    "HandoverFailure": [_cause("radioNetwork", "no-radio-resources-available-in-target-cell")],
    "HandoverNotify": [],
}

_STATUS: Final = {
    "dRBsSubjectToStatusTransferList": [
        {
            "dRB-ID": 1,
            "dRBStatusUL": {
                "dRBStatusUL18": {"uL-COUNTValue": {"pDCP-SN18": 1, "hFN-PDCP-SN18": 0}}
            },
            "dRBStatusDL": {
                "dRBStatusDL18": {"dL-COUNTValue": {"pDCP-SN18": 1, "hFN-PDCP-SN18": 0}}
            },
        }
    ]
}

_EARLY_STATUS: Final = {
    "procedureStage": {
        "first-dl-count": {
            "dRBsSubjectToEarlyStatusTransfer": [
                {
                    "dRB-ID": 1,
                    "firstDLCOUNT": {
                        "dRBStatusDL18": {"dL-COUNTValue": {"pDCP-SN18": 1, "hFN-PDCP-SN18": 0}}
                    },
                }
            ]
        }
    }
}


def _nothing(_: Bench) -> list[Tree]:
    return []


_SETUP: Final = setup_request(NODES[0].tac)["ies"]

SAMPLES: Final = (
    _of("InitialContextSetupResponse"),
    Sample("InitialContextSetupResponse", "with sessions", _set_up("CxtRes")),
    Sample("InitialContextSetupResponse", "sessions failed", _not_set_up("CxtRes")),
    _of("InitialContextSetupFailure", "", _LOST),
    _of("UEContextReleaseRequest", "user inactivity", _cause("radioNetwork", "user-inactivity")),
    _of("UEContextReleaseRequest", "radio connection lost", _LOST),
    _of("UEContextReleaseComplete"),
    _of("UEContextModificationResponse"),
    _of("UEContextModificationFailure", "", _cause("radioNetwork", "unspecified")),
    _of("RRCInactiveTransitionReport", "", {"RRCState": "inactive"}),
    Sample("PDUSessionResourceSetupResponse", "", _set_up("SURes")),
    Sample("PDUSessionResourceSetupResponse", "failed", _not_set_up("SURes")),
    _of("PDUSessionResourceReleaseResponse"),
    _of("PDUSessionResourceModifyResponse"),
    Sample(
        "PDUSessionResourceModifyResponse",
        "failed",
        lambda bench: sessions(
            bench,
            "PDUSessionResourceFailedToModifyListModRes",
            "pDUSessionResourceModifyUnsuccessfulTransfer",
            _FAILED,
        ),
    ),
    Sample(
        "PDUSessionResourceNotify",
        "released",
        lambda bench: sessions(
            bench,
            "PDUSessionResourceReleasedListNot",
            "pDUSessionResourceNotifyReleasedTransfer",
            _FAILED,
        ),
    ),
    _of("NASNonDeliveryIndication", "handover", bare=False)._replace(ies=_nas_undelivered),
    _of("NASNonDeliveryIndication", "radio connection lost", {"NAS-PDU": "7e0043"}, _LOST),
    Sample("HandoverRequired", "", _handover_required),
    *(Sample(message, "", _nothing, make=_of_target(message)) for message in _OF_TARGET),
    _of("HandoverCancel", "", _cause("radioNetwork", "handover-cancelled")),
    _of("UplinkRANStatusTransfer", "", {"RANStatusTransfer-TransparentContainer": _STATUS}),
    _of(
        "UplinkRANEarlyStatusTransfer",
        "",
        {"EarlyStatusTransfer-TransparentContainer": _EARLY_STATUS},
    ),
    Sample("PathSwitchRequest", "", _nothing, make=_path_switch),
    Sample(
        "PDUSessionResourceModifyIndication",
        "",
        lambda bench: sessions(
            bench,
            "PDUSessionResourceModifyListModInd",
            "pDUSessionResourceModifyIndicationTransfer",
            {
                "dLQosFlowPerTNLInformation": {
                    "uPTransportLayerInformation": bench.tunnel(),
                    "associatedQosFlowList": [{"qosFlowIdentifier": 1}],
                }
            },
        ),
    ),
    _of("UplinkUEAssociatedNRPPaTransport", "", {"RoutingID": "01"}, {"NRPPa-PDU": "00"}),
    _of("UERadioCapabilityInfoIndication", "", {"UERadioCapability": "0102"}),
    _of("ErrorIndication", "no such UE", _cause("radioNetwork", "unknown-local-UE-NGAP-ID")),
    _of("ErrorIndication", "protocol", _cause("protocol", "semantic-error")),
    Sample("NGReset", "the UE's connection", _reset_of_ue, bare=True),
    _of(
        "NGReset",
        "all",
        {"Cause": OM_INTERVENTION},
        {"ResetType": {"nG-Interface": "reset-all"}},
        bare=True,
    ),
    _of("NGResetAcknowledge", bare=True),
    Sample("NGSetupRequest", "", lambda _: _SETUP, bare=True),
    _of("RANConfigurationUpdate", "", {"RANNodeName": "renamed"}, bare=True),
    _of(
        "RANConfigurationUpdate",
        "unknown PLMN",
        {"SupportedTAList": supported(1, "999-99", SLICE)},
        bare=True,
    ),
)
"""Messages of a gNB with their mandatory IEs.

`samples` adds the other messages. They have only the identifiers of the UE, if the message is about
a UE.
"""


def samples() -> list[Sample]:
    """Return at least one sample of every message of an NG-RAN node that carries no NAS."""
    there = {sample.message for sample in SAMPLES} | {"InitialUEMessage", "UplinkNASTransport"}
    others = [m for m in MESSAGES.values() if m.direction != DOWN and m.name not in there]
    return [*SAMPLES, *(_of(message.name, bare=not message.of_ue) for message in others)]
