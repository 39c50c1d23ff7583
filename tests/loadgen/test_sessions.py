"""PDU sessions of a UE and its gNB (TS 24.501 6.3, 6.4, TS 38.413 8.2)."""

import pytest

import wire
from loadgen.gnb.context import CampedUe
from loadgen.session_model import SessionRequest, SessionType
from loadgen.ue.model import Procedure
from loadgen.violation import Kind
from tests.loadgen.amf import Tree
from tests.loadgen.smf import UPF
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    OFF,
    REGISTER,
    RELEASE_SESSION,
    SERVICE,
    SERVICE_REQUEST,
    SESSION,
    connection,
    lose,
    registered,
)
from tests.loadgen.world import SLICE, World


def established(world: World | None = None, index: int = 0) -> tuple[World, CampedUe]:
    """Return a UE with a PDU session, without violations."""
    world, ue = registered(world, index)
    assert world.run(ue, SESSION).cause is None
    assert world.violations == []
    return world, ue


def test_a_session_is_established_and_recorded() -> None:
    world, ue = established()
    (record,) = ue.ue.records()
    assert (record.supi, record.psi, record.dnn) == (ue.ue.profile.supi, 1, "internet")
    assert (record.address, record.qfi, record.active) == ("10.45.0.1", 9, True)
    assert record.ul is not None
    assert (record.ul.address, record.ul.teid) == (UPF, 1)
    assert record.dl is not None
    assert world.amf.smf.at("10.45.0.1").dl == {
        "transportLayerAddress": record.dl.address,
        "gTP-TEID": record.dl.teid,
    }


def test_the_request_says_what_is_wanted() -> None:
    world, _ = established()
    transport = next(t for t in world.amf.uplink if t["message-type"] == "ul-nas-transport")
    assert transport["request-type"] == "initial-request"
    assert (transport["s-nssai"], transport["dnn"]) == (SLICE.nas(), "internet")
    request = transport["payload-container"]
    assert request["ssc-mode"] == "ssc1"
    assert request["integrity-protection-maximum-data-rate"] == {
        "ul": "full-rate",
        "dl": "full-rate",
    }
    assert "unknown-ies" not in transport
    assert "unknown-ies" not in request


@pytest.mark.parametrize(
    ("kind", "address"),
    [("ipv4", "10.45.0.1"), ("ipv6", "fe80::1"), ("ipv4v6", "10.45.0.1")],
)
def test_session_types(kind: SessionType, address: str) -> None:
    world = World()
    ue = world.ue(session_request=SessionRequest("internet", SLICE, kind))
    assert world.run(ue, REGISTER, SESSION).cause is None
    assert world.violations == []
    assert ue.ue.records()[0].address == address


def test_two_sessions_have_two_identities_and_tunnels() -> None:
    world, ue = established()
    assert world.run(ue, SESSION).cause is None
    records = ue.ue.records()
    assert [one.psi for one in records] == [1, 2]
    assert len({one.dl for one in records}) == len({one.ul for one in records}) == 2
    assert world.run(ue, RELEASE_SESSION).cause is None
    assert [one.psi for one in ue.ue.records()] == [1]
    assert world.run(ue, RELEASE_SESSION, RELEASE_SESSION).cause == "no-session"


def test_a_session_out_of_idle_asks_for_service_first() -> None:
    world, ue = registered()
    assert world.run(ue, IDLE, SESSION, IDLE, RELEASE_SESSION).cause is None
    assert world.amf.received.count("service-request") == 2
    assert ue.ue.records() == []
    assert world.violations == []


@pytest.mark.parametrize("procedure", [SESSION, RELEASE_SESSION])
def test_a_session_is_for_a_registered_ue(procedure: Procedure) -> None:
    world = World()
    assert world.run(world.ue(), procedure).cause == "not-registered"


def test_at_most_fifteen_sessions() -> None:
    world, ue = registered()
    assert world.run(ue, *[SESSION] * 16).cause == "no-psi-free"
    assert len(ue.ue.records()) == 15


def test_a_lost_accept_is_overcome_by_t3580() -> None:
    world, ue = registered()
    lose("pdu-session-establishment-accept", 2)(world.amf)
    world.begin(ue, SESSION)
    world.pass_time(32.1)
    (end,) = world.ended(ue)
    assert (end.cause, end.ended - end.began) == (None, 32)
    assert ue.ue.record.retransmissions == {"T3580": 2}
    assert len(world.amf.smf.sessions) == 1


@pytest.mark.parametrize(
    ("procedure", "answer", "cause"),
    [
        (SESSION, "pdu-session-establishment-accept", "t3580-expired"),
        (RELEASE_SESSION, "pdu-session-release-command", "t3582-expired"),
    ],
)
def test_five_times_unanswered_and_the_request_is_given_up(
    procedure: Procedure, answer: str, cause: str
) -> None:
    world, ue = established()
    lose(answer, 99)(world.amf)
    asked = [t["message-type"] for t in world.amf.uplink].count("ul-nas-transport")
    world.begin(ue, procedure)
    world.pass_time(5 * 16 + 0.1)
    (end,) = world.ended(ue)
    assert end.cause == cause
    assert [t["message-type"] for t in world.amf.uplink].count("ul-nas-transport") == asked + 5
    assert len(ue.ue.records()) == (procedure is SESSION)


@pytest.mark.parametrize("cause", ["missing-or-unknown-dnn", "insufficient-resources"])
def test_a_reject_is_a_failure_with_its_cause(cause: str) -> None:
    world, ue = registered()
    world.amf.trees["pdu-session-establishment-accept"] = lambda t: {
        "pdu-session-identity": t["pdu-session-identity"],
        "procedure-transaction-identity": t["procedure-transaction-identity"],
        "message-type": "pdu-session-establishment-reject",
        "5gsm-cause": cause,
    }
    world.amf.pdus["PDUSessionResourceSetupRequest"] = as_downlink
    end = world.run(ue, SESSION)
    assert end.cause is not None
    assert end.cause.startswith("reject-2")
    assert end.cause.endswith(cause)
    assert world.violations == []
    assert ue.ue.records() == []


def test_t3396_is_waited_for_even_after_a_power_cycle() -> None:
    """TS 24.501 6.4.1.4.2."""
    world, ue = registered()
    world.amf.trees["pdu-session-establishment-accept"] = lambda t: {
        "pdu-session-identity": t["pdu-session-identity"],
        "procedure-transaction-identity": t["procedure-transaction-identity"],
        "message-type": "pdu-session-establishment-reject",
        "5gsm-cause": "insufficient-resources",
        "back-off-timer-value": 20,
    }
    world.amf.pdus["PDUSessionResourceSetupRequest"] = as_downlink
    end = world.run(ue, SESSION)
    assert end.cause == "reject-26-insufficient-resources"
    assert list(ue.ue.record.rejects) == [
        "pdu-session-establishment-reject 26-insufficient-resources T3396"
    ]
    world.amf.trees.clear()
    world.amf.pdus.clear()
    asked = world.amf.received.count("pdu-session-establishment-request")
    ue.ue.power_cycle()
    assert world.run(ue, REGISTER).cause is None
    world.begin(ue, SESSION)
    world.pass_time(15)
    assert world.amf.received.count("pdu-session-establishment-request") == asked
    world.pass_time(6)
    assert world.amf.received.count("pdu-session-establishment-request") == asked + 1
    assert world.ended(ue)[-1].cause is None
    assert len(ue.ue.records()) == 1
    assert world.violations == []


def as_downlink(tree: Tree) -> Tree:
    """Return the NAS PDU of a setup request in DOWNLINK NAS TRANSPORT, without the setup."""
    kept = [ie for ie in tree["ies"] if next(iter(ie)).endswith("NGAP-ID")]
    (item,) = next(ie[n] for ie in tree["ies"] for n in ie if n.startswith("PDUSession"))
    nas = {"NAS-PDU": item["pDUSessionNAS-PDU"]}
    return {"message": "DownlinkNASTransport", "ies": [*kept, nas]}


def test_a_reject_of_a_release() -> None:
    world, ue = established()
    world.amf.trees["pdu-session-release-command"] = lambda t: {
        **t,
        "message-type": "pdu-session-release-reject",
        "5gsm-cause": "request-rejected-unspecified",
    }
    world.amf.smf.at("10.45.0.1").dl = None
    end = world.run(ue, RELEASE_SESSION)
    assert end.cause == "reject-31-request-rejected-unspecified"
    assert len(ue.ue.records()) == 1


def test_a_request_that_was_not_forwarded() -> None:
    world, ue = registered()
    lose("pdu-session-establishment-accept")(world.amf)
    world.begin(ue, SESSION)
    world.settle()
    request = world.amf.uplink[-1]
    cause = "payload-was-not-forwarded"
    world.amf.smf.down(connection(world, ue), request, **{"5gmm-cause": cause})
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause == f"not-forwarded-{cause}"
    assert world.violations == []


def test_the_network_releases_a_session() -> None:
    world, ue = established()
    world.amf.smf.release(connection(world, ue), 1)
    world.settle()
    assert ue.ue.record.sessions_released == 1
    assert ue.ue.records() == []
    assert world.amf.smf.sessions == {}
    at = world.amf.received.index("PDUSessionResourceReleaseResponse")
    assert "pdu-session-release-complete" in world.amf.received[at:]
    assert world.violations == []


def test_a_release_command_that_comes_again() -> None:
    world, ue = established()
    to = connection(world, ue)
    world.amf.smf.release(to, 1)
    world.settle()
    world.amf.smf.release(to, 1)
    world.settle()
    assert world.amf.uplink[-1]["5gsm-cause"] == "invalid-pdu-session-identity"
    assert ue.ue.record.retransmissions == {"T3592": 1}
    assert world.violations == []


def modification(psi: int = 1) -> Tree:
    return {
        "pdu-session-identity": psi,
        "procedure-transaction-identity": 0,
        "message-type": "pdu-session-modification-command",
        "session-ambr": {"dl-kbps": 7000, "ul-kbps": 3000},
    }


def test_the_network_modifies_a_session() -> None:
    world, ue = established()
    rate = "pDUSessionAggregateMaximumBitRate"
    ies: list[Tree] = [
        {"PDUSessionAggregateMaximumBitRate": {rate + "DL": 7000000, rate + "UL": 3000000}},
        {"QosFlowAddOrModifyRequestList": [{"qosFlowIdentifier": 9}]},
    ]
    world.amf.smf.modify(connection(world, ue), 1, ies, modification())
    world.settle()
    assert ue.ue.sessions.live[1].ambr == (7000, 3000)
    assert ue.ue.user_plane[1].ambr == (7000000, 3000000)
    assert ue.ue.user_plane[1].flows == {9: 9}
    assert world.amf.received[-1] == "pdu-session-modification-complete"
    answer = next(pdu for pdu in world.sent if pdu[:2] == b"\x20\x1a")
    assert "qosFlowAddOrModifyResponseList" in str(wire.ngap_decode(answer))
    assert world.violations == []


def test_a_modification_command_that_comes_again_is_completed_again() -> None:
    world, ue = established()
    for _ in range(2):
        world.amf.smf.down(connection(world, ue), modification())
        world.settle()
    assert world.amf.received.count("pdu-session-modification-complete") == 2
    assert ue.ue.record.retransmissions == {"T3591": 1}
    assert world.violations == []


def test_a_setup_request_that_comes_again_gets_the_same_answer() -> None:
    world, ue = established()
    request = next(pdu for pdu in world.heard if pdu[:2] == b"\x00\x1d")
    world.gnb.receive(connection(world, ue).stream, request, world.now)
    world.settle()
    first, second = [pdu for pdu in world.sent if pdu[:2] == b"\x20\x1d"]
    assert first == second
    assert world.gnb.cell.repeated_contexts == 1
    assert world.violations == []


@pytest.mark.parametrize("leave", [DEREGISTER, OFF])
@pytest.mark.parametrize("idle", [True, False])
def test_leaving_ends_the_sessions(leave: Procedure, idle: bool) -> None:
    world, ue = established()
    if idle:
        world.run(ue, IDLE)
    assert world.run(ue, leave).cause is None
    assert ue.ue.records() == []
    assert world.amf.smf.sessions == {}
    assert world.run(ue, REGISTER, SESSION).cause is None
    assert world.violations == []


def test_the_release_of_a_context_names_its_sessions() -> None:
    world, ue = established()
    world.run(ue, IDLE)
    for message in ("UEContextReleaseRequest", "UEContextReleaseComplete"):
        tree = next(t for pdu in world.sent if (t := wire.ngap_decode(pdu))["message"] == message)
        assert "'pDUSessionID': 1" in str(tree)
    (record,) = ue.ue.records()
    assert (record.active, record.dl) == (False, None)
    assert record.ul is not None


def test_the_resources_of_a_ue_that_is_gone_cannot_be_set_up() -> None:
    world, ue = established()
    to = connection(world, ue)
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    ue.ue.leave()
    ue.cell.pump(ue, world.now)
    world.settle()
    one = world.amf.smf.at("10.45.0.1")
    world.amf.smf.set_up(to, [one], {})
    world.amf.smf.modify(to, 1, [{"QosFlowAddOrModifyRequestList": []}][:0], None)
    world.settle()
    found = [str(wire.ngap_decode(pdu)) for pdu in world.sent[-2:]]
    assert all("radio-connection-with-ue-lost" in text for text in found)
    assert world.violations == []


def test_an_address_can_be_given_again_after_it_was_given_back() -> None:
    world, ue = established()
    assert world.run(ue, RELEASE_SESSION).cause is None
    world.amf.smf.last = 0
    _, other = established(world, 1)
    assert other.ue.records()[0].address == "10.45.0.1"


def test_service_requests_in_between() -> None:
    world, ue = established()
    assert world.run(ue, IDLE, SERVICE).cause is None
    assert ue.ue.records()[0].active is False
    assert world.run(ue, SERVICE_REQUEST).cause is None
    assert ue.ue.records()[0].active is True
    assert world.violations == []


def test_a_session_message_to_a_ue_without_registration() -> None:
    world, ue = established()
    to = connection(world, ue)
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    world.begin(ue, OFF)
    world.settle()
    world.amf.smf.down(to, modification())
    world.settle()
    assert world.kinds() == [Kind.NAS_UNEXPECTED]
