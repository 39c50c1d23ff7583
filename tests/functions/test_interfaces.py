"""Interface types and Network Instances of the rules at a UPF (TS 29.244 7.5.2.2, 7.5.2.3)."""

import pytest
from msgspec.structs import replace

from loadgen.upf.downlink import Buffer, arrive
from loadgen.upf.interfaces import ANY, Interfaces, leaves
from loadgen.upf.sessions import PfcpSession
from tests.functions.site import Site
from tests.functions.world import N4_NETWORK

INSTANCE = "access.n3.example"


def passing(at_upf: PfcpSession, interfaces: Interfaces) -> tuple[bool, str]:
    """Return whether an uplink packet passes, and the outcome of a downlink packet."""
    (key,) = at_upf.rules.keys
    buffers: dict[int, Buffer] = {}
    arrived = arrive(key, at_upf.rules, buffers, 1, 0.0, interfaces)
    return leaves(at_upf.rules, interfaces), arrived.outcome


def with_instance(name: str) -> Site:
    upfs = tuple(replace(upf, n3_instance=name) for upf in N4_NETWORK.upfs)
    return Site(network=replace(N4_NETWORK, upfs=upfs))


def test_packets_pass_a_upf_that_needs_interface_types() -> None:
    """8.2.118: N3 in the uplink PDR and the downlink FAR, N6 in the others, which is optional."""
    site = Site()
    address = site.establish()
    _, at_upf = site.upfs.session(address)
    needed = Interfaces(types=True)
    assert passing(at_upf, needed) == (True, "delivered")
    site.idle()
    assert passing(at_upf, needed) == (True, "buffered")
    site.service_request(**{"uplink-data-status": [1]})
    site.set_up("InitialContextSetup")
    assert passing(at_upf, needed) == (True, "delivered")
    site.world.verify()


def test_the_access_side_has_the_network_instance_of_n3() -> None:
    """8.2.4: the PDI of uplink packets and the FAR of downlink packets, created or updated."""
    site = with_instance(INSTANCE)
    address = site.establish()
    _, at_upf = site.upfs.session(address)
    both = Interfaces(types=True, n3_instance=INSTANCE)
    assert passing(at_upf, both) == (True, "delivered")
    assert {pdr.pdi.network_instance for pdr in at_upf.rules.pdrs.values()} == {
        INSTANCE,
        "internet",
    }
    site.restore_twice(address)  # the establishment has the downlink tunnel at once
    site.upfs.silent = False
    site.upfs.serve()
    _, again = site.upfs.session(address)
    assert passing(again, both) == (True, "delivered")


@pytest.mark.parametrize("interfaces", [ANY, Interfaces(n3_instance="internet")])
def test_without_an_instance_of_n3_uplink_packets_have_the_dnn(interfaces: Interfaces) -> None:
    site = Site()
    _, at_upf = site.upfs.session(site.establish())
    assert leaves(at_upf.rules, interfaces)


def test_a_report_of_uplink_packets_pages_no_ue() -> None:
    """7.5.8.2: the Downlink Data Report of the uplink PDR is no downlink data."""
    site = Site()
    address = site.establish()
    site.idle()
    name, at_upf = site.upfs.session(address)
    before = site.world.ue()
    site.upfs.report(name, at_upf.cp.number, pdr=1)
    *_, pdu = site.world.pfcp.popleft()
    site.upfs.check_report_answer(pdu, at_upf)
    after = site.world.ue()
    assert (after.paging, after.sessions) == (None, before.sessions)
    assert not site.world.pages
    site.upfs.downlink_data(address)
    assert len(site.world.pages) == 1
    site.world.verify()
