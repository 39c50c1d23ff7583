"""The contents of a REGISTRATION ACCEPT (TS 24.501 5.5.1.2.4), and T3550."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.event import Noted
from schemas.gmm.events import RegistrationAborted
from schemas.network import Timers
from schemas.subscriber import SubscribedSlice
from tests.functions.phone import Phone
from tests.functions.world import NETWORK, OTHER_SLICE, SLICE, World, subscriber

MESSAGE = "message-type"


def notes(world: World, supi: str = "imsi-001010000000001") -> list[str]:
    steps = world.steps[f"ue/{supi}"]
    return [e.text for s in steps for e in s.events if isinstance(e, Noted)]


def test_a_requested_nssai_in_the_container_is_read() -> None:
    """4.4.6: the requested NSSAI is not a cleartext IE, so it is ciphered in the container."""
    world = World()
    phone = Phone(world, tac=2)
    phone.register()
    phone.idle()
    phone.ran_id, phone.requested = 9, [{"sst": 2}]
    assert phone.security is not None
    phone.initial(phone.security.protect_initial(wire.nas_encode(phone.request())))
    assert phone.finish()["allowed-nssai"] == [{"sst": 2}]


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
    assert notes(world)[-1].startswith("the UE did not send its complete")
    steps = world.steps["ue/imsi-001010000000001"]
    assert any(isinstance(e, RegistrationAborted) for s in steps for e in s.events)
    # Neither the UE nor the gNB responds; the connection is released all the same.
    assert "UEContextReleaseCommand" in [m[MESSAGE] for m in phone.hear()]
    world.advance(60)
    assert world.ue().connection is None
    assert world.timers() == set()
    world.verify()


def test_the_ue_answers_before_the_gnb() -> None:
    """No clause says that INITIAL CONTEXT SETUP RESPONSE comes first."""
    world = World()
    phone = Phone(world)
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    phone.hear()
    phone.say({MESSAGE: "registration-complete"})
    assert phone.hear() == [], "the gNB has one INITIAL CONTEXT SETUP REQUEST to answer"
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
    assert world.timers() == set()
    world.verify()


def test_the_radio_capability_is_kept_and_given_to_the_next_context() -> None:
    world = World()
    phone = Phone(world)
    phone.register()
    phone.ngap("UERadioCapabilityInfoIndication", UERadioCapability="c0ffee")
    phone.idle()
    phone.open_again(phone.request("periodic-registration-updating"))
    ies = {k: v for item in world.sent()[-1]["ies"] for k, v in item.items()}
    assert ies["UERadioCapability"] == "c0ffee"
    assert ies["MaskedIMEISV"] == "4370816125ffff51"


@pytest.mark.parametrize(
    ("requested", "tac", "forbidden", "tacs"),
    [
        ([{"sst": 1, "sd": "010203"}], 1, (), [1, 2]),
        ([{"sst": 1, "sd": "010203"}], 2, (), [2, 1]),
        ([{"sst": 2}], 2, (), [2]),
        (None, 1, (2,), [1]),
    ],
)
def test_the_registration_area_is_where_the_slices_are(
    requested: list[dict[str, Any]] | None, tac: int, forbidden: tuple[int, ...], tacs: list[int]
) -> None:
    """TS 23.501 5.3.2.3: the current area first, without forbidden areas."""
    phone = Phone(World(subscriber(forbidden_tacs=forbidden)), tac=tac)
    phone.requested = requested
    (area,) = phone.register()["tai-list"]
    assert area["one-plmn-non-consecutive"]["tacs"] == tacs


def test_the_defaults_of_the_subscription_are_allowed_without_a_request() -> None:
    """TS 23.501 5.15.5.2.1: if no requested S-NSSAI is allowed, the default ones are."""
    both = (SubscribedSlice(SLICE, default=True), SubscribedSlice(OTHER_SLICE, default=True))
    for requested, allowed in (
        (None, [{"sst": 1, "sd": "010203"}, {"sst": 2}]),
        ([{"sst": 9}], [{"sst": 1, "sd": "010203"}, {"sst": 2}]),
        ([{"sst": 2}], [{"sst": 2}]),
    ):
        phone = Phone(World(subscriber(slices=both)), tac=2)
        phone.requested = requested
        assert phone.register()["allowed-nssai"] == allowed


def test_t3512_and_t3502_are_the_networks() -> None:
    for t3512 in (60, 3600, 36000):
        network = replace(NETWORK, timers=Timers(t3512=t3512))
        accept = Phone(World(network=network)).register()
        assert (accept["t3512-value"], accept["t3502-value"]) == (t3512, 720)


@pytest.mark.parametrize("voice", [True, False])
def test_ims_voice_over_ps_by_tracking_area(voice: bool) -> None:
    """TS 24.501 4.3.2, 9.11.3.5: a voice-centric UE stays in N1 mode only where it is supported."""
    one, two = NETWORK.tracking_areas
    areas = (replace(one, ims_vops=not voice), replace(two, ims_vops=voice))
    phone = Phone(World(network=replace(NETWORK, tracking_areas=areas)), tac=2)
    accept = phone.register()
    assert accept["5gs-network-feature-support"]["ims-vops-3gpp"] is voice
    assert [tai.tac for tai in phone.world.ue().registration_area] == [2], (
        "the indication is for the whole registration area (TS 23.501 5.16.3.2)"
    )
    phone.tac = 1
    phone.idle()
    phone.open_again(phone.request("mobility-registration-updating"))
    assert phone.finish()["5gs-network-feature-support"]["ims-vops-3gpp"] is not voice
    phone.world.verify()


def test_ims_voice_over_ps_is_supported_by_default() -> None:
    accept = Phone(World()).register()
    assert accept["5gs-network-feature-support"]["ims-vops-3gpp"]
