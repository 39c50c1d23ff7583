"""Endlessly nested trees are rejected before the stack overflows."""

import sys
import threading
from typing import Any

import pytest

import wire
from tests.wire.hostile import attempt

DEEP = 200_000


def nested_lists() -> Any:
    tree: Any = []
    for _ in range(DEEP):
        tree = [tree]
    return tree


def nested_dicts() -> Any:
    tree: Any = {}
    for _ in range(DEEP):
        tree = {"octets": tree}
    return tree


def nested_containers() -> Any:
    tree: Any = {"message-type": "security-mode-complete"}
    for _ in range(DEEP):
        tree = {"message-type": "security-mode-complete", "nas-message-container": tree}
    return tree


def itself() -> Any:
    tree: Any = {"message": "NGReset", "message-type": "5gmm-status"}
    tree["ies"] = [tree]
    tree["5gmm-cause"] = tree
    return tree


def nested_groups() -> Any:
    tree: Any = []
    for _ in range(DEEP):
        tree = [{"PDI": tree}]
    return {"message": "HeartbeatRequest", "sequence": 1, "ies": tree}


@pytest.mark.parametrize(
    "build", [nested_lists, nested_dicts, nested_containers, nested_groups, itself]
)
@pytest.mark.parametrize("encode", [wire.ngap_encode, wire.nas_encode, wire.pfcp_encode])
def test_a_tree_without_end(encode: Any, build: Any) -> None:
    for tree in (build(), {"message": "NGReset", "ies": [{"Cause": build()}]}):
        refused = attempt(encode, tree)
        assert isinstance(refused, wire.WireError)
        assert refused.kind in ("ngap-encode", "nas-encode", "pfcp-encode")


def test_in_a_thread_with_a_small_stack() -> None:
    """Musl gives threads 128 KiB, much less than a main thread has. The nesting is the maximum."""
    nested: Any = {"message-type": "security-mode-complete"}
    for _ in range(250):
        nested = {"message-type": "security-mode-complete", "nas-message-container": nested}
    data = b"\x7e\x00\x5e"
    while len(data) < 65_000:
        data = b"\x7e\x00\x5e\x71" + len(data).to_bytes(2, "big") + data
    found: list[Any] = []

    def run() -> None:
        found.append(attempt(wire.nas_encode, nested))
        found.append(attempt(wire.nas_decode, data))

    size = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert len(found) == 2
    assert isinstance(found[1], dict)
    assert sys.getrecursionlimit() > 0
