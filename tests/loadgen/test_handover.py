"""Handovers between the gNBs of a run."""

import pytest

from loadgen.gnb.context import CampedUe
from loadgen.session_model import Tunnel
from loadgen.timers import TimerValues
from loadgen.ue.model import HANDOVERS, Connection, Procedure
from tests.loadgen.amf import Tree
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    PAGE,
    REGISTER,
    SERVICE_REQUEST,
    SESSION,
    registered,
)
from tests.loadgen.world import World

XN = Procedure.XN_HANDOVER
N2 = Procedure.N2_HANDOVER
PARTIAL = Procedure.HANDOVER_PARTIAL
REFUSED = Procedure.HANDOVER_REFUSED
CANCEL = Procedure.HANDOVER_CANCEL


def with_session(gnbs: int = 2, sessions: int = 1, **more: object) -> tuple[World, CampedUe]:
    """Return a UE with a user plane, on the first of some gNBs."""
    world, ue = registered(World(gnbs=gnbs, **more))  # pyright: ignore[reportArgumentType]
    for _ in range(sessions):
        assert world.run(ue, SESSION).cause is None
    return world, ue


def left_over(world: World) -> int:
    """Return the number of contexts of all gNBs."""
    return sum(len(gnb.cell.contexts.by_ran) for gnb in world.gnbs.values())


@pytest.mark.parametrize("kind", [XN, N2])
def test_a_ue_moves_with_its_session_and_its_tunnel(kind: Procedure) -> None:
    world, ue = with_session()
    end = world.run(ue, kind)
    assert (end.procedure, end.cause) == (kind, None)
    assert ue.cell is world.gnbs["gnb-2"].cell
    assert left_over(world) == 1
    assert ue.ue.user_plane[1].dl == Tunnel("127.8.0.2", 1)
    assert world.amf.smf.downlink_tunnel("10.45.0.1") == Tunnel("127.8.0.2", 1)
    assert world.violations == []
    assert world.run(ue, IDLE, PAGE, IDLE, SERVICE_REQUEST, DEREGISTER, REGISTER).cause is None
    assert world.violations == []


@pytest.mark.parametrize("kinds", [(XN, XN, XN), (N2, N2, XN, XN), (XN, N2) * 6])
def test_keys_are_chained_over_many(kinds: tuple[Procedure, ...]) -> None:
    world, ue = with_session()
    seen: set[bytes] = set()
    for kind in kinds:
        assert world.run(ue, kind).cause is None
        assert ue.context is not None
        assert ue.context.keys is not None
        assert ue.ue.keys is not None
        assert ue.context.keys.key == ue.ue.keys.key
        seen.add(ue.ue.keys.key)
    assert len(seen) == len(kinds)
    assert world.violations == []
    assert left_over(world) == 1


def test_the_first_xn_handover_is_horizontal_and_the_next_vertical() -> None:
    world, ue = with_session()
    assert world.run(ue, XN).cause is None
    assert ue.ue.keys is not None
    assert ue.ue.keys.ncc == 0
    assert world.run(ue, XN).cause is None
    assert ue.ue.keys.ncc == 2


def test_the_source_of_an_xn_handover_is_gone_without_a_message() -> None:
    world, ue = with_session()
    before = len(world.sent)
    assert world.run(ue, XN).cause is None
    assert world.amf.received[-1] == "PathSwitchRequest"
    assert len(world.sent) == before + 1


def test_a_session_that_the_target_does_not_admit_has_no_user_plane() -> None:
    world, ue = with_session(sessions=2)
    assert world.run(ue, PARTIAL).cause is None
    assert ue.cell is world.gnbs["gnb-2"].cell
    assert ue.ue.user_plane.keys() == {1}
    assert ue.ue.sessions.live.keys() == {1, 2}
    assert world.run(ue, SERVICE_REQUEST).cause is None
    assert ue.ue.user_plane.keys() == {1, 2}
    assert world.violations == []


def test_a_refused_handover_leaves_the_ue_where_it_is() -> None:
    world, ue = with_session()
    assert world.run(ue, REFUSED).cause is None
    assert ue.cell is world.gnbs["gnb-1"].cell
    assert world.amf.received[-1] == "HandoverFailure"
    assert world.run(ue, SESSION, N2).cause is None
    assert world.violations == []
    assert left_over(world) == 1


def test_cancels_come_before_and_after_the_command() -> None:
    world, ue = with_session()
    for _ in range(4):
        assert world.run(ue, CANCEL).cause is None
        assert left_over(world) == 1
    assert ue.cell is world.gnbs["gnb-1"].cell
    assert world.amf.received.count("HandoverCancel") == 4
    assert world.amf.received.count("HandoverRequestAcknowledge") == 4
    assert world.run(ue, N2, SESSION).cause is None
    assert world.violations == []


def test_one_of_two_is_chosen_by_chance() -> None:
    world, ue = with_session()
    for _ in range(12):
        assert world.run(ue, Procedure.HANDOVER).cause is None
    assert world.amf.received.count("PathSwitchRequest") in range(2, 11)
    assert world.amf.received.count("HandoverNotify") in range(2, 11)


@pytest.mark.parametrize("kind", sorted(HANDOVERS))
def test_without_a_user_plane_there_is_nothing_to_hand_over(kind: Procedure) -> None:
    world, ue = registered(World(gnbs=2))
    assert world.run(ue, kind).cause == "skipped"
    assert world.run(ue, IDLE, kind).cause == "skipped"


def test_without_a_neighbour_there_is_nowhere_to_go() -> None:
    world, ue = with_session(gnbs=1)
    assert world.run(ue, XN).cause == "no-neighbour"


def test_a_target_that_has_just_lost_its_association_refuses_the_ue() -> None:
    world, ue = with_session(timers=TimerValues())
    world.begin(ue, XN)
    world.gnbs["gnb-2"].association_down(world.now)
    world.pass_time(0.1)
    (end,) = world.ended(ue)
    assert end.cause == "xn-preparation-failure"
    assert ue.cell is world.gnb.cell
    assert world.run(ue, IDLE, PAGE, DEREGISTER).cause is None
    assert world.violations == []


def test_a_path_switch_that_is_not_answered_loses_the_ue() -> None:
    world, ue = with_session()
    world.amf.mobility.silent.add("PathSwitchRequest")
    world.begin(ue, XN)
    world.pass_time(10.1)
    (end,) = world.ended(ue)
    assert end.cause == "path-switch-unanswered"
    assert ue.ue.connection is Connection.IDLE
    world.pass_time(40)
    assert left_over(world) == 0


def test_a_path_switch_that_fails_loses_the_ue_and_releases_the_source() -> None:
    world, ue = with_session()
    failed = "PDUSessionResourceReleasedListPSFail"
    cause = {"pathSwitchRequestUnsuccessfulTransfer": {"cause": {"misc": "unspecified"}}}

    def failure(tree: Tree) -> Tree:
        ies = [*tree["ies"][:2], {failed: [{"pDUSessionID": 1, **cause}]}]
        return {"message": "PathSwitchRequestFailure", "ies": ies}

    world.amf.pdus["PathSwitchRequestAcknowledge"] = failure
    assert world.run(ue, XN).cause == "path-switch-failure"
    assert ue.ue.connection is Connection.IDLE
    assert "UEContextReleaseRequest" in world.amf.received
    assert len(world.gnbs["gnb-2"].cell.contexts.by_ran) == 0


def test_a_new_tracking_area_has_the_ue_update_while_connected() -> None:
    world, ue = with_session(tacs=(1, 2))
    assert world.amf.tacs == [1]
    world.amf.tacs = [1, 2]
    world.amf.paged_areas.append({"tAI": {"pLMNIdentity": "001-01", "tAC": 2}})
    assert world.run(ue, N2).cause is None
    assert world.amf.received[-1] == "registration-complete"
    assert world.amf.uplink[-2]["5gs-registration-type"]["registration-type"] == (
        "mobility-registration-updating"
    )
    assert world.amf.uplink[-2]["pdu-session-status"] == [1]
    assert ue.ue.areas == {("001-01", 1), ("001-01", 2)}
    assert world.run(ue, N2, IDLE, PAGE).cause is None
    assert world.amf.received.count("registration-complete") == 2
    assert world.violations == []
