"""Each NGAP message that the core and the load generator send, against pycrate (TS 38.413)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire import ngap_oracle as pycrate
from tests.wire.ngap_trees import MESSAGES, message
from tests.wire.profiles import SLOW_ORACLE

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", MESSAGES)
@SLOW_ORACLE
@given(data=st.data())
def test_the_same_octets_and_the_same_values(kind: str, data: st.DataObject) -> None:
    tree = data.draw(message(kind))
    value = pycrate.value_of(tree)
    octets = wire.ngap_encode(tree)
    assert octets == pycrate.encode(value)
    assert pycrate.decode(octets) == value
    assert wire.ngap_decode(octets) == tree
    assert wire.ngap_check(octets) is None
    assert peeked(octets) == routing(tree)


def peeked(octets: bytes) -> dict[str, Any]:
    """Return the fields that `ngap_peek` reads, under the names of the IEs."""
    peek = wire.ngap_peek(octets)
    s_tmsi = peek.s_tmsi and dict(
        zip(("aMFSetID", "aMFPointer", "fiveG-TMSI"), peek.s_tmsi, strict=True)
    )
    return {
        "message": peek.message,
        "procedure": (peek.direction, peek.procedure_code),
        "AMF-UE-NGAP-ID": peek.amf_ue_ngap_id,
        "RAN-UE-NGAP-ID": peek.ran_ue_ngap_id,
        "NAS-PDU": peek.nas_pdu and peek.nas_pdu.hex(),
        "FiveG-S-TMSI": s_tmsi,
        "GlobalRANNodeID": peek.global_ran_node_id,
    }


def routing(tree: dict[str, Any]) -> dict[str, Any]:
    """Return the same fields of a tree. The procedure code is pycrate's."""
    ies: dict[str, Any] = {}
    for item in tree["ies"]:
        ies |= item
    pair = ies.get("UE-NGAP-IDs", {})
    pair = pair.get("uE-NGAP-ID-pair", pair)
    outcome, code, _ = pycrate.PROCEDURES[tree["message"]]
    node = ies.get("GlobalRANNodeID")
    if node is not None:
        node = node["globalGNB-ID"]
        bits = node["gNB-ID"]["gNB-ID"]
        number = int(bits["value"], 16) >> (-bits["length"] % 8)
        node = f"{node['pLMNIdentity']}-gnb-{bits['length']}-{number:x}"
    return {
        "message": tree["message"],
        "procedure": (outcome[0].upper() + outcome[1:], code),
        "AMF-UE-NGAP-ID": ies.get("AMF-UE-NGAP-ID", pair.get("aMF-UE-NGAP-ID")),
        "RAN-UE-NGAP-ID": ies.get("RAN-UE-NGAP-ID", pair.get("rAN-UE-NGAP-ID")),
        "NAS-PDU": ies.get("NAS-PDU"),
        "FiveG-S-TMSI": ies.get("FiveG-S-TMSI"),
        "GlobalRANNodeID": node,
    }


@pytest.mark.parametrize("group", ["radioNetwork", "transport", "nas", "protocol", "misc"])
def test_every_cause(group: str) -> None:
    """Including those after the extension marker, which PER writes differently (9.3.1.2)."""
    names = pycrate.names_of(f"Cause{group[0].upper()}{group[1:]}")
    for name in names:
        tree = {"message": "NGSetupFailure", "ies": [{"Cause": {group: name}}]}
        octets = wire.ngap_encode(tree)
        assert octets == pycrate.encode(pycrate.value_of(tree))
        assert wire.ngap_decode(octets) == tree


@pytest.mark.parametrize("size", [127, 128, 16383, 16384, 16437, 65536, 70000])
def test_long_values(size: int) -> None:
    """Lengths in two octets, and in fragments of 16K (ITU-T X.691 11.9).

    P1sec/pycrate#219: a pycrate of its day wrote a payload of 16437 octets with a length of 51.
    """
    tree = {
        "message": "UplinkNASTransport",
        "ies": [
            {"AMF-UE-NGAP-ID": 1},
            {"RAN-UE-NGAP-ID": 2},
            {"NAS-PDU": (b"z" * size).hex()},
        ],
    }
    octets = wire.ngap_encode(tree)
    assert wire.ngap_decode(octets) == tree
    peek = wire.ngap_peek(octets)
    assert peek.nas_pdu == b"z" * size
    assert octets == pycrate.encode(pycrate.value_of(tree))
    assert pycrate.decode(octets) == pycrate.value_of(tree)


@pytest.mark.parametrize("count", [1, 255, 256, 65536])
def test_long_lists(count: int) -> None:
    """An NG RESET with the maximum number of connections (maxnoofNGConnectionsToReset)."""
    items = [{"aMF-UE-NGAP-ID": n * 7919 % 2**40, "rAN-UE-NGAP-ID": n} for n in range(count)]
    tree = {
        "message": "NGReset",
        "ies": [
            {"Cause": {"misc": "om-intervention"}},
            {"ResetType": {"partOfNG-Interface": items}},
        ],
    }
    octets = wire.ngap_encode(tree)
    assert wire.ngap_decode(octets) == tree
    if count <= 256:
        assert octets == pycrate.encode(pycrate.value_of(tree))
