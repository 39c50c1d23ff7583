"""Cached NAS messages are equal to encoded ones, and cannot be changed."""

from operator import attrgetter

import pytest
from hypothesis import given

import wire
from functions.messages.nas import codec
from tests.wire.profiles import FAST
from tests.wire.test_nas_build import Tree, guti, registration_accepts, tmsi

STATUS: Tree = {"message-type": "5gmm-status", "5gmm-cause": 111}
REQUEST = bytes.fromhex("2e0501c1ffff91a1")


def test_octets_are_those_of_the_tree_each_time() -> None:
    tree = dict(STATUS)
    assert codec.encode(tree) == codec.encode(dict(tree)) == wire.nas_encode(tree)
    tree["5gmm-cause"] = 96
    assert codec.encode(tree) == wire.nas_encode(tree)


@FAST
@given(registration_accepts, tmsi)
def test_a_template_writes_what_its_tree_says(tree: Tree, value: int) -> None:
    template = codec.template({**tree, "5g-guti": guti(0)})
    wanted = wire.nas_encode({**tree, "5g-guti": guti(value)})
    assert template.registration_accept(value) == wanted


def test_a_changed_tree_does_not_change_the_cache() -> None:
    first = codec.decode(REQUEST)
    first["integrity-protection-maximum-data-rate"]["ul"] = "changed"
    first.pop("pdu-session-identity")
    assert codec.decode(REQUEST) == wire.nas_decode(REQUEST)


def test_a_long_message_is_read_as_any_other() -> None:
    options = bytes.fromhex("7b") + (1 + 3 * 200).to_bytes(2, "big")
    octets = REQUEST + options + b"\x80" + bytes.fromhex("000d00") * 200
    assert len(octets) > codec.LONGEST
    before = kept()
    assert codec.decode(octets) == wire.nas_decode(octets)
    assert codec.read(octets) == wire.nas_decode(octets)
    assert kept() == before


def kept() -> int:
    """Return the number of cached messages."""
    caches = [attrgetter(name)(codec) for name in ("_octets", "_template", "_decoded", "_read")]
    return sum(cache.cache_info().currsize for cache in caches)


def test_a_large_tree_is_written_as_any_other_and_not_kept() -> None:
    options = {"extended-protocol-configuration-options": ["ipv4-link-mtu-request"] * 400}
    message = {**wire.nas_decode(REQUEST), **options}
    before = kept()
    assert codec.encode(message) == wire.nas_encode(message)
    with pytest.raises(wire.WireError):
        codec.template({**message, "message-type": "no-message"})
    assert kept() == before


def test_what_is_wrong_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(wire.WireError):
            codec.decode(REQUEST[:4])
        with pytest.raises(wire.WireError):
            codec.encode({"message-type": "no-message"})
        with pytest.raises(wire.WireError):
            codec.template({"message-type": "no-message"})
