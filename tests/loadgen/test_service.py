"""Service requests with PDU sessions, and paging (TS 24.501 5.6, TS 23.502 4.2.3)."""

import pytest

import wire
from loadgen.gnb.context import CampedUe
from loadgen.session_model import Tunnel
from loadgen.ue.model import Connection, Procedure, State
from tests.loadgen.amf import Connection as AmfConnection
from tests.loadgen.amf import Tree
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
    lose,
    put,
    registered,
    reject_service,
)
from tests.loadgen.test_sessions import established
from tests.loadgen.world import World


def idle(world: World | None = None) -> tuple[World, CampedUe]:
    """Return an idle UE with a PDU session."""
    world, ue = established(world)
    assert world.run(ue, IDLE).cause is None
    return world, ue


def initial(world: World) -> Tree:
    """Return the last INITIAL UE MESSAGE."""
    pdu = [pdu for pdu in world.sent if pdu[1] == 15][-1]
    ies: Tree = {}
    for ie in wire.ngap_decode(pdu)["ies"]:
        ies.update(ie)
    return ies


def last_request(world: World) -> Tree:
    return [t for t in world.amf.uplink if t["message-type"] == "service-request"][-1]


@pytest.mark.parametrize(
    ("procedure", "service_type", "cause", "asked"),
    [
        (SERVICE, "signalling", "mo-Signalling", None),
        (SERVICE_REQUEST, "data", "mo-Data", [1]),
        (PAGE, "mobile-terminated-services", "mt-Access", None),
    ],
)
def test_what_each_asks_for(
    procedure: Procedure, service_type: str, cause: str, asked: list[int] | None
) -> None:
    world, ue = idle()
    assert world.run(ue, procedure).cause is None
    request = last_request(world)
    assert request["service-type"] == service_type
    assert request.get("uplink-data-status") == asked
    assert request["pdu-session-status"] == [1]
    ies = initial(world)
    assert ies["RRCEstablishmentCause"] == cause
    assert ies["FiveG-S-TMSI"]["fiveG-TMSI"] == request["5g-s-tmsi"]["s-tmsi"]["tmsi"]
    assert ies["UEContextRequest"] == "requested"
    assert ue.ue.records()[0].active is (procedure is not SERVICE)
    assert world.violations == []


def test_only_cleartext_ies_are_outside_the_container() -> None:
    world, ue = idle()
    assert world.run(ue, SERVICE_REQUEST).cause is None
    outer = bytes.fromhex(initial(world)["NAS-PDU"])
    assert outer[1] == 1, "integrity protected, with a ciphered container (4.4.6)"
    clear = wire.nas_decode(outer[7:])
    assert "nas-message-container" in str(clear)
    assert "uplink-data-status" not in clear
    assert "pdu-session-status" not in clear


def test_without_a_session_a_service_request_is_for_signalling() -> None:
    world, ue = registered()
    assert world.run(ue, IDLE, SERVICE_REQUEST).cause is None
    request = last_request(world)
    assert request["service-type"] == "signalling"
    assert "pdu-session-status" not in request
    assert world.violations == []


def test_the_tunnel_of_the_upf_is_the_same_and_that_of_the_gnb_a_new_one() -> None:
    world, ue = established()
    before = ue.ue.records()[0]
    assert world.run(ue, IDLE, SERVICE_REQUEST).cause is None
    after = ue.ue.records()[0]
    assert before.ul == after.ul
    assert before.dl != after.dl
    assert ue.ue.record.tunnels_moved == 0
    world.run(ue, IDLE)
    world.amf.smf.at("10.45.0.1").teid = 77
    assert world.run(ue, SERVICE_REQUEST).cause is None
    assert ue.ue.record.tunnels_moved == 1
    assert world.violations == []


def test_in_connected_mode_the_resources_come_after_the_accept() -> None:
    world, ue = idle()
    assert world.run(ue, SERVICE, SERVICE_REQUEST).cause is None
    assert world.amf.received.count("InitialUEMessage") == 2
    assert last_request(world)["uplink-data-status"] == [1]
    assert ue.ue.records()[0].active is True
    assert world.run(ue, SERVICE_REQUEST).cause == "skipped"
    assert world.violations == []


def test_a_user_plane_that_never_comes_fails_the_request() -> None:
    world, ue = idle()
    world.run(ue, SERVICE)
    world.amf.pdus["PDUSessionResourceSetupRequest"] = lambda _: None
    world.begin(ue, SERVICE_REQUEST)
    world.pass_time(10.1)
    (end,) = world.ended(ue)
    assert end.cause == "no-user-plane"
    assert world.kinds() == ["service-user-plane"]


def test_a_reactivation_that_failed_is_a_failure() -> None:
    world, ue = idle()
    put("pdu-session-reactivation-result", "service-accept", [1])(world.amf)
    assert world.run(ue, SERVICE_REQUEST).cause == "reactivation-failed"
    assert world.violations == []


def test_a_session_that_the_network_lost_is_released_locally() -> None:
    world, ue = idle()
    world.amf.smf.sessions.clear()
    assert world.run(ue, SERVICE).cause == "session-lost"
    assert ue.ue.record.sessions_lost == 1
    assert ue.ue.records() == []
    assert world.violations == []


def test_a_session_released_while_its_user_plane_is_waited_for() -> None:
    world, ue = idle()
    world.run(ue, SERVICE)
    world.amf.pdus["PDUSessionResourceSetupRequest"] = lambda _: None
    world.begin(ue, SERVICE_REQUEST)
    world.settle()
    world.amf.smf.release(connection(world, ue), 1)
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause == "session-released"
    assert world.violations == []


@pytest.mark.parametrize("procedure", [SERVICE_REQUEST, PAGE, RELEASE_SESSION])
def test_a_reject_out_of_idle(procedure: Procedure) -> None:
    world, ue = idle()
    reject_service("implicitly-deregistered")(world.amf)
    world.begin(ue, procedure)
    world.settle()
    world.amf.release(connection(world, ue), {"nas": "normal-release"})
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause == "reject-10-implicitly-deregistered"
    assert ue.ue.state is State.DEREGISTERED
    assert ue.ue.records() == []
    del world.amf.trees["service-accept"], world.amf.pdus["InitialContextSetupRequest"]
    assert world.run(ue, REGISTER, SESSION).cause is None
    assert world.violations == []


@pytest.mark.parametrize("procedure", [SERVICE_REQUEST, PAGE])
def test_a_request_that_is_not_answered(procedure: Procedure) -> None:
    world, ue = idle()
    lose("service-accept")(world.amf)
    world.begin(ue, procedure)
    world.pass_time(15.1)
    (end,) = world.ended(ue)
    assert end.cause == "t3517-expired"
    assert ue.ue.state is State.REGISTERED
    assert world.run(ue, SERVICE_REQUEST).cause is None
    assert world.violations == []


# paging


def test_downlink_data_pages_the_ue_on_every_gnb() -> None:
    world, ue = idle(World(gnbs=3))
    assert world.run(ue, PAGE).cause is None
    assert [gnb.counts.pagings for gnb in world.gnbs.values()] == [1, 1, 1]
    assert [gnb.counts.paged for gnb in world.gnbs.values()] == [1, 0, 0]
    assert ue.ue.records()[0].active is True
    assert world.run(ue, IDLE, PAGE, IDLE, DEREGISTER).cause is None
    assert world.violations == []


def test_a_ue_is_paged_with_its_newest_5g_s_tmsi() -> None:
    world, ue = idle()
    assert world.run(ue, DEREGISTER, REGISTER, SESSION, IDLE, PAGE).cause is None
    assert world.violations == []


def test_a_page_begins_when_the_upf_buffers() -> None:
    """A packet before would be sent to the gNB that has released the UE."""
    world, ue = idle()
    sent: list[float] = []
    original, buffers_at = ue.ue.downlink_data, world.now + 0.1

    def data(address: str) -> None:
        sent.append(world.now)
        original(address)

    ue.ue.downlink_data = data
    ue.ue.downlink_tunnel = lambda _: None if world.now >= buffers_at else Tunnel("127.8.0.1", 1)
    world.begin(ue, PAGE)
    world.pass_time(0.2)
    (end,) = world.ended(ue)
    assert end.cause is None
    assert len(sent) == 1
    assert 0 <= sent[0] - buffers_at <= 0.006
    assert end.began == sent[0]
    assert world.violations == []


def test_a_upf_that_never_buffers() -> None:
    world, ue = idle()
    ue.ue.downlink_tunnel = lambda _: Tunnel("127.8.0.1", 1)
    world.begin(ue, PAGE)
    world.pass_time(30.1)
    (end,) = world.ended(ue)
    assert end.cause == "not-buffered"


def test_a_ue_that_nobody_pages() -> None:
    world, ue = idle()
    world.amf.pdus["Paging"] = lambda _: None
    world.begin(ue, PAGE)
    world.pass_time(30.1)
    (end,) = world.ended(ue)
    assert end.cause == "not-paged"
    assert world.violations == []


def test_paging_that_is_repeated_is_answered_once() -> None:
    world, ue = idle()
    original = world.amf.page

    def twice(supi: str) -> None:
        original(supi)
        original(supi)

    world.amf.page = twice
    assert world.run(ue, PAGE).cause is None
    assert last_request(world)
    assert world.amf.received.count("service-request") == 1
    assert world.violations == []


def test_a_ue_with_a_user_plane_need_not_be_paged() -> None:
    world, ue = established()
    assert world.run(ue, PAGE).cause == "skipped"
    world.run(ue, RELEASE_SESSION)
    assert world.run(ue, PAGE).cause == "no-session"
    world.run(ue, DEREGISTER)
    assert world.run(ue, PAGE).cause == "not-registered"


def test_in_connected_mode_data_brings_the_resources_without_paging() -> None:
    world, ue = idle()
    assert world.run(ue, SERVICE, PAGE).cause is None
    assert world.gnb.counts.pagings == 0
    assert ue.ue.records()[0].active is True
    assert world.violations == []


def test_paging_at_any_time_is_answered() -> None:
    world, ue = idle()
    world.amf.smf.downlink("10.45.0.1")
    world.settle()
    assert world.ended(ue) == []
    assert ue.ue.busy is None
    assert ue.ue.records()[0].active is True
    assert world.violations == []


@pytest.mark.parametrize("procedure", [IDLE, SERVICE_REQUEST, DEREGISTER])
def test_what_begins_while_the_ue_answers_paging_waits(procedure: Procedure) -> None:
    world, ue = idle()
    held: list[tuple[AmfConnection, Tree]] = []
    serve = world.amf.smf.serve

    def hold(to: AmfConnection, request: Tree) -> None:
        held.append((to, request))

    world.amf.smf.serve = hold
    world.amf.smf.downlink("10.45.0.1")
    world.settle()
    world.begin(ue, procedure)
    world.settle()
    assert ue.ue.busy is procedure
    assert world.ended(ue) == []
    serve(*held.pop())
    world.settle()
    (end,) = world.ended(ue)
    assert end.procedure is procedure
    assert end.cause == ("skipped" if procedure is SERVICE_REQUEST else None)
    assert world.violations == []


def test_paging_of_a_ue_that_is_not_here_or_off_has_no_effect() -> None:
    world, ue = idle()
    supi = ue.ue.profile.supi
    world.run(ue, DEREGISTER)
    world.amf.page(supi)
    world.amf.by_supi[supi].tmsi += 1
    world.amf.page(supi)
    world.settle()
    assert ue.ue.connection is Connection.IDLE
    assert world.violations == []
