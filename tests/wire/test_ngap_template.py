"""A PDU of a template has the octets of the tree with the same values."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST

Tree = dict[str, Any]

id40, id32 = st.integers(0, (1 << 40) - 1), st.integers(0, (1 << 32) - 1)
nas = st.binary(min_size=1, max_size=300)
SLICES = {"AllowedNSSAI": [{"s-NSSAI": {"sST": 1}}, {"s-NSSAI": {"sST": 1, "sD": "010203"}}]}
AMBR = {
    "UEAggregateMaximumBitRate": {
        "uEAggregateMaximumBitRateDL": 1_000_000_000,
        "uEAggregateMaximumBitRateUL": 1,
    }
}
sessions = st.lists(
    st.tuples(st.integers(0, 255), nas | st.just(b""), id32), min_size=1, max_size=3
)


def ids(amf: int, ran: int) -> list[Tree]:
    return [{"AMF-UE-NGAP-ID": amf}, {"RAN-UE-NGAP-ID": ran}]


def session(member: str, psi: int, message: bytes, teid: int, address: str = "10.0.0.1") -> Tree:
    tunnel = {"transportLayerAddress": address, "gTP-TEID": teid}
    arp = {
        "priorityLevelARP": 8,
        "pre-emptionCapability": "shall-not-trigger-pre-emption",
        "pre-emptionVulnerability": "not-pre-emptable",
    }
    qos = {
        "qosCharacteristics": {"nonDynamic5QI": {"fiveQI": 9}},
        "allocationAndRetentionPriority": arp,
    }
    transfer: list[Tree] = [
        {"UL-NGU-UP-TNLInformation": {"gTPTunnel": tunnel}},
        {"PDUSessionType": "ipv4"},
        {"QosFlowSetupRequestList": [{"qosFlowIdentifier": 1, "qosFlowLevelQosParameters": qos}]},
    ]
    return {
        **({member: message.hex()} if message else {}),
        "pDUSessionID": psi,
        "s-NSSAI": {"sST": 1},
        "pDUSessionResourceSetupRequestTransfer": {"protocolIEs": transfer},
    }


def pdu(message: str, *ies: Tree) -> Tree:
    return {"message": message, "ies": list(ies)}


@FAST
@given(id40, id32, nas, st.booleans())
def test_a_downlink_nas_transport(amf: int, ran: int, message: bytes, more: bool) -> None:
    rest = [SLICES] if more else []
    template = wire.NgapTemplate(
        pdu("DownlinkNASTransport", *ids(0, 0), {"NAS-PDU": "00"}, *copy.deepcopy(rest))
    )
    wanted = pdu("DownlinkNASTransport", *ids(amf, ran), {"NAS-PDU": message.hex()}, *rest)
    assert template.encode(amf, ran, nas_pdu=message) == wire.ngap_encode(wanted)


@FAST
@given(id40, id32)
def test_a_ue_context_release_command(amf: int, ran: int) -> None:
    def tree(amf: int, ran: int) -> Tree:
        pair = {"uE-NGAP-ID-pair": {"aMF-UE-NGAP-ID": amf, "rAN-UE-NGAP-ID": ran}}
        cause = {"Cause": {"nas": "normal-release"}}
        return pdu("UEContextReleaseCommand", {"UE-NGAP-IDs": pair}, cause)

    assert wire.NgapTemplate(tree(0, 0)).encode(amf, ran) == wire.ngap_encode(tree(amf, ran))


def context(amf: int, ran: int, given: Tree, items: list[Tree]) -> Tree:
    def one(name: str) -> list[Tree]:
        return [{name: given[name]}] if name in given else []

    return pdu(
        "InitialContextSetupRequest",
        *ids(amf, ran),
        *([AMBR] if items else []),
        {
            "GUAMI": {
                "pLMNIdentity": "208-93",
                "aMFRegionID": 202,
                "aMFSetID": 1018,
                "aMFPointer": 1,
            }
        },
        *([{"PDUSessionResourceSetupListCxtReq": items}] if items else []),
        SLICES,
        {
            "UESecurityCapabilities": {
                "nRencryptionAlgorithms": "c000",
                "nRintegrityProtectionAlgorithms": "c000",
                "eUTRAencryptionAlgorithms": "0000",
                "eUTRAintegrityProtectionAlgorithms": "0000",
            }
        },
        *one("SecurityKey"),
        *one("UERadioCapability"),
        *one("MaskedIMEISV"),
        *one("NAS-PDU"),
    )


EXAMPLES = {"SecurityKey": 32, "UERadioCapability": 1, "MaskedIMEISV": 8, "NAS-PDU": 1}
PARAMETERS = {
    "SecurityKey": "security_key",
    "UERadioCapability": "radio_capability",
    "MaskedIMEISV": "masked_imeisv",
    "NAS-PDU": "nas_pdu",
}


@FAST
@given(
    id40,
    id32,
    st.fixed_dictionaries(
        {"SecurityKey": st.binary(min_size=32, max_size=32)},
        optional={
            "UERadioCapability": st.binary(min_size=1, max_size=400),
            "MaskedIMEISV": st.binary(min_size=8, max_size=8),
            "NAS-PDU": nas,
        },
    ),
    st.none() | sessions,
)
def test_an_initial_context_setup_request(
    amf: int, ran: int, given: dict[str, bytes], some: list[tuple[int, bytes, int]] | None
) -> None:
    examples = {name: "00" * EXAMPLES[name] for name in given}
    items = [session("nAS-PDU", 1, b"", 0) for _ in some or ()]
    template = wire.NgapTemplate(context(0, 0, examples, items))
    found = template.encode(
        amf, ran, sessions=some, **{PARAMETERS[name]: value for name, value in given.items()}
    )
    items = [session("nAS-PDU", *one) for one in some or ()]
    told = {name: value.hex() for name, value in given.items()}
    assert found == wire.ngap_encode(context(amf, ran, told, items))


@FAST
@given(id40, id32, st.none() | nas, sessions, st.sampled_from(("10.0.0.1", "2001:db8::1")))
def test_a_pdu_session_resource_setup_request(
    amf: int,
    ran: int,
    message: bytes | None,
    some: list[tuple[int, bytes, int]],
    address: str,
) -> None:
    def tree(head: list[Tree], octets: str, items: list[Tree]) -> Tree:
        own = [{"NAS-PDU": octets}] if message is not None else []
        listed = {"PDUSessionResourceSetupListSUReq": items}
        return pdu("PDUSessionResourceSetupRequest", *head, *own, listed, AMBR)

    name = "pDUSessionNAS-PDU"
    template = wire.NgapTemplate(
        tree(ids(0, 0), "00", [session(name, 1, b"\x00", 0, address) for _ in some])
    )
    items = [session(name, *one, address) for one in some]
    wanted = wire.ngap_encode(tree(ids(amf, ran), (message or b"").hex(), items))
    assert template.encode(amf, ran, nas_pdu=message, sessions=some) == wanted


DOWNLINK = pdu("DownlinkNASTransport", *ids(0, 0), {"NAS-PDU": "00"})
CONTEXT = context(0, 0, {"SecurityKey": "00" * 32, "MaskedIMEISV": "00" * 8}, [])
SETUP = pdu(
    "PDUSessionResourceSetupRequest",
    *ids(0, 0),
    {"PDUSessionResourceSetupListSUReq": [session("pDUSessionNAS-PDU", 1, b"", 0)]},
)
PAGING = pdu(
    "Paging",
    {"UEPagingIdentity": {"fiveG-S-TMSI": {"aMFSetID": 1, "aMFPointer": 2, "fiveG-TMSI": 3}}},
    {"TAIListForPaging": [{"tAI": {"pLMNIdentity": "208-93", "tAC": 1}}]},
)


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (lambda: wire.NgapTemplate({"message": "NoMessage", "ies": []}), "NoMessage"),
        (lambda: wire.NgapTemplate(DOWNLINK).encode(1 << 40, 1), "1099511627776"),
        (lambda: wire.NgapTemplate(DOWNLINK).encode(1, 1, security_key=bytes(32)), "SecurityKey"),
        (lambda: wire.NgapTemplate(DOWNLINK).encode(1, 1, sessions=[]), "list of PDU sessions"),
        (lambda: wire.NgapTemplate(CONTEXT).encode(1, 1, nas_pdu=b"\x7e"), "no NAS-PDU"),
        (lambda: wire.NgapTemplate(CONTEXT).encode(1, 1, radio_capability=b"\x7e"), "no UERadio"),
        (lambda: wire.NgapTemplate(CONTEXT).encode(1, 1, security_key=bytes(31)), "256"),
        (lambda: wire.NgapTemplate(CONTEXT).encode(1, 1, masked_imeisv=bytes(7)), "64"),
        (lambda: wire.NgapTemplate(SETUP).encode(1, 1, sessions=[]), "1 PDU sessions, and not 0"),
        (lambda: wire.NgapTemplate(PAGING).encode(1, 1), "no AMF-UE-NGAP-ID"),
    ],
)
def test_what_is_refused(refused: Callable[[], object], why: str) -> None:
    with pytest.raises(wire.WireError, match=why) as found:
        refused()
    assert found.value.kind == "ngap-encode"


@pytest.mark.parametrize(
    "refused",
    [
        lambda: wire.NgapTemplate(DOWNLINK).encode(1, 1 << 32),
        lambda: wire.NgapTemplate(SETUP).encode(1, 1, sessions=[(256, b"", 1)]),
        lambda: wire.NgapTemplate(SETUP).encode(1, 1, sessions=[(1, b"", 1 << 32)]),
    ],
)
def test_numbers_that_no_parameter_can_hold(refused: Callable[[], object]) -> None:
    with pytest.raises(OverflowError):
        refused()
