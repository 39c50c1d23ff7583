"""Registration rejects, back-off and retries (TS 24.501 5.5.1.2.5, 5.5.1.2.7)."""

import pytest

from loadgen.gnb.context import CampedUe
from loadgen.ue.model import Procedure, State
from loadgen.ue.profile import Algorithms
from loadgen.violation import Kind
from tests.loadgen.amf import Amf
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    REGISTER,
    SERVICE,
    attempt,
    connection,
    lose,
    registered,
)
from tests.loadgen.world import World, population


def rejecting(cause: object, **ies: object) -> World:
    world = World()
    world.amf.reject = {"message-type": "registration-reject", "5gmm-cause": cause, **ies}
    return world


@pytest.mark.parametrize(
    ("cause", "name", "invalid"),
    [
        ("illegal-ue", "reject-3-illegal-ue", True),
        ("5gs-services-not-allowed", "reject-7-5gs-services-not-allowed", True),
        ("plmn-not-allowed", "reject-11-plmn-not-allowed", False),
        ("tracking-area-not-allowed", "reject-12-tracking-area-not-allowed", False),
        ("n1-mode-not-allowed", "reject-27-n1-mode-not-allowed", False),
        ("no-network-slices-available", "reject-62-no-network-slices-available", False),
    ],
)
def test_a_final_cause_ends_it(cause: str, name: str, invalid: bool) -> None:
    world = rejecting(cause)
    ue = world.ue()
    world.begin(ue, REGISTER)
    world.settle()
    assert ue.ue.usim_invalid is invalid
    assert world.ended(ue) == []
    world.amf.release(connection(world, ue), {"nas": "normal-release"})
    world.settle()
    (end,) = world.ended(ue)
    assert (end.cause, ue.ue.state) == (name, State.DEREGISTERED)
    assert world.violations == []
    if invalid:
        assert world.register(ue).cause == "usim-invalid"
    ue.ue.power_cycle()
    world.amf.reject = None
    assert world.register(ue).cause is None


def test_after_a_reject_the_ue_waits_for_its_release_no_longer_than_t3540() -> None:
    world = rejecting("illegal-ue")
    ue = world.ue()
    world.begin(ue, REGISTER)
    world.settle()
    world.pass_time(9.9)
    assert world.ended(ue) == []
    world.pass_time(0.2)
    (end,) = world.ended(ue)
    assert end.cause == "reject-3-illegal-ue"
    assert end.ended == end.began
    assert ue.context is None


def test_a_cause_that_is_not_treated_is_tried_again_after_t3511() -> None:
    world = rejecting("congestion")
    ue = world.ue()
    world.begin(ue, REGISTER)
    world.settle()
    assert ue.ue.waits_for == "T3511"
    world.amf.reject = None
    world.amf.release(connection(world, ue), {"nas": "normal-release"})
    world.settle()
    world.pass_time(9.9)
    assert world.ended(ue) == []
    world.pass_time(0.2)
    (end,) = world.ended(ue)
    assert end.cause is None
    assert end.ended - end.began == pytest.approx(10)
    assert ue.ue.record.retransmissions == {"T3511": 1}


def test_a_protocol_error_uses_up_the_attempts_until_t3502_of_the_network() -> None:
    world = rejecting("semantically-incorrect-message", **{"t3502-value": 60})
    ue = world.ue()
    world.begin(ue, REGISTER)
    world.settle()
    world.amf.release(connection(world, ue), {"nas": "normal-release"})
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause == "reject-95-semantically-incorrect-message"
    world.amf.reject = None
    world.begin(ue, REGISTER)
    world.settle()
    assert ue.ue.waits_for == "T3502"
    world.pass_time(59)
    assert world.ended(ue) == []
    world.pass_time(2)
    (end,) = world.ended(ue)
    assert end.cause is None


def test_five_rejects_end_it() -> None:
    world = rejecting("congestion")
    ue = world.ue()
    world.begin(ue, REGISTER)
    world.pass_time(51)
    (end,) = world.ended(ue)
    assert end.cause == "reject-22-congestion"
    assert world.amf.received.count("registration-request") == 5


def test_an_unprotected_t3346_is_drawn_at_random() -> None:
    world = rejecting("congestion", **{"t3346-value": 60})
    ue = world.ue()
    world.begin(ue, REGISTER)
    world.settle()
    world.amf.reject = None
    assert ue.ue.waits_for == "T3346"
    world.pass_time(899)
    assert world.ended(ue) == []
    world.pass_time(902)
    (end,) = world.ended(ue)
    assert end.cause is None


def put_off() -> tuple[World, CampedUe]:
    """Return a UE that waits for a T3346 of a minute."""
    world, ue = registered()
    world.run(ue, DEREGISTER)
    world.amf.reject = {
        "message-type": "registration-reject",
        "5gmm-cause": "congestion",
        "t3346-value": 60,
    }
    world.begin(ue, REGISTER)
    world.settle()
    world.amf.reject = None
    return world, ue


def test_a_protected_t3346_is_the_networks() -> None:
    world, ue = put_off()
    world.pass_time(59)
    assert world.ended(ue) == []
    world.pass_time(2)
    (end,) = world.ended(ue)
    assert end.cause is None
    assert world.violations == []


def test_t3346_outlives_a_power_cycle() -> None:
    """TS 24.501 5.3.9."""
    world, ue = put_off()
    ue.ue.power_cycle()
    ue.cell.pump(ue, world.now)
    world.begin(ue, REGISTER)
    world.pass_time(59)
    assert world.ended(ue) == []
    assert world.amf.received.count("registration-request") == 2
    world.pass_time(2)
    (end,) = world.ended(ue)
    assert end.cause is None
    assert end.admitted == pytest.approx(end.began + 60)


def test_a_reject_is_counted_with_its_cause_and_timer() -> None:
    _, ue = put_off()
    assert ue.ue.record.rejects == {"registration-reject 22-congestion T3346": 1}


@pytest.mark.parametrize("procedure", [SERVICE, Procedure.PERIODIC_UPDATE])
def test_a_page_is_answered_while_t3346_runs(procedure: Procedure) -> None:
    """TS 24.501 5.3.9: the UE stops T3346."""
    world, ue = registered()
    world.run(ue, IDLE)
    ue.ue.start("T3346", 60)
    world.begin(ue, procedure)
    world.pass_time(30)
    assert world.ended(ue) == []
    assert ue.ue.guti is not None
    assert world.gnb.cell.page(ue.ue.guti.s_tmsi, world.now)
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause is None
    assert not ue.ue.running("T3346")


def test_a_lost_downlink_is_overcome_by_t3510() -> None:
    world, ue = attempt(lose("security-mode-command"))
    world.pass_time(14.9)
    assert ue.context is not None
    world.pass_time(0.2)
    assert ue.context is None
    world.pass_time(10)
    (end,) = world.ended(ue)
    assert end.cause is None
    assert end.ended - end.began == pytest.approx(25)
    assert ue.ue.record.retransmissions == {"T3510": 1}
    assert world.violations == []


def test_an_amf_that_never_answers() -> None:
    world, ue = attempt(lose("authentication-request", 99))
    world.pass_time(5 * 25)
    (end,) = world.ended(ue)
    assert end.cause == "t3510-expired"
    assert end.ended - end.began == pytest.approx(5 * 15 + 4 * 10)
    assert world.gnb.cell.contexts.by_ran == {}
    assert ue.ue.guti is None
    assert world.violations == []


def test_a_suci_is_used_again_only_while_t3519_runs() -> None:
    world = World(population(schemes=("A",)))
    attempt(lose("authentication-request", 99), world)
    world.pass_time(100)
    sucis = [str(t["5gs-mobile-identity"]) for t in world.amf.uplink]
    assert len(sucis) == 5
    assert sucis[0] == sucis[1] == sucis[2]
    assert sucis[2] != sucis[3]


def test_a_release_before_the_answer_is_tried_again() -> None:
    world, ue = attempt(lose("authentication-request"))
    world.amf.release(connection(world, ue), {"radioNetwork": "unspecified"})
    world.settle()
    assert ue.ue.waits_for == "T3511"
    world.pass_time(11)
    (end,) = world.ended(ue)
    assert end.cause is None
    assert ue.ue.record.retransmissions == {"T3511": 1}


def test_a_reject_then_an_accept_contradict_each_other() -> None:
    world = rejecting("congestion")
    world, ue = attempt(lambda _: None, world)
    reject = {"message-type": "registration-reject", "5gmm-cause": "plmn-not-allowed"}
    world.amf.down(connection(world, ue), reject)
    world.settle()
    assert world.kinds() == [Kind.NAS_CONTRADICTION]
    assert "another registration-reject after" in world.violations[0].text


def test_two_different_accepts_contradict_each_other() -> None:
    world, ue = registered()
    to = connection(world, ue)
    assert to.ue is not None
    to.ue.tmsi += 1
    world.amf.down(to, world.amf.registration_accept(to))
    world.settle()
    assert world.kinds() == [Kind.NAS_CONTRADICTION]
    assert world.amf.received.count("registration-complete") == 1


def test_an_authentication_reject_after_the_accept_contradicts_it() -> None:
    world, ue = registered()
    world.amf.down(connection(world, ue), {"message-type": "authentication-reject"})
    world.settle()
    assert world.kinds() == [Kind.NAS_CONTRADICTION]


def test_an_unprotected_reject_after_the_secure_exchange_is_ignored() -> None:
    def change(amf: Amf) -> None:
        amf.plain.add("registration-accept")
        amf.trees["registration-accept"] = lambda _: {
            "message-type": "registration-reject",
            "5gmm-cause": "illegal-ue",
        }

    world, ue = attempt(change, World(population(algorithms=(Algorithms((0,), (2,)),))))
    assert world.kinds() == [Kind.NAS_UNPROTECTED]
    assert not ue.ue.usim_invalid
    assert ue.ue.busy is REGISTER
