"""Injected faults: their effects, the tolerated violations and the recovery of a UE."""

from collections import Counter
from contextlib import suppress
from random import Random

import pytest

import wire
from loadgen.faults import NO_FAULTS, Draws, FaultKind, Faults, FaultShares, faults_of, spread
from loadgen.gnb.context import CampedUe
from loadgen.ue.model import Ended, Procedure, State
from loadgen.ue.recovery import MAX_RECOVERIES
from loadgen.violation import Kind
from tests.loadgen.amf import Tree
from tests.loadgen.session_violations import ACCEPT
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    PAGE,
    REGISTER,
    RELEASE_SESSION,
    SERVICE,
    SERVICE_REQUEST,
    SESSION,
    connection,
    registered,
)
from tests.loadgen.world import World, population

N2 = Procedure.N2_HANDOVER
XN = Procedure.XN_HANDOVER
_NONE = FaultShares()


def inject(world: World, uplink: FaultShares = _NONE, downlink: FaultShares = _NONE) -> None:
    for gnb in world.gnbs.values():
        gnb.fault_injector.inject(Faults(uplink=uplink, downlink=downlink))


def calm(world: World) -> None:
    for gnb in world.gnbs.values():
        gnb.fault_injector.inject(NO_FAULTS)


def injected(world: World) -> Counter[str]:
    return sum((gnb.fault_injector.draws.injected for gnb in world.gnbs.values()), Counter[str]())


def run(world: World, ue: CampedUe, procedure: Procedure, seconds: float = 900) -> Ended:
    """Run a procedure to its end, with as much time as needed."""
    world.begin(ue, procedure)
    world.settle()
    for _ in range(int(seconds)):
        found = [end for end in world.ended(ue) if not end.unsolicited]
        if found:
            return found[0]
        world.pass_time(1)
    raise AssertionError(f"{procedure} waits for {ue.ue.waits_for}")


def test_the_same_seed_draws_the_same_faults() -> None:
    def drawn(seed: int) -> list[FaultKind | None]:
        draws = Draws(Random(seed))
        draws.faults = spread(0.3)
        return [draws.draw("uplink") for _ in range(500)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert 100 < sum(one is not None for one in drawn(1)) < 200
    assert set(drawn(1)) == {None, *FaultKind}


def test_a_share_is_spread_and_a_table_taken() -> None:
    assert faults_of(None) is NO_FAULTS
    assert sum(share for _, share in faults_of(0.02).downlink.all) == pytest.approx(0.02)
    assert FaultKind.WRONG not in dict(faults_of(0.02).downlink.all)
    table = Faults(uplink=FaultShares(drop=0.5))
    assert faults_of(table) is table
    assert "shares of 0 to 1" in (FaultShares(drop=0.7, delay=0.7).problem() or "")
    assert "shares of 0 to 1" in (faults_of(-1.0).problem() or "")
    assert "longest" in (Faults(longest=0).problem() or "")


def test_without_faults_nothing_is_drawn() -> None:
    world, ue = registered()
    assert world.run(ue, SESSION, IDLE, PAGE, DEREGISTER).cause is None
    assert injected(world) == {}
    assert not ue.ue.faults.active(world.now)


def test_a_registration_recovers_from_a_lost_request() -> None:
    world = World()
    ue = world.ue()
    inject(world, uplink=FaultShares(drop=1.0))
    world.begin(ue, REGISTER)
    world.settle()
    assert injected(world) == {"uplink drop": 1}
    calm(world)
    world.pass_time(30)
    (end,) = world.ended(ue)
    assert (end.cause, end.recovered) == (None, False)
    assert ue.ue.record.retransmissions == {"T3510": 1}


def test_a_service_request_is_sent_again_after_t3517() -> None:
    world, ue = registered()
    assert world.run(ue, IDLE).cause is None
    inject(world, uplink=FaultShares(drop=1.0))
    world.begin(ue, SERVICE)
    world.pass_time(20)
    assert world.ended(ue) == []
    calm(world)
    world.pass_time(20)
    (end,) = world.ended(ue)
    assert (end.procedure, end.cause, end.recovered) == (SERVICE, None, True)
    assert world.violations == []


def test_after_five_attempts_a_ue_registers_anew() -> None:
    world, ue = registered()
    assert world.run(ue, SESSION, IDLE).cause is None
    ue.ue.faults.mark(FaultKind.DROP, world.now)
    world.amf.trees["service-accept"] = lambda _: None
    tried = world.amf.received.count("service-request")
    world.begin(ue, SERVICE)
    for _ in range(30):
        ue.ue.faults.mark(FaultKind.DROP, world.now)
        world.pass_time(10)
    (end,) = world.ended(ue)
    assert (end.procedure, end.cause, end.recovered) == (SERVICE, None, True)
    assert world.amf.received.count("service-request") - tried == MAX_RECOVERIES
    assert world.amf.uplink[-1]["message-type"] == "registration-complete"
    assert ue.ue.state is State.REGISTERED


@pytest.mark.parametrize(
    "cause", ["ue-identity-cannot-be-derived-by-the-network", "implicitly-deregistered"]
)
def test_a_ue_that_the_network_does_not_know_registers(cause: str) -> None:
    world, ue = registered()
    assert world.run(ue, IDLE).cause is None
    ue.ue.faults.mark(FaultKind.DROP, world.now)
    reject: Tree = {"message-type": "service-reject", "5gmm-cause": cause}
    world.amf.trees["service-accept"] = lambda _: reject
    world.begin(ue, SERVICE)
    world.settle()
    world.amf.release(connection(world, ue), {"nas": "normal-release"})
    world.pass_time(5)
    (end,) = world.ended(ue)
    assert (end.procedure, end.cause, end.recovered) == (SERVICE, None, True)
    assert ue.ue.state is State.REGISTERED


def test_without_a_fault_the_same_reject_is_a_failure() -> None:
    world, ue = registered()
    assert world.run(ue, IDLE).cause is None
    reject: Tree = {"message-type": "service-reject", "5gmm-cause": "implicitly-deregistered"}
    world.amf.trees["service-accept"] = lambda _: reject
    world.begin(ue, SERVICE)
    world.pass_time(10.1)
    (end,) = world.ended(ue)
    assert end.cause == "reject-10-implicitly-deregistered"


def test_a_ue_that_is_never_served_again_has_failed() -> None:
    world, ue = registered()
    assert world.run(ue, IDLE).cause is None
    world.amf.trees["service-accept"] = lambda _: None
    world.amf.trees["registration-accept"] = lambda _: None
    world.begin(ue, SERVICE)
    for _ in range(600):
        ue.ue.faults.mark(FaultKind.DROP, world.now)
        world.pass_time(10)
    (end,) = world.ended(ue)
    assert (end.procedure, end.recovered) == (SERVICE, False)
    assert end.cause is not None


def test_a_violation_is_no_fault_of_ours() -> None:
    world, ue = registered()
    ue.ue.faults.mark(FaultKind.CORRUPT, world.now)
    world.amf.trees["pdu-session-establishment-accept"] = lambda t: {
        **t,
        "selected-ssc-mode": "ssc2",
    }
    end = world.run(ue, SESSION)
    assert (end.cause, end.recovered) == ("violation-session-ssc-mode", False)


def test_a_duplicate_of_ours_is_nobodys_violation() -> None:
    world, ue = registered(World(strict=True))
    inject(world, downlink=FaultShares(duplicate=1.0))
    assert world.run(ue, SESSION, IDLE).cause is None
    assert injected(world)["downlink duplicate"] >= 2
    assert world.violations == []
    assert ue.ue.record.tolerated


def test_a_garbled_message_is_nobodys_violation_and_the_ue_recovers() -> None:
    world = World()
    ue = world.ue()
    inject(world, downlink=FaultShares(corrupt=1.0))
    world.begin(ue, REGISTER)
    world.settle()
    assert injected(world)["downlink corrupt"] >= 1
    assert world.violations == []
    calm(world)
    for _ in range(200):
        world.pass_time(1)
    assert ue.ue.state is State.REGISTERED
    assert all(end.cause is None for end in world.ended(ue))
    assert world.violations == []


def test_keys_are_never_tolerated() -> None:
    world, ue = registered(World(gnbs=2))
    assert world.run(ue, SESSION).cause is None
    for kind in FaultKind:
        ue.ue.faults.mark(kind, world.now)
    ue.ue.violate(Kind.CONTEXT_KEY, "another key")
    ue.ue.violate(Kind.HANDOVER_KEY, "another pair")
    ue.ue.violate(Kind.NAS_COUNT_REUSED, "twice")
    ue.ue.violate(Kind.SESSION_ADDRESS, "of another")
    ue.ue.violate(Kind.NAS_MAC, "ours")
    assert world.kinds() == [
        Kind.CONTEXT_KEY,
        Kind.HANDOVER_KEY,
        Kind.NAS_COUNT_REUSED,
        Kind.SESSION_ADDRESS,
    ]
    assert ue.ue.record.tolerated == {Kind.NAS_MAC: 1}


def test_what_a_fault_may_have_caused_is_tolerated_for_a_while() -> None:
    world, ue = registered()
    ue.ue.faults.mark(FaultKind.DROP, world.now)
    world.pass_time(119)
    ue.ue.violate(Kind.NAS_UNEXPECTED, "late")
    assert world.violations == []
    ue.ue.violate(Kind.NAS_MAC, "nothing was garbled")
    world.pass_time(200)
    ue.ue.now = world.now
    ue.ue.violate(Kind.NAS_UNEXPECTED, "too late")
    assert world.kinds() == [Kind.NAS_MAC, Kind.NAS_UNEXPECTED]


def test_what_is_held_is_let_go_after_the_next_message() -> None:
    world, ue = registered()
    inject(world, uplink=FaultShares(reorder=1.0))
    world.begin(ue, SESSION)
    world.settle()
    assert "pdu-session-establishment-request" not in world.amf.received
    calm(world)
    world.pass_time(3)
    assert "pdu-session-establishment-request" in world.amf.received
    (end,) = world.ended(ue)
    assert end.cause is None


def test_a_wrong_answer_gives_up_what_it_says_it_has_not() -> None:
    world, ue = registered()
    inject(world, uplink=FaultShares(wrong=1.0))
    world.begin(ue, SESSION)
    world.settle()
    assert injected(world) == {"uplink wrong": 1}
    assert ue.context is not None
    assert ue.context.resources == {}


def test_a_duplicate_request_for_a_handover_is_answered_again() -> None:
    world, ue = registered(World(gnbs=2))
    assert world.run(ue, SESSION).cause is None
    for procedure in (Procedure.HANDOVER_REFUSED, N2):
        inject(world, downlink=FaultShares(duplicate=1.0))
        world.begin(ue, procedure)
        world.settle()
        calm(world)
        assert [end.cause for end in world.ended(ue)] == [None]
    assert world.violations == []
    assert world.amf.received.count("HandoverFailure") == 2
    assert world.amf.received.count("HandoverRequestAcknowledge") == 2


@pytest.mark.parametrize("tolerated", [True, False])
def test_error_indication_for_a_handover_that_was_refused_twice(tolerated: bool) -> None:
    """The AMF does not know the second HANDOVER FAILURE any more."""
    world, ue = registered(World(gnbs=2))
    assert world.run(ue, SESSION).cause is None
    if tolerated:
        inject(world, downlink=FaultShares(duplicate=1.0))
    world.begin(ue, Procedure.HANDOVER_REFUSED)
    world.settle()
    calm(world)
    assert world.amf.received.count("HandoverFailure") == 1 + tolerated
    target = next(name for name in world.gnbs if name != ue.cell.config.name)
    cause = {"Cause": {"radioNetwork": "unknown-local-UE-NGAP-ID"}}
    amf_id = {"AMF-UE-NGAP-ID": world.amf.last_id}
    world.amf.send(target, 0, "ErrorIndication", amf_id, cause)
    world.settle()
    assert world.kinds() == ([] if tolerated else [Kind.NGAP_ERROR_INDICATION])


@pytest.mark.parametrize("tolerated", [True, False])
def test_session_that_a_fault_has_lost_long_ago(tolerated: bool) -> None:
    """UE and network notice the lost session at the UE's next service request (TS 24.501
    5.6.1.4.1)."""
    world, ue = registered()
    assert world.run(ue, SESSION).cause is None
    if tolerated:
        ue.ue.faults.mark(FaultKind.WRONG, world.now)
    world.amf.smf.sessions.clear()
    assert run(world, ue, IDLE).cause is None
    world.pass_time(200)
    end = run(world, ue, SERVICE_REQUEST)
    assert (end.cause, end.recovered) == ((None, True) if tolerated else ("session-lost", False))
    assert world.violations == []
    assert not ue.ue.sessions.live


@pytest.mark.parametrize("tolerated", [True, False])
def test_address_that_a_ue_does_not_know_it_has_lost(tolerated: bool) -> None:
    world, ue = registered()
    assert world.run(ue, SESSION).cause is None
    if tolerated:
        ue.ue.faults.mark(FaultKind.WRONG, world.now)
    other = world.ue(1)
    world.register(other)
    world.amf.smf.sessions.clear()
    world.amf.trees[ACCEPT] = lambda t: {**t, "pdu-address": {"ipv4": "10.45.0.1"}}
    end = world.run(other, SESSION)
    assert end.cause == (None if tolerated else "violation-session-address")
    assert other.ue.record.tolerated == ({Kind.SESSION_ADDRESS: 1} if tolerated else {})


@pytest.mark.parametrize("seed", range(4))
def test_ues_survive_whatever_is_injected(seed: int) -> None:
    world = World(population(4, seed=seed), gnbs=3)
    ues = [world.ue(index) for index in range(4)]
    programme = [
        REGISTER,
        SESSION,
        N2,
        XN,
        IDLE,
        SERVICE_REQUEST,
        Procedure.HANDOVER_CANCEL,
        Procedure.PERIODIC_UPDATE,
        SESSION,
        RELEASE_SESSION,
        IDLE,
        SERVICE,
    ]
    heard = world.amf.receive

    def receive(gnb: str, stream: int, pdu: bytes) -> None:
        # The test AMF asserts that messages are correct, but these may be wrong.
        with suppress(AssertionError, KeyError, wire.WireError):
            heard(gnb, stream, pdu)

    world.amf.receive = receive  # pyright: ignore[reportAttributeAccessIssue]
    for gnb in world.gnbs.values():
        gnb.fault_injector.draws = Draws(Random(f"{seed} {gnb.config.name}"))
        gnb.fault_injector.inject(spread(0.05))
    for procedure in programme * 2:
        for ue in ues:
            run(world, ue, procedure, 3000)
    calm(world)
    assert sum(injected(world).values()) > 10
    world.pass_time(200)
    for ue in ues:
        for procedure in (REGISTER, SESSION, IDLE, SERVICE_REQUEST, DEREGISTER):
            assert run(world, ue, procedure).cause is None
