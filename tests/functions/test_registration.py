"""Registration (TS 24.501 5.5.1.2) from the side of a UE that is played by hand."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.identity import slot_of, slot_of_amf_ue_ngap_id, slot_of_tmsi_plaintext
from schemas.network import SecurityPolicy
from schemas.subscriber import SubscribedSlice
from schemas.ue_events import Noted, RegistrationAborted
from tests.functions.phone import Phone
from tests.functions.world import NETWORK, OTHER_SLICE, SLICE, TMSI_KEY, World, subscriber

MESSAGE = "message-type"


def notes(world: World, supi: str = "imsi-001010000000001") -> list[str]:
    steps = world.steps[f"ue/{supi}"]
    return [e.text for s in steps for e in s.events if isinstance(e, Noted)]


@pytest.mark.parametrize("scheme", [None, "A", "B"])
def test_every_suci_scheme_registers(scheme: str | None) -> None:
    world = World()
    phone = Phone(world)
    accept = phone.register(scheme)
    ue = world.ue()
    assert ue.registered
    assert ue.registration is None
    assert ue.timers == {}
    assert ue.pei == "imeisv-4370816125816151"
    assert accept["allowed-nssai"] == [{"sst": 1, "sd": "010203"}]
    assert accept["t3512-value"] == NETWORK.timers.t3512
    assert accept["tai-list"] == [{"one-plmn-non-consecutive": {"plmn": "001-01", "tacs": [1, 2]}}]
    assert phone.security_key == wire.kgnb(phone.kamf, 0)
    assert world.verify() > 0


def test_the_slot_of_the_supi_is_in_both_identities_and_visible_in_one() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    slot = slot_of(phone.supi)
    assert phone.amf_id is not None
    assert slot_of_amf_ue_ngap_id(phone.amf_id) == slot
    tmsi = phone.guti["tmsi"] if phone.guti else 0
    assert slot_of_tmsi_plaintext(wire.TmsiCipher(TMSI_KEY).decrypt(tmsi)) == slot


def test_a_known_guti_with_its_context_needs_no_authentication() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.idle()
    first, sqn = phone.guti, world.ue().sqn
    phone.ran_id = 9
    assert phone.security is not None
    count = phone.security.uplink
    phone.initial(phone.security.protect_initial(wire.nas_encode(phone.request())))
    accept = phone.finish()
    assert accept["5g-guti"]["guti"] != first
    assert accept["ngap"] == "InitialContextSetupRequest"
    assert phone.security_key == wire.kgnb(phone.kamf, count or 0)
    assert world.ue().sqn == sqn
    assert not world.ue().tmsi_pending
    world.verify()


def test_a_requested_nssai_in_the_container_is_read() -> None:
    """4.4.6: the requested NSSAI is no cleartext IE, so it comes ciphered in the container."""
    world = World()
    phone = Phone(world, tac=2)
    phone.register()
    phone.idle()
    phone.ran_id, phone.requested = 9, [{"sst": 2}]
    assert phone.security is not None
    phone.initial(phone.security.protect_initial(wire.nas_encode(phone.request())))
    assert phone.finish()["allowed-nssai"] == [{"sst": 2}]


def test_a_known_guti_with_a_wrong_mac_is_authenticated() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.idle()
    phone.ran_id = 9
    assert phone.security is not None
    sealed = bytearray(phone.security.protect_initial(wire.nas_encode(phone.request())))
    sealed[3] ^= 1
    phone.initial(bytes(sealed))
    phone.authenticate()
    command = world.ue().registration
    assert command is not None
    assert command.retransmit
    phone.secure(phone.request())
    assert world.ue().registered
    world.verify()


@pytest.mark.parametrize("scheme", [None, "A", "B"])
def test_a_foreign_guti_is_asked_for_its_suci(scheme: str | None) -> None:
    world = World()
    phone = Phone(world)
    foreign = {"plmn": "999-99", "amf-region-id": 9, "amf-set-id": 9, "amf-pointer": 9, "tmsi": 1}
    phone.guti = foreign
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    asked = phone.hear()[-1]
    assert (asked[MESSAGE], asked["identity-type"]) == ("identity-request", "suci")
    phone.say(
        {MESSAGE: "identity-response", "mobile-identity": phone.identity(scheme or "null")}, 0
    )
    phone.authenticate()
    phone.secure(request)
    ue = world.ue()
    assert ue.registered
    assert ue.connection is not None
    assert ue.connection.context == "set-up"
    unknown = next(name for name in world.steps if "unidentified" in name)
    assert world.states[unknown].successor
    slot = slot_of_amf_ue_ngap_id(ue.connection.amf_ue_ngap_id)
    assert slot == slot_of("a1-1"), "the slot of the connection, not of the SUPI"
    assert {v for k, v in world.owners.items() if k[0] == "ngap"} == {"ue/imsi-001010000000001"}
    world.verify()


def test_an_unknown_tmsi_of_ours_is_asked_too() -> None:
    world = World()
    phone = Phone(world)
    phone.guti = {
        "plmn": "001-01",
        "amf-region-id": 1,
        "amf-set-id": 1,
        "amf-pointer": 0,
        "tmsi": 5,
    }
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[-1][MESSAGE] == "identity-request"
    phone.say({MESSAGE: "identity-response", "mobile-identity": phone.identity("null")}, 0)
    phone.authenticate()
    phone.secure(request)
    assert world.ue().registered


def test_the_identity_request_is_repeated_and_then_given_up() -> None:
    world = World()
    phone = Phone(world)
    phone.guti = {
        "plmn": "001-01",
        "amf-region-id": 1,
        "amf-set-id": 1,
        "amf-pointer": 0,
        "tmsi": 5,
    }
    phone.initial(wire.nas_encode(phone.request()))
    heard: list[str] = []
    for _ in range(5):
        heard += [m[MESSAGE] for m in phone.hear()]
        world.advance(6.1)
    assert heard == ["identity-request"] * 5
    assert phone.hear()[-1][MESSAGE] == "UEContextReleaseCommand"
    world.verify()


def test_a_synch_failure_is_re_synchronised_once() -> None:
    world = World()
    phone = Phone(world)
    phone.sqn = 10_000_000
    phone.initial(wire.nas_encode(phone.request()))

    def fail() -> None:
        rand = bytes.fromhex(phone.hear()[-1]["authentication-parameter-rand"]["octets"])
        auts = wire.auts(phone.k, phone.opc, rand, phone.sqn)
        failure = {
            MESSAGE: "authentication-failure",
            "5gmm-cause": "synch-failure",
            "authentication-failure-parameter": {"octets": auts.hex()},
        }
        phone.say(failure, 0)

    fail()
    assert world.ue().sqn > phone.sqn
    phone.authenticate()
    phone.secure(phone.request())
    assert world.ue().registered

    again = World()
    phone = Phone(again)
    phone.sqn = 10_000_000
    phone.initial(wire.nas_encode(phone.request()))
    fail()
    fail()
    assert [m[MESSAGE] for m in phone.hear()][-2:] == [
        "authentication-reject",
        "UEContextReleaseCommand",
    ]
    again.verify()


def test_a_forged_auts_is_no_re_synchronisation() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    failure = {
        MESSAGE: "authentication-failure",
        "5gmm-cause": "synch-failure",
        "authentication-failure-parameter": {"octets": "00" * 14},
    }
    phone.say(failure, 0)
    assert phone.hear()[-2][MESSAGE] == "authentication-reject"


def test_ngksi_in_use_gets_the_same_challenge_under_another() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    first = phone.hear()[-1]
    phone.say({MESSAGE: "authentication-failure", "5gmm-cause": "ng-ksi-already-in-use"}, 0)
    second = phone.hear()[-1]
    rand = "authentication-parameter-rand"
    assert second[rand] == first[rand]
    assert second["ngksi"] != first["ngksi"]
    phone.say(phone.answer(second), 0)
    phone.secure(phone.request())
    assert world.ue().registered
    world.verify()


@pytest.mark.parametrize("cause", ["mac-failure", "non-5g-authentication-unacceptable"])
def test_a_mac_failure_of_a_suci_is_rejected(cause: str) -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    phone.say({MESSAGE: "authentication-failure", "5gmm-cause": cause}, 0)
    assert [m[MESSAGE] for m in phone.hear()] == [
        "authentication-reject",
        "UEContextReleaseCommand",
    ]
    assert not world.ue().registered


def test_a_mac_failure_of_a_guti_asks_who_it_is() -> None:
    """5.4.1.3.7 c): another UE may have the 5G-GUTI; its SUCI leads to the right keys."""
    world = World(subscriber(1), subscriber(2, k=bytes(16)))
    mine = Phone(world, 1)
    mine.register()
    mine.idle()
    other = Phone(world, 2)
    other.k, other.guti = bytes(16), mine.guti
    other.initial(wire.nas_encode(other.request()))
    other.hear()
    other.say({MESSAGE: "authentication-failure", "5gmm-cause": "mac-failure"}, 0)
    assert other.hear()[-1][MESSAGE] == "identity-request"
    other.say({MESSAGE: "identity-response", "mobile-identity": other.identity("null")}, 0)
    other.authenticate()
    other.secure(other.request())
    assert world.ue(2).registered
    assert world.ue(1).registered, "whose 5G-GUTI it was is not harmed"
    assert world.ue(1).security is not None
    world.verify()


def test_a_wrong_res_star_is_rejected_and_harms_nobody() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    impostor = Phone(world)
    impostor.ran_id = 99
    impostor.initial(wire.nas_encode(impostor.request()))
    impostor.hear()
    wrong = {"octets": "00" * 16}
    answer = {MESSAGE: "authentication-response", "authentication-response-parameter": wrong}
    impostor.say(answer, 0)
    heard = [m[MESSAGE] for m in impostor.hear()]
    assert heard == ["authentication-reject", "UEContextReleaseCommand"]
    impostor.ngap("UEContextReleaseComplete")
    ue = world.ue()
    assert ue.registered
    assert ue.connection is not None
    assert ue.connection.ran_ue_ngap_id == phone.ran_id, "the connection is the UE's again"
    phone.idle()
    world.verify()


def test_algorithms_follow_the_operators_priority() -> None:
    policy = SecurityPolicy(integrity=(1, 2), ciphering=(0, 2))
    world = World(network=replace(NETWORK, security=policy))
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    command = phone.hear()[-1]
    chosen = command["selected-nas-security-algorithms"]
    assert chosen == {"ciphering": "nea0", "integrity": "nia1"}
    assert command["imeisv-request"] == "requested"
    assert command["replayed-ue-security-capabilities"] == {"ea": [0, 1, 2], "ia": [0, 1, 2]}


def test_no_common_algorithm_is_cause_23() -> None:
    world = World(network=replace(NETWORK, security=SecurityPolicy(integrity=(3,))))
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    reject = phone.hear()[0]
    assert reject["5gmm-cause"] == "ue-security-capabilities-mismatch"


def test_without_security_capability_is_cause_96() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    del request["ue-security-capability"]
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[0]["5gmm-cause"] == "invalid-mandatory-information"


def test_security_mode_reject_ends_it() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-reject", "5gmm-cause": 23}, 0)
    assert [m[MESSAGE] for m in phone.hear()] == ["UEContextReleaseCommand"]
    assert world.ue().security is None
    assert world.ue().timers.keys() == {"ng-release"}
    world.verify()


def test_t3560_repeats_the_challenge_four_times() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    heard = phone.hear()
    for _ in range(4):
        world.advance(6.1)
        heard += phone.hear()
    assert [m[MESSAGE] for m in heard] == ["authentication-request"] * 5
    assert len({m["authentication-parameter-rand"]["octets"] for m in heard}) == 1
    world.advance(6.1)
    assert [m[MESSAGE] for m in phone.hear()] == ["UEContextReleaseCommand"]
    world.verify()


def test_t3560_repeats_the_security_mode_command_with_new_counts() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    first = world.downlink[-1][2]
    world.advance(6.1)
    second = world.downlink[-1][2]
    assert first != second, "the same NAS COUNT twice"
    phone.secure(request)
    assert world.ue().registered


def test_t3550_repeats_the_accept_and_not_the_context_setup() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    accepts = phone.hear()
    assert accepts[0]["ngap"] == "InitialContextSetupRequest"
    world.advance(6.1)
    accepts += phone.hear()
    phone.ngap("InitialContextSetupResponse")
    world.advance(6.1)
    accepts += phone.hear()
    assert [a["ngap"] for a in accepts[1:]] == ["DownlinkNASTransport"] * 2
    assert len({a["5g-guti"]["guti"]["tmsi"] for a in accepts}) == 1
    world.advance(30)
    ue = world.ue()
    assert ue.registered
    assert ue.registration is None
    assert notes(world)[-1].startswith("the UE did not send its whole")
    last = world.steps["ue/imsi-001010000000001"][-1]
    assert any(isinstance(e, RegistrationAborted) for e in last.events)
    world.verify()


def test_a_context_setup_that_was_lost_is_sent_again_after_the_ue_has_answered() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    phone.hear()
    phone.say({MESSAGE: "registration-complete"})
    again = phone.hear()[-1]
    assert again[MESSAGE] == "InitialContextSetupRequest"
    assert again["SecurityKey"] == wire.kgnb(phone.kamf, 0).hex()
    phone.ngap("InitialContextSetupResponse")
    connection = world.ue().connection
    assert connection is not None
    assert connection.context == "set-up"
    world.verify()


def tmsis(world: World) -> set[str]:
    return {key for kind, key in world.owners if kind == "tmsi"}


def test_the_last_two_confirmed_gutis_lead_to_the_ue() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.idle()
    gutis = [phone.guti]
    for ran_id in (9, 10):
        phone.ran_id = ran_id
        assert phone.security is not None
        phone.initial(phone.security.protect_initial(wire.nas_encode(phone.request())))
        gutis.append(phone.hear()[-1]["5g-guti"]["guti"])
        assert tmsis(world) == {f"tmsi-{g['tmsi']:08x}" for g in gutis[-2:] if g}
        phone.guti = gutis[-1]
        phone.say({MESSAGE: "registration-complete"})
        assert tmsis(world) == {f"tmsi-{g['tmsi']:08x}" for g in gutis[-2:] if g}
        phone.idle()


def test_a_reallocation_that_is_not_confirmed_leaves_the_confirmed_guti() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.idle()
    confirmed, offered = phone.guti, None
    for ran_id in (9, 10):
        phone.ran_id = ran_id
        assert phone.security is not None
        phone.initial(phone.security.protect_initial(wire.nas_encode(phone.request())))
        offered = phone.hear()[-1]["5g-guti"]["guti"]
        assert tmsis(world) == {f"tmsi-{g['tmsi']:08x}" for g in (confirmed, offered) if g}


def test_the_same_request_again_on_its_connection() -> None:
    """5.5.1.2.8 e) before the accept: ignored; d) after it: the accept again."""
    world = World()
    phone = Phone(world)
    request = wire.nas_encode(phone.request())
    phone.initial(request)
    before = phone.hear()
    phone.uplink(request)
    assert phone.hear() == []
    phone.say(phone.answer(before[-1]), 0)
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    assert phone.hear()[-1][MESSAGE] == "registration-accept"
    phone.uplink(request)
    assert phone.hear()[-1][MESSAGE] == "registration-accept"
    world.verify()


def test_another_request_on_the_connection_starts_anew() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    first = phone.hear()[-1]
    phone.requested = [{"sst": 1, "sd": "010203"}]
    request = phone.request()
    phone.uplink(wire.nas_encode(request))
    second = phone.hear()[-1]
    rand = "authentication-parameter-rand"
    assert second[rand] != first[rand]
    phone.say(phone.answer(second), 0)
    phone.secure(request)
    assert world.ue().registered


def test_registering_again_while_registered() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.ran_id, phone.guti, phone.ngksi = 9, None, 7
    phone.register()
    commands = [m for m in world.names() if m == "UEContextReleaseCommand"]
    assert commands == []  # heard along the way
    ue = world.ue()
    assert ue.registered
    assert ue.connection is not None
    assert ue.connection.ran_ue_ngap_id == 9
    assert [c.releasing for c in ue.stale] == ["radioNetwork: release-due-to-5gc-generated-reason"]
    world.verify()


def test_a_ran_ue_ngap_id_used_again_frees_the_connection_before() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    first = phone.amf_id
    phone.guti, phone.ngksi = None, 7
    phone.register()
    assert world.ue().stale == ()
    assert phone.amf_id != first
    assert len([1 for kind, _ in world.owners if kind == "ngap"]) == 1


REJECTIONS: list[tuple[dict[str, Any], str]] = [
    ({"barred": True}, "5gs-services-not-allowed"),
    ({"nr_allowed": False}, "n1-mode-not-allowed"),
    ({"forbidden_tacs": (1,)}, "tracking-area-not-allowed"),
    ({"slices": (SubscribedSlice(OTHER_SLICE, default=True),)}, "no-network-slices-available"),
]


@pytest.mark.parametrize(("changes", "cause"), REJECTIONS)
def test_rejections_are_protected_and_have_their_causes(
    changes: dict[str, Any], cause: str
) -> None:
    world = World(subscriber(**changes))
    phone = Phone(world)
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    reject, release = phone.hear()
    assert (reject[MESSAGE], reject["5gmm-cause"]) == ("registration-reject", cause)
    assert reject["security"] == 2
    assert release[MESSAGE] == "UEContextReleaseCommand"
    assert not world.ue().registered
    world.verify()


def test_an_unknown_subscriber_is_cause_3() -> None:
    world = World()
    phone = Phone(world, 77)
    phone.initial(wire.nas_encode(phone.request()))
    reject = phone.hear()[0]
    assert reject["5gmm-cause"] == "illegal-ue"
    assert reject["security"] == 0


def test_a_suci_that_cannot_be_opened_is_cause_3() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    public = wire.suci_public_key("A", bytes(range(9, 41)))
    suci = wire.suci_conceal("001", "01", phone.msin, profile="A", public_key=public, key_id=1)
    request["5gs-mobile-identity"] = {"octets": suci.hex()}
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[0]["5gmm-cause"] == "illegal-ue"
    phone.ngap("UEContextReleaseComplete")
    assert world.owners == {}, "nothing is left of it"
    world.verify()


def test_an_unserved_tracking_area_is_cause_12() -> None:
    world = World()
    phone = Phone(world, tac=99)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    assert phone.hear()[0]["5gmm-cause"] == "tracking-area-not-allowed"


def test_slices_by_subscription_and_tracking_area() -> None:
    world = World()
    phone = Phone(world)
    phone.requested = [{"sst": 1, "sd": "010203"}, {"sst": 2}, {"sst": 9}]
    accept = phone.register()
    assert accept["allowed-nssai"] == [{"sst": 1, "sd": "010203"}]
    assert accept["rejected-nssai"] == [
        {"s-nssai": {"sst": 9}, "cause": "not-available-in-plmn-or-snpn"},
        {"s-nssai": {"sst": 2}, "cause": "not-available-in-registration-area"},
    ]
    other = Phone(World(), tac=2)
    other.requested = [{"sst": 2}]
    accept = other.register()
    assert accept["allowed-nssai"] == [{"sst": 2}]
    assert accept["tai-list"] == [{"one-plmn-non-consecutive": {"plmn": "001-01", "tacs": [2]}}]
    assert SLICE not in other.world.ue().allowed_nssai


def test_by_imei_is_refused_with_cause_5() -> None:
    world = World()
    phone = Phone(world)
    request = phone.request()
    request["5gs-mobile-identity"] = {"imei": "490154203237518"}
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[0]["5gmm-cause"] == "pei-not-accepted"


def test_a_context_that_the_gnb_cannot_set_up() -> None:
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    phone.hear()
    phone.ngap("InitialContextSetupFailure", Cause={"radioNetwork": "unspecified"})
    assert [m[MESSAGE] for m in phone.hear()] == ["UEContextReleaseCommand"]
    phone.ngap("UEContextReleaseComplete")
    assert world.ue().connection is None
    assert world.ue().timers == {}
    world.verify()


def test_the_radio_capability_is_kept_and_given_to_the_next_context() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.ngap("UERadioCapabilityInfoIndication", UERadioCapability="c0ffee")
    phone.idle()
    phone.ran_id = 9
    assert phone.security is not None
    phone.initial(phone.security.protect_initial(wire.nas_encode(phone.request())))
    ies = {k: v for item in world.sent()[-1]["ies"] for k, v in item.items()}
    assert ies["UERadioCapability"] == "c0ffee"
    assert ies["MaskedIMEISV"] == "4370816125ffff51"
