"""5G-AKA: all answers of a UE (TS 24.501 5.4.1.3)."""

import pytest

import wire
from loadgen.ue.model import State
from tests.loadgen.amf import Amf, Tree
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    REGISTER,
    SERVICE,
    attempt,
    connection,
    flip,
    registered,
)
from tests.loadgen.world import World, population


def test_a_usim_that_is_ahead_is_resynchronised() -> None:
    world = World(population(sqn_ahead=1))
    ue = world.ue()
    assert world.register(ue).cause is None
    names = [t["message-type"] for t in world.amf.uplink]
    assert names[1:3] == ["authentication-failure", "authentication-response"]
    assert world.amf.uplink[1]["5gmm-cause"] == "synch-failure"
    assert world.violations == []


def test_a_wrong_mac_in_autn_and_then_the_reject() -> None:
    def change(amf: Amf) -> None:
        def tree(found: Tree) -> Tree:
            autn = bytes.fromhex(found["authentication-parameter-autn"]["octets"])
            return {**found, "authentication-parameter-autn": {"octets": flip(autn, 15).hex()}}

        amf.trees["authentication-request"] = tree

    world, ue = attempt(change)
    assert world.amf.uplink[-1] == {
        "message-type": "authentication-failure",
        "5gmm-cause": "mac-failure",
    }
    assert ue.ue.usim_invalid
    world.pass_time(11)
    (end,) = world.ended(ue)
    assert end.cause == "authentication-reject"


def test_a_network_that_stays_silent_after_a_failure_has_failed_itself() -> None:
    def change(amf: Amf) -> None:
        amf.sn_name = "5G:mnc002.mcc001.3gppnetwork.org"
        amf.trees["authentication-reject"] = lambda _: None
        amf.trees["authentication-request"] = lambda t: {
            **t,
            "authentication-parameter-autn": {"octets": "00" * 16},
        }

    world, ue = attempt(change)
    assert ue.ue.waits_for == "T3520"
    world.pass_time(14.9)
    assert ue.context is not None
    world.pass_time(0.2)
    assert ue.context is None
    assert ue.ue.waits_for == "T3511"


def test_an_amf_of_another_serving_network_fails_the_response() -> None:
    def change(amf: Amf) -> None:
        amf.sn_name = "5G:mnc002.mcc001.3gppnetwork.org"

    world, ue = attempt(change)
    assert world.amf.uplink[-1]["message-type"] == "authentication-response"
    world.pass_time(11)
    (end,) = world.ended(ue)
    assert end.cause == "authentication-reject"
    assert world.violations == []


def test_ngksi_in_use_is_answered_and_overcome() -> None:
    world, ue = registered()
    world.run(ue, DEREGISTER)
    world.amf.reuse_context = False
    ngksis = iter([1, 3])
    world.amf.trees["authentication-request"] = lambda t: {**t, "ngksi": {"native": next(ngksis)}}
    known = world.amf.by_supi["imsi-001010000000001"]
    world.begin(ue, REGISTER)
    world.settle()
    causes = [t.get("5gmm-cause") for t in world.amf.uplink]
    assert "ng-ksi-already-in-use" in causes
    assert known.ngksi != 1


def test_a_repeated_challenge_gets_the_same_answer() -> None:
    world, ue = attempt(lambda amf: amf.trees.update({"security-mode-command": lambda _: None}))
    to = connection(world, ue)
    to.secure = False
    world.amf.down(to, world.amf.authentication_request(to))
    world.settle()
    first, second = [t for t in world.amf.uplink if t["message-type"] == "authentication-response"]
    assert first == second
    assert world.violations == []


def test_the_stored_answer_is_deleted_with_t3516() -> None:
    world, ue = attempt(lambda amf: amf.trees.update({"security-mode-command": lambda _: None}))
    ue.ue.stop("T3510")
    world.pass_time(31)
    to = connection(world, ue)
    to.secure = False
    world.amf.down(to, world.amf.authentication_request(to))
    world.settle()
    assert any(t.get("5gmm-cause") == "synch-failure" for t in world.amf.uplink)


def test_t3510_stops_at_a_failure_and_starts_at_the_next_challenge() -> None:
    world = World(population(sqn_ahead=1))
    first = [True]

    def change(amf: Amf) -> None:
        amf.trees["authentication-request"] = lambda t: t if first and first.pop() else None

    world, ue = attempt(change, world)
    assert not ue.ue.running("T3510")
    assert ue.ue.running("T3520")
    to = connection(world, ue)
    world.amf.trees.clear()
    world.amf.trees["security-mode-command"] = lambda _: None
    world.amf.challenge(to, to.ngksi)
    world.settle()
    assert ue.ue.running("T3510")
    assert not ue.ue.running("T3520")


def test_a_registered_ue_can_be_challenged_again() -> None:
    world, ue = registered()
    to = connection(world, ue)
    world.amf.trees["registration-accept"] = lambda _: None
    to.verified = True
    old = ue.ue.channel.current
    world.amf.challenge(to)
    world.settle()
    assert ue.ue.channel.current is not old
    assert ue.ue.state is State.REGISTERED
    assert world.violations == []


def test_a_challenge_without_its_parameters_is_a_conditional_ie_error() -> None:
    def change(amf: Amf) -> None:
        amf.trees["authentication-request"] = lambda t: {
            k: v for k, v in t.items() if k != "authentication-parameter-autn"
        }

    world, _ = attempt(change)
    assert world.amf.uplink[-1]["5gmm-cause"] == "conditional-ie-error"


@pytest.mark.parametrize("hdp", [True, False])
def test_horizontal_derivation_of_kamf(hdp: bool) -> None:
    world, ue = registered()
    world.run(ue, DEREGISTER)
    before = ue.ue.channel.current
    assert before is not None
    world.amf.reuse_context = False
    world.amf.trees["authentication-request"] = lambda _: None
    world.begin(ue, REGISTER)
    world.settle()
    to = connection(world, ue)
    count = ue.ue.channel.initial_count
    assert count is not None
    kamf = wire.kamf_prime(before.kamf, False, count) if hdp else before.kamf
    assert to.ue is not None
    assert to.ue.nas is not None
    if hdp:
        to.ue.nas = wire.NasSecurity(kamf, 2, 2)
    to.ue.kamf = kamf
    command = {
        "message-type": "security-mode-command",
        "selected-nas-security-algorithms": {"ciphering": "nea2", "integrity": "nia2"},
        "ngksi": {"native": before.ngksi},
        "replayed-ue-security-capabilities": {"ea": [0, 1, 2], "ia": [1, 2]},
        "imeisv-request": "requested",
        "additional-5g-security-information": {"rinmr": True, "hdp": hdp},
    }
    world.amf.down(to, command, 3)
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause is None
    after = ue.ue.channel.current
    assert after is not None
    assert after.kamf == kamf
    assert world.violations == []


def test_a_deregistration_can_be_challenged_too() -> None:
    world, ue = registered()
    to = connection(world, ue)
    to.verified = True
    world.amf.trees["deregistration-accept-ue-originating"] = lambda _: None
    world.amf.trees["registration-accept"] = lambda _: None
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    world.begin(ue, DEREGISTER)
    world.settle()
    world.amf.challenge(to, to.ngksi)
    world.settle()
    names = [t["message-type"] for t in world.amf.uplink[-3:]]
    assert names == ["authentication-failure", "authentication-response", "security-mode-complete"]
    assert ue.ue.running("T3521")
    world.amf.down(to, {"message-type": "authentication-reject"})
    world.settle()
    world.pass_time(11)
    (end,) = world.ended(ue)
    assert end.cause == "authentication-reject"
    assert ue.ue.usim_invalid


def test_a_service_request_can_be_refused_by_authentication() -> None:
    world, ue = registered()
    world.run(ue, IDLE)
    world.amf.trees["service-accept"] = lambda _: None
    world.begin(ue, SERVICE)
    world.settle()
    to = connection(world, ue)
    world.amf.challenge(to)
    world.settle()
    assert ue.ue.running("T3517")
    world.amf.down(to, {"message-type": "authentication-reject"})
    world.settle()
    world.pass_time(11)
    (end,) = world.ended(ue)
    assert end.cause == "authentication-reject"
    assert ue.ue.guti is None


@pytest.mark.parametrize(
    ("asked", "known"), [("imeisv", "imeisv"), ("guti", "guti"), ("imei", "no-identity")]
)
def test_a_secured_identity_request_is_answered_with_what_there_is(asked: str, known: str) -> None:
    world, ue = registered()
    request = {"message-type": "identity-request", "identity-type": asked}
    world.amf.down(connection(world, ue), request)
    world.settle()
    assert world.amf.uplink[-1]["message-type"] == "identity-response"
    assert known in str(world.amf.uplink[-1]["mobile-identity"])
    assert world.violations == []
