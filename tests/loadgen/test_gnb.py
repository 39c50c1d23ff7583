"""The gNB's interface to the AMF (TS 38.413 8.7, 10)."""

from random import Random

import pytest

import wire
from loadgen.gnb.admission import Admission
from loadgen.gnb.gnb import Gnb, PduDirection
from loadgen.gnb.messages import GnbConfig, encode
from loadgen.identity import SNssai
from loadgen.timers import Deadlines
from loadgen.ue.model import Connection, State
from loadgen.violation import Kind
from tests.loadgen.steps import (
    DEREGISTER,
    IDLE,
    OFF,
    REGISTER,
    SERVICE,
    attempt,
    connection,
    lose,
    registered,
)
from tests.loadgen.world import World

PRIORITY = ("highPriorityAccess", "mps-PriorityAccess", "mcs-PriorityAccess")


def initial(world: World) -> bytes:
    """Return the last INITIAL UE MESSAGE."""
    return next(pdu for pdu in reversed(world.sent) if pdu[:2] == b"\x00\x0f")


def last(world: World) -> str:
    return str(wire.ngap_decode(world.sent[-1]))


def test_ng_setup_makes_the_gnb_ready() -> None:
    world = World(up=False)
    assert not world.gnb.ready
    world.gnb.association_up(4, world.now)
    world.settle()
    assert world.gnb.ready
    assert world.amf.received == ["NGSetupRequest"]
    assert world.violations == []
    world.pass_time(60)
    assert world.amf.received == ["NGSetupRequest"]


def test_an_unanswered_setup_is_repeated() -> None:
    world = World(up=False)
    world.amf.pdus["NGSetupResponse"] = lambda _: None
    world.gnb.association_up(4, world.now)
    world.pass_time(10.1)
    assert world.amf.received == ["NGSetupRequest"] * 2


def test_a_refused_setup_waits_as_long_as_it_is_told() -> None:
    world = World(up=False)
    world.amf.refuse_setup = True
    world.amf.time_to_wait = "v5s"
    world.gnb.association_up(4, world.now)
    world.settle()
    assert world.gnb.interface.refused is None
    world.amf.refuse_setup = False
    world.pass_time(4.9)
    assert not world.gnb.ready
    world.pass_time(0.2)
    assert world.gnb.ready
    assert world.gnb.interface.counts.setup_failures == 1


def test_a_setup_refused_for_good_says_why() -> None:
    world = World(up=False)
    world.amf.refuse_setup = True
    world.gnb.association_up(4, world.now)
    world.settle()
    assert world.gnb.interface.refused == "{'misc': 'unknown-PLMN-or-SNPN'}"


def test_the_association_is_lost_and_comes_back() -> None:
    world, ue = registered()
    other = world.ue(1)
    lose("authentication-request")(world.amf)
    world.begin(other, REGISTER)
    world.settle()
    world.gnb.association_down(world.now)
    world.settle()
    assert ue.ue.state is State.REGISTERED
    assert ue.ue.connection is Connection.IDLE
    assert other.ue.waits_for == "T3511"
    world.begin(ue, DEREGISTER)
    assert ue.ue.waits_for == "connection"
    world.pass_time(10.1)
    assert other.ue.waits_for == "connection"
    world.amf.connections.clear()
    world.gnb.association_up(8, world.now)
    world.pass_time(5)
    assert [world.ended(u)[0].cause for u in (ue, other)] == [None, None]
    assert world.violations == []


@pytest.mark.parametrize("leave", [IDLE, OFF, DEREGISTER])
def test_a_procedure_in_progress_when_the_association_is_lost(leave: object) -> None:
    world, ue = registered()
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    lose("deregistration-accept-ue-originating")(world.amf)
    world.begin(ue, leave)  # pyright: ignore[reportArgumentType]
    world.settle()
    world.gnb.association_down(world.now)
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause == "connection-lost"


def test_a_reset_by_the_gnb_releases_its_ues() -> None:
    world, ue = registered()
    other = world.ue(1)
    world.register(other)
    assert ue.context is not None
    pair = ue.context.amf_ue_ngap_id, ue.context.ran_ue_ngap_id
    world.gnb.reset([pair], world.now)
    world.settle()
    assert (ue.context, other.context is None) == (None, False)
    world.gnb.reset(None, world.now)
    world.settle()
    assert other.context is None
    assert world.violations == []
    world.amf.send("gnb-1", 0, "NGResetAcknowledge")
    world.settle()
    assert world.kinds() == [Kind.NGAP_RESET]


def test_a_reset_by_the_amf_is_acknowledged() -> None:
    world, ue = registered()
    other = world.ue(1)
    world.register(other)
    assert ue.context is not None
    amf = ue.context.amf_ue_ngap_id
    cause = {"Cause": {"misc": "om-intervention"}}
    part = {"ResetType": {"partOfNG-Interface": [{"aMF-UE-NGAP-ID": amf}]}}
    world.amf.send("gnb-1", 0, "NGReset", cause, part)
    world.settle()
    assert f"'aMF-UE-NGAP-ID': {amf}" in last(world)
    assert (ue.context, other.context is None) == (None, False)
    everything = {"ResetType": {"nG-Interface": "reset-all"}}
    world.amf.send("gnb-1", 0, "NGReset", cause, everything)
    world.settle()
    assert world.amf.received[-1] == "NGResetAcknowledge"
    assert other.context is None
    assert world.gnb.interface.counts.resets_received == 2
    assert world.violations == []


def test_overload_holds_new_attempts_back() -> None:
    world, ue = registered()
    action = {"AMFOverloadResponse": {"overloadAction": "reject-rrc-cr-signalling"}}
    world.amf.send("gnb-1", 0, "OverloadStart", action)
    world.settle()
    other = world.ue(1)
    world.begin(other, REGISTER)
    world.pass_time(120)
    assert other.ue.waits_for == "connection"
    assert world.run(ue, IDLE).cause is None
    assert world.gnb.cell.admission.refused > 5
    held = other.held
    world.amf.send("gnb-1", 0, "OverloadStop")
    world.settle()
    assert other.held == held, "T302 runs on: RRC does not tell a UE of the end"
    world.pass_time(16)
    (end,) = world.ended(other)
    assert end.cause is None
    assert end.admitted == held
    assert end.began < held
    counts = world.gnb.interface.counts
    assert (counts.overload_starts, counts.overload_stops) == (1, 1)
    assert other.ue.record.retransmissions == {}


def test_a_ue_that_waits_can_be_switched_off() -> None:
    world = World()
    world.amf.send("gnb-1", 0, "OverloadStart")
    world.settle()
    ue = world.ue()
    world.begin(ue, REGISTER)
    ue.ue.power_cycle()
    ue.cell.pump(ue, world.now)
    world.pass_time(10)
    assert ue.held > world.now
    assert world.amf.received == ["NGSetupRequest"]


def test_overload_may_ask_for_a_share() -> None:
    admission = Admission()
    admission.interface_up = True
    admission.overload_start({"AMFTrafficLoadReductionIndication": 75})
    assert admission.overloaded
    assert sum(admission.admits("mo-Signalling") for _ in range(100)) == 25
    # A later message replaces the earlier one, and the share goes on where it was.
    for _ in range(50):
        admission.overload_start({"AMFTrafficLoadReductionIndication": 90})
        admission.admits("mo-Data")
    assert admission.refused == 75 + 45
    admission.overload_stop()
    assert not admission.overloaded
    assert all(admission.admits("mo-Data") for _ in range(10))


@pytest.mark.parametrize(
    ("action", "passing"),
    [
        ("reject-non-emergency-mo-dt", {"mo-Signalling", "mt-Access", "emergency", *PRIORITY}),
        ("reject-rrc-cr-signalling", {"mt-Access", "emergency", *PRIORITY}),
        (
            "permit-emergency-sessions-and-mobile-terminated-services-only",
            {"mt-Access", "emergency"},
        ),
        (
            "permit-high-priority-sessions-and-mobile-terminated-services-only",
            {"mt-Access", "emergency", *PRIORITY},
        ),
    ],
)
def test_an_overload_action_names_the_traffic(action: str, passing: set[str]) -> None:
    """TS 38.413 8.7.7.2."""
    admission = Admission()
    admission.interface_up = True
    admission.overload_start({"AMFOverloadResponse": {"overloadAction": action}})
    causes = {"mo-Signalling", "mo-Data", "mo-SMS", "mo-VoiceCall", "mo-VideoCall"}
    causes |= {"mt-Access", "emergency", *PRIORITY}
    assert {cause for cause in causes if admission.admits(cause)} == passing


def test_a_paged_ue_does_not_wait_for_t302() -> None:
    """Barring after an RRCReject does not hold for access category 0 (TS 38.331 5.3.15.2)."""
    world, ue = registered()
    world.run(ue, IDLE)
    action = {"AMFOverloadResponse": {"overloadAction": "reject-rrc-cr-signalling"}}
    world.amf.send("gnb-1", 0, "OverloadStart", action)
    world.settle()
    world.begin(ue, SERVICE)
    world.settle()
    assert ue.ue.connection is Connection.WANTED
    assert ue.ue.guti is not None
    assert world.gnb.cell.page(ue.ue.guti.s_tmsi, world.now)
    world.settle()
    (end,) = world.ended(ue)
    assert end.cause is None
    assert "mt-Access" in str(wire.ngap_decode(initial(world)))


def test_what_comes_for_an_unknown_ue_is_answered_with_its_ids() -> None:
    world = World()
    ids = {"AMF-UE-NGAP-ID": 5}, {"RAN-UE-NGAP-ID": 77}
    world.amf.send("gnb-1", 1, "DownlinkNASTransport", *ids, {"NAS-PDU": "7e0064"})
    world.settle()
    assert last(world) == str(
        {
            "message": "ErrorIndication",
            "ies": [*ids, {"Cause": {"radioNetwork": "unknown-local-UE-NGAP-ID"}}],
        }
    )
    assert world.violations == []


def test_a_message_for_a_ue_that_is_gone_is_not_delivered() -> None:
    world, ue = registered()
    to = connection(world, ue)
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    ue.ue.power_cycle()
    ue.cell.pump(ue, world.now)
    world.settle()
    world.amf.down(to, {"message-type": "configuration-update-command"})
    world.settle()
    assert world.amf.received[-2:] == ["UEContextReleaseRequest", "NASNonDeliveryIndication"]
    world.amf.context_setup(to, {"message-type": "configuration-update-command"})
    world.settle()
    assert world.amf.received[-1] == "InitialContextSetupFailure"
    world.pass_time(31)
    assert world.gnb.cell.contexts.by_ran == {}


def test_an_initial_context_setup_that_comes_twice_is_answered_twice() -> None:
    world, ue = registered()
    pdu = next(pdu for pdu in world.heard if pdu[1] == 14)
    assert ue.context is not None
    world.gnb.receive(ue.context.stream, pdu, world.now)
    world.settle()
    assert world.amf.received.count("InitialContextSetupResponse") == 2
    assert world.gnb.cell.repeated_contexts == 1
    assert world.violations == []


def test_an_error_indication_that_a_test_expects_is_no_violation() -> None:
    world, ue = registered()
    world.gnb.errors_expected = True
    cause = {"Cause": {"radioNetwork": "unknown-local-UE-NGAP-ID"}}
    world.amf.send_ue(connection(world, ue), "ErrorIndication", cause)
    world.amf.send("gnb-1", 0, "ErrorIndication", cause)
    world.settle()
    assert world.gnb.counts.error_indications_received == 2
    assert ue.context is None
    assert world.violations == []


def test_configuration_updates_of_both_sides() -> None:
    world = World()
    changed = GnbConfig("gnb-1", 1, slices=(SNssai(1, "010203"), SNssai(2)))
    world.gnb.update_configuration(changed, world.now)
    world.amf.send("gnb-1", 0, "AMFConfigurationUpdate", {"RelativeAMFCapacity": 10})
    world.settle()
    assert sorted(world.amf.received[1:]) == (
        ["AMFConfigurationUpdateAcknowledge", "RANConfigurationUpdate"]
    )
    assert world.violations == []
    cause = {"Cause": {"misc": "unspecified"}}
    world.amf.send("gnb-1", 0, "RANConfigurationUpdateFailure", cause)
    world.settle()
    assert world.kinds() == [Kind.NGAP_UNEXPECTED]


def test_pagings_and_status_are_counted() -> None:
    world = World()
    paging = {
        "UEPagingIdentity": {"fiveG-S-TMSI": {"aMFSetID": 3, "aMFPointer": 4, "fiveG-TMSI": 1}}
    }
    area = {"TAIListForPaging": [{"tAI": {"pLMNIdentity": "001-01", "tAC": 1}}]}
    world.amf.send("gnb-1", 0, "Paging", paging, area)
    world.settle()
    assert world.gnb.counts.pagings == 1
    assert world.violations == []


def test_what_a_gnb_never_receives() -> None:
    world = World()
    world.gnb.receive(0, encode("NGSetupResponse"), world.now)
    request = next(pdu for pdu in world.sent)
    world.gnb.receive(0, request, world.now)
    world.settle()
    assert set(world.kinds()) == {Kind.NGAP_SYNTAX, Kind.NGAP_UNEXPECTED}
    assert world.amf.received[-1] == "ErrorIndication"


def test_faults_lose_and_double_messages() -> None:
    left = {"NGSetupRequest": 2, "NGSetupResponse": 0}

    def fault(direction: PduDirection, name: str, pdu: bytes) -> int:
        assert pdu
        assert direction == ("received" if name.endswith("Response") else "sent")
        return left.get(name, 1)

    world = World(pdu_hook=fault)
    assert world.amf.received == ["NGSetupRequest"] * 2
    assert not world.gnb.ready
    left["NGSetupResponse"] = 1
    world.pass_time(11)
    assert world.gnb.ready


def test_a_doubled_uplink_does_no_harm() -> None:
    def fault(direction: PduDirection, name: str, _: bytes) -> int:
        return 2 if (direction, name) == ("received", "DownlinkNASTransport") else 1

    world = World(pdu_hook=fault)
    ue = world.ue()
    assert world.register(ue).cause is None
    assert ue.ue.channel.duplicates > 0
    assert world.violations == []


def test_one_stream_is_enough() -> None:
    world, ue = registered(World(streams=1))
    assert world.run(ue, IDLE, DEREGISTER).cause is None
    assert world.violations == []


def test_ues_have_streams_of_their_own() -> None:
    world = World(streams=4)
    streams: list[int] = []
    for index in range(4):
        ue = world.ue(index)
        world.register(ue)
        assert ue.context is not None
        streams.append(ue.context.stream)
    assert sorted(set(streams)) == [1, 2, 3]


def test_a_gnb_without_an_association_sends_nothing() -> None:
    gnb = Gnb(GnbConfig("gnb-9", 9), Deadlines(), rng=Random(1))
    gnb.reset(None, 1.0)
    assert gnb.out == []


def test_nas_of_a_ue_before_the_amf_named_it_cannot_be_sent() -> None:
    world, ue = attempt(lose("authentication-request"))
    ue.ue.send(b"\x7e\x00\x64\x6f")
    ue.cell.pump(ue, world.now)
    assert world.gnb.cell.undelivered == 1
