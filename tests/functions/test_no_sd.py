"""The SD FFFFFF is no SD (TS 23.003 28.4.2), wherever an S-NSSAI is read."""

from typing import Any

import pytest
from msgspec.structs import replace

from schemas.config.values import slice_of
from schemas.identity import SNssai, s_nssai_of
from schemas.network import TrackingArea
from schemas.subscriber import Ambr, Dnn, SubscribedSlice
from tests.functions.gnb import gnb, setup_request
from tests.functions.phone import Phone
from tests.functions.site import MESSAGE, Site
from tests.functions.world import NETWORK, OTHER_SLICE, World, subscriber

PLAIN = SNssai(1)
SUBSCRIBED = SubscribedSlice(PLAIN, default=True, dnns=(Dnn("internet", ambr=Ambr(1000, 1000)),))


@pytest.mark.parametrize("sd", [None, "", "ffffff", "FFFFFF"])
def test_an_s_nssai_without_an_sd(sd: str | None) -> None:
    assert s_nssai_of(1, sd) == PLAIN


def test_an_sd_has_small_letters() -> None:
    assert s_nssai_of(1, "0A0B0C") == SNssai(1, "0a0b0c")


@pytest.mark.parametrize("text", ["1", "1-ffffff", "1-FFFFFF"])
def test_in_the_configuration(text: str) -> None:
    assert slice_of(text) == PLAIN


@pytest.mark.parametrize("sd", [{}, {"sD": "ffffff"}])
def test_in_ng_setup(sd: dict[str, str]) -> None:
    network = replace(NETWORK, tracking_areas=(TrackingArea(1, "001-01", (PLAIN,)),))
    world = World(network=network)
    world.uplink(setup_request(slice_={"s-NSSAI": {"sST": 1, **sd}}))
    assert world.sent()[-1]["message"] == "NGSetupResponse"
    assert [one.slices for ta in gnb(world).supported for one in ta.broadcast] == [(PLAIN,)]


@pytest.mark.parametrize("sd", [{}, {"sd": "ffffff"}])
def test_in_a_requested_nssai(sd: dict[str, str]) -> None:
    network = replace(NETWORK, tracking_areas=(TrackingArea(1, "001-01", (PLAIN,)),))
    phone = Phone(World(subscriber(slices=(SUBSCRIBED,)), network=network))
    phone.requested = [{"sst": 1, **sd}]
    accept = phone.register()
    assert accept["allowed-nssai"] == [{"sst": 1}]
    assert "rejected-nssai" not in accept


@pytest.mark.parametrize("sd", [{}, {"sd": "ffffff"}])
def test_in_the_transport_of_a_session(sd: dict[str, Any]) -> None:
    dnns = (Dnn("internet", ambr=Ambr(1000, 1000)),)
    slices = (SubscribedSlice(OTHER_SLICE, default=True, dnns=dnns),)
    site = Site(slices=slices, tac=2, requested=[{"sst": 2}])
    site.ask(transport={"s-nssai": {"sst": 2, **sd}})
    assert site.hear()[-1][MESSAGE] == "PDUSessionResourceSetupRequest"
    assert site.session().nssai == OTHER_SLICE
