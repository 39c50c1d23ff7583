"""Deregistration, release to idle and service requests (TS 24.501 5.5.2.2, 5.6.1, TS 38.413
8.3)."""

from collections.abc import Callable

import pytest

import wire
from loadgen.ue.model import Connection, Procedure, State
from loadgen.violation import Kind
from tests.loadgen.amf import Amf, Tree
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    OFF,
    REGISTER,
    SERVICE,
    connection,
    lose,
    registered,
    reject_service,
)
from tests.loadgen.world import World


def swallow(message: str, times: int = 1) -> Callable[[Amf], None]:
    left = [times]

    def pdu(found: Tree) -> Tree | None:
        left[0] -= 1
        return None if left[0] >= 0 else found

    def change(amf: Amf) -> None:
        amf.pdus[message] = pdu

    return change


@pytest.mark.parametrize("leave", [DEREGISTER, OFF])
@pytest.mark.parametrize("idle", [True, False])
def test_leaving_connected_and_idle(leave: Procedure, idle: bool) -> None:
    world, ue = registered()
    if idle:
        assert world.run(ue, IDLE).cause is None
    assert world.run(ue, leave).cause is None
    assert ue.ue.state is State.DEREGISTERED
    assert ue.context is None
    assert world.amf.connections == {}
    assert world.violations == []


def test_out_of_idle_the_ue_gives_its_5g_s_tmsi() -> None:
    world, ue = registered()
    world.run(ue, IDLE, DEREGISTER)
    initial = [pdu for pdu in world.sent if pdu[1] == 15]
    assert [wire.ngap_peek(pdu).s_tmsi for pdu in initial] == [None, (3, 4, 0xC0000002)]


def test_a_lost_accept_is_overcome_by_t3521() -> None:
    world, ue = registered()
    lose("deregistration-accept-ue-originating", 2)(world.amf)
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    world.begin(ue, DEREGISTER)
    world.pass_time(30.1)
    assert ue.ue.state is State.DEREGISTERED
    assert ue.ue.record.retransmissions == {"T3521": 2}
    assert world.amf.received.count("deregistration-request-ue-originating") == 3


def test_five_times_unanswered_and_the_ue_deregisters_locally() -> None:
    world, ue = registered()
    lose("deregistration-accept-ue-originating", 99)(world.amf)
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    world.begin(ue, DEREGISTER)
    world.pass_time(5 * 15 + 0.1)
    (end,) = world.ended(ue)
    assert end.cause == "t3521-expired"
    assert world.amf.received.count("deregistration-request-ue-originating") == 5
    assert ue.ue.state is State.DEREGISTERED


@pytest.mark.parametrize("leave", [DEREGISTER, OFF])
def test_a_ue_that_is_not_released_leaves_after_t3540(leave: Procedure) -> None:
    world, ue = registered()
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    world.begin(ue, leave)
    world.settle()
    assert world.ended(ue) == []
    world.pass_time(10.1)
    (end,) = world.ended(ue)
    assert end.cause == "not-released"
    assert ue.context is None


def test_the_latency_of_a_deregistration_ends_with_its_accept() -> None:
    world, ue = registered()
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    world.begin(ue, DEREGISTER)
    world.settle()
    world.pass_time(5)
    del world.amf.pdus["UEContextReleaseCommand"]
    world.amf.release(connection(world, ue), {"nas": "deregister"})
    world.settle()
    (end,) = world.ended(ue)
    assert (end.cause, end.ended - end.began) == (None, 0)


def test_a_lost_release_command_is_asked_for_again() -> None:
    world, ue = registered()
    swallow("UEContextReleaseCommand", 2)(world.amf)
    world.begin(ue, IDLE)
    world.pass_time(20.1)
    (end,) = world.ended(ue)
    assert (end.cause, end.ended - end.began) == (None, 20)
    assert world.amf.received.count("UEContextReleaseRequest") == 3


def test_a_release_that_never_comes_is_done_locally() -> None:
    world, ue = registered()
    swallow("UEContextReleaseCommand", 99)(world.amf)
    world.begin(ue, IDLE)
    world.pass_time(30.1)
    (end,) = world.ended(ue)
    assert end.cause == "not-released"
    assert ue.ue.connection is Connection.IDLE
    assert world.gnb.cell.contexts.by_ran == {}


def test_a_command_repeated_for_a_lost_complete_gets_an_error_indication() -> None:
    world, ue = registered()
    to = connection(world, ue)
    world.run(ue, IDLE)
    world.amf.release(to, {"radioNetwork": "user-inactivity"})
    world.settle()
    assert world.amf.received[-1] == "ErrorIndication"
    assert "unknown-local-UE-NGAP-ID" in str(wire.ngap_decode(world.sent[-1]))
    assert world.gnb.counts.error_indications_sent == 1
    assert world.violations == []


def test_what_there_is_nothing_to_do_for_is_skipped() -> None:
    world, ue = registered()
    assert world.run(ue, SERVICE).cause == "skipped"
    assert world.run(ue, IDLE, IDLE).cause == "skipped"
    assert world.run(ue, DEREGISTER, DEREGISTER).cause == "not-registered"
    assert world.run(ue, SERVICE).cause == "not-registered"
    assert world.run(ue, IDLE).cause == "skipped"


def test_losing_the_connection_before_the_accept_deregisters_locally() -> None:
    world, ue = registered()
    lose("deregistration-accept-ue-originating")(world.amf)
    world.begin(ue, DEREGISTER)
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause == "connection-released"
    assert ue.ue.state is State.DEREGISTERED


def test_the_network_deregisters_the_ue() -> None:
    world, ue = registered()
    request = {
        "message-type": "deregistration-request-ue-terminated",
        "de-registration-type": {
            "switch-off": False,
            "re-registration-required": False,
            "access-type": "3gpp-access",
        },
    }
    world.amf.down(connection(world, ue), request)
    world.settle()
    assert world.amf.received[-1] == "deregistration-accept-ue-terminated"
    assert ue.ue.state is State.DEREGISTERED
    assert world.violations == []


def test_a_deregistration_of_both_sides_ends_with_the_networks() -> None:
    world, ue = registered()
    to = connection(world, ue)
    world.amf.trees["deregistration-accept-ue-originating"] = lambda _: {
        "message-type": "deregistration-request-ue-terminated",
        "de-registration-type": {
            "switch-off": False,
            "re-registration-required": False,
            "access-type": "3gpp-access",
        },
    }
    assert world.run(ue, DEREGISTER).cause is None
    assert to.ue is not None
    assert world.violations == []


def test_a_configuration_update_is_acknowledged_and_taken() -> None:
    world, ue = registered()
    to = connection(world, ue)
    guti = world.amf.registration_accept(to)["5g-guti"]
    guti["guti"]["tmsi"] = 0xC0ABCDEF
    update = {
        "message-type": "configuration-update-command",
        "configuration-update-indication": {"ack": True, "red": False},
        "5g-guti": guti,
    }
    world.amf.down(to, update)
    world.settle()
    assert world.amf.received[-1] == "configuration-update-complete"
    assert ue.ue.guti is not None
    assert ue.ue.guti.tmsi == 0xC0ABCDEF
    assert world.violations == []


def test_a_service_request_brings_the_ue_back() -> None:
    world, ue = registered()
    assert world.run(ue, IDLE, SERVICE, IDLE, SERVICE).cause is None
    assert ue.context is not None
    assert ue.context.set_up is not None
    assert world.violations == []


def test_a_service_request_is_given_up_after_t3517() -> None:
    world, ue = registered()
    world.run(ue, IDLE)
    lose("service-accept")(world.amf)
    world.begin(ue, SERVICE)
    world.pass_time(15.1)
    (end,) = world.ended(ue)
    assert end.cause == "t3517-expired"
    assert ue.ue.state is State.REGISTERED
    assert world.run(ue, SERVICE).cause is None


@pytest.mark.parametrize(
    ("cause", "registered_after", "guti_after"),
    [
        ("congestion", True, True),
        ("implicitly-deregistered", False, True),
        ("ue-identity-cannot-be-derived-by-the-network", False, False),
    ],
)
def test_service_rejects(cause: str, registered_after: bool, guti_after: bool) -> None:
    world, ue = registered()
    world.run(ue, IDLE)
    reject_service(cause)(world.amf)
    world.begin(ue, SERVICE)
    world.settle()
    world.amf.release(connection(world, ue), {"nas": "normal-release"})
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause is not None
    assert cause in end.cause
    assert ue.ue.registered is registered_after
    assert (ue.ue.guti is not None) is guti_after
    assert world.violations == []


def test_a_message_of_no_use_is_answered_with_a_status() -> None:
    world, ue = registered()
    notification = {"message-type": "notification", "access-type": "3gpp-access"}
    world.amf.down(connection(world, ue), notification)
    world.settle()
    assert world.amf.uplink[-1]["5gmm-cause"] == "message-type-non-existent-or-not-implemented"
    assert world.kinds() == [Kind.NAS_UNEXPECTED]


def test_the_emulators_stand_many_ues_on_many_gnbs() -> None:
    world = World(gnbs=3)
    ues = [world.ue(n, f"gnb-{1 + n % 3}") for n in range(4)]
    for ue in ues:
        world.begin(ue, REGISTER)
    world.settle()
    assert all(world.ended(ue)[0].cause is None for ue in ues)
    for ue in ues:
        assert world.run(ue, IDLE, DEREGISTER).cause is None
    assert world.amf.connections == {}
    assert world.violations == []
