"""No PFCP octets and no tree end the process, and the functions agree with each other."""

from typing import Any

from hypothesis import given

import wire
from tests.corpus import entries
from tests.wire.hostile import attempt, octets, spoiled, values
from tests.wire.profiles import FAST, MORE
from tests.wire.recorded import trees_of

TREES = trees_of("pfcp", wire.pfcp_decode)


@MORE
@given(data=octets("pfcp"))
def test_any_octets(data: bytes) -> None:
    _all(data)


def test_every_cut_and_every_bit() -> None:
    for entry in entries("pfcp"):
        for end in range(len(entry.octets)):
            _all(entry.octets[:end])
        for bit in range(8 * len(entry.octets)):
            data = bytearray(entry.octets)
            data[bit // 8] ^= 1 << bit % 8
            _all(bytes(data))


@MORE
@given(tree=spoiled(TREES))
def test_a_spoiled_tree(tree: Any) -> None:
    """If a spoiled tree can be written, reading it gives this tree or an equal one."""
    found = attempt(wire.pfcp_encode, tree)
    if isinstance(found, bytes):
        again = attempt(wire.pfcp_decode, found)
        if isinstance(again, dict):
            assert wire.pfcp_encode(again) == found or wire.pfcp_decode(found) == again


@FAST
@given(tree=values)
def test_any_value_as_a_tree(tree: Any) -> None:
    assert isinstance(attempt(wire.pfcp_encode, tree), wire.WireError)


def test_groups_in_groups() -> None:
    """The deepest nesting that fits in 64 KiB."""
    data = b""
    while len(data) < 65_000:
        data = b"\x00\x02" + len(data).to_bytes(2, "big") + data
    data = b"\x20\x01" + (len(data) + 4).to_bytes(2, "big") + b"\0\0\1\0" + data
    assert isinstance(attempt(wire.pfcp_decode, data), wire.WireError)
    assert wire.pfcp_decode(data, lenient=True)["ies"]
    assert wire.pfcp_check(data) is not None


def _all(data: bytes) -> None:
    peek = attempt(wire.pfcp_peek, data)
    faults = wire.pfcp_check(data)
    tree = attempt(wire.pfcp_decode, data)
    attempt(wire.pfcp_decode, data, lenient=True)
    if isinstance(tree, wire.WireError):
        # A receiver that relies on the check decodes no message that fails to decode.
        assert faults is not None
        assert tree.offset is not None
        assert tree.offset <= len(data)
        return
    assert isinstance(peek, wire.PfcpPeek)
    assert (tree["message"], tree["sequence"]) == (peek.message, peek.sequence)
    again = wire.pfcp_encode(tree)
    assert wire.pfcp_decode(again) == tree
    assert wire.pfcp_encode(wire.pfcp_decode(again)) == again
