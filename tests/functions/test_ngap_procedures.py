"""Every NGAP procedure at the core, whichever side initiates it (TS 38.413 clauses 8 and 10)."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from msgspec import structs

import wire
from schemas.procedures import UE_MESSAGES
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import gnb, ies_of, ng_setup
from tests.functions.ngap_messages import LOCATION, OF_NODE, OF_UE, of_node, of_ue
from tests.functions.octets import AMF_UE_NGAP_ID, RAN_UE_NGAP_ID, ie, pdu, unsigned
from tests.functions.phone import Phone
from tests.functions.world import N4_NETWORK, subscriber

REJECT, IGNORE, NOTIFY = range(3)
INITIATING, SUCCESSFUL, UNSUCCESSFUL = range(3)
DIRECTIONS: Final = ("initiating-message", "successful-outcome", "unsuccessful-outcome")

WRONG_STATE: Final = {"protocol": "message-not-compatible-with-receiver-state"}
UNKNOWN_ID: Final = {"radioNetwork": "unknown-local-UE-NGAP-ID"}
INCONSISTENT_ID: Final = {"radioNetwork": "inconsistent-remote-UE-NGAP-ID"}
NOT_COMPREHENDED: Final = {"protocol": "abstract-syntax-error-reject"}
NOTIFIED: Final = {"protocol": "abstract-syntax-error-ignore-and-notify"}
FALSELY_CONSTRUCTED: Final = {"protocol": "abstract-syntax-error-falsely-constructed-message"}

RAN: Final[dict[int, str]] = {
    2: "CellTrafficTrace",
    9: "ErrorIndication",
    10: "HandoverCancel",
    11: "HandoverNotify",
    12: "HandoverRequired",
    15: "InitialUEMessage",
    17: "LocationReportingFailureIndication",
    18: "LocationReport",
    19: "NASNonDeliveryIndication",
    20: "NGReset",
    21: "NGSetupRequest",
    25: "PathSwitchRequest",
    27: "PDUSessionResourceModifyIndication",
    30: "PDUSessionResourceNotify",
    31: "PrivateMessage",
    33: "PWSFailureIndication",
    34: "PWSRestartIndication",
    35: "RANConfigurationUpdate",
    37: "RRCInactiveTransitionReport",
    38: "TraceFailureIndication",
    42: "UEContextReleaseRequest",
    44: "UERadioCapabilityInfoIndication",
    46: "UplinkNASTransport",
    47: "UplinkNonUEAssociatedNRPPaTransport",
    48: "UplinkRANConfigurationTransfer",
    49: "UplinkRANStatusTransfer",
    50: "UplinkUEAssociatedNRPPaTransport",
    52: "SecondaryRATDataUsageReport",
    53: "UplinkRIMInformationTransfer",
    55: "RetrieveUEInformation",
    57: "RANCPRelocationIndication",
    58: "UEContextResumeRequest",
    59: "UEContextSuspendRequest",
    62: "UplinkRANEarlyStatusTransfer",
    69: "DistributionSetupRequest",
    70: "DistributionReleaseRequest",
    75: "BroadcastSessionReleaseRequired",
}
"""Procedures that a NG-RAN node initiates, by procedure code, up to release 17."""

AMF: Final[dict[int, str]] = {
    0: "AMFConfigurationUpdate",
    1: "AMFStatusIndication",
    3: "DeactivateTrace",
    4: "DownlinkNASTransport",
    5: "DownlinkNonUEAssociatedNRPPaTransport",
    6: "DownlinkRANConfigurationTransfer",
    7: "DownlinkRANStatusTransfer",
    8: "DownlinkUEAssociatedNRPPaTransport",
    13: "HandoverRequest",
    14: "InitialContextSetupRequest",
    16: "LocationReportingControl",
    22: "OverloadStart",
    23: "OverloadStop",
    24: "Paging",
    26: "PDUSessionResourceModifyRequest",
    28: "PDUSessionResourceReleaseCommand",
    29: "PDUSessionResourceSetupRequest",
    32: "PWSCancelRequest",
    36: "RerouteNASRequest",
    39: "TraceStart",
    40: "UEContextModificationRequest",
    41: "UEContextReleaseCommand",
    43: "UERadioCapabilityCheckRequest",
    45: "UETNLABindingReleaseRequest",
    51: "WriteReplaceWarningRequest",
    54: "DownlinkRIMInformationTransfer",
    56: "UEInformationTransfer",
    60: "UERadioCapabilityIDMappingRequest",
    61: "HandoverSuccess",
    63: "DownlinkRANEarlyStatusTransfer",
    64: "AMFCPRelocationIndication",
    65: "ConnectionEstablishmentIndication",
    66: "BroadcastSessionModificationRequest",
    67: "BroadcastSessionReleaseRequest",
    68: "BroadcastSessionSetupRequest",
    71: "MulticastSessionActivationRequest",
    72: "MulticastSessionDeactivationRequest",
    73: "MulticastSessionUpdateRequest",
    74: "MulticastGroupPaging",
}
"""Procedures that only an AMF initiates."""

CONNECTED: Final[dict[str, list[str]]] = {
    "CellTrafficTrace": [],
    "HandoverCancel": ["HandoverCancelAcknowledge"],
    "HandoverNotify": ["ErrorIndication"],
    "HandoverRequired": ["HandoverPreparationFailure"],
    "LocationReportingFailureIndication": [],
    "LocationReport": [],
    "NASNonDeliveryIndication": [],
    "PathSwitchRequest": ["PathSwitchRequestFailure"],
    "PDUSessionResourceModifyIndication": ["PDUSessionResourceModifyConfirm"],
    "PDUSessionResourceNotify": [],
    "RRCInactiveTransitionReport": [],
    "TraceFailureIndication": [],
    "UEContextReleaseRequest": ["UEContextReleaseCommand"],
    "UERadioCapabilityInfoIndication": [],
    "UplinkNASTransport": [],
    "UplinkRANStatusTransfer": ["ErrorIndication"],
    "UplinkUEAssociatedNRPPaTransport": [],
    "SecondaryRATDataUsageReport": [],
    "UEContextResumeRequest": ["UEContextResumeFailure"],
    "UEContextSuspendRequest": ["UEContextSuspendFailure"],
    "UplinkRANEarlyStatusTransfer": ["ErrorIndication"],
}
"""The responses to the gNB of a registered UE without PDU sessions and handovers."""

SET_UP: Final[dict[str, list[str]]] = {
    "ErrorIndication": [],
    "NGReset": ["NGResetAcknowledge"],
    "NGSetupRequest": ["NGSetupResponse"],
    "PWSFailureIndication": [],
    "PWSRestartIndication": [],
    "RANConfigurationUpdate": ["RANConfigurationUpdateAcknowledge"],
    "UplinkNonUEAssociatedNRPPaTransport": [],
    "UplinkRANConfigurationTransfer": [],
    "UplinkRIMInformationTransfer": [],
    "RetrieveUEInformation": ["ErrorIndication"],
    "BroadcastSessionReleaseRequired": ["ErrorIndication"],
    "DistributionSetupRequest": ["ErrorIndication"],
    "DistributionReleaseRequest": ["ErrorIndication"],
    "RANCPRelocationIndication": ["ErrorIndication"],
}
"""The responses to node-level messages."""

UNSUPPORTED: Final = {
    "RetrieveUEInformation",
    "BroadcastSessionReleaseRequired",
    "DistributionSetupRequest",
    "DistributionReleaseRequest",
    "RANCPRelocationIndication",
}
"""Unsupported procedures, all with the criticality reject (9.4.3)."""


def connected() -> tuple[CheckedWorld, Phone]:
    world = CheckedWorld()
    ng_setup(world)
    phone = Phone(world)
    phone.register()
    phone.hear()
    return world, phone


def answers(world: CheckedWorld) -> list[tuple[str, dict[str, Any]]]:
    return [(tree["message"], ies_of(tree)) for tree in world.sent()]


def test_every_procedure_is_in_the_table() -> None:
    """By code and name, as in the codec."""
    assert not RAN.keys() & AMF.keys()
    assert sorted(RAN | AMF) == list(range(76))
    for code, message in (RAN | AMF).items():
        octets = pdu(code, INITIATING, REJECT, [])
        assert wire.ngap_peek(octets).message == message
    begun = set(RAN.values()) - {"InitialUEMessage", "PrivateMessage"}
    assert begun == OF_NODE.keys() | OF_UE.keys()
    assert OF_NODE.keys() == SET_UP.keys()
    assert OF_UE.keys() == CONNECTED.keys()


@pytest.mark.parametrize("message", SET_UP)
def test_a_procedure_of_a_node_that_is_set_up(message: str) -> None:
    world = CheckedWorld()
    ng_setup(world)
    world.uplink(of_node(message))
    found = answers(world)
    assert [name for name, _ in found] == SET_UP[message]
    if message in UNSUPPORTED:
        assert found[0][1]["Cause"] == NOT_COMPREHENDED
        assert found[0][1]["CriticalityDiagnostics"]["procedureCriticality"] == "reject"
    world.verify()


@pytest.mark.parametrize("message", [m for m in OF_NODE if m != "NGSetupRequest"])
def test_a_procedure_of_a_node_before_ng_setup(message: str) -> None:
    """10.4: the failure message, if the procedure has one, or an ERROR INDICATION with its code."""
    world = CheckedWorld()
    world.uplink(of_node(message))
    found = answers(world)
    if message == "ErrorIndication":
        assert found == []
    elif message in UNSUPPORTED:
        assert found[0][1]["Cause"] == NOT_COMPREHENDED
    elif message == "RANConfigurationUpdate":
        assert found == [("RANConfigurationUpdateFailure", {"Cause": WRONG_STATE})]
    else:
        code = next(code for code, name in RAN.items() if name == message)
        diagnostics = {"procedureCode": code, "triggeringMessage": "initiating-message"}
        ies = {"Cause": WRONG_STATE, "CriticalityDiagnostics": diagnostics}
        assert found == [("ErrorIndication", ies)]
    world.verify()


@pytest.mark.parametrize("message", CONNECTED)
def test_a_procedure_of_a_ue_that_is_connected(message: str) -> None:
    world, phone = connected()
    assert phone.amf_id is not None
    world.uplink(of_ue(message, phone.amf_id, phone.ran_id))
    found = answers(world)
    assert [name for name, _ in found] == CONNECTED[message]
    for name, ies in found:
        if name.endswith("Failure") and "Cause" in ies:
            assert ies["AMF-UE-NGAP-ID"] == phone.amf_id
            assert ies["RAN-UE-NGAP-ID"] == phone.ran_id
        if message.startswith("UEContext") and name.endswith("Failure"):
            assert ies["Cause"] == WRONG_STATE
    if message in UNSUPPORTED:
        assert found[0][1]["Cause"] == NOT_COMPREHENDED
    world.verify()


@pytest.mark.parametrize("message", CONNECTED)
def test_a_procedure_of_an_unknown_ue(message: str) -> None:
    """10.6. PATH SWITCH REQUEST is the first message of a connection, and has its own failure
    message."""
    world = CheckedWorld()
    ng_setup(world)
    world.uplink(of_ue(message, 77, 88))
    (found,) = answers(world)
    if message in UNSUPPORTED:
        assert found[1]["Cause"] == NOT_COMPREHENDED
    elif message != "PathSwitchRequest":
        ids = {"AMF-UE-NGAP-ID": 77, "RAN-UE-NGAP-ID": 88}
        assert found == ("ErrorIndication", {**ids, "Cause": UNKNOWN_ID})
    world.verify()


@pytest.mark.parametrize("message", CONNECTED)
def test_a_procedure_of_a_ue_before_ng_setup(message: str) -> None:
    """There is no UE on an interface that is down, so both ids are reported as wrong."""
    world = CheckedWorld()
    octets = wire.ngap_encode(of_ue(message, 77, 88))
    event = world.route(octets)
    world.deliver(event)
    (found,) = answers(world)
    ids = {"AMF-UE-NGAP-ID": 77, "RAN-UE-NGAP-ID": 88}
    assert found[0] == "ErrorIndication"
    assert found[1].items() >= ids.items()
    assert found[1]["Cause"] == (NOT_COMPREHENDED if message in UNSUPPORTED else WRONG_STATE)
    world.verify()


@pytest.mark.parametrize("message", [m for m in CONNECTED if m != "PathSwitchRequest"])
def test_a_procedure_of_a_ue_by_another_ran_ue_ngap_id(message: str) -> None:
    """10.6: the wrong ids are reported, and the connection with the other id is released on both
    sides."""
    world, phone = connected()
    assert phone.amf_id is not None
    world.uplink(of_ue(message, phone.amf_id, 88))
    ids = {"AMF-UE-NGAP-ID": phone.amf_id, "RAN-UE-NGAP-ID": 88}
    assert answers(world) == [("ErrorIndication", {**ids, "Cause": INCONSISTENT_ID})]
    here = world.ue().connection
    assert here is not None
    assert here.ran_ue_ngap_id == phone.ran_id != 88
    world.verify()


def test_what_has_an_inconsistent_id_is_released() -> None:
    """10.6: the connection that has the id, although it did not send the message."""
    world = CheckedWorld(*(subscriber(number) for number in (1, 2)))
    ng_setup(world)
    phones = [Phone(world, number) for number in (1, 2)]
    for phone in phones:
        phone.register()
        phone.hear()
    assert phones[0].amf_id is not None
    world.uplink(of_ue("LocationReport", phones[0].amf_id, phones[1].ran_id))
    assert [name for name, _ in answers(world)] == ["ErrorIndication"]
    assert world.ue(1).connection is not None
    assert world.ue(2).connection is None
    world.verify()


# Procedures that the core initiates, and responses without a request


@pytest.mark.parametrize("code", AMF)
def test_what_only_an_amf_begins_is_answered_by_its_criticality(code: int) -> None:
    """The core does not support receiving it (10.3.4.1)."""
    for criticality, cause in ((REJECT, NOT_COMPREHENDED), (IGNORE, None), (NOTIFY, NOTIFIED)):
        world = CheckedWorld()
        ng_setup(world)
        world.uplink_pdu(pdu(code, INITIATING, criticality, []))
        found = answers(world)
        assert [ies["Cause"] for _, ies in found] == ([] if cause is None else [cause])
        world.verify()


def responses() -> Iterator[tuple[int, int]]:
    for code in {**RAN, **AMF}:
        for direction in (SUCCESSFUL, UNSUCCESSFUL):
            if wire.ngap_peek(pdu(code, direction, REJECT, [])).message != "unknown":
                yield code, direction


@pytest.mark.parametrize(("code", "direction"), list(responses()))
def test_an_unexpected_response_is_not_answered(code: int, direction: int) -> None:
    """10.3.4.2, 10.3.5, 10.4: local error handling, even if IEs are missing."""
    world = CheckedWorld()
    ng_setup(world)
    before = gnb(world)
    world.uplink_pdu(pdu(code, direction, REJECT, []))
    assert answers(world) == []
    assert gnb(world) == before
    world.verify()


# Unknown procedure codes


@pytest.mark.parametrize("direction", [INITIATING, SUCCESSFUL, UNSUCCESSFUL])
@pytest.mark.parametrize(
    ("set_up", "of_a_ue"), [(True, True), (True, False), (False, False)], ids=str
)
@pytest.mark.parametrize("code", [99, 255])
def test_an_unknown_procedure_code(code: int, direction: int, set_up: bool, of_a_ue: bool) -> None:
    """10.3.4.1: reject and notify get a response with the code, the type and the criticality."""
    for criticality, name, cause in (
        (REJECT, "reject", NOT_COMPREHENDED),
        (NOTIFY, "notify", NOTIFIED),
        (IGNORE, "ignore", None),
    ):
        world, phone = connected()
        ids: list[bytes] = []
        if of_a_ue and phone.amf_id is not None:
            ids.append(ie(AMF_UE_NGAP_ID, REJECT, unsigned(phone.amf_id, 5)))
            ids.append(ie(RAN_UE_NGAP_ID, REJECT, unsigned(phone.ran_id, 4)))
        association = "a1" if set_up else "a7"
        before = world.ue().connection
        world.uplink_pdu(pdu(code, direction, criticality, ids), association=association)
        found = answers(world)
        if cause is None:
            assert found == []
        else:
            ((message, ies),) = found
            assert message == "ErrorIndication"
            assert ies["Cause"] == cause
            assert ("AMF-UE-NGAP-ID" in ies) == of_a_ue
            assert ies["CriticalityDiagnostics"] == {
                "procedureCode": code,
                "triggeringMessage": DIRECTIONS[direction],
                "procedureCriticality": name,
            }
        after = world.ue().connection
        assert after is not None
        assert before is not None
        assert after.amf_ue_ngap_id == before.amf_ue_ngap_id
        world.verify()


# IEs: unknown, missing, repeated and out of order, in requests and responses

UNKNOWN_IE: Final = 9999


def raw(message: str, value: dict[str, Any]) -> bytes:
    """Return an encoded IE."""
    octets = wire.ngap_encode({"message": message, "ies": [value]})
    assert octets[3] < 0x80
    return octets[7:]


NAME, DRX = (
    raw("RANConfigurationUpdate", value)
    for value in ({"RANNodeName": "renamed"}, {"DefaultPagingDRX": "v64"})
)
CAUSE, ALL = (raw("NGReset", value) for value in OF_NODE["NGReset"])


def first(world: CheckedWorld) -> tuple[str, dict[str, Any]]:
    found = answers(world)
    assert len(found) <= 1, found
    return found[0] if found else ("", {})


def reset_pdu(*more: bytes) -> bytes:
    return pdu(20, INITIATING, REJECT, [CAUSE, ALL, *more])


@pytest.mark.parametrize(
    ("criticality", "update", "reset"),
    [
        (REJECT, "RANConfigurationUpdateFailure", "ErrorIndication"),
        (NOTIFY, "RANConfigurationUpdateAcknowledge", "NGResetAcknowledge"),
        (IGNORE, "RANConfigurationUpdateAcknowledge", "NGResetAcknowledge"),
    ],
)
def test_an_unknown_ie_in_a_request(criticality: int, update: str, reset: str) -> None:
    """10.3.4.2, with a failure message and without; notify is reported in the response."""
    world = CheckedWorld()
    ng_setup(world)
    unknown = ie(UNKNOWN_IE, criticality, b"\x01")
    for octets, expected in (
        (pdu(35, INITIATING, REJECT, [unknown]), update),
        (reset_pdu(unknown), reset),
    ):
        world.uplink_pdu(octets)
        message, ies = first(world)
        assert message == expected
        told = "CriticalityDiagnostics" in ies
        assert told == (criticality != IGNORE)
        if told:
            (item,) = ies["CriticalityDiagnostics"]["iEsCriticalityDiagnostics"]
            assert (item["iE-ID"], item["typeOfError"]) == (UNKNOWN_IE, "not-understood")
            assert ("procedureCode" in ies["CriticalityDiagnostics"]) == (
                message == "ErrorIndication"
            )
        if criticality == REJECT:
            assert ies["Cause"] == NOT_COMPREHENDED
    world.verify()


@pytest.mark.parametrize(
    ("criticality", "cause"), [(REJECT, NOT_COMPREHENDED), (NOTIFY, NOTIFIED), (IGNORE, None)]
)
def test_an_unknown_ie_where_there_is_no_response(
    criticality: int, cause: dict[str, str] | None
) -> None:
    """10.3.4.2, class 2: the location is used unless the message is rejected."""
    world, phone = connected()
    assert phone.amf_id is not None
    octets = with_ie(of_ue("LocationReport", phone.amf_id, phone.ran_id), criticality)
    world.uplink_pdu(octets)
    message, ies = first(world)
    assert message == ("" if cause is None else "ErrorIndication")
    assert ies.get("Cause") == cause
    if cause is not None:
        assert ies["AMF-UE-NGAP-ID"] == phone.amf_id
        diagnostics = ies["CriticalityDiagnostics"]
        assert (diagnostics["procedureCode"], diagnostics["triggeringMessage"]) == (
            18,
            "initiating-message",
        )
    noted = [e for _, s in world.order[-1:] for e in s.events if "LocationReport: " in str(e)]
    assert bool(noted) == (criticality != REJECT)
    world.verify()


def with_ie(tree: dict[str, Any], criticality: int) -> bytes:
    """Return the octets of a message with an unknown IE at its end."""
    octets = wire.ngap_encode(tree)
    start = 4 if octets[3] < 0x80 else 5
    body = octets[start:]
    count = int.from_bytes(body[1:3], "big") + 1
    body = body[:1] + count.to_bytes(2, "big") + body[3:] + ie(UNKNOWN_IE, criticality, b"\x01")
    size = bytes([len(body)]) if len(body) < 128 else (0x8000 | len(body)).to_bytes(2, "big")
    return octets[:3] + size + body


@pytest.mark.parametrize("request_", ["UEContextSuspendRequest", "UEContextResumeRequest"])
@pytest.mark.parametrize("criticality", [REJECT, NOTIFY, IGNORE])
def test_an_unknown_ie_in_a_request_of_a_ue(request_: str, criticality: int) -> None:
    """Its failure message reports it, with any criticality."""
    world, phone = connected()
    assert phone.amf_id is not None
    world.uplink_pdu(with_ie(of_ue(request_, phone.amf_id, phone.ran_id), criticality))
    message, ies = first(world)
    assert message == request_.replace("Request", "Failure")
    assert ies["Cause"] == (NOT_COMPREHENDED if criticality == REJECT else WRONG_STATE)
    assert ("CriticalityDiagnostics" in ies) == (criticality != IGNORE)
    world.verify()


def test_an_unknown_ie_in_a_modify_indication() -> None:
    """The confirm reports ignored IEs; the procedure has no failure message."""
    for criticality, expected in (
        (REJECT, "ErrorIndication"),
        (NOTIFY, "PDUSessionResourceModifyConfirm"),
        (IGNORE, "PDUSessionResourceModifyConfirm"),
    ):
        world, phone = connected()
        assert phone.amf_id is not None
        tree = of_ue("PDUSessionResourceModifyIndication", phone.amf_id, phone.ran_id)
        world.uplink_pdu(with_ie(tree, criticality))
        message, ies = first(world)
        assert message == expected
        assert ("CriticalityDiagnostics" in ies) == (criticality != IGNORE)
        world.verify()


@pytest.mark.parametrize("message", [m for m in OF_UE if m not in UNSUPPORTED])
def test_a_missing_id(message: str) -> None:
    """A message without AMF-UE-NGAP-ID belongs to no UE: 10.3.5, by the criticality of the IE."""
    world, phone = connected()
    assert phone.amf_id is not None
    tree = of_ue(message, phone.amf_id, phone.ran_id)
    ids = {"AMF-UE-NGAP-ID", "SourceAMF-UE-NGAP-ID"}
    tree["ies"] = [item for item in tree["ies"] if not ids & item.keys()]
    world.uplink(tree)
    name, ies = first(world)
    assert name == "ErrorIndication"
    assert ies["Cause"] in (NOT_COMPREHENDED, UNKNOWN_ID)
    assert (message == "SecondaryRATDataUsageReport") == (ies["Cause"] == UNKNOWN_ID)
    world.verify()


def test_ies_twice_and_out_of_order() -> None:
    """10.3.6: a falsely constructed message, with the failure message if the procedure has one."""
    world = CheckedWorld(network=structs.replace(N4_NETWORK, ie_order="strict"))
    ng_setup(world)
    for octets, expected in (
        (pdu(35, INITIATING, REJECT, [NAME, NAME]), "RANConfigurationUpdateFailure"),
        (pdu(35, INITIATING, REJECT, [DRX, NAME]), "RANConfigurationUpdateFailure"),
        (pdu(20, INITIATING, REJECT, [CAUSE, ALL, ALL]), "ErrorIndication"),
        (pdu(20, INITIATING, REJECT, [ALL, CAUSE]), "ErrorIndication"),
    ):
        before = gnb(world)
        world.uplink_pdu(octets)
        message, ies = first(world)
        assert (message, ies["Cause"]) == (expected, FALSELY_CONSTRUCTED)
        assert gnb(world) == before
    world.verify()


@pytest.mark.parametrize("direction", [SUCCESSFUL, UNSUCCESSFUL])
def test_an_unknown_ie_in_a_response(direction: int) -> None:
    """10.3.4.2: with reject, the procedure ends without a response; with notify, an ERROR
    INDICATION is sent in addition."""
    for criticality, expected in ((REJECT, ""), (NOTIFY, "ErrorIndication"), (IGNORE, "")):
        world = CheckedWorld()
        ng_setup(world)
        ies = [ie(UNKNOWN_IE, criticality, b"\x01")]
        if direction == UNSUCCESSFUL:
            ies.insert(0, CAUSE)
        world.uplink_pdu(pdu(0, direction, REJECT, ies))
        message, found = first(world)
        assert message == expected
        if expected:
            assert found["Cause"] == NOTIFIED
            diagnostics = found["CriticalityDiagnostics"]
            assert diagnostics["triggeringMessage"] == DIRECTIONS[direction]
        world.verify()


def test_the_messages_of_ues_that_are_understood() -> None:
    """The messages in the tables, and the responses to the core's requests; no others."""
    begun = {m for m in OF_UE if m not in UNSUPPORTED} | {"InitialUEMessage", "ErrorIndication"}
    others = UE_MESSAGES - begun
    for message in others:
        assert message.endswith(("Response", "Complete", "Acknowledge", "Failure")), message
    assert begun <= UE_MESSAGES
    assert LOCATION.keys() == {"UserLocationInformation"}
