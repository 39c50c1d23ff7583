"""A UPF and the core (TS 29.244 6.2): associated, restarted, released, and with leftover
sessions."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from functions.messages.pfcp import node_id
from schemas.aggregates import upf_aggregate
from schemas.cloudevents import CloudEvent, EventType, UpfLoadReported
from schemas.event import Noted
from schemas.identity import index_seid, make_seid, slot_of
from schemas.lookups import UsableUpf
from schemas.step import FanOutSessions, Wake
from tests.functions.world import N4_NETWORK, World
from tests.functions.world_n4 import OTHER_UPF, UPF

STAMP = 3_900_000_000
SEID = make_seid(17, 0xABCDEF)
REFUSED = "Request rejected (reason not specified)"
NO_ASSOCIATION = "No established PFCP Association"
NOT_FOUND = "Session context not found"
RETENTION = "PFCP Session Retention Information (within PFCP Association Setup Request)"


@pytest.fixture
def world() -> World:
    return World(network=N4_NETWORK)


def sent(world: World) -> list[dict[str, Any]]:
    """Return the decoded messages to UPFs since the last call; they must be valid."""
    found = [pdu for *_, pdu in world.pfcp]
    world.pfcp.clear()
    assert [wire.pfcp_check(pdu) for pdu in found] == [None] * len(found)
    return [wire.pfcp_decode(pdu) for pdu in found]


def ies(tree: dict[str, Any]) -> dict[str, Any]:
    return {k: v for item in tree["ies"] for k, v in item.items()}


def message(name: str, *parts: dict[str, Any], upf: str = UPF, **header: Any) -> dict[str, Any]:
    return {"message": name, "ies": [{"Node ID": node_id(upf)}, *parts], **header}


def setup(stamp: int = STAMP, features: Any = ("FTUP",), **header: Any) -> dict[str, Any]:
    parts = [{"Recovery Time Stamp": stamp}, {"UP Function Features": list(features)}]
    return message("AssociationSetupRequest", *parts, **header)


def setup_response(
    stamp: int = STAMP, cause: str = "Request accepted", features: Any = ("FTUP",)
) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"Cause": cause}, {"Recovery Time Stamp": stamp}]
    if features:
        parts.append({"UP Function Features": list(features)})
    return message("AssociationSetupResponse", *parts)


def asked(world: World) -> tuple[str, str, int | None]:
    upf, key, number, _ = world.pfcp[-1]
    return upf, key, number


def fanned(world: World, upf: str = UPF) -> list[int]:
    """Return the time stamps of the reported session losses, in order."""
    steps = world.steps[upf_aggregate(upf)]
    outputs = [output for step in steps for output in step.outputs]
    return [o.recovery_time_stamp for o in outputs if isinstance(o, FanOutSessions)]


def notes(world: World, upf: str = UPF) -> list[str]:
    events = [event for step in world.steps[upf_aggregate(upf)] for event in step.events]
    return [event.text for event in events if isinstance(event, Noted)]


def test_the_core_asks_for_an_association_once_a_gateway_is_there(world: World) -> None:
    world.path("served")
    upf, key, number = asked(world)
    assert (upf, key) == (UPF, upf_aggregate(UPF))
    (request,) = sent(world)
    assert request["message"] == "AssociationSetupRequest"
    since = world.now // 1000 + 2_208_988_800
    assert ies(request) == {
        "Node ID": {"ipv4": "10.9.0.254"},
        "Recovery Time Stamp": since,
        "CP Function Features": ["LOAD"],
    }
    assert world.usable_upfs() == ()
    world.answer_pfcp(setup_response(), UPF, key, number)
    state = world.upf()
    assert (state.associated, state.reachable, state.features) == (True, True, ("FTUP",))
    assert world.usable_upfs() == (UsableUpf(UPF, 0, recovery_time_stamp=STAMP),)
    world.verify()


def test_a_gateway_that_comes_later_learns_since_when_the_core_is_there(world: World) -> None:
    world.associate(UPF)
    since = world.upf().since
    world.advance(3600)
    world.path("served")
    (heartbeat,) = sent(world)
    assert (heartbeat["message"], ies(heartbeat)) == (
        "HeartbeatRequest",
        {"Recovery Time Stamp": since},
    )
    world.verify()


def test_a_gateway_that_comes_later_may_know_of_a_restart(world: World) -> None:
    world.associate(UPF)
    world.path("served", UPF, STAMP)
    world.path("served", UPF, STAMP + 1)
    assert [tree["message"] for tree in sent(world)] == [
        "HeartbeatRequest",
        "AssociationSetupRequest",
    ]
    world.verify()


def test_a_request_under_way_is_not_made_twice(world: World) -> None:
    world.path("served")
    first = asked(world)
    world.path("served")
    world.path("up", recovery_time_stamp=STAMP)
    assert asked(world) == first
    assert len(world.pfcp) == 3
    world.verify()


def test_an_unexpected_answer(world: World) -> None:
    world.path("served")
    *_, key, number = asked(world)
    world.answer_pfcp(setup_response(), UPF, key, (number or 0) + 1)
    assert not world.upf().associated
    world.verify()


def test_association_setups_that_cross(world: World) -> None:
    """The UPF may accept the core's request after its own (6.2.6.2.2). There are no sessions
    between the two: the response to the core's request makes the association."""
    world.path("served")
    first = asked(world)
    world.answer_pfcp(setup(), UPF)
    assert not world.upf().associated
    answer, again = sent(world)[-2:]
    assert (answer["message"], ies(answer)["Cause"]) == (
        "AssociationSetupResponse",
        "Request accepted",
    )
    assert again["message"] == "AssociationSetupRequest"
    *_, key, number = first
    assert number == world.upf().asked, "the gateway sends it once"
    world.answer_pfcp(setup_response(), UPF, key, number)
    assert world.upf().associated
    assert fanned(world) == []
    world.answer_pfcp(setup_response(), UPF, key, number)
    assert fanned(world) == [STAMP], "the UPF has lost the sessions in between"
    world.answer_pfcp(setup_response(cause=REFUSED), UPF, key, number)
    assert world.upf().associated
    assert fanned(world) == [STAMP]
    world.verify()


@pytest.mark.parametrize("lost", [True, False])
def test_a_upf_that_asks_again_is_asked_whether_it_has_lost_the_association(
    world: World, lost: bool
) -> None:
    """Anyone can send the request. A response that accepts it would hide the answer."""
    world.associate(UPF)
    world.answer_pfcp(setup(sequence=7), UPF)
    (question,) = sent(world)
    assert (world.upf().associated, fanned(world)) == (True, [])
    answer_question(world, question, NO_ASSOCIATION if lost else NOT_FOUND)
    tail = ["AssociationSetupRequest"] if lost else []
    upf, key, number = asked(world)
    found = sent(world)
    assert [tree["message"] for tree in found] == ["AssociationSetupResponse", *tail]
    assert (found[0]["sequence"], ies(found[0])["Cause"]) == (7, "Request accepted")
    if lost:
        assert not world.upf().associated
        world.answer_pfcp(setup_response(), upf, key, number)
    assert fanned(world) == [STAMP] * lost
    assert (world.upf().associated, world.upf().reachable) == (True, True)
    world.advance(2000)
    assert not world.pfcp
    world.verify()


@pytest.mark.parametrize("stamp", [STAMP, STAMP + 5])
def test_a_upf_that_restarts_and_asks_is_asked_for_its_time_stamp(world: World, stamp: int) -> None:
    """It is accepted first, because some UPFs answer heartbeats only then. A forged request has no
    effect."""
    world.associate(UPF)
    world.answer_pfcp(setup(STAMP + 5, sequence=7), UPF)
    upf, key, number = asked(world)
    assert [tree["message"] for tree in sent(world)] == [
        "AssociationSetupResponse",
        "HeartbeatRequest",
    ]
    assert (world.upf().associated, fanned(world)) == (True, [])
    beat = {"message": "HeartbeatResponse", "ies": [{"Recovery Time Stamp": stamp}]}
    world.answer_pfcp(beat, upf, key, number)
    if stamp == STAMP:
        assert (world.upf().associated, world.upf().doubt) == (True, None)
        world.advance(2000)
        assert not world.pfcp
    else:
        upf, key, number, pdu = world.pfcp.pop()
        assert wire.pfcp_peek(pdu).message == "AssociationSetupRequest"
        world.answer_pfcp(setup_response(stamp), upf, key, number)
        assert fanned(world) == [stamp]
    world.verify()


@pytest.mark.parametrize("claim", ["setup", "restart", "release"])
def test_a_upf_that_does_not_say_is_asked_for_an_association(world: World, claim: str) -> None:
    """It may ignore all requests without an association. Its sessions stay until it has
    answered."""
    world.associate(UPF)
    claims = {
        "setup": setup(),
        "restart": setup(STAMP + 5),
        "release": message("AssociationReleaseRequest"),
    }
    world.answer_pfcp(claims[claim], UPF)
    world.pfcp.clear()
    world.advance(2)
    upf, key, number = asked(world)
    (request,) = [tree for tree in sent(world) if tree["message"] == "AssociationSetupRequest"]
    assert RETENTION in ies(request)
    assert (world.upf().associated, world.upf().reachable, fanned(world)) == (True, False, [])
    assert world.upf().trouble == "it does not say whether it still has the association"
    answer = setup_response()
    answer["ies"].append({"PFCPASRsp-Flags": ["PSREI"]})
    world.answer_pfcp(answer, upf, key, number)
    assert (world.upf().reachable, world.upf().trouble, fanned(world)) == (True, "", [])
    world.verify()


def test_a_response_of_another_upf(world: World) -> None:
    """The Node ID in the configuration is wrong, or the response is."""
    world.path("served")
    upf, key, number = asked(world)
    answer = setup_response()
    answer["ies"][0] = {"Node ID": {"ipv4": "10.9.0.77"}}
    world.answer_pfcp(answer, upf, key, number)
    assert not world.upf().associated
    assert "its Node ID is 10.9.0.77" in world.upf().trouble
    world.verify()


@pytest.mark.parametrize("answer", ["refused", "none", "faulty"])
def test_an_association_that_fails_is_tried_again_later_and_later(
    world: World, answer: str
) -> None:
    world.path("served")
    waits: list[int] = []
    for _ in range(6):
        upf, key, number, pdu = world.pfcp.pop()
        if answer == "none":
            world.unanswered(upf, key, number, pdu)
        elif answer == "refused":
            refusal = setup_response(cause="No resources available")
            world.answer_pfcp(refusal, upf, key, number)
        else:
            world.answer_pfcp(message("AssociationSetupResponse"), upf, key, number)
        waits.append((world.upf().wake_at - world.now) // 1000)
        assert not world.pfcp
        world.advance(waits[-1] - 1)
        assert not world.pfcp
        world.advance(2)
    assert waits == [10, 20, 40, 60, 60, 60]
    upf, key, number, _ = world.pfcp.pop()
    world.answer_pfcp(setup_response(), upf, key, number)
    assert (world.upf().associated, world.upf().refused) == (True, 0)
    world.advance(1000)
    assert not world.pfcp
    world.verify()


def test_a_upf_that_leaves_f_teids_to_the_core_is_not_used(world: World) -> None:
    world.path("served")
    upf, key, number, _ = world.pfcp.pop()
    world.answer_pfcp(setup_response(features=()), upf, key, number)
    (release,) = sent(world)
    assert release["message"] == "AssociationReleaseRequest"
    assert not world.upf().associated
    world.answer_pfcp(setup(features=("BUNDL",), sequence=7), upf)
    (refusal,) = sent(world)
    assert (refusal["sequence"], ies(refusal)["Cause"]) == (
        7,
        REFUSED,
    )
    assert any("F-TEID" in note for note in notes(world))
    world.verify()


def test_the_upf_asks_first(world: World) -> None:
    world.answer_pfcp(setup(sequence=99, upf=OTHER_UPF), OTHER_UPF)
    (upf, _, number, _), (_, key, asked_, _) = world.pfcp
    answer, request = sent(world)
    assert (upf, number, answer["sequence"]) == (OTHER_UPF, None, 99)
    assert request["message"] == "AssociationSetupRequest", "the response is the proof"
    since = world.upf(OTHER_UPF).since
    assert since
    assert ies(answer) == {
        "Node ID": {"ipv4": "10.9.0.254"},
        "Cause": "Request accepted",
        "Recovery Time Stamp": since,
        "CP Function Features": ["LOAD"],
    }
    assert not world.upf(OTHER_UPF).associated
    response = setup_response()
    response["ies"][0] = {"Node ID": {"fqdn": "UPF-2.example"}}
    world.answer_pfcp(response, OTHER_UPF, key, asked_)
    assert world.upf(OTHER_UPF).associated
    world.path("up", OTHER_UPF, STAMP)
    assert not sent(world)
    world.verify()


def test_a_stranger(world: World) -> None:
    world.answer_pfcp(setup(sequence=3, upf="192.0.2.1"), "192.0.2.1")
    world.path("served", "192.0.2.1")
    (answer,) = sent(world)
    assert ies(answer)["Cause"] == REFUSED
    assert not world.upf("192.0.2.1").associated
    world.verify()


def test_the_path_goes_down_and_comes_up_and_nothing_is_lost(world: World) -> None:
    world.associate(UPF)
    world.path("down")
    assert world.usable_upfs() == ()
    world.path("down")
    world.path("up", recovery_time_stamp=STAMP)
    assert world.usable_upfs() == (UsableUpf(UPF, 0, recovery_time_stamp=STAMP),)
    assert fanned(world) == []
    # Each `down` may be late, and is verified.
    assert [request["message"] for request in sent(world)] == ["HeartbeatRequest"] * 2
    world.verify()


def test_a_upf_that_has_let_the_association_go(world: World) -> None:
    """It did not restart, and reports #72: it is associated again, and its sessions are
    restored."""
    world.associate(UPF)
    world.path("unknown", recovery_time_stamp=STAMP)
    assert world.usable_upfs() == ()
    upf, key, number, pdu = world.pfcp.pop()
    assert wire.pfcp_peek(pdu).message == "AssociationSetupRequest"
    world.answer_pfcp(setup_response(), upf, key, number)
    assert world.usable_upfs() == (UsableUpf(UPF, 0, recovery_time_stamp=STAMP),)
    assert fanned(world) == [STAMP]
    world.verify()


def test_a_upf_that_has_restarted_is_associated_before_its_sessions_come_back(
    world: World,
) -> None:
    world.associate(UPF)
    world.owners["upf", f"{UPF}/{SEID:016x}"] = "ue/imsi-001010000000001"
    world.path("up", recovery_time_stamp=STAMP + 60)
    assert world.usable_upfs() == ()
    upf, key, number, pdu = world.pfcp.pop()
    assert wire.pfcp_peek(pdu).message == "AssociationSetupRequest"
    assert fanned(world) == []
    world.answer_pfcp(setup_response(STAMP + 60), upf, key, number)
    assert fanned(world) == [STAMP + 60]
    assert EventType.SESSION_LOST in {e.type for e in world.delivered.values()}
    world.verify()


def test_a_heartbeat_of_another_incarnation(world: World) -> None:
    world.associate(UPF)
    beat: dict[str, Any] = {
        "message": "HeartbeatRequest",
        "ies": [{"Recovery Time Stamp": STAMP}],
        "sequence": 5,
    }
    world.answer_pfcp(beat)
    (answer,) = sent(world)
    assert (answer["message"], answer["sequence"]) == ("HeartbeatResponse", 5)
    assert ies(answer)["Recovery Time Stamp"] == world.upf().since
    world.answer_pfcp({**beat, "ies": [{"Recovery Time Stamp": STAMP + 9}]})
    assert [tree["message"] for tree in sent(world)] == ["HeartbeatResponse", "HeartbeatRequest"]
    assert world.upf().associated, "anyone can have sent it: the UPF is asked"
    beat["message"], beat["ies"] = "HeartbeatResponse", [{"Recovery Time Stamp": STAMP + 9}]
    world.answer_pfcp(beat, number=1)
    assert [tree["message"] for tree in sent(world)] == ["AssociationSetupRequest"]
    world.verify()


def test_released_by_the_upf(world: World) -> None:
    """A UPF that says so is released, and asked for an association after a pause that grows."""
    waits: list[int] = []
    for count in range(5):
        if count:
            upf, key, number, _ = world.pfcp.pop()
            world.answer_pfcp(setup_response(), upf, key, number)
        else:
            world.associate(UPF)
        world.pfcp.clear()
        world.answer_pfcp(message("AssociationReleaseRequest", sequence=8))
        answer, question = sent(world)
        assert (answer["message"], ies(answer)["Cause"]) == (
            "AssociationReleaseResponse",
            "Request accepted",
        )
        assert world.upf().associated
        answer_question(world, question, NO_ASSOCIATION)
        assert not world.upf().associated
        assert fanned(world)[2 * count :] == [STAMP], "the sessions are lost, and restored later"
        world.path("unknown", recovery_time_stamp=STAMP)
        world.path("served")
        assert not world.pfcp, "the pause also holds for what its gateway reports"
        world.answer_pfcp(message("AssociationReleaseRequest", sequence=9))
        (answer,) = sent(world)
        assert ies(answer)["Cause"] == "No established PFCP Association"
        waits.append((world.upf().wake_at - world.now + 500) // 1000)
        world.advance(waits[-1] - 1)
        assert not world.pfcp
        world.advance(2)
    assert waits == [10, 20, 40, 60, 60]
    upf, key, number, _ = world.pfcp.pop()
    world.answer_pfcp(setup_response(), upf, key, number)
    world.advance(1000)
    world.pfcp.clear()
    world.answer_pfcp(message("AssociationReleaseRequest", sequence=8))
    answer_question(world, sent(world)[1], NO_ASSOCIATION)
    assert (world.upf().wake_at - world.now + 500) // 1000 == 10, "after a long time"
    world.verify()


def test_a_release_that_the_upf_has_not_sent(world: World) -> None:
    """The UPF has its association: nothing ends, and the next forged release ends nothing."""
    world.associate(UPF)
    for _ in range(3):
        world.answer_pfcp(message("AssociationReleaseRequest", sequence=8))
        world.answer_pfcp(message("AssociationReleaseRequest", sequence=9))
        first, question, second = sent(world)
        assert {ies(first)["Cause"], ies(second)["Cause"]} == {"Request accepted"}
        assert len(world.usable_upfs()) == 1, "while the UPF is asked"
        answer_question(world, question, NOT_FOUND)
        assert world.upf().doubt is None
        assert len(world.usable_upfs()) == 1
    assert fanned(world) == []
    assert any("the UPF says that it has the association" in note for note in notes(world))
    world.advance(2000)
    assert not world.pfcp
    world.verify()


def test_a_restarted_upf_ends_the_pause_after_a_release(world: World) -> None:
    world.associate(UPF)
    world.answer_pfcp(message("AssociationReleaseRequest", sequence=8))
    answer_question(world, sent(world)[1], NO_ASSOCIATION)
    world.path("up", recovery_time_stamp=STAMP + 3)
    assert [tree["message"] for tree in sent(world)] == ["AssociationSetupRequest"]
    world.verify()


@pytest.mark.parametrize(
    "claim",
    ["AssociationReleaseRequest", "AssociationSetupRequest", "AssociationUpdateRequest"],
)
def test_a_message_with_the_node_id_of_another_upf(world: World, claim: str) -> None:
    """It is not booked on the UPF that has sent it, nor on the other one."""
    world.associate(UPF, OTHER_UPF)
    parts = [{"Recovery Time Stamp": STAMP + 1}] if "Setup" in claim else []
    world.answer_pfcp(message(claim, *parts, upf=OTHER_UPF, sequence=8), UPF)
    (answer,) = sent(world)
    assert (answer["message"], answer["sequence"]) == (claim.replace("Request", "Response"), 8)
    assert (ies(answer)["Cause"], ies(answer)["Offending IE"]) == ("Mandatory IE incorrect", 60)
    assert len(world.usable_upfs()) == 2
    assert fanned(world) == fanned(world, OTHER_UPF) == []
    assert any(f"the Node ID {OTHER_UPF}" in note for note in notes(world))
    world.verify()


def test_an_update(world: World) -> None:
    world.associate(UPF)
    features = {"UP Function Features": ["FTUP", "BUCP"]}
    world.answer_pfcp(message("AssociationUpdateRequest", features, sequence=8))
    assert set(world.upf().features) == {"FTUP", "BUCP"}
    assert [tree["message"] for tree in sent(world)] == ["AssociationUpdateResponse"]
    wish = {"PFCP Association Release Request": ["SARR"]}
    world.answer_pfcp(message("AssociationUpdateRequest", wish, sequence=9))
    names = [tree["message"] for tree in sent(world)]
    assert names == ["AssociationUpdateResponse", "AssociationReleaseRequest"]
    assert not world.upf().associated
    assert fanned(world) == [STAMP]
    world.verify()


def test_updates_that_would_take_a_upf_out(world: World) -> None:
    """Nothing proves that the UPF has sent them: it is released once in a long time, and not made
    unusable."""
    world.associate(UPF)
    none = {"UP Function Features": ["BUCP"]}
    world.answer_pfcp(message("AssociationUpdateRequest", none, sequence=8))
    wish = {"PFCP Association Release Request": ["SARR"]}
    world.answer_pfcp(message("AssociationUpdateRequest", wish, sequence=9))
    first, second, _ = sent(world)
    assert (ies(first)["Cause"], ies(second)["Cause"]) == (REFUSED, "Request accepted")
    world.advance(11)
    upf, key, number, _ = world.pfcp.pop()
    world.answer_pfcp(setup_response(), upf, key, number)
    world.answer_pfcp(message("AssociationUpdateRequest", wish, sequence=10))
    (answer,) = sent(world)
    assert ies(answer)["Cause"] == REFUSED
    assert world.upf().associated
    world.advance(700)
    world.answer_pfcp(message("AssociationUpdateRequest", wish, sequence=11))
    assert not world.upf().associated
    world.verify()


def test_a_node_report(world: World) -> None:
    report = (
        {"Node Report Type": ["UPFR"]},
        {"User Plane Path Failure Report": [{"Remote GTP-U Peer": {"ipv4": "10.3.0.9"}}]},
    )
    world.answer_pfcp(message("NodeReportRequest", *report, sequence=1))
    world.associate(UPF)
    world.answer_pfcp(message("NodeReportRequest", *report, sequence=2))
    causes = [ies(tree)["Cause"] for tree in sent(world)]
    assert causes == ["No established PFCP Association", "Request accepted"]
    assert any("10.3.0.9" in note for note in notes(world))
    world.verify()


def answer_question(world: World, question: dict[str, Any], cause: str) -> None:
    """Answer whether the UPF has the association: it has no such session."""
    assert question["message"] == "SessionModificationRequest"
    number = world.upf().requests
    answer = {"message": "SessionModificationResponse", "seid": 0, "ies": [{"Cause": cause}]}
    world.answer_pfcp(answer, UPF, upf_aggregate(UPF), number)


def established(up_seid: int = 0x77) -> dict[str, Any]:
    parts = [
        {"Cause": "Request accepted"},
        {"F-SEID": {"seid": up_seid, "ipv4": "10.9.0.1"}},
        {"Load Control Information": [{"Sequence Number": 1}, {"Metric": 40}]},
    ]
    return message("SessionEstablishmentResponse", *parts, seid=SEID)


def test_a_session_without_an_owner_is_deleted(world: World) -> None:
    world.associate(UPF)
    world.answer_pfcp(established(), UPF, index_seid(SEID), 1)
    upf, key, number, pdu = world.pfcp[-1]
    (request,) = sent(world)
    assert (request["message"], request["seid"]) == ("SessionDeletionRequest", 0x77)
    assert (upf, key) == (UPF, upf_aggregate(UPF))
    assert world.usable_upfs() == (UsableUpf(UPF, 40, recovery_time_stamp=STAMP),)
    world.unanswered(upf, key, number, pdu)
    world.path("down")
    world.pfcp.clear()
    world.path("up", recovery_time_stamp=STAMP)
    assert world.pfcp.pop() == (upf, key, number, pdu), "it is still there"
    done = {"message": "SessionDeletionResponse", "seid": 0, "ies": [{"Cause": "Request accepted"}]}
    world.answer_pfcp(done, UPF, key, number)
    assert world.upf().leftovers == ()
    world.path("down")
    world.pfcp.clear()
    world.path("up", recovery_time_stamp=STAMP)
    assert not world.pfcp
    world.verify()


def test_a_response_to_no_request_deletes_nothing(world: World) -> None:
    """Anyone can send it. The UPF's SEIDs can be guessed: it would delete the session of a UE."""
    world.associate(UPF)
    world.answer_pfcp(established(), UPF, index_seid(SEID))
    assert (world.upf().leftovers, world.upf().load) == ((), 0)
    assert not world.pfcp
    world.verify()


def test_a_load_in_a_report_of_an_unknown_session_is_not_believed(world: World) -> None:
    world.associate(UPF)
    load = {"Load Control Information": [{"Sequence Number": 1}, {"Metric": 100}]}
    report = {"Report Type": ["DLDR"]}, {"Downlink Data Report": [{"PDR ID": 2}]}
    tree = {"message": "SessionReportRequest", "seid": SEID, "sequence": 1, "ies": [*report, load]}
    world.answer_pfcp(tree)
    assert world.upf().load == 0
    world.verify()


def test_a_deletion_of_a_leftover_session_is_repeated(world: World) -> None:
    world.associate(UPF)
    world.answer_pfcp(established(), UPF, index_seid(SEID), 1)
    first = world.pfcp.pop()
    waits: list[int] = []
    for _ in range(4):
        waits.append((world.upf().wake_at - world.now) // 1000)
        world.advance(waits[-1] - 1)
        assert not world.pfcp
        world.advance(2)
        assert world.pfcp.pop() == first
    assert waits == [10, 20 - 1, 40 - 1, 80 - 1]
    world.path("down")
    world.pfcp.clear()
    world.advance(200)
    asked_for = {tree["message"] for tree in sent(world)}
    assert asked_for == {"AssociationSetupRequest"}, "it does not answer heartbeats"
    world.path("up", recovery_time_stamp=STAMP)
    upf, key, number, pdu = world.pfcp.pop()
    assert (upf, key, number, pdu) == first
    done = {"message": "SessionDeletionResponse", "seid": 0, "ies": [{"Cause": "Request accepted"}]}
    world.answer_pfcp(done, UPF, key, number)
    assert (world.upf().leftovers, world.upf().wake_at, world.upf().tries) == ((), 0, 0)
    world.advance(2000)
    assert not world.pfcp
    world.verify()


def test_a_late_response_about_a_deleted_session_deletes_no_leftover(world: World) -> None:
    """The requests of each UE and of the UPF's log have numbers of their own."""
    world.associate(UPF)
    world.answer_pfcp(established(), UPF, index_seid(SEID), 1)
    upf, key, number, _ = world.pfcp.pop()
    done = {"message": "SessionDeletionResponse", "seid": SEID, "ies": [{"Cause": cause(1)}]}
    world.answer_pfcp(done, UPF, index_seid(SEID), number)
    assert [left.up_seid for left in world.upf().leftovers] == [0x77]
    world.answer_pfcp({**done, "seid": 0}, upf, key, number)
    assert world.upf().leftovers == ()
    world.verify()


def cause(number: int) -> str:
    return {1: "Request accepted", 65: "Session context not found"}[number]


@pytest.mark.parametrize("value", [1, 65])
@pytest.mark.parametrize("name", ["SessionModificationResponse", "SessionDeletionResponse"])
def test_a_late_response_about_a_deleted_session_is_noted(
    world: World, name: str, value: int
) -> None:
    world.associate(UPF)
    world.pfcp.clear()
    before = world.upf()
    late = {"message": name, "seid": SEID, "ies": [{"Cause": cause(value)}]}
    world.answer_pfcp(late, UPF, index_seid(SEID), 3)
    pdu = wire.pfcp_encode(
        {"message": "SessionDeletionRequest", "seid": 5, "sequence": 1, "ies": []}
    )
    world.unanswered(UPF, index_seid(SEID), 3, pdu)
    assert notes(world)[-2].startswith(name)
    assert notes(world)[-1] == "no response to SessionDeletionRequest"
    assert not world.pfcp
    assert world.upf() == before
    world.verify()


def test_a_load_in_session_messages(world: World) -> None:
    world.told_load(UpfLoadReported(load=30))
    assert notes(world) == ["a load report of a UPF that is not associated"]
    world.associate(UPF)
    world.told_load(UpfLoadReported(load=40))
    assert world.usable_upfs() == (UsableUpf(UPF, 40, recovery_time_stamp=STAMP),)
    world.told_load(UpfLoadReported(reduction=50, period=20))
    assert world.usable_upfs() == (UsableUpf(UPF, 70, recovery_time_stamp=STAMP),), (
        "half of the remaining 60 %"
    )
    world.advance(21)
    assert world.usable_upfs() == (UsableUpf(UPF, 40, recovery_time_stamp=STAMP),)
    world.verify()


def test_a_heartbeat_before_anything_else(world: World) -> None:
    """The core's time stamp for the UPF is the first one that it is sent."""
    beat: dict[str, Any] = {
        "message": "HeartbeatRequest",
        "ies": [{"Recovery Time Stamp": STAMP}],
        "sequence": 5,
    }
    world.answer_pfcp(beat)
    (answer,) = sent(world)
    told = ies(answer)["Recovery Time Stamp"]
    world.advance(100)
    world.associate(UPF)
    assert world.upf().since == told
    world.verify()


def test_a_report_of_an_unknown_session(world: World) -> None:
    world.associate(UPF)
    report = {
        "message": "SessionReportRequest",
        "seid": SEID,
        "sequence": 12,
        "ies": [
            {"Report Type": ["DLDR"]},
            {"Downlink Data Report": [{"PDR ID": 2}]},
        ],
    }
    world.answer_pfcp(report)
    (answer,) = sent(world)
    assert answer == {
        "message": "SessionReportResponse",
        "seid": 0,
        "sequence": 12,
        "ies": [{"Cause": "Session context not found"}],
    }
    world.verify()


@pytest.mark.parametrize(
    ("pdu", "answer", "cause"),
    [
        (message("AssociationSetupRequest"), "AssociationSetupResponse", "Mandatory IE missing"),
        (message("NodeReportRequest"), "NodeReportResponse", "Mandatory IE missing"),
        (
            {"message": "SessionReportRequest", "seid": SEID, "ies": []},
            "SessionReportResponse",
            "Mandatory IE missing",
        ),
        (message("PFDManagementRequest"), "PFDManagementResponse", "Service not supported"),
        (
            message("SessionSetModificationRequest"),
            "SessionSetModificationResponse",
            "Service not supported",
        ),
    ],
)
def test_a_request_with_faults_is_answered_with_its_cause(
    world: World, pdu: dict[str, Any], answer: str, cause: str
) -> None:
    world.associate(UPF)
    world.answer_pfcp({**pdu, "sequence": 31})
    (tree,) = sent(world)
    assert (tree["message"], tree["sequence"], ies(tree)["Cause"]) == (answer, 31, cause)
    world.verify()


@pytest.mark.parametrize("data", [b"", b"\x20", b"\x20\x05\x00", b"\x20\x63\x00\x04\0\0\1\0"])
def test_octets_that_are_no_message(world: World, data: bytes) -> None:
    key = upf_aggregate(UPF)
    for kind in (EventType.PFCP_UPLINK, EventType.PFCP_UNANSWERED, EventType.UPF_PATH):
        event = CloudEvent(f"x-{kind}", f"/n4/{UPF}", kind, key, data, procedure="upf", slot=1)
        world.deliver(event)
    world.deliver(CloudEvent("y", f"/n4/{UPF}", EventType.IDENTIFIED, key, b"", procedure="upf"))
    assert len(notes(world)) == 4
    assert not world.pfcp
    world.verify()


def test_another_version_of_pfcp(world: World) -> None:
    data = bytes.fromhex("4001000c00000500" + "0060000400000001")
    event = CloudEvent(
        "x", f"/n4/{UPF}", EventType.PFCP_UPLINK, upf_aggregate(UPF), data, procedure="upf"
    )
    world.deliver(replace(event, slot=slot_of(UPF)))
    (answer,) = sent(world)
    assert answer["message"] == "VersionNotSupportedResponse"
    world.verify()


def test_a_wake_up_that_is_late_does_nothing(world: World) -> None:
    world.path("served")
    upf, key, number, pdu = world.pfcp.pop()
    world.unanswered(upf, key, number, pdu)
    step = world.steps[upf_aggregate(UPF)][-1]
    assert any(isinstance(output, Wake) for output in step.outputs)
    _, wake = world.wakes[upf_aggregate(UPF)]
    world.path("up", recovery_time_stamp=STAMP)
    count = len(world.steps[upf_aggregate(UPF)])
    world.deliver(wake)
    assert len(world.steps[upf_aggregate(UPF)]) == count
    world.verify()
