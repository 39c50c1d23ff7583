"""UEs and gNBs that have not proved who they are, or that act for others."""

from typing import Any

import pytest

import wire
from functions.messages.nas import codec
from schemas.gmm.events import AuthenticationStarted
from schemas.ran import Gnb
from schemas.ue.state import Ue, connections, removable
from tests.functions.gnb import ng_setup, reset, setup_request
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import GNB, World, subscriber

MESSAGE = "message-type"
OTHER_GNB, OTHER_ASSOCIATION = "001-01-gnb-24-2", "a2"
IN_USE = {MESSAGE: "authentication-failure", "5gmm-cause": "ng-ksi-already-in-use"}
Tree = dict[str, Any]


# Loops with a UE (TS 24.501 5.4.1.3.7, 4.4.4)


def challenges(world: World) -> int:
    """The number of challenges to the first UE."""
    steps = world.steps["ue/imsi-001010000000001"]
    return sum(isinstance(e, AuthenticationStarted) for s in steps for e in s.events)


def test_ngksi_in_use_is_answered_until_all_values_were_tried() -> None:
    """60 of them got 60 challenges."""
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    for _ in range(60):
        phone.hear()
        phone.say(IN_USE, 0)
    assert challenges(world) == 7
    assert world.ue().challenge is None
    world.verify()


def test_ngksi_in_use_and_synch_failure_in_turn_are_bounded() -> None:
    world = World()
    phone = Phone(world)
    phone.sqn = 1 << 30
    phone.initial(wire.nas_encode(phone.request()))
    for number in range(60):
        last = next((m for m in phone.hear() if m[MESSAGE] == "authentication-request"), None)
        if last is None:
            break
        phone.say(phone.synch_failure(last) if number % 3 == 2 else IN_USE, 0)
    assert challenges(world) <= 8
    assert world.ue().challenge is None


def test_a_registered_ue_cannot_refuse_the_ngksi_for_ever() -> None:
    """In a reauthentication, with a valid MAC."""
    world = World()
    phone = Phone(world)
    phone.register()
    phone.hear()
    phone.ngksi = 7
    phone.say(phone.request())
    before = challenges(world)
    for _ in range(30):
        phone.hear()
        phone.say(IN_USE)
    assert challenges(world) - before <= 7


@pytest.mark.parametrize(
    "repeated",
    ["registration", "service-request", "unknown", "wrong identity", "ngksi", "response"],
)
def test_a_sender_without_a_proof_is_not_answered_for_ever(repeated: str) -> None:
    """Each of 200 messages on one connection got an answer."""
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    answers = 0
    for number in range(200):
        message: Tree | bytes = {
            "registration": phone.request() | {"ue-status": {"octets": f"{number % 2:02x}"}},
            "service-request": bytes.fromhex("7e004c0000070000000000000000"),
            "unknown": b"\x7e\x00\x7a",
            "wrong identity": b"\x7e\x00\x5c\x00\x09\x05\x00\x00\x00\x00\x00\x00\x00\xf0",
            "ngksi": IN_USE,
            "response": {MESSAGE: "authentication-response"},
        }[repeated]
        phone.uplink(message if isinstance(message, bytes) else wire.nas_encode(message))
        answers += len(phone.hear())
    assert answers <= 64
    here = world.ue().connection
    assert here is None or here.releasing
    world.verify()


@pytest.mark.parametrize(
    ("octets", "secured"),
    [
        ("7e0064", False),
        ("7e006401", False),
        ("7e00646f", True),
        ("7e00646fff", True),
        ("7e00645f60", True),
    ],
)
def test_no_5gmm_status_answers_a_5gmm_status(octets: str, secured: bool) -> None:
    """Two sides that do this never stop (TS 24.501 7.1: the state is not affected)."""
    world = World()
    phone = Phone(world)
    if secured:
        phone.register()
    else:
        phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    plain = bytes.fromhex(octets)
    if secured and phone.security is not None:
        phone.uplink(phone.security.protect(plain, 2, downlink=False))
    else:
        phone.uplink(plain)
    assert [m[MESSAGE] for m in phone.hear()] == []


def test_a_protected_status_without_a_cause_has_no_answer() -> None:
    """`open_nas` reads it, and has the answer that its fault would have in another message."""
    assert codec.answer(bytes.fromhex("7e0064")) is None
    assert codec.answer(bytes.fromhex("2e0101d6")) is None
    assert codec.answer(bytes.fromhex("7e0043ff")) == wire.nas_answer(bytes.fromhex("7e0043ff"))


@pytest.mark.parametrize("octets", ["2e0101d6", "2e0101d66f", "2e0101d66f00", "2e0000d65f"])
def test_no_5gsm_status_answers_a_5gsm_status(octets: str) -> None:
    site = Site()
    phone = site.phone
    site.hear()
    payload = bytes.fromhex(octets)
    plain = b"\x7e\x00\x67\x01" + len(payload).to_bytes(2) + payload + b"\x12\x01"
    assert phone.security is not None
    phone.uplink(phone.security.protect(plain, 2, downlink=False))
    told = [str(m) for m in site.hear()]
    assert not [t for t in told if "5gsm-status" in t], told


@pytest.mark.parametrize("ids", ["none", "both", "unknown"])
def test_no_error_indication_answers_an_error_indication(ids: str) -> None:
    """TS 38.413 10.1."""
    world = World()
    ng_setup(world)
    phone = Phone(world)
    phone.register()
    phone.hear()
    amf_id = {"none": None, "both": phone.amf_id, "unknown": 77}[ids]
    found: list[Tree] = [] if amf_id is None else [{"AMF-UE-NGAP-ID": amf_id}]
    found += [] if amf_id is None else [{"RAN-UE-NGAP-ID": phone.ran_id}]
    for extra in ([], [{"Cause": {"protocol": "semantic-error"}}]):
        world.uplink({"message": "ErrorIndication", "ies": [*found, *extra]})
        assert "ErrorIndication" not in world.names()


# A victim, and a sender who is not the victim


def victim(world: World) -> Phone:
    """Return a registered UE in CM-CONNECTED."""
    phone = Phone(world)
    phone.register()
    phone.hear()
    return phone


def of_victim(ue: Ue) -> tuple[Any, ...]:
    """Return the parts that must not change: keys, identities, registration and connection."""
    return (
        ue.security,
        ue.tmsi,
        ue.old_tmsi,
        ue.tmsi_pending,
        ue.registered,
        ue.allowed_nssai,
        ue.registration_area,
        ue.sessions,
        ue.connection,
        ue.pei,
        ue.radio_capability,
        ue.handover,
    )


def attacker(phone: Phone) -> Phone:
    """Return a sender at another gNB that knows the identities of the victim, but no key."""
    found = Phone(phone.world)
    found.gnb, found.association, found.ran_id = OTHER_GNB, OTHER_ASSOCIATION, 66
    found.guti, found.ngksi = phone.guti, phone.ngksi
    return found


def clear_messages(phone: Phone, forger: Phone) -> dict[str, bytes]:
    """Initial messages in the name of the victim, without a valid MAC."""
    forger.guti = phone.guti
    by_guti = wire.nas_encode(forger.request())
    service = wire.nas_encode(forger.service_request())
    update = wire.nas_encode(forger.request("mobility-registration-updating"))
    deregistration = wire.nas_encode(forger.deregistration())
    switch_off = wire.nas_encode(forger.deregistration(switch_off=True))
    forger.guti = None
    wrong_mac = b"\x7e\x01" + bytes(4) + b"\x05"
    return {
        "SUCI": wire.nas_encode(forger.request()),
        "5G-GUTI": by_guti,
        "update": update,
        "service request": service,
        "deregistration": deregistration,
        "switch off": switch_off,
        "wrong MAC": wrong_mac + by_guti,
        "service request with a wrong MAC": wrong_mac + service,
        "deregistration with a wrong MAC": wrong_mac + deregistration,
    }


_SOME = victim(World())
NAMES = tuple(clear_messages(_SOME, attacker(_SOME)))


@pytest.mark.parametrize("name", NAMES)
def test_an_initial_message_in_the_name_of_a_victim_changes_nothing(name: str) -> None:
    """Neither at once nor when the sender never answers (TS 24.501 4.4.4.3)."""
    world = World()
    phone = victim(world)
    before = of_victim(world.ue())
    forger = attacker(phone)
    forger.initial(clear_messages(phone, forger)[name])
    assert of_victim(world.ue()) == before
    world.advance(120)
    assert of_victim(world.ue()) == before
    assert connections(world.ue()) == [world.ue().connection]
    phone.hear()
    phone.say(phone.service_request())
    assert phone.hear()[-1][MESSAGE] == "service-accept"
    world.verify()


def test_a_replayed_registration_request_changes_nothing() -> None:
    """Its MAC was valid once; its NAS COUNT is used up (TS 24.501 4.4.3.2)."""
    world = World()
    phone = victim(world)
    phone.idle()
    assert phone.security is not None
    old = phone.security.protect_initial(wire.nas_encode(phone.request()))
    phone.ran_id = 9
    phone.initial(old)
    phone.finish()
    phone.hear()
    before = of_victim(world.ue())
    forger = attacker(phone)
    forger.initial(old)
    assert of_victim(world.ue()) == before
    world.advance(120)
    assert of_victim(world.ue()) == before


def test_the_sqn_of_a_victim_moves_forward_only() -> None:
    """Each forged SUCI uses one SQN up; the USIM accepts the next challenge."""
    world = World()
    phone = victim(world)
    sqn = world.ue().sqn
    for number in range(40):
        forger = attacker(phone)
        forger.guti, forger.ran_id = None, 100 + number
        forger.initial(wire.nas_encode(forger.request()))
    assert world.ue().sqn >= sqn
    world.advance(120)
    phone.ran_id, phone.guti, phone.security, phone.ngksi = 9, None, None, 7
    world.downlink.clear()
    phone.register()
    assert world.ue().registered


PLAIN = (
    {MESSAGE: "registration-complete"},
    {MESSAGE: "deregistration-accept-ue-terminated"},
    {MESSAGE: "configuration-update-complete"},
    {MESSAGE: "security-mode-complete"},
    {MESSAGE: "security-mode-reject", "5gmm-cause": 23},
    {MESSAGE: "authentication-failure", "5gmm-cause": "mac-failure"},
    IN_USE,
)


@pytest.mark.parametrize("header", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("number", range(len(PLAIN) + 3))
def test_a_message_without_a_mac_is_discarded_after_the_secure_exchange(
    number: int, header: int
) -> None:
    """On the victim's own connection, by its gNB or on the radio (TS 24.501 4.4.4.3)."""
    world = World()
    phone = victim(world)
    more = (phone.request(), phone.deregistration(), phone.deregistration(switch_off=True))
    plain = wire.nas_encode((*PLAIN, *more)[number])
    before = of_victim(world.ue())
    phone.uplink(plain if header == 0 else bytes((0x7E, header)) + bytes(5) + plain)
    after = of_victim(world.ue())
    assert after[:8] == before[:8]
    assert after[8].amf_ue_ngap_id == before[8].amf_ue_ngap_id
    assert not after[8].releasing
    assert [m for m in phone.hear() if m[MESSAGE] != "5gmm-status"] == []


# A gNB that acts for the UEs of another


WITH_IDS_ALONE = (
    "UEContextSuspendRequest",
    "UEContextResumeRequest",
    "HandoverRequired",
    "UplinkRANStatusTransfer",
    "PDUSessionResourceModifyIndication",
    "SecondaryRATDataUsageReport",
    "LocationReport",
    "InitialContextSetupResponse",
    "PDUSessionResourceSetupResponse",
    "PDUSessionResourceModifyResponse",
    "PDUSessionResourceReleaseResponse",
    "UEContextModificationResponse",
    "HandoverRequestAcknowledge",
    "TraceFailureIndication",
    "UplinkUEAssociatedNRPPaTransport",
)
"""An error of the ids comes before any other (TS 38.413 10.5), so these need no other IE."""


def of_other_gnb(phone: Phone) -> dict[str, Tree]:
    """Messages about the victim, with its ids, from the association of another gNB."""
    pair: list[Tree] = [{"AMF-UE-NGAP-ID": phone.amf_id}, {"RAN-UE-NGAP-ID": phone.ran_id}]
    cause = {"Cause": {"radioNetwork": "user-inactivity"}}
    location = {"UserLocationInformation": phone.location()}
    nas = {"NAS-PDU": wire.nas_encode(phone.deregistration()).hex()}
    return {
        "UEContextReleaseRequest": {"ies": [*pair, cause]},
        "UEContextReleaseComplete": {"ies": pair},
        "HandoverFailure": {"ies": [pair[0], cause]},
        "UplinkNASTransport": {"ies": [*pair, nas, location]},
        "InitialContextSetupFailure": {"ies": [*pair, cause]},
        "UEContextModificationFailure": {"ies": [*pair, cause]},
        "ErrorIndication": {
            "ies": [*pair, {"Cause": {"radioNetwork": "unknown-local-UE-NGAP-ID"}}]
        },
        "NASNonDeliveryIndication": {"ies": [*pair, nas, cause]},
        "UERadioCapabilityInfoIndication": {"ies": [*pair, {"UERadioCapability": "00"}]},
        "HandoverCancel": {"ies": [*pair, cause]},
        "HandoverNotify": {"ies": [*pair, location]},
        "PDUSessionResourceNotify": {"ies": [*pair, location]},
        **{name: {"ies": pair} for name in WITH_IDS_ALONE},
        "RRCInactiveTransitionReport": {"ies": [*pair, {"RRCState": "inactive"}, location]},
    }


@pytest.mark.parametrize("name", list(of_other_gnb(victim(World()))))
def test_a_gnb_cannot_act_for_the_ue_of_another(name: str) -> None:
    """TS 38.413 10.6: the pair of ids is that of one association."""
    world = World()
    ng_setup(world)
    phone = victim(world)
    before = of_victim(world.ue())
    world.uplink({"message": name, **of_other_gnb(phone)[name]}, OTHER_GNB, OTHER_ASSOCIATION)
    assert of_victim(world.ue()) == before
    for gnb, association, _ in world.downlink:
        assert (gnb, association) == (OTHER_GNB, OTHER_ASSOCIATION), "only the sender is answered"
    world.verify()


@pytest.mark.parametrize("part", ["ids", "whole"])
def test_ng_reset_of_another_gnb_leaves_its_ues(part: str) -> None:
    world = World()
    ng_setup(world)
    phone = victim(world)
    world.uplink(setup_request(), OTHER_GNB, OTHER_ASSOCIATION)
    before = of_victim(world.ue())
    items = [{"aMF-UE-NGAP-ID": phone.amf_id, "rAN-UE-NGAP-ID": phone.ran_id}]
    world.uplink(reset(items if part == "ids" else None), OTHER_GNB, OTHER_ASSOCIATION)
    assert of_victim(world.ue()) == before
    world.lose(OTHER_ASSOCIATION, OTHER_GNB)
    assert of_victim(world.ue()) == before
    assert world.states[f"gnb/{GNB}"].association


# Release commands that give up, and who may be removed


def unknown(world: World, number: int = 5) -> Phone:
    """An INITIAL UE MESSAGE with an unknown 5G-GUTI; the gNB never answers anything."""
    phone = Phone(world, number)
    phone.guti = {
        "plmn": "999-99",
        "amf-region-id": 9,
        "amf-set-id": 9,
        "amf-pointer": 9,
        "tmsi": number,
    }
    phone.initial(wire.nas_encode(phone.request()))
    return phone


def state_of(world: World, start: str) -> Ue:
    (name,) = [name for name in world.states if name.startswith(start)]
    return world.states[name]


def test_release_commands_to_a_gnb_that_never_answers_are_bounded() -> None:
    """TS 23.502 4.2.6; also of a UE that never says who it is."""
    world = World()
    unknown(world)
    world.advance(29)
    world.downlink.clear()
    world.advance(60)
    assert world.names() == ["UEContextReleaseCommand"] * 5
    ue = state_of(world, "ue/unidentified-")
    assert (ue.connection, ue.timers) == (None, {})
    assert removable(ue) is not None
    assert {kind for kind, _ in world.owners} == {"stranger"}, "no other entry leads to it"
    world.advance(600)
    assert world.names() == []
    world.verify()


@pytest.mark.parametrize("case", ["no subscription", "wrong key", "no answer", "unknown 5G-GUTI"])
def test_one_that_never_proved_itself_may_be_removed(case: str) -> None:
    world = World()
    if case == "unknown 5G-GUTI":
        unknown(world)
    else:
        phone = Phone(world, 77 if case == "no subscription" else 1)
        phone.initial(wire.nas_encode(phone.request()))
        if case == "wrong key":
            phone.k = bytes(16)
            phone.hear()
            phone.say({MESSAGE: "authentication-failure", "5gmm-cause": "mac-failure"}, 0)
    world.advance(120)
    ue = state_of(world, "ue/")
    found = removable(ue)
    assert found is not None
    first = found.since
    again = Phone(world, 77 if case == "no subscription" else 1)
    if case != "unknown 5G-GUTI":
        again.initial(wire.nas_encode(again.request()))
        world.advance(120)
        later = removable(state_of(world, "ue/"))
        assert later is not None
        assert later.since == first, "to come back does not prolong it"
    world.verify()


@pytest.mark.parametrize("proof", ["registered", "deregistered", "rejected", "AUTS", "RES only"])
def test_one_that_proved_itself_once_is_never_removed(proof: str) -> None:
    world = World(subscriber(barred=proof == "rejected"))
    phone = Phone(world)
    forger = Phone(world)
    forger.ran_id = 99
    forger.initial(wire.nas_encode(forger.request()))
    world.advance(120)
    assert removable(world.ue()) is not None
    world.downlink.clear()
    if proof in ("registered", "deregistered"):
        phone.register()
        if proof == "deregistered":
            phone.say(phone.deregistration())
    else:
        if proof == "AUTS":
            phone.sqn = 1 << 30
        phone.initial(wire.nas_encode(phone.request()))
        challenge = phone.hear()[-1]
        if proof == "AUTS":
            phone.say(phone.synch_failure(challenge), 0)
        else:
            phone.say(phone.answer(challenge), 0)
        if proof == "rejected":
            phone.hear()
            phone.say({MESSAGE: "security-mode-complete"}, 4)
    world.advance(8000)
    assert world.ue().authenticated
    assert removable(world.ue()) is None
    assert "stranger" not in {kind for kind, _ in world.owners}
    world.verify()


def test_a_node_without_an_accepted_ng_setup_may_be_removed_until_it_has_one() -> None:
    world = World()
    world.uplink(setup_request(plmn="999-99"))
    gnb: Gnb = world.states[f"gnb/{GNB}"]
    assert gnb.stranger is not None
    world.uplink(setup_request(plmn="999-99"))
    assert world.states[f"gnb/{GNB}"].stranger == gnb.stranger
    world.downlink.clear()
    ng_setup(world)
    world.lose()
    world.uplink(setup_request(plmn="999-99"))
    assert world.states[f"gnb/{GNB}"].stranger is None
    assert "stranger" not in {kind for kind, _ in world.owners}
    world.verify()
