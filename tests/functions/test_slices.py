"""The NSSAIs that a UE is told (TS 23.501 5.15.4.1, TS 24.501 5.5.1.2.4, 5.4.4.2): allowed,
rejected and configured."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.identity import SNssai
from schemas.lookups import SlicesLookup
from schemas.network import Network, TrackingArea
from schemas.subscriber import Dnn, SubscribedSlice, Subscriber
from tests.functions import operator
from tests.functions.gnb import ies_of, setup_request
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import GNB, NETWORK, OTHER_SLICE, SLICE, World, subscriber

ONE, TWO, THREE = {"sst": 1, "sd": "010203"}, {"sst": 2}, {"sst": 3}
IN_AREA, IN_PLMN = "not-available-in-registration-area", "not-available-in-plmn-or-snpn"
OTHER_PLMN = "310-410"
NETWORK_OF_TWO = replace(
    NETWORK,
    tracking_areas=(*NETWORK.tracking_areas, TrackingArea(1, OTHER_PLMN, (SLICE,))),
    equivalent_plmns=(OTHER_PLMN,),
)


def phone_at(
    tac: int, requested: list[dict[str, Any]] | None = None, network: Network = NETWORK
) -> Phone:
    phone = Phone(World(network=network), tac=tac)
    phone.requested = requested
    return phone


def tacs(accept: dict[str, Any]) -> list[int]:
    (found,) = accept["tai-list"]
    return found["one-plmn-non-consecutive"]["tacs"]


def rejected(message: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    return [(one["s-nssai"], one["cause"]) for one in message.get("rejected-nssai", ())]


# Allowed and rejected NSSAI


def test_a_slice_is_rejected_for_a_registration_area_without_it() -> None:
    """TS 23.501 5.15.4.1.1: tracking area 2 has the slice, so that it is not in the registration
    area: there the UE registers again, and gets the slice."""
    phone = phone_at(1, [ONE, TWO])
    accept = phone.register()
    assert (accept["allowed-nssai"], rejected(accept)) == ([ONE], [(TWO, IN_AREA)])
    assert tacs(accept) == [1]
    phone.idle()
    phone.tac = 2
    phone.open_again(phone.request("mobility-registration-updating"))
    accept = phone.finish()
    assert (accept["allowed-nssai"], rejected(accept)) == ([ONE, TWO], [])
    assert tacs(accept) == [2]
    phone.world.verify()


def test_a_subscribed_slice_that_the_plmn_does_not_have() -> None:
    """TS 24.501 9.11.3.46: it is rejected for the PLMN, so that the UE does not ask for it in the
    next registration area."""
    phone = phone_at(1, [ONE, TWO], replace(NETWORK, tracking_areas=NETWORK.tracking_areas[:1]))
    accept = phone.register()
    assert (accept["allowed-nssai"], rejected(accept)) == ([ONE], [(TWO, IN_PLMN)])
    assert accept["configured-nssai"] == [ONE]


def test_the_gnb_gets_the_allowed_nssai_of_a_connected_ue() -> None:
    """TS 38.413 8.6.2.2: a registration update in CM-CONNECTED changes it for the gNB too."""
    phone = phone_at(2, [ONE, TWO])
    phone.register()
    phone.hear()
    phone.requested = [TWO]
    phone.say(phone.request("mobility-registration-updating"))
    (pdu,) = [pdu for _, _, pdu in phone.world.downlink]
    assert ies_of(wire.ngap_decode(pdu))["AllowedNSSAI"] == [{"s-NSSAI": {"sST": 2}}]
    assert phone.finish()["allowed-nssai"] == [TWO]


def test_without_a_rejected_slice_the_registration_area_is_as_large_as_can_be() -> None:
    assert tacs(phone_at(1, [ONE]).register()) == [1, 2]


@pytest.mark.parametrize(
    ("broadcast", "allowed", "refused"),
    [({"sST": 1, "sD": "010203"}, [ONE], [(TWO, IN_AREA)]), ({"sST": 2}, [TWO], [(ONE, IN_AREA)])],
)
def test_a_slice_that_the_gnb_does_not_support(
    broadcast: dict[str, Any], allowed: list[Any], refused: list[Any]
) -> None:
    """TS 23.501 5.15.8: the NG-RAN tells the slices of each tracking area; the allowed NSSAI has no
    other."""
    phone = phone_at(2, [ONE, TWO])
    phone.world.uplink(setup_request(tac=2, slice_={"s-NSSAI": broadcast}))
    phone.world.sent()
    accept = phone.register()
    assert (accept["allowed-nssai"], rejected(accept)) == (allowed, refused)
    lookups = [one for s in phone.world.steps[f"ue/{phone.supi}"] for one in s.lookups]
    area = NETWORK.tracking_areas[1]
    assert [type(one) for one in lookups] == [SlicesLookup]
    assert lookups[0].tai == area.tai  # type: ignore[union-attr]
    assert phone.world.ue().connection.gnb == GNB  # type: ignore[union-attr]
    phone.world.verify()


def test_a_gnb_without_any_of_the_slices_of_the_ue() -> None:
    phone = phone_at(2, [ONE])
    phone.world.subscribers[phone.supi] = subscriber(slices=(SubscribedSlice(SLICE, True),))
    phone.world.uplink(setup_request(tac=2, slice_={"s-NSSAI": {"sST": 2}}))
    phone.world.sent()
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    phone.hear()
    complete = {"message-type": "security-mode-complete", "nas-message-container": request}
    phone.say(complete, 4)
    reject = phone.hear()[0]
    assert reject["5gmm-cause"] == "no-network-slices-available"
    assert rejected(reject) == [(ONE, IN_AREA)]


def test_a_gnb_that_supports_all_is_in_no_step() -> None:
    phone = phone_at(1)
    phone.world.uplink(setup_request())
    phone.world.sent()
    phone.register()
    assert not [one for s in phone.world.steps[f"ue/{phone.supi}"] for one in s.lookups]


def test_a_periodic_update_changes_no_slice() -> None:
    """TS 24.501 5.5.1.3.2: a periodic update has no requested NSSAI, and asks for no change."""
    phone = phone_at(2, [TWO])
    phone.register()
    phone.idle()
    phone.requested = None
    phone.open_again(phone.request("periodic-registration-updating"))
    assert phone.finish()["allowed-nssai"] == [TWO]
    assert phone.world.ue().allowed_nssai == (OTHER_SLICE,)


def test_a_slice_that_leaves_a_tracking_area() -> None:
    """TS 24.501 5.4.4.2: with the new allowed NSSAI comes the registration area without the
    tracking areas that still have the rejected slice."""
    both = (SLICE, OTHER_SLICE)
    areas = tuple(TrackingArea(tac, "001-01", both) for tac in (1, 2))
    network = replace(NETWORK, tracking_areas=areas)
    phone = phone_at(1, [ONE, TWO], network)
    assert tacs(phone.register()) == [1, 2]
    changed = replace(
        network, tracking_areas=(TrackingArea(1, "001-01", (SLICE,)), network.tracking_areas[1])
    )
    phone.world.reconfigure(changed)
    phone.say({"message-type": "5gmm-status", "5gmm-cause": 111})
    command = phone.update()
    assert (command["allowed-nssai"], rejected(command)) == ([ONE], [(TWO, IN_AREA)])
    assert tacs(command) == [1]
    assert [tai.tac for tai in phone.world.ue().registration_area] == [1]
    phone.world.verify()


def test_a_session_in_a_slice_that_is_allowed_no_more() -> None:
    """TS 23.501 5.15.5.2.2, TS 24.501 5.5.1.3.4: it is released, and the PDU session status says
    so."""
    dnns = (Dnn("internet"),)
    both = tuple(SubscribedSlice(one, True, dnns) for one in (SLICE, OTHER_SLICE))
    site = Site(tac=2, slices=both, requested=[ONE, TWO])
    for psi, slice_ in ((1, ONE), (2, TWO)):
        site.establish(psi, transport={"s-nssai": slice_})
    site.idle()
    phone = site.phone
    phone.tac = 1
    status = {"pdu-session-status": [1, 2]}
    phone.open_again(phone.request("mobility-registration-updating", **status))
    accept = phone.finish()
    assert rejected(accept) == [(TWO, IN_AREA)]
    assert accept["pdu-session-status"] == [1]
    site.upfs.serve()
    assert [session.id for session in site.world.ue().sessions] == [1]


# Configured NSSAI


def register_again(phone: Phone, **more: Any) -> dict[str, Any]:
    """Register on another connection with the stored context; return the accept."""
    phone.idle()
    phone.open_again(phone.request(**more), phone.ran_id + 1)
    return phone.finish()


def test_a_new_ue_is_told_its_configured_nssai_once() -> None:
    """TS 23.501 5.15.4.1.1: the subscribed S-NSSAIs of the PLMN, whatever the tracking area has."""
    phone = phone_at(1, [ONE])
    assert phone.register()["configured-nssai"] == [ONE, TWO]
    assert "configured-nssai" not in register_again(phone)
    assert "network-slicing-indication" not in register_again(phone)
    phone.world.verify()


@pytest.mark.parametrize(
    ("requested", "more"),
    [
        (None, {}),
        ([ONE, THREE], {}),
        ([ONE], {"network-slicing-indication": {"dcni": True, "nssci": False}}),
    ],
)
def test_a_ue_that_has_lost_it_is_told_again(
    requested: list[dict[str, Any]] | None, more: dict[str, Any]
) -> None:
    """TS 24.501 5.5.1.2.4: no requested NSSAI, an S-NSSAI that is not valid in the PLMN, and a
    requested NSSAI that is made of the default configured NSSAI."""
    phone = phone_at(1, [ONE])
    phone.register()
    phone.requested = requested
    accept = register_again(phone, **more)
    assert accept["configured-nssai"] == [ONE, TWO]
    assert "network-slicing-indication" not in accept


def test_an_accept_without_a_complete_has_told_nothing() -> None:
    phone = phone_at(1, [ONE])
    phone.initial(wire.nas_encode(phone.request()))
    phone.authenticate()
    phone.hear()
    phone.say({"message-type": "security-mode-complete"}, 4)
    phone.guti = phone.hear()[-1]["5g-guti"]["guti"]
    assert phone.world.ue().configured_nssai == ()
    phone.say(phone.request("mobility-registration-updating"))
    assert phone.finish()["configured-nssai"] == [ONE, TWO]


def test_each_plmn_has_its_own() -> None:
    phone = phone_at(1, [ONE], NETWORK_OF_TWO)
    phone.register()
    phone.plmn = OTHER_PLMN
    accept = register_again(phone, kind="mobility-registration-updating")
    assert accept["configured-nssai"] == [ONE], "the PLMN has no other slice"
    assert "network-slicing-indication" not in accept
    phone.plmn = "001-01"
    accept = register_again(phone, kind="mobility-registration-updating")
    assert "configured-nssai" not in accept
    phone.world.verify()


def test_another_device_is_told_too() -> None:
    phone = phone_at(1, [ONE])
    phone.register()
    phone.idle()
    phone.security, phone.guti, phone.ngksi, phone.ran_id = None, None, 7, 9
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    phone.authenticate()
    phone.hear()
    other = {"imeisv": "3569380356438001"}
    container = {"nas-message-container": request}
    phone.say({"message-type": "security-mode-complete", "imeisv": other, **container}, 4)
    assert phone.finish()["configured-nssai"] == [ONE, TWO]


def resubscribe(phone: Phone, *slices: SNssai) -> Subscriber:
    changed = subscriber(slices=tuple(SubscribedSlice(one, True) for one in slices))
    phone.world.subscribers[phone.supi] = changed
    return operator.resubscribe(phone.world, phone.supi, slices=len(slices))


def test_a_changed_subscription_is_told_at_once() -> None:
    """TS 23.501 5.15.4.2, TS 24.501 5.4.4.2: the network slicing subscription change indication has
    the UE delete the NSSAIs of other PLMNs, and asks for an acknowledgement."""
    network = replace(
        NETWORK, tracking_areas=(TrackingArea(1, "001-01", (SLICE, OTHER_SLICE, SNssai(3))),)
    )
    phone = phone_at(1, [ONE], network)
    phone.register()
    phone.hear()
    resubscribe(phone, SLICE, OTHER_SLICE, SNssai(3))
    command = phone.update()
    assert command["configuration-update-indication"] == {"ack": True, "red": False}
    assert command["configured-nssai"] == [ONE, TWO, THREE]
    assert command["network-slicing-indication"] == {"nssci": True, "dcni": False}
    assert "allowed-nssai" not in command
    (stored,) = phone.world.ue().configured_nssai
    assert stored.nssai == (SLICE, OTHER_SLICE, SNssai(3))
    assert phone.hear() == []


def test_a_slice_that_is_taken_leaves_both_nssais() -> None:
    phone = phone_at(2, [ONE, TWO])
    phone.register()
    phone.hear()
    resubscribe(phone, SLICE)
    command = phone.update()
    assert (command["allowed-nssai"], command["configured-nssai"]) == ([ONE], [ONE])
    assert rejected(command) == [(TWO, IN_PLMN)]
    assert command["network-slicing-indication"] == {"nssci": True, "dcni": False}


def test_a_change_during_cm_idle_is_told_with_the_next_accept() -> None:
    phone = phone_at(1, [ONE])
    phone.register()
    phone.idle()
    resubscribe(phone, SLICE)
    phone.open_again(phone.request("mobility-registration-updating"))
    accept = phone.finish()
    assert accept["configured-nssai"] == [ONE]
    assert accept["network-slicing-indication"] == {"nssci": True, "dcni": False}


def test_a_change_of_the_network_is_no_change_of_the_subscription() -> None:
    phone = phone_at(1, [ONE])
    phone.register()
    phone.world.reconfigure(replace(NETWORK, tracking_areas=NETWORK.tracking_areas[:1]))
    phone.say({"message-type": "5gmm-status", "5gmm-cause": 111})
    command = phone.update()
    assert command["configured-nssai"] == [ONE]
    assert "network-slicing-indication" not in command
    phone.world.verify()
