"""Initial registration: the UE's messages and behaviour (TS 24.501 5.5.1.2)."""

import pytest

import wire
from loadgen.identity import Guami, Guti
from loadgen.load.subscribers import MIXED_ALGORITHMS
from loadgen.ue.model import Connection, State
from loadgen.ue.profile import Algorithms
from tests.loadgen.amf import Amf
from tests.loadgen.steps import DEREGISTER, IDLE, REGISTER, attempt, connection, lose, registered
from tests.loadgen.world import World, population

FULL = [
    "InitialUEMessage",
    "registration-request",
    "UplinkNASTransport",
    "authentication-response",
    "UplinkNASTransport",
    "security-mode-complete",
    "UERadioCapabilityInfoIndication",
    "InitialContextSetupResponse",
    "UplinkNASTransport",
    "registration-complete",
]


@pytest.mark.parametrize("scheme", ["null", "A", "B"])
@pytest.mark.parametrize(
    "algorithms", [*MIXED_ALGORITHMS, Algorithms((0, 3), (3,))], ids=lambda a: f"{a.ea[-1]}{a.ia}"
)
def test_with_every_scheme_and_algorithm(scheme: str, algorithms: Algorithms) -> None:
    world = World(population(schemes=(scheme,), algorithms=(algorithms,)))
    world, ue = registered(world)
    assert ue.ue.state is State.REGISTERED
    assert world.amf.received[1:] == FULL
    assert world.run(ue, IDLE, DEREGISTER).cause is None
    assert world.violations == []


def test_without_a_context_the_request_has_its_cleartext_ies_alone() -> None:
    world, _ = registered()
    request, *_, complete, _ = world.amf.uplink
    assert set(request) == {
        "message-type",
        "5gs-registration-type",
        "ngksi",
        "5gs-mobile-identity",
        "ue-security-capability",
    }
    assert complete["message-type"] == "security-mode-complete"
    assert "requested-nssai" in complete["nas-message-container"]


def test_with_a_context_the_entire_request_is_in_its_container() -> None:
    world, ue = registered()
    world.run(ue, DEREGISTER, REGISTER)
    outer = next(wire.ngap_peek(pdu).nas_pdu or b"" for pdu in reversed(world.sent) if pdu[1] == 15)
    tree = wire.nas_decode(outer)
    assert outer[1] == 1
    assert "requested-nssai" not in tree
    assert "octets" in tree["nas-message-container"]
    assert "guti" in tree["5gs-mobile-identity"]
    assert world.amf.uplink[-2]["requested-nssai"]
    assert world.violations == []


def test_an_amf_that_asks_anew_gets_the_entire_request_after_the_security_mode() -> None:
    world, ue = registered()
    world.run(ue, DEREGISTER)
    world.amf.by_tmsi.clear()
    assert world.register(ue).cause is None
    names = [t["message-type"] for t in world.amf.uplink]
    assert names[-5:-2] == (
        ["registration-request", "identity-response", "authentication-response"]
    )
    assert "nas-message-container" in world.amf.uplink[-2]
    assert world.violations == []


def test_a_foreign_5g_guti_leads_to_an_identity_request() -> None:
    world = World()
    ue = world.ue()
    ue.ue.guti = Guti(Guami("999-99", 1, 2, 3), 7)
    assert world.register(ue).cause is None
    assert [t["message-type"] for t in world.amf.uplink][:2] == (
        ["registration-request", "identity-response"]
    )
    assert ue.ue.guti.guami.plmn == "001-01"


def test_registering_anew_while_registered_is_a_ue_that_lost_its_power() -> None:
    world, ue = registered()
    first = ue.ue.guti
    assert world.register(ue).cause is None
    assert ue.ue.guti != first
    assert "UEContextReleaseRequest" in world.amf.received
    assert len(world.amf.connections) == 1
    assert world.violations == []


def test_a_second_security_mode_under_the_same_key_changes_algorithms() -> None:
    world, ue = registered()
    to = connection(world, ue)
    assert to.ue is not None
    assert to.ue.nas is not None
    counts = to.ue.nas.uplink or 0, to.ue.nas.downlink or 0
    to.ue.nas = wire.NasSecurity(to.ue.kamf, 1, 1, *counts)
    world.amf.reuse_context = False
    capability = {"ea": [0, 1, 2], "ia": [1, 2]}
    command = {
        "message-type": "security-mode-command",
        "selected-nas-security-algorithms": {"ciphering": "nea1", "integrity": "nia1"},
        "ngksi": {"native": to.ue.ngksi},
        "replayed-ue-security-capabilities": capability,
        "imeisv-request": "requested",
    }
    to.verified = True
    world.amf.trees["registration-accept"] = lambda _: None
    world.amf.down(to, command, 3)
    world.settle()
    assert world.amf.uplink[-1]["message-type"] == "security-mode-complete"
    context = ue.ue.channel.current
    assert context is not None
    assert (context.nia, context.nea) == (1, 1)
    assert world.violations == []


def test_a_repeated_accept_is_completed_again() -> None:
    world = World()
    kept: list[bytes] = []

    def twice(amf: Amf) -> None:
        amf.octets["registration-accept"] = lambda pdu: kept.append(pdu) or pdu

    world, ue = attempt(twice, world)
    to = connection(world, ue)
    world.amf.down(to, world.amf.registration_accept(to))
    world.settle()
    assert world.amf.received.count("registration-complete") == 2
    assert ue.ue.record.retransmissions == {"T3550": 1}
    assert world.violations == []


def test_the_same_octets_twice_are_discarded_and_counted() -> None:
    world, ue = registered()
    pdu = next(wire.ngap_peek(p).nas_pdu for p in reversed(world.heard) if p[1] == 14)
    assert pdu is not None
    world.down(ue, pdu)
    assert ue.ue.channel.duplicates == 1
    assert world.amf.received.count("registration-complete") == 1
    assert world.violations == []


def test_a_command_that_comes_twice_is_answered_once() -> None:
    world, ue = attempt(lose("registration-accept", 9))
    pdu = next(
        wire.ngap_peek(p).nas_pdu or b""
        for p in reversed(world.heard)
        if (wire.ngap_peek(p).nas_pdu or b"")[1:2] == b"\x03"
    )
    world.down(ue, pdu)
    assert world.amf.received.count("security-mode-complete") == 1
    assert ue.ue.channel.duplicates == 1
    assert world.violations == []


def test_latency_counts_from_when_it_should_have_begun() -> None:
    world = World()
    ue = world.ue()
    ue.cell.begin(ue, REGISTER, world.now, since=world.now - 3)
    world.settle()
    (end,) = world.ended(ue)
    assert end.ended - end.began == 3


def test_one_procedure_at_a_time() -> None:
    world, ue = attempt(lose("authentication-request"))
    assert ue.ue.busy is REGISTER
    with pytest.raises(ValueError, match="imsi-001010000000001 is busy with register"):
        world.begin(ue, DEREGISTER)


def test_power_cycling_ends_everything_but_what_is_stored() -> None:
    world, ue = registered()
    guti = ue.ue.guti
    ue.ue.power_cycle()
    ue.cell.pump(ue, world.now)
    world.settle()
    assert (ue.ue.state, ue.ue.connection) == (State.DEREGISTERED, Connection.IDLE)
    assert ue.ue.guti == guti
    assert ue.ue.channel.current is not None
    assert world.amf.connections == {}
    assert world.register(ue).cause is None
