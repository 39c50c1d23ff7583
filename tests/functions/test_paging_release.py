"""Downlink packets during the release of the connection (TS 23.502 4.2.6, 4.2.3.3)."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.aggregates import ue_aggregate
from schemas.ue.waking import IMPLICIT_DEREGISTRATION
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.functions.world import N4_NETWORK

T3513 = N4_NETWORK.timers.t3513


def releasing() -> tuple[Site, str]:
    """Return a UE whose gNB has the UE CONTEXT RELEASE COMMAND and has not answered it."""
    site = Site()
    address = site.establish()
    site.phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    assert site.hear()[-1]["message-type"] == "UEContextReleaseCommand"
    site.upfs.serve()
    assert site.session().n4.downlink is None  # the UPF buffers
    return site, address


def answered(site: Site) -> None:
    """Let the UE answer the paging, and check that it gets its packets."""
    site.service_request("mobile-terminated-services")
    site.set_up("InitialContextSetup")
    session = site.session()
    assert (session.user_plane, session.reported) == ("on", 0)
    assert session.n4.downlink == session.access
    assert site.world.ue().paging is None
    assert "T3513" not in site.world.ue().timers
    site.world.verify()


def test_the_ue_is_paged_when_the_release_has_completed() -> None:
    site, address = releasing()
    site.upfs.downlink_data(address)
    assert not site.world.pages
    site.phone.ngap("UEContextReleaseComplete")
    assert len(site.world.pages) == 1
    paging = site.world.ue().paging
    assert paging is not None
    assert (paging.waits, paging.seids) == (False, (site.session().n4.seid,))
    site.world.advance(T3513 + 0.1)
    assert len(site.world.pages) == 2  # repeated after T3513, counted from the first PAGING
    answered(site)


def test_the_packets_of_a_second_session_wait_too() -> None:
    site = Site()
    one, two = site.establish(1), site.establish(2)
    site.phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    site.hear()
    site.upfs.serve()
    site.upfs.downlink_data(one)
    site.upfs.downlink_data(two)
    assert not site.world.pages
    site.phone.ngap("UEContextReleaseComplete")
    assert len(site.world.pages) == 1
    paging = site.world.ue().paging
    assert paging is not None
    assert set(paging.seids) == {site.session(1).n4.seid, site.session(2).n4.seid}
    site.world.verify()


def test_a_gnb_that_does_not_answer_the_command_delays_no_paging() -> None:
    site, address = releasing()
    site.upfs.downlink_data(address)
    site.world.advance(T3513 + 0.1)
    assert len(site.world.pages) == 1
    answered(site)


def test_a_lost_association_is_a_release_too() -> None:
    """The UE is paged by the gNBs that are left: here by none, until T3513."""
    site, address = releasing()
    site.upfs.downlink_data(address)
    site.world.lose()
    ue = site.world.ue()
    assert ue.connection is None
    assert ue.paging is not None
    assert not ue.paging.waits
    assert "T3513" in ue.timers
    site.world.verify()


def test_a_ue_that_comes_by_itself_is_not_paged() -> None:
    site, address = releasing()
    site.upfs.downlink_data(address)
    site.service_request("signalling")
    assert not site.world.pages
    site.set_up("InitialContextSetup")
    assert site.world.ue().paging is None
    assert site.session().user_plane == "on"  # the packets are delivered nevertheless
    site.world.verify()


@pytest.mark.parametrize("failed", [False, True])
def test_a_paging_without_t3513_does_not_last(failed: bool) -> None:
    """A decision that fails stops all timers. The next event of the UE mends it."""
    site = Site()
    address = site.establish()
    site.idle()
    site.upfs.downlink_data(address)
    name = ue_aggregate(site.phone.supi)
    ue: Any = site.world.ue()
    paging = replace(ue.paging, failed=failed)
    site.world.states[name] = replace(ue, timers={}, paging=paging)
    upf, at_upf = site.upfs.session(address)
    site.upfs.report(upf, at_upf.cp.number)
    site.upfs.serve()
    assert site.world.ue().paging is None
    before = len(site.world.pages)
    site.world.advance(T3513 * 10 + 1)
    assert len(site.world.pages) > before


def test_a_paging_proceed_flag_that_was_clear() -> None:
    """TS 24.501 5.3.7: a connection stops the implicit deregistration timer, an impostor's too. The
    packets that no paging was sent for are not forgotten."""
    site = Site()
    address = site.establish()
    site.idle()
    site.world.advance(N4_NETWORK.timers.t3512 + 240 + 61)
    assert IMPLICIT_DEREGISTRATION in site.world.ue().timers
    site.upfs.downlink_data(address)
    paging = site.world.ue().paging
    assert paging is not None
    assert (paging.failed, len(site.world.pages)) == (True, 0)
    impostor = Phone(site.world)
    impostor.ran_id, impostor.guti, impostor.ngksi = 99, site.phone.guti, site.phone.ngksi
    impostor.initial(wire.nas_encode(impostor.request()))
    impostor.hear()
    impostor.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    impostor.hear()
    impostor.ngap("UEContextReleaseComplete")
    site.upfs.serve()
    assert IMPLICIT_DEREGISTRATION not in site.world.ue().timers
    site.world.advance(T3513 * 10 + 1)
    assert len(site.world.pages) >= 1
    site.world.verify()
