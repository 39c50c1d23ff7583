"""The key layout equals FoundationDB's tuple layer, as the official bindings pack it."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statestore.foundationdb.keys import (
    Keys,
    end_below,
    names_from,
    pack_int,
    pack_str,
    unpack_int,
    unpack_str,
)
from tests.statestore.official import tuple_layer

_tuple = tuple_layer()
official = cast("Callable[[tuple[Any, ...]], bytes]", _tuple.pack)
names = st.text(max_size=6) | st.text("a\0ÿ", max_size=6)
numbers = st.integers(0, 2**63 - 1) | st.sampled_from(
    [2**n - d for n in range(1, 64) for d in (0, 1)]
)


@settings(derandomize=True)
@given(names)
def test_strings_are_packed_as_the_bindings_do(name: str):
    assert pack_str(name) == official((name,))
    assert unpack_str(b"stem" + pack_str(name) + b"\x15\x01", 4) == (
        name,
        5 + len(pack_str(name)) - 1,
    )


@settings(derandomize=True)
@given(numbers)
def test_numbers_are_packed_as_the_bindings_do(number: int):
    assert pack_int(number) == official((number,))
    assert unpack_int(b"stem" + pack_int(number), 4) == number


def test_keys_are_the_tuples_they_are_said_to_be():
    keys = Keys("evcore")
    for key, elements in {
        keys.format: ("format",),
        keys.head("ue/1"): ("head", "ue/1"),
        keys.step("ue/1", 300): ("log", "ue/1", 300),
        keys.snapshot("ue/1"): ("snap", "ue/1"),
        keys.trigger("ue/1", "id"): ("trigger", "ue/1", "id"),
        keys.entry("tmsi", "1"): ("entry", "tmsi", "1"),
        keys.doc("a"): ("doc", "a"),
        keys.version("a", 2): ("version", "a", 2),
        keys.parts(keys.step("ue/1", 300)) + pack_int(1): ("part", "log", "ue/1", 300, 1),
    }.items():
        assert key == official(("evcore", *elements))


def test_feed_keys_hold_versionstamps():
    keys = Keys("evcore")
    stamp = b"\0\1\2\3\4\5\6\7\x08\x09"
    version = _tuple.Versionstamp(stamp, 77)
    # Only the native library can complete a versionstamp. Compare with the result of the bindings'
    # unpacking.
    key = keys.new_feed(77)
    at = int.from_bytes(key[-4:], "little")
    assert key[at : at + 10] == b"\xff" * 10
    made = key[:at] + stamp + key[at + 10 : -4]
    assert _tuple.unpack(made) == ("evcore", "feed", version)
    assert keys.feed_after(b"") < made < end_below(keys.feeds)
    assert keys.feed_after(made[-12:]) > made


@settings(derandomize=True)
@given(st.lists(names, min_size=1, max_size=8), names, names)
def test_ranges_of_names(found: list[str], prefix: str, after: str):
    stem = Keys("evcore").heads
    begin, end = names_from(stem, prefix, after)
    for name in found:
        inside = begin <= stem + pack_str(name) < end
        assert inside == (name.startswith(prefix) and name > after)


@settings(derandomize=True)
@given(names, names)
def test_what_is_below_a_name_is_not_below_another(one: str, other: str):
    keys = Keys("evcore")
    key = keys.step(other, 1)
    below = keys.steps(one) <= key < end_below(keys.steps(one))
    assert below == (one == other)


def test_the_order_of_numbers():
    assert sorted(range(0, 70_000, 7), key=pack_int) == list(range(0, 70_000, 7))


@pytest.mark.parametrize("prefix", ["", "evcore", "ev\0core"])
def test_any_prefix(prefix: str):
    assert Keys(prefix).head("a") == official((prefix, "head", "a"))
