"""The complete initial message in a SECURITY MODE COMPLETE (TS 24.501 5.4.2.4, 4.4.6).

An attacker between the UE and the network can change all that the UE sends in the clear. Only the
protected message counts.
"""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import wire
from schemas.gmm.events import AuthenticationStarted
from schemas.ue.state import Ue
from tests.functions.phone import Phone
from tests.functions.registration_requests import (
    EMERGENCY,
    INITIAL,
    MOBILITY,
    PERIODIC,
    in_the_clear,
)
from tests.functions.world import World

MESSAGE = "message-type"
FOREIGN = {
    "guti": {
        "plmn": "999-99",
        "amf-region-id": 9,
        "amf-set-id": 9,
        "amf-pointer": 9,
        "tmsi": 77,
    }
}
Tree = dict[str, Any]


def drive(phone: Phone, clear: Tree, container: Tree | None) -> list[Tree]:
    """Register with a first message and a container, and answer as a UE does.

    Return the messages to the UE.
    """
    told: list[Tree] = []
    phone.initial(wire.nas_encode(clear))
    for _ in range(12):
        heard = phone.hear()
        told += heard
        if not heard:
            break
        last = heard[-1]
        header = 0 if phone.security is None else 2
        match last[MESSAGE]:
            case "identity-request":
                identity = phone.identity("null")
                phone.say({MESSAGE: "identity-response", "mobile-identity": identity}, 0)
            case "authentication-request":
                phone.say(phone.answer(last), header)
            case "security-mode-command":
                complete: Tree = {MESSAGE: "security-mode-complete"}
                if container is not None:
                    complete["nas-message-container"] = container
                phone.say(complete, 4)
            case "registration-accept":
                phone.finish_accept(last)
            case "UEContextReleaseCommand":
                phone.ngap("UEContextReleaseComplete")
            case _:
                break
    return told


def outcome(world: World, told: list[Tree]) -> tuple[Any, ...]:
    """Return the answer to the registration, and the state without keys and identities."""
    answers = ("registration-accept", "registration-reject")
    nothing: Tree = {}
    final = next((m for m in reversed(told) if m[MESSAGE] in answers), nothing)
    answer = {k: v for k, v in final.items() if k not in ("5g-guti", "ngap", "security")}
    ue: Ue = world.states.get("ue/imsi-001010000000001", Ue())
    context = ue.security if ue.registered else None
    algorithms = context and (context.nia, context.nea, context.capability)
    return (
        answer,
        ue.registered,
        ue.emergency,
        ue.allowed_nssai,
        ue.registration_area,
        ue.configured_nssai,
        ue.drx,
        ue.t3512,
        algorithms,
        ue.registration,
        ue.deregistering,
        ue.sessions,
    )


CAPABILITIES = st.sampled_from(["e0e0", "f0f0", "c0c0", "8040", "e080", "f0f0f0f0"])
NSSAI = st.sampled_from([None, [{"sst": 1, "sd": "010203"}], [{"sst": 2}], [{"sst": 9}]])


KINDS = st.sampled_from([INITIAL, MOBILITY, PERIODIC, EMERGENCY])


@st.composite
def requests(draw: st.DrawFn, *, first: bool = False) -> Tree:
    """Any REGISTRATION REQUEST of one subscriber; with `first`, one that is not rejected at
    once."""
    phone = Phone(World())
    kind = INITIAL if first else draw(KINDS)
    identity = draw(st.sampled_from([phone.identity(), phone.identity(), FOREIGN]))
    capability = draw(CAPABILITIES if first else st.one_of(st.none(), CAPABILITIES))
    found: Tree = {
        MESSAGE: "registration-request",
        "5gs-registration-type": {
            "registration-type": kind,
            "follow-on-request": draw(st.booleans()),
        },
        "ngksi": draw(st.sampled_from(["no-key", {"native": 0}, {"native": 3}])),
        "5gs-mobile-identity": identity,
    }
    if capability is not None:
        found["ue-security-capability"] = {"octets": capability}
    requested = draw(NSSAI)
    if requested is not None:
        found["requested-nssai"] = requested
    if draw(st.booleans()):
        found["pdu-session-status"] = draw(st.sampled_from([[], [1], [5]]))
    if draw(st.booleans()):
        found["requested-drx-parameters"] = {"octets": draw(st.sampled_from(["01", "04"]))}
    if draw(st.booleans()):
        found["ue-status"] = {"octets": draw(st.sampled_from(["00", "01", "02"]))}
    return found


@settings(max_examples=150, deadline=None, derandomize=True)
@given(forged=requests(first=True), request=requests(), registered=st.booleans())
def test_only_the_complete_request_counts(forged: Tree, request: Tree, *, registered: bool) -> None:
    """Whatever was sent first, the outcome is that of the complete request alone."""
    attacked, honest = Phone(World()), Phone(World())
    if registered:
        for phone in (attacked, honest):
            phone.register()
            phone.idle()
            phone.hear()
            phone.ran_id, phone.security = 9, None
    told = drive(attacked, forged, request)
    assume(any(m[MESSAGE] == "security-mode-command" for m in told))
    alone = drive(honest, in_the_clear(request), request)
    found, wanted = outcome(attacked.world, told), outcome(honest.world, alone)
    if any(m[MESSAGE] == "security-mode-command" for m in alone):
        assert found == wanted
    else:
        # It is rejected without authentication, so an earlier registration stays.
        assert found[0] == wanted[0]
        assert not found[1]
    attacked.world.verify()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(forged=requests())
def test_without_a_container_only_cleartext_ies_count(forged: Tree) -> None:
    """An attacker cannot add an IE that a UE never sends in the clear."""
    attacked, honest = Phone(World()), Phone(World())
    told = drive(attacked, forged, None)
    alone = drive(honest, in_the_clear(forged), None)
    assert outcome(attacked.world, told) == outcome(honest.world, alone)


def begun(phone: Phone, first: Tree) -> None:
    """Send a first message in the clear, and go on to the SECURITY MODE COMMAND."""
    phone.initial(wire.nas_encode(first))
    phone.authenticate()
    assert phone.hear()[-1][MESSAGE] == "security-mode-command"


def test_bid_down_capabilities_lead_to_another_authentication() -> None:
    """The attacker has removed NEA2 and NIA2 from the request, and the UE does not notice."""
    world = World()
    phone = Phone(world)
    request = phone.request()
    weak = {**request, "ue-security-capability": {"octets": "c0c0"}}
    drive(phone, in_the_clear(weak), request)
    security = world.ue().security
    assert security is not None
    assert (security.nia, security.nea, security.capability) == (2, 2, bytes.fromhex("e0e0"))
    assert world.ue().registered
    world.verify()


def test_capabilities_that_change_again_are_cause_23() -> None:
    world = World()
    phone = Phone(world)
    octets = iter(["e0e0", "c0c0", "e0e0"])

    def request() -> Tree:
        return {**phone.request(), "ue-security-capability": {"octets": next(octets)}}

    begun(phone, in_the_clear(request()))
    heard: list[Tree] = []
    for _ in range(2):
        complete = {MESSAGE: "security-mode-complete", "nas-message-container": request()}
        phone.say(complete, 4)
        heard = phone.hear()
        if heard[-1][MESSAGE] == "authentication-request":
            phone.say(phone.answer(heard[-1]))
            phone.hear()
    assert heard[0][MESSAGE] == "registration-reject"
    assert heard[0]["5gmm-cause"] == "ue-security-capabilities-mismatch"
    challenges = [
        e
        for s in world.steps[f"ue/{phone.supi}"]
        for e in s.events
        if isinstance(e, AuthenticationStarted)
    ]
    assert len(challenges) == 2
    world.verify()


def test_a_request_of_another_subscriber_is_rejected() -> None:
    world = World()
    phone, other = Phone(world), Phone(world, 2)
    begun(phone, in_the_clear(phone.request()))
    container = {**phone.request(), "5gs-mobile-identity": other.identity()}
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": container}, 4)
    assert phone.hear()[0]["5gmm-cause"] == "semantically-incorrect-message"
    assert not world.ue().registered


def test_a_registration_that_was_made_a_deregistration() -> None:
    """The attacker has changed the type of the message: the registered UE registers again."""
    world = World()
    phone = Phone(world)
    phone.register()
    phone.idle()
    phone.ran_id, phone.security = 8, None
    world.downlink.clear()
    forged = phone.deregistration()
    begun(phone, forged)
    assert world.ue().deregistering
    request = phone.request()
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, 4)
    heard = phone.hear()
    assert heard[-1][MESSAGE] in ("authentication-request", "registration-accept")
    assert world.ue().registered
    assert not world.ue().deregistering
    world.verify()


@pytest.mark.parametrize("switch_off", [False, True])
def test_a_deregistration_that_was_made_a_registration(*, switch_off: bool) -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.idle()
    phone.ran_id, phone.security = 8, None
    world.downlink.clear()
    begun(phone, in_the_clear(phone.request()))
    request = phone.deregistration(switch_off=switch_off)
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, 4)
    assert not world.ue().registered
    accepted = "deregistration-accept-ue-originating" in [m[MESSAGE] for m in phone.hear()]
    assert accepted is not switch_off
    world.verify()


def test_a_container_that_cannot_be_read_is_cause_96() -> None:
    world = World()
    phone = Phone(world)
    begun(phone, in_the_clear(phone.request()))
    complete = bytes.fromhex("7e005e" + "71" + "0004" + "7e004101")
    assert phone.security is not None
    phone.uplink(phone.security.protect(complete, 4, downlink=False))
    assert phone.hear()[0]["5gmm-cause"] == "invalid-mandatory-information"
    assert not world.ue().registered
    world.verify()
