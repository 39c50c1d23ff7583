"""`ngap_read` agrees with `ngap_peek`, `ngap_check` and `ngap_decode` about the same octets."""

from typing import Any

import pytest
from hypothesis import given

import wire
from tests.corpus import entries
from tests.wire.hostile import attempt, octets
from tests.wire.profiles import MORE

Tree = dict[str, Any]

PEEKED = (
    "message",
    "procedure_code",
    "direction",
    "amf_ue_ngap_id",
    "ran_ue_ngap_id",
    "global_ran_node_id",
    "s_tmsi",
    "nas_pdu",
)


def by_name(tree: Tree) -> Tree:
    found: Tree = {}
    for item in tree["ies"]:
        for name, value in item.items():
            found.setdefault(name, value)
    return found


def told(error: wire.WireError) -> tuple[Any, ...]:
    return (str(error), error.kind, error.ie, error.offset)


def same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, wire.WireError):
        return isinstance(found, wire.WireError) and told(found) == told(wanted)
    return bool(found == wanted) and list(found or ()) == list(wanted or ())


def agrees(data: bytes) -> None:
    peek, faults = attempt(wire.ngap_peek, data), attempt(wire.ngap_check, data)
    tree = attempt(wire.ngap_decode, data)
    ies = tree if isinstance(tree, wire.WireError) else by_name(tree)
    read = attempt(wire.ngap_read, data)
    if isinstance(read, wire.WireError) or isinstance(peek, wire.WireError):
        assert same(read, peek)
        return
    assert [getattr(read.peek, name) for name in PEEKED] == [getattr(peek, name) for name in PEEKED]
    assert same(attempt(read.ies), ies)
    assert same(attempt(read.check), faults)
    assert same(attempt(read.ies), ies)  # the fast path, if there was no fault


def test_every_recorded_message() -> None:
    for entry in entries("ngap"):
        agrees(entry.octets)


@MORE
@given(octets("ngap"))
def test_any_octets(data: bytes) -> None:
    agrees(data)


@pytest.mark.parametrize(
    "location",
    [
        {
            "userLocationInformationNR": {
                "nR-CGI": {"pLMNIdentity": "208-93", "nRCellIdentity": 0xFFFF_FFFF_F},
                "tAI": {"pLMNIdentity": "001-001", "tAC": 0xFFFFFF},
            }
        },
        {
            "userLocationInformationNR": {
                "nR-CGI": {"pLMNIdentity": "208-93", "nRCellIdentity": 16},
                "tAI": {"pLMNIdentity": "208-93", "tAC": 1},
                "timeStamp": "e9000000",
            }
        },
        {
            "userLocationInformationEUTRA": {
                "eUTRA-CGI": {"pLMNIdentity": "208-93", "eUTRACellIdentity": 16},
                "tAI": {"pLMNIdentity": "208-93", "tAC": 1},
            }
        },
    ],
)
@pytest.mark.parametrize("message", ["UplinkNASTransport", "InitialUEMessage"])
def test_where_the_ue_is(message: str, location: Tree) -> None:
    ies: list[Tree] = [
        {"RAN-UE-NGAP-ID": 7},
        {"NAS-PDU": "7e0043"},
        {"UserLocationInformation": location},
    ]
    if message == "UplinkNASTransport":
        ies.insert(0, {"AMF-UE-NGAP-ID": (1 << 40) - 1})
    else:
        ies += [
            {"RRCEstablishmentCause": "mo-Signalling"},
            {"FiveG-S-TMSI": {"aMFSetID": 1, "aMFPointer": 2, "fiveG-TMSI": 3}},
            {"UEContextRequest": "requested"},
        ]
    data = wire.ngap_encode({"message": message, "ies": ies})
    read = wire.ngap_read(data)
    assert read.check() is None
    assert read.ies() == by_name({"ies": ies})
    agrees(data)


IDS: list[Tree] = [{"AMF-UE-NGAP-ID": 5}, {"RAN-UE-NGAP-ID": 7}]


def tunnel(address: str = "0a000001", **more: Any) -> Tree:
    at = {"value": address, "length": 4 * len(address)}
    return {"gTPTunnel": {"transportLayerAddress": at, "gTP-TEID": (1 << 32) - 1, **more}}


def flows(*items: Tree, to: Tree | None = None) -> Tree:
    found = [*items] or [{"qosFlowIdentifier": 1}]
    return {"uPTransportLayerInformation": to or tunnel(), "associatedQosFlowList": found}


def transfer(information: Tree | None = None, **more: Any) -> Tree:
    return {"dLQosFlowPerTNLInformation": information or flows(), **more}


EXTENDED: Tree = {
    "iE-Extensions": [{"id": 65000, "criticality": "ignore", "_raw_value": "00"}],
}

TRANSFERS: list[Tree] = [
    transfer(),
    transfer(flows(to=tunnel("0a000001" + "20010db8" * 4))),
    transfer(flows({"qosFlowIdentifier": 63}, {"qosFlowIdentifier": 0})),
    transfer(flows({"qosFlowIdentifier": 1, "qosFlowMappingIndication": "ul"})),
    transfer(additionalDLQosFlowPerTNLInformation=[{"qosFlowPerTNLInformation": flows()}]),
    transfer(
        securityResult={
            "integrityProtectionResult": "performed",
            "confidentialityProtectionResult": "not-performed",
        }
    ),
    transfer(
        qosFlowFailedToSetupList=[{"qosFlowIdentifier": 2, "cause": {"nas": "unspecified"}}],
    ),
    transfer(**EXTENDED),
    transfer({**flows(), **EXTENDED}),
    transfer(flows(to=tunnel(**EXTENDED))),
    transfer(flows({"qosFlowIdentifier": 1, **EXTENDED})),
    {"octets": "ff"},
    {"octets": "0003e00a000001ffffffff0002"},
]


@pytest.mark.parametrize("suffix", ["SURes", "CxtRes"])
@pytest.mark.parametrize("extended", [{}, EXTENDED])
@pytest.mark.parametrize("found", TRANSFERS)
def test_where_the_sessions_are(suffix: str, found: Tree, extended: Tree) -> None:
    name = {"SURes": "PDUSessionResourceSetupResponse", "CxtRes": "InitialContextSetupResponse"}
    item = {"pDUSessionID": 5, "pDUSessionResourceSetupResponseTransfer": found, **extended}
    more = {"pDUSessionID": 6, "pDUSessionResourceSetupResponseTransfer": transfer()}
    ies = [*IDS, {f"PDUSessionResourceSetupList{suffix}": [more, item]}]
    agrees(wire.ngap_encode({"message": name[suffix], "ies": ies}))


@pytest.mark.parametrize(
    "cause",
    [
        {"radioNetwork": "user-inactivity"},
        {"transport": "unspecified"},
        {"nas": "deregister"},
        {"protocol": "semantic-error"},
        {"misc": "om-intervention"},
    ],
)
@pytest.mark.parametrize("ids", [[0], [5, 255]])
@pytest.mark.parametrize("extended", [{}, EXTENDED])
def test_what_a_gnb_lets_go_of(cause: Tree, ids: list[int], extended: Tree) -> None:
    sessions = [{"pDUSessionID": number, **extended} for number in ids]
    asked = [*IDS, {"PDUSessionResourceListCxtRelReq": sessions}, {"Cause": cause}]
    agrees(wire.ngap_encode({"message": "UEContextReleaseRequest", "ies": asked}))
    done = [*IDS, {"PDUSessionResourceListCxtRelCpl": sessions}]
    agrees(wire.ngap_encode({"message": "UEContextReleaseComplete", "ies": done}))
