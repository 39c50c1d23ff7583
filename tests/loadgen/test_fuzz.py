"""No input raises: arbitrary octets and messages in any state of a UE and a gNB."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wire
from loadgen.ue.model import Procedure
from tests.loadgen.amf import Amf
from tests.loadgen.smf import SmContext, Smf
from tests.loadgen.steps import (
    IDLE,
    PAGE,
    REGISTER,
    RELEASE_SESSION,
    SERVICE_REQUEST,
    SESSION,
    connection,
    lose,
    next_count,
    registered,
    sealed,
)
from tests.loadgen.world import World, population

MESSAGE_TYPES = [*range(0x41, 0x50), *range(0x54, 0x6B)]
EXAMPLES = max(1, int(60 * float(os.environ.get("EVCORE_FUZZ_EXAMPLES", "1"))))
CASUAL = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def fresh() -> tuple[World, Any]:
    world = World()
    return world, world.ue()


def waiting(message: str) -> Any:
    def build() -> tuple[World, Any]:
        world, ue = fresh()
        lose(message, 99)(world.amf)
        world.begin(ue, REGISTER)
        world.settle()
        return world, ue

    return build


def leaving() -> tuple[World, Any]:
    world, ue = registered()
    lose("deregistration-accept-ue-originating", 99)(world.amf)
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    world.begin(ue, Procedure.DEREGISTER)
    world.settle()
    return world, ue


def serving() -> tuple[World, Any]:
    world, ue = registered()
    world.run(ue, IDLE)
    lose("service-accept", 99)(world.amf)
    world.begin(ue, Procedure.SERVICE)
    world.settle()
    return world, ue


def idling() -> tuple[World, Any]:
    world, ue = registered()
    world.amf.pdus["UEContextReleaseCommand"] = lambda _: None
    world.begin(ue, IDLE)
    world.settle()
    return world, ue


def sessions(*procedures: Procedure, without: str | None = None) -> Any:
    """Return a UE in the last of some procedures, without the answer to it."""

    def build() -> tuple[World, Any]:
        world, ue = registered()
        if procedures[:-1]:
            world.run(ue, *procedures[:-1])
        if without is not None:
            lose(without, 99)(world.amf)
        world.begin(ue, procedures[-1])
        world.settle()
        return world, ue

    return build


ACCEPT = "pdu-session-establishment-accept"
STATES = {
    "deregistered": fresh,
    "unanswered": waiting("authentication-request"),
    "authenticated": waiting("security-mode-command"),
    "secured": waiting("registration-accept"),
    "registered": registered,
    "leaving": leaving,
    "serving": serving,
    "idling": idling,
    "asking": sessions(SESSION, without=ACCEPT),
    "in-session": sessions(SESSION),
    "session-idle": sessions(SESSION, IDLE),
    "releasing": sessions(SESSION, RELEASE_SESSION, without="pdu-session-release-command"),
    "requesting": sessions(SESSION, IDLE, SERVICE_REQUEST, without="service-accept"),
    "paged": sessions(SESSION, IDLE, PAGE, without="service-accept"),
}

octets = st.binary(max_size=60)


def plain_message(kind: int, rest: bytes) -> bytes:
    return bytes([0x7E, 0x00, kind]) + rest


def transported(psi: int, pti: int, kind: int, rest: bytes) -> bytes:
    message = bytes([0x2E, psi, pti, kind]) + rest
    return b"\x7e\x00\x68\x01" + len(message).to_bytes(2, "big") + message + bytes([0x12, psi])


SM_TYPES = [0xC2, 0xC3, 0xC5, 0xC7, 0xC9, 0xCA, 0xCB, 0xCC, 0xD2, 0xD3, 0xD4, 0xD6, 0xFF]
typed = st.builds(plain_message, st.sampled_from(MESSAGE_TYPES), octets) | st.builds(
    transported, st.integers(0, 3), st.integers(0, 2), st.sampled_from(SM_TYPES), octets
)


def change(pdu: bytes, at: int, octet: int, cut: int) -> bytes:
    """Return the PDU with one octet changed and the end cut off."""
    at %= len(pdu)
    return (pdu[:at] + bytes([octet]) + pdu[at + 1 :])[: max(1, len(pdu) - cut)]


def session_messages() -> list[bytes]:
    """Return the 5GSM messages of an SMF in their transport, and an accept of a service request."""
    smf = Smf(Amf(population()))
    one = SmContext("imsi-001010000000001", 1, 1, "ipv4v6", "10.45.0.1")
    head = {"pdu-session-identity": 1, "procedure-transaction-identity": 1}
    cause = {"5gsm-cause": "regular-deactivation"}
    messages: list[Any] = [
        smf.accept(one, 1, {}),
        {**head, "message-type": "pdu-session-establishment-reject", **cause},
        {**head, "message-type": "pdu-session-release-command", **cause},
        {**head, "message-type": "pdu-session-modification-command"},
        {**head, "message-type": "5gsm-status", **cause},
    ]
    service: Any = {
        "message-type": "service-accept",
        "pdu-session-status": [1],
        "pdu-session-reactivation-result": [1],
    }
    transports = [smf.transport(message) for message in messages]
    return [wire.nas_encode(tree) for tree in (*transports, service) if tree is not None]


def captured() -> list[bytes]:
    """Return the NAS messages of an AMF."""
    world, ue = registered()
    found = [wire.ngap_peek(pdu).nas_pdu for pdu in world.heard]
    to = next(iter(world.amf.connections.values()))
    plain = [
        wire.nas_encode(world.amf.registration_accept(to)),
        wire.nas_encode({"message-type": "registration-reject", "5gmm-cause": "congestion"}),
        wire.nas_encode({"message-type": "authentication-reject"}),
        *session_messages(),
    ]
    assert ue.context is not None
    return [pdu for pdu in found if pdu is not None] + plain


CAPTURED = captured()
changed = st.builds(
    change,
    st.sampled_from(CAPTURED),
    st.integers(0, 200),
    st.integers(0, 255),
    st.integers(0, 3),
)


def drive(world: World, camped: Any) -> None:
    """Check that the UE still works: let time pass and register."""
    world.pass_time(200)
    camped.ue.power_cycle()
    camped.ue.forget()
    camped.cell.pump(camped, world.now)
    world.settle()
    world.amf.trees.clear()
    world.amf.pdus.clear()
    world.ended(camped)
    world.register(camped)
    assert camped.ue.registered


def quiet(world: World) -> None:
    """Make the AMF ignore all messages: a confused UE may send invalid ones."""

    def ignore(gnb: str, stream: int, pdu: bytes) -> None:
        del gnb, stream, pdu

    world.amf.receive = ignore


@pytest.mark.parametrize("state", STATES)
@CASUAL
@given(pdus=st.lists(octets | typed | changed, min_size=1, max_size=4))
def test_any_nas_octets_in_any_state(state: str, pdus: list[bytes]) -> None:
    world, ue = STATES[state]()
    quiet(world)
    for pdu in pdus:
        world.down(ue, pdu)
    del world.amf.receive
    drive(world, ue)


@pytest.mark.parametrize("state", [*list(STATES)[3:]])
@CASUAL
@given(plains=st.lists(octets | typed | changed, min_size=1, max_size=3), header=st.integers(1, 4))
def test_any_authentic_message_in_any_state(state: str, plains: list[bytes], header: int) -> None:
    world, ue = STATES[state]()
    quiet(world)
    for plain in plains:
        if ue.ue.channel.current is not None and plain:
            count = next_count(ue)
            world.down(ue, sealed(ue, count, plain, header=header, cipher=header in (2, 4)))


def ngap_captured() -> list[bytes]:
    world, ue = registered()
    world.run(ue, SESSION)
    flows = {"QosFlowAddOrModifyRequestList": [{"qosFlowIdentifier": 9}]}
    world.amf.smf.modify(connection(world, ue), 1, [flows], None)
    world.run(ue, IDLE, SERVICE_REQUEST, RELEASE_SESSION, SESSION, IDLE, PAGE, IDLE)
    amf = Amf(population())
    cause = {"Cause": {"misc": "unspecified"}}
    amf.send("gnb-1", 0, "NGReset", cause, {"ResetType": {"nG-Interface": "reset-all"}})
    amf.send("gnb-1", 0, "OverloadStart", {"AMFTrafficLoadReductionIndication": 50})
    amf.send("gnb-1", 0, "ErrorIndication", cause, {"AMF-UE-NGAP-ID": 1})
    amf.send("gnb-1", 0, "NGSetupFailure", cause, {"TimeToWait": "v1s"})
    amf.send("gnb-1", 0, "AMFConfigurationUpdate", {"RelativeAMFCapacity": 1})
    return world.heard + world.sent + [pdu for _, _, pdu in amf.out]


NGAP_CAPTURED = ngap_captured()
ngap_changed = st.builds(
    change,
    st.sampled_from(NGAP_CAPTURED),
    st.integers(0, 300),
    st.integers(0, 255),
    st.just(0),
)


@pytest.mark.parametrize("state", STATES)
@CASUAL
@given(
    pdus=st.lists(octets | st.sampled_from(NGAP_CAPTURED) | ngap_changed, min_size=1, max_size=4),
    stream=st.integers(0, 9),
)
def test_any_ngap_octets_in_any_state(state: str, pdus: list[bytes], stream: int) -> None:
    world, _ = STATES[state]()
    quiet(world)
    for pdu in pdus:
        world.gnb.receive(stream, pdu, world.now)
        world.settle()
    for pdu in world.sent:
        assert wire.ngap_check(pdu) is None
    world.pass_time(60)
