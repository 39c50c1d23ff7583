"""No NGAP octets and no tree end the process, and the functions agree with each other."""

from typing import Any

from hypothesis import given

import wire
from tests.corpus import entries
from tests.wire.hostile import attempt, octets, spoiled, values
from tests.wire.profiles import FAST, MORE
from tests.wire.recorded import trees_of

TREES = trees_of("ngap", wire.ngap_decode)


@MORE
@given(data=octets("ngap"))
def test_any_octets(data: bytes) -> None:
    peek = attempt(wire.ngap_peek, data)
    faults = attempt(wire.ngap_check, data)
    tree = attempt(wire.ngap_decode, data)
    # If a gateway can route a PDU, a procedure can report its faults, and the reverse.
    if not isinstance(peek, wire.NgapPeek) or peek.message != "unknown":
        assert isinstance(peek, wire.WireError) == isinstance(faults, wire.WireError)
    for refused in (peek, faults, tree):
        if isinstance(refused, wire.WireError):
            assert (refused.ie, refused.offset) != (None, None)
    if isinstance(tree, wire.WireError):
        assert isinstance(faults, wire.WireError) or (faults is not None and faults["reject"])
        return
    assert isinstance(peek, wire.NgapPeek)
    agrees(peek, tree)
    # The PDU was read completely. It can be written, and reading that gives the same tree.
    again = wire.ngap_encode(tree)
    assert wire.ngap_decode(again) == tree
    assert wire.ngap_encode(wire.ngap_decode(again)) == again


def agrees(peek: wire.NgapPeek, tree: dict[str, Any]) -> None:
    assert peek.message == tree.get("message", "unknown")
    ies: dict[str, Any] = {}
    for item in tree["ies"]:
        for name, value in item.items():
            ies.setdefault(name, value)
    if isinstance(ies.get("NAS-PDU"), str):
        assert peek.nas_pdu == bytes.fromhex(ies["NAS-PDU"])
    if isinstance(ies.get("RAN-UE-NGAP-ID"), int):
        assert peek.ran_ue_ngap_id == ies["RAN-UE-NGAP-ID"]
    if isinstance(ies.get("AMF-UE-NGAP-ID"), int):
        assert peek.amf_ue_ngap_id == ies["AMF-UE-NGAP-ID"]


@FAST
@given(data=octets("ngap"))
def test_the_answer_to_any_faults_can_be_sent(data: bytes) -> None:
    faults = attempt(wire.ngap_check, data)
    if isinstance(faults, wire.WireError) or faults is None:
        return
    for diagnostics in ("diagnostics", "diagnostics_for_response"):
        ies: list[dict[str, Any]] = [{"Cause": faults["cause"]}]
        ies.append({"CriticalityDiagnostics": faults[diagnostics]})
        indication = wire.ngap_encode({"message": "ErrorIndication", "ies": ies})
        assert wire.ngap_check(indication) is None


@MORE
@given(tree=spoiled(TREES))
def test_a_spoiled_tree(tree: Any) -> None:
    octets_ = attempt(wire.ngap_encode, tree)
    if isinstance(octets_, bytes):
        attempt(wire.ngap_decode, octets_)


@FAST
@given(tree=values)
def test_any_value_as_a_tree(tree: Any) -> None:
    assert isinstance(attempt(wire.ngap_encode, tree), wire.WireError)


def test_every_cut_and_every_bit() -> None:
    """For each message of the corpus: every truncation, and every bit flipped."""
    for entry in entries("ngap"):
        for end in range(len(entry.octets)):
            _all(entry.octets[:end])
        if entry.outcome == "same":
            for bit in range(8 * len(entry.octets)):
                data = bytearray(entry.octets)
                data[bit // 8] ^= 1 << bit % 8
                _all(bytes(data))


def _all(data: bytes) -> None:
    attempt(wire.ngap_peek, data)
    attempt(wire.ngap_check, data)
    attempt(wire.ngap_decode, data)
