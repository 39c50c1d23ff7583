"""The generic UE configuration update procedure (TS 24.501 5.4.4) and its collisions."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.config.values import nitz_of
from schemas.nitz import Nitz
from schemas.subscriber import Dnn, SubscribedSlice
from tests.functions import operator
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.site import MESSAGE, Site
from tests.functions.world import NETWORK, OTHER_SLICE, SLICE, World

COMMAND = "configuration-update-command"
RELEASE = "UEContextReleaseCommand"
BOTH = [{"sst": 1, "sd": "010203"}, {"sst": 2}]


@pytest.fixture
def paged() -> Site:
    """Return a UE that answered a paging, before the update."""
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    accept = site.service_request("mobile-terminated-services")[-1]
    assert accept[MESSAGE] == "service-accept"
    assert site.world.ue().update is not None
    return site


def commanded(site: Site) -> dict[str, Any]:
    """Complete the context setup, and return the COMMAND that follows."""
    site.set_up("InitialContextSetup")
    (command,) = site.hear()
    assert (command[MESSAGE], command["security"]) == (COMMAND, 2)
    return command


def tmsi_of(command: dict[str, Any]) -> int:
    found: int = command["5g-guti"]["guti"]["tmsi"]
    return found


def test_a_ue_that_was_paged_has_another_guti(paged: Site) -> None:
    old = paged.world.ue().old_tmsi
    command = commanded(paged)
    assert command["configuration-update-indication"] == {"ack": True, "red": False}
    ue = paged.world.ue()
    assert (ue.tmsi, ue.old_tmsi, ue.tmsi_pending) == (tmsi_of(command), old, True)
    assert {key for kind, key in paged.world.owners if kind == "tmsi"} == {
        f"tmsi-{old:08x}",
        f"tmsi-{ue.tmsi:08x}",
    }
    paged.phone.say({MESSAGE: "configuration-update-complete"})
    ue = paged.world.ue()
    assert (ue.tmsi_pending, ue.update, paged.world.timers()) == (False, None, set())
    paged.world.verify()


def test_it_does_not_overtake_the_accept_in_the_context_setup(paged: Site) -> None:
    assert paged.hear() == []
    assert "T3555" not in paged.world.ue().timers


def test_one_that_comes_for_itself_keeps_its_guti() -> None:
    site = Site()
    site.establish()
    site.idle()
    site.service_request("data", **{"uplink-data-status": [1]})
    site.set_up("InitialContextSetup")
    assert site.hear() == []
    assert site.world.ue().update is None


def test_a_guti_that_could_not_be_told_is_told_on_the_next_connection(paged: Site) -> None:
    paged.idle()
    paged.service_request()
    paged.phone.ngap("InitialContextSetupResponse")
    paged.phone.update()
    assert paged.world.ue().update is None
    paged.world.verify()


def test_a_registration_gives_one_too(paged: Site) -> None:
    paged.idle()
    paged.phone.open_again(paged.phone.request("periodic-registration-updating"))
    paged.phone.finish()
    assert paged.world.ue().update is None
    assert paged.hear() == []


# 5.4.4.6


def test_a_t3555(paged: Site) -> None:
    """Both 5G-GUTIs stay valid, and the command is sent again on the next connection."""
    command = commanded(paged)
    paged.world.advance(4 * 6 + 5)
    again = paged.hear()
    assert [m["5g-guti"] for m in again] == [command["5g-guti"]] * 4
    paged.world.advance(60)
    assert paged.hear() == []
    ue = paged.world.ue()
    assert (ue.tmsi_pending, paged.world.timers()) == (True, set())
    assert ue.connection is not None
    paged.idle()
    paged.service_request()
    paged.phone.ngap("InitialContextSetupResponse")
    assert tmsi_of(paged.phone.update()) != tmsi_of(command)
    assert not paged.world.ue().tmsi_pending
    paged.world.verify()


def test_a_complete_that_comes_after_t3555_has_given_up(paged: Site) -> None:
    commanded(paged)
    paged.world.advance(60)
    paged.hear()
    paged.phone.say({MESSAGE: "configuration-update-complete"})
    ue = paged.world.ue()
    assert (ue.tmsi_pending, ue.update) == (False, None)


@pytest.mark.parametrize("new", [False, True])
def test_b_lower_layer_failure(paged: Site, *, new: bool) -> None:
    """Either 5G-GUTI leads to the UE; after the old one the command is sent again (b 1)."""
    command = commanded(paged)
    paged.world.lose()
    ng_setup(paged.world)
    assert "T3555" not in paged.world.ue().timers
    if new:
        paged.phone.guti = command["5g-guti"]["guti"]
    paged.service_request()
    paged.phone.ngap("InitialContextSetupResponse")
    heard = [m[MESSAGE] for m in paged.hear()]
    assert heard == ([] if new else [COMMAND])
    assert paged.world.ue().tmsi_pending is not new
    paged.world.verify()


def test_b_it_is_paged_by_both(paged: Site) -> None:
    command = commanded(paged)
    old = paged.world.ue().old_tmsi
    paged.idle()
    paged.world.pages.clear()
    paged.upfs.report(paged.session().n4.upf, paged.session().n4.seid)
    found: set[int] = set()
    for _, _, pdu in paged.world.pages:
        ies = {k: v for item in wire.ngap_decode(pdu)["ies"] for k, v in item.items()}
        found.add(ies["UEPagingIdentity"]["fiveG-S-TMSI"]["fiveG-TMSI"])
    assert found == {tmsi_of(command), old}


@pytest.mark.parametrize("switch_off", [False, True])
def test_c_the_ue_deregisters(paged: Site, *, switch_off: bool) -> None:
    commanded(paged)
    paged.phone.say(paged.phone.deregistration(switch_off=switch_off))
    heard = [m[MESSAGE] for m in paged.hear()]
    assert heard[-1] == RELEASE
    assert len(heard) == 1 if switch_off else 2
    ue = paged.world.ue()
    assert (ue.registered, ue.update, "T3555" in ue.timers) == (False, None, False)


@pytest.mark.parametrize("kind", ["mobility-registration-updating", "initial-registration"])
def test_d_a_registration(paged: Site, kind: str) -> None:
    command = commanded(paged)
    paged.phone.say(paged.phone.request(kind))
    accept = paged.phone.finish()
    assert tmsi_of(accept) != tmsi_of(command)
    ue = paged.world.ue()
    assert (ue.tmsi, ue.tmsi_pending, ue.update) == (tmsi_of(accept), False, None)
    paged.world.advance(60)
    assert COMMAND not in [m[MESSAGE] for m in paged.hear()]
    paged.world.verify()


def test_e_a_service_request_goes_on_beside_it(paged: Site) -> None:
    commanded(paged)
    paged.phone.say(paged.phone.service_request("data", **{"uplink-data-status": [1]}))
    assert [m[MESSAGE] for m in paged.hear()] == ["service-accept"]
    assert "T3555" in paged.world.ue().timers
    paged.phone.say({MESSAGE: "configuration-update-complete"})
    assert not paged.world.ue().tmsi_pending
    paged.world.verify()


def test_e_a_service_request_for_release_ends_it(paged: Site) -> None:
    commanded(paged)
    release = {"ue-request-type": "nas-signalling-connection-release"}
    paged.phone.say(paged.phone.service_request(**release))
    assert [m[MESSAGE] for m in paged.hear()] == ["service-accept", RELEASE]
    ue = paged.world.ue()
    assert "T3555" not in ue.timers
    assert ue.tmsi_pending
    paged.world.verify()


def test_the_network_deregisters_the_ue(paged: Site) -> None:
    commanded(paged)
    operator.deregister(paged.world, paged.phone.supi)
    assert "T3555" not in paged.world.ue().timers
    paged.phone.leave()
    assert paged.world.ue().update is None
    paged.world.verify()


def test_an_unexpected_complete_is_noted() -> None:
    phone = Phone(World())
    phone.register()
    phone.hear()
    phone.say({MESSAGE: "configuration-update-complete"})
    assert phone.hear() == []
    phone.world.verify()


# Slices


def sliced() -> Site:
    """Return a UE in a tracking area with two allowed slices."""
    dnns = (Dnn("internet"),)
    slices = (SubscribedSlice(SLICE, True, dnns), SubscribedSlice(OTHER_SLICE, True, dnns))
    return Site(tac=2, slices=slices, requested=BOTH)


def test_a_slice_that_is_subscribed_no_more_is_taken_at_once() -> None:
    site = sliced()
    site.ask(1, transport={"s-nssai": {"sst": 2}})
    site.hear()
    site.set_up()
    operator.resubscribe(site.world, site.phone.supi, slices=1)
    assert site.world.ue().allowed_nssai == (SLICE, OTHER_SLICE)
    (pdu,) = [pdu for _, _, pdu in site.world.downlink]
    ies = {k: v for item in wire.ngap_decode(pdu)["ies"] for k, v in item.items()}
    assert ies["AllowedNSSAI"] == [{"s-NSSAI": {"sST": 1, "sD": "010203"}}]
    command = site.phone.update()
    assert command["allowed-nssai"] == [{"sst": 1, "sd": "010203"}]
    cause = "not-available-in-plmn-or-snpn"
    assert command["rejected-nssai"] == [{"s-nssai": {"sst": 2}, "cause": cause}]
    assert site.world.ue().allowed_nssai == (SLICE,)
    assert site.session().stage == "releasing"  # 5.4.4.4
    heard = site.hear()
    assert heard[-1]["ngap"] == "PDUSessionResourceReleaseCommand"


def test_an_idle_ue_is_told_at_its_next_contact() -> None:
    site = sliced()
    site.idle()
    operator.resubscribe(site.world, site.phone.supi, slices=1)
    assert (site.hear(), list(site.world.pages)) == ([], [])
    site.service_request()
    site.phone.ngap("InitialContextSetupResponse")
    assert site.phone.update()["allowed-nssai"] == [{"sst": 1, "sd": "010203"}]


def test_without_a_slice_that_is_left_the_ue_has_to_register() -> None:
    site = Site()
    one = site.world.subscribers[site.phone.supi]
    other = replace(one, slices=(SubscribedSlice(OTHER_SLICE, True),))
    site.world.subscribers[site.phone.supi] = other
    operator.resubscribe(site.world, site.phone.supi, slices=1)
    command = site.phone.update()
    assert command["configuration-update-indication"] == {"ack": True, "red": True}
    assert "allowed-nssai" not in command
    assert [m[MESSAGE] for m in site.hear()] == [RELEASE]
    site.phone.ngap("UEContextReleaseComplete")
    site.phone.open_again(site.phone.request("mobility-registration-updating"))
    assert site.hear()[0]["5gmm-cause"] == "no-network-slices-available"
    assert not site.world.ue().registered


def test_a_ue_that_does_not_answer_gets_five_commands() -> None:
    site = sliced()
    operator.resubscribe(site.world, site.phone.supi, slices=1)
    site.world.advance(600)
    assert [m[MESSAGE] for m in site.hear()] == [COMMAND] * 5
    assert site.world.ue().allowed_nssai == (SLICE, OTHER_SLICE)
    assert site.world.timers() == set()


# NITZ


def named(nitz: Nitz | None) -> Phone:
    phone = Phone(World(network=replace(NETWORK, nitz=nitz)))
    ng_setup(phone.world)
    phone.register()
    return phone


def test_the_network_tells_its_name_and_time_after_a_registration() -> None:
    phone = named(nitz_of("evcore ☎", "evc", "Europe/Berlin"))
    command = phone.update()
    assert "configuration-update-indication" not in command, "5.4.4.2: no acknowledgement"
    assert command["full-name-for-network"] == {"name": "evcore ☎", "add-ci": False}
    assert command["short-name-for-network"]["name"] == "evc"
    assert command["local-time-zone"] == 4
    assert command["universal-time-and-local-time-zone"] == {
        "year": 23,
        "month": 11,
        "day": 14,
        "hour": 22,
        "minute": 13,
        "second": 20,
        "time-zone-quarter-hours": 4,
    }
    assert command["network-daylight-saving-time"] == "no-adjustment"
    ue = phone.world.ue()
    assert (ue.update, ue.timers) == (None, {})
    phone.world.verify()


def test_in_summer_it_is_another_hour() -> None:
    phone = Phone(World(network=replace(NETWORK, nitz=nitz_of("", "", "Europe/Berlin"))))
    ng_setup(phone.world)
    phone.world.now = 1_782_000_000_000
    phone.register()
    command = phone.update()
    assert (command["local-time-zone"], command["network-daylight-saving-time"]) == (
        8,
        "plus-one-hour",
    )
    assert "full-name-for-network" not in command


def test_a_network_without_a_name_says_nothing() -> None:
    assert named(None).hear() == []


def test_it_waits_for_the_context_setup() -> None:
    """REGISTRATION COMPLETE overtakes INITIAL CONTEXT SETUP RESPONSE: the gNB is asked once, and
    the update waits for the context."""
    phone = Phone(World(network=replace(NETWORK, nitz=nitz_of("evcore", "", ""))))
    ng_setup(phone.world)
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    command = phone.hear()[-1]
    assert command[MESSAGE] == "security-mode-command"
    phone.say({MESSAGE: "security-mode-complete", "nas-message-container": request}, header=4)
    phone.guti = phone.hear()[-1]["5g-guti"]["guti"]
    phone.say({MESSAGE: "registration-complete"})
    assert phone.hear() == []
    phone.ngap("InitialContextSetupResponse")
    assert "full-name-for-network" in phone.update()
    phone.world.verify()
