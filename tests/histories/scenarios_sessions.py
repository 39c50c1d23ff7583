"""Scenarios of sessions with other peers and other subscriptions than the load generator's."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from schemas.network import DataNetwork
from schemas.subscriber import Ambr, Dnn, SubscribedSlice
from tests.functions.site import Site
from tests.functions.world import N4_NETWORK, OTHER_SLICE, SLICE, World

Scenario = Callable[[], World]

_IMS = DataNetwork("internet", ("10.0.0.53",), 1400, ("10.1.1.1", "2001:db8::c5cf"))


def options_of_a_phone() -> World:
    """The UE requests P-CSCFs and DNS servers by IPCP, and authenticates by PAP; one unit cannot be
    read."""
    site = Site(network=replace(N4_NETWORK, data_networks=(_IMS,)))
    units = (
        "000c00000100" + "80210a0105000a810600000000" + "c0230e0107000e0475736572" + "0470617373"
    )
    wanted: Any = {"octets": "80000d0105" + units}
    site.establish(**{"extended-protocol-configuration-options": wanted})
    return site.world


def ambr_rounded_up() -> World:
    """NAS cannot encode the session AMBR of the subscription."""
    site = Site(dnns=(Dnn("internet", ambr=Ambr(66_001_000, 300_300_000)),))
    site.establish()
    return site.world


def dnn_in_another_slice() -> World:
    slices = (
        SubscribedSlice(SLICE, True, (Dnn("internet"),)),
        SubscribedSlice(OTHER_SLICE, False, (Dnn("ims"),)),
    )
    requested = [{"sst": SLICE.sst, "sd": SLICE.sd}, {"sst": OTHER_SLICE.sst}]
    site = Site(slices=slices, requested=requested, tac=2)
    site.ask(transport={"dnn": "ims"})
    return site.world


def left_out() -> World:
    """The gNB cannot be asked for a session: its ARP has no encoding."""
    site = Site(dnns=(Dnn("internet", arp_priority=99),))
    site.ask()
    return site.world


def n3_instance() -> World:
    upfs = tuple(replace(upf, n3_instance="n3.example") for upf in N4_NETWORK.upfs)
    site = Site(network=replace(N4_NETWORK, upfs=upfs))
    site.establish()
    site.idle()
    return site.world


def _releasing() -> tuple[Site, str]:
    site = Site()
    address = site.establish()
    site.phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    site.hear()
    site.upfs.serve()
    return site, address


def paged_after_release() -> World:
    """Downlink packets come between the command and its completion."""
    site, address = _releasing()
    site.upfs.downlink_data(address)
    site.phone.ngap("UEContextReleaseComplete")
    site.service_request("mobile-terminated-services")
    site.set_up("InitialContextSetup")
    return site.world


def uplink_reported() -> World:
    site, address = _releasing()
    site.phone.ngap("UEContextReleaseComplete")
    name, at_upf = site.upfs.session(address)
    site.upfs.report(name, at_upf.cp.number, pdr=1)
    return site.world


SCENARIOS: Final[dict[str, Scenario]] = {
    "session-options-of-a-phone": options_of_a_phone,
    "session-ambr-rounded-up": ambr_rounded_up,
    "session-dnn-in-another-slice": dnn_in_another_slice,
    "session-left-out": left_out,
    "session-n3-instance": n3_instance,
    "session-paged-after-release": paged_after_release,
    "session-uplink-reported": uplink_reported,
}
