"""Security mode control (TS 24.501 5.4.2, TS 33.501 6.7.2)."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.network import SecurityPolicy
from tests.functions.phone import Phone
from tests.functions.world import NETWORK, World

MESSAGE = "message-type"


def test_algorithms_follow_the_operators_priority() -> None:
    policy = SecurityPolicy(integrity=(1, 2), ciphering=(0, 2))
    world = World(network=replace(NETWORK, security=policy))
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    command = phone.hear()[-1]
    chosen = command["selected-nas-security-algorithms"]
    assert chosen == {"ciphering": "nea0", "integrity": "nia1"}
    assert command["imeisv-request"] == "requested"
    assert command["replayed-ue-security-capabilities"] == {"ea": [0, 1, 2], "ia": [0, 1, 2]}


def test_no_common_algorithm_is_cause_23() -> None:
    world = World(network=replace(NETWORK, security=SecurityPolicy(integrity=(3,))))
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    reject = phone.hear()[0]
    assert reject["5gmm-cause"] == "ue-security-capabilities-mismatch"


def test_security_mode_reject_ends_it() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-reject", "5gmm-cause": 23}, 0)
    assert [m[MESSAGE] for m in phone.hear()] == ["UEContextReleaseCommand"]
    assert world.ue().security is None
    assert world.ue().timers.keys() == {"ng-release"}
    world.verify()


def test_t3560_repeats_the_security_mode_command_with_new_counts() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    first = world.downlink[-1][2]
    world.advance(6.1)
    second = world.downlink[-1][2]
    assert first != second, "the same NAS COUNT twice"
    phone.secure(request)
    assert world.ue().registered


CAPABILITIES = [
    # NEA and NIA of the UE (bit 8 is algorithm 0), the operator's priorities, the chosen algorithms
    ("e0e0", (2, 1, 3), (2, 1, 3, 0), ("nea2", "nia2")),
    ("c0c0", (2, 1, 3), (2, 1, 3, 0), ("nea1", "nia1")),
    ("9090", (2, 1, 3), (2, 1, 3, 0), ("nea3", "nia3")),
    ("80e0", (2, 1, 3), (2, 1, 3, 0), ("nea0", "nia2")),
    ("f0f0", (3, 2, 1), (1, 2, 3), ("nea1", "nia3")),
    ("f0f0", (1,), (0,), ("nea0", "nia1")),
]


@pytest.mark.parametrize(("octets", "integrity", "ciphering", "chosen"), CAPABILITIES)
def test_algorithms_by_priority_and_capability(
    octets: str, integrity: tuple[int, ...], ciphering: tuple[int, ...], chosen: tuple[str, str]
) -> None:
    """TS 33.501 6.7.2: the first one in the operator's list that the UE supports."""
    policy = SecurityPolicy(integrity=integrity, ciphering=ciphering)
    phone = Phone(World(network=replace(NETWORK, security=policy)))
    phone.capability = {"octets": octets}
    phone.register()
    security = phone.world.ue().security
    assert security is not None
    assert (f"nea{security.nea}", f"nia{security.nia}") == chosen
    phone.world.verify()


@pytest.mark.parametrize("octets", ["e080", "00e0"])
def test_null_integrity_or_no_ciphering_is_cause_23(octets: str) -> None:
    """NIA0 alone is never chosen (TS 33.501 5.5.2), nor is an algorithm that the UE does not
    support."""
    phone = Phone(World())
    phone.capability = {"octets": octets}
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    assert phone.hear()[0]["5gmm-cause"] == "ue-security-capabilities-mismatch"


@pytest.mark.parametrize("asked", [True, False])
def test_the_imeisv_is_asked_for_by_policy(*, asked: bool) -> None:
    network = replace(NETWORK, security=SecurityPolicy(request_imeisv=asked))
    phone = Phone(World(network=network))
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    assert ("imeisv-request" in phone.hear()[-1]) == asked
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    assert phone.world.ue().pei == ""


@pytest.mark.parametrize(
    "change",
    [
        {"security": SecurityPolicy(reuse_context=False)},
        {"security": SecurityPolicy(integrity=(1,))},
        {"security": SecurityPolicy(ciphering=(1,))},
    ],
)
def test_a_context_that_the_operator_no_longer_wants_is_renewed(change: dict[str, Any]) -> None:
    """TS 33.501 6.7.2: the algorithms of a policy also apply to older contexts."""
    phone = Phone(World())
    phone.register()
    phone.idle()
    phone.world.network = replace(NETWORK, **change)
    request = phone.request()
    phone.open_again(request)
    phone.authenticate(2)
    phone.secure(request)
    assert phone.world.ue().registered


def test_other_security_capabilities_need_a_new_context() -> None:
    """TS 33.501 6.7.2: the capabilities that the context was chosen with have changed."""
    phone = Phone(World())
    phone.register()
    phone.idle()
    phone.capability = {"octets": "f0f0"}
    request = phone.request()
    phone.open_again(request)
    phone.authenticate(2)
    phone.secure(request)
    security = phone.world.ue().security
    assert security is not None
    assert security.capability == bytes.fromhex("f0f0")
