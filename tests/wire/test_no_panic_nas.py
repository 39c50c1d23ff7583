"""No NAS octets and no tree end the process, and the functions agree with each other."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.corpus import entries
from tests.wire.hostile import attempt, octets, spoiled, values
from tests.wire.nas_peer import KAMF, PAIRS, sealed
from tests.wire.profiles import FAST, MORE
from tests.wire.recorded import trees_of

TREES = trees_of("nas", wire.nas_decode)
PLAIN, CIPHERED = 0, (2, 4)


@MORE
@given(data=octets("nas"))
def test_any_octets(data: bytes) -> None:
    peek = attempt(wire.nas_peek, data)
    tree = attempt(wire.nas_decode, data)
    attempt(wire.ue_security_capability, data)
    assert isinstance(peek, wire.WireError) == (len(data) < 2)
    if isinstance(tree, wire.WireError):
        assert tree.offset is None or tree.offset <= len(data)
        return
    again = wire.nas_encode(tree)
    assert wire.nas_decode(again) == tree
    assert wire.nas_encode(wire.nas_decode(again)) == again


@MORE
@given(data=octets("nas"))
def test_any_octets_are_answered(data: bytes) -> None:
    """An answer is never answered. Two networks would not stop (TS 24.501 7.4)."""
    answer = attempt(wire.nas_answer, data)
    assert wire.nas_read(data).answer == answer
    if isinstance(answer, bytes):
        assert isinstance(attempt(wire.nas_peek, answer), wire.NasPeek)
        attempt(wire.nas_decode, answer)


@MORE
@given(
    data=octets("nas"),
    algorithms=st.sampled_from(PAIRS[1:]),
    downlink=st.booleans(),
    count=st.integers(0, 2**24 - 1),
)
def test_any_octets_are_unprotected(
    data: bytes, algorithms: tuple[int, int], downlink: bool, count: int
) -> None:
    """With NIA1 to 3, only messages made with the key are authentic."""
    receiver = wire.NasSecurity(KAMF, *algorithms, count, count)
    refused = attempt(receiver.unprotect, data, downlink=downlink)
    assert isinstance(refused, wire.WireError)
    assert refused.kind in ("nas-decode", "nas-integrity", "nas-count")
    assert (refused.plain, refused.count) == (None, None)
    assert (receiver.uplink, receiver.downlink) == (count, count)


@MORE
@given(
    plain=octets("nas").filter(bool),
    header=st.integers(1, 4),
    downlink=st.booleans(),
    count=st.integers(0, 2**24 - 1),
)
def test_anything_authentic(plain: bytes, header: int, downlink: bool, count: int) -> None:
    receiver = wire.NasSecurity(KAMF, 2, 2, count, count)
    data = sealed(plain, count, header=header, downlink=downlink)
    found = attempt(receiver.unprotect, data, downlink=downlink)
    after = count + 1 if count < 2**24 - 1 else None
    assert (receiver.downlink if downlink else receiver.uplink) == after
    if isinstance(found, wire.NasVerified):
        assert plain in (found.plain, found.outer)
        assert (found.count, found.security_header) == (count, header)
    else:
        assert (found.kind, found.count, found.plain) == ("nas-refused", count, plain)
        assert found.offset is None or found.offset <= len(plain)


@FAST
@given(plain=octets("nas"), header=st.integers(0, 255), downlink=st.booleans())
def test_anything_to_protect(plain: bytes, header: int, downlink: bool) -> None:
    sender, receiver = wire.NasSecurity(KAMF, 1, 3), wire.NasSecurity(KAMF, 1, 3)
    data = attempt(sender.protect, plain, header, downlink=downlink)
    if isinstance(data, bytes):
        # For an initial message with a container, the result is the message in the container.
        found = receiver.unprotect(data, downlink=downlink)
        assert plain in (found.plain, found.outer)
    else:
        assert (sender.uplink, sender.downlink) == (0, 0)
    attempt(wire.NasSecurity(KAMF, 1, 3).protect_initial, plain)


@MORE
@given(tree=spoiled(TREES))
def test_a_spoiled_tree(tree: Any) -> None:
    octets_ = attempt(wire.nas_encode, tree)
    if isinstance(octets_, bytes):
        attempt(wire.nas_decode, octets_)


@FAST
@given(tree=values)
def test_any_value_as_a_tree(tree: Any) -> None:
    assert isinstance(attempt(wire.nas_encode, tree), wire.WireError)


def test_every_cut_and_every_bit() -> None:
    for entry in entries("nas"):
        for end in range(len(entry.octets)):
            _all(entry.octets[:end])
        for bit in range(8 * len(entry.octets)):
            data = bytearray(entry.octets)
            data[bit // 8] ^= 1 << bit % 8
            _all(bytes(data))


def _all(data: bytes) -> None:
    attempt(wire.nas_peek, data)
    attempt(wire.nas_decode, data)
    attempt(wire.nas_answer, data)
    attempt(wire.ue_security_capability, data)
    attempt(wire.NasSecurity(KAMF, 0, 0).unprotect, data, downlink=False)


def test_containers_in_containers() -> None:
    """The deepest nesting that fits in 64 KiB, in each message that has a container."""
    for head in (b"\x7e\x00\x5e", bytes.fromhex("7e004171000d0100f110f0ff00000000000010")):
        data = head
        while len(data) < 65_000:
            data = head + b"\x71" + len(data).to_bytes(2, "big") + data
        tree = attempt(wire.nas_decode, data)
        assert isinstance(tree, dict)
        assert wire.nas_encode(tree) == data
        _all(data)
