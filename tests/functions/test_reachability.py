"""The mobile reachable and the implicit deregistration timer (TS 24.501 5.3.7)."""

import pytest
from msgspec.structs import replace

import wire
from schemas.gmm.events import Deregistered, ReachableUntil
from schemas.network import Timers
from schemas.step import Page, SendNgap, Wake, encode
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.site import MESSAGE, Site
from tests.functions.world import NETWORK, World

REACHABLE, IMPLICIT = "mobile-reachable", "implicit-deregistration"
T3512 = 3600
MARGIN = 240


@pytest.fixture
def phone() -> Phone:
    found = Phone(World())
    ng_setup(found.world)
    found.register()
    found.hear()
    return found


def timers(phone: Phone) -> set[str]:
    return set(phone.world.ue().timers)


def test_a_ue_that_is_never_heard_of_again_is_deregistered_without_a_word() -> None:
    site = Site()
    site.establish()
    site.idle()
    site.hear()
    assert timers(site.phone) == {REACHABLE}
    site.world.advance(T3512 + MARGIN - 1)
    assert timers(site.phone) == {REACHABLE}
    site.world.advance(2)
    assert timers(site.phone) == {IMPLICIT}
    site.world.advance(T3512 + MARGIN - 2)
    assert site.world.ue().registered
    site.world.advance(2)
    site.upfs.serve()
    ue = site.world.ue()
    assert (ue.registered, ue.sessions, ue.timers) == (False, (), {})
    assert site.upfs.rules == 0
    assert (site.hear(), list(site.world.pages)) == ([], [])
    site.world.verify()


def test_a_ue_is_waited_for_as_long_as_it_was_told(phone: Phone) -> None:
    """A changed T3512 applies from the next registration."""
    phone.world.reconfigure(replace(NETWORK, timers=Timers(t3512=60)))
    phone.idle()
    phone.world.advance(T3512 + MARGIN - 1)
    assert timers(phone) == {REACHABLE}
    phone.open_again(phone.request("periodic-registration-updating"))
    phone.finish()
    assert phone.world.ue().t3512 == 60
    phone.idle()
    phone.world.advance(2 * (60 + MARGIN) + 1)
    assert not phone.world.ue().registered
    phone.world.verify()


def test_the_implicit_deregistration_timer_can_be_configured() -> None:
    world = World(network=replace(NETWORK, timers=Timers(t3512=60, implicit_deregistration=5)))
    phone = Phone(world)
    phone.register()
    phone.idle()
    world.advance(60 + MARGIN + 4)
    assert world.ue().registered
    world.advance(2)
    assert not world.ue().registered
    phone.open_again(phone.service_request())
    assert phone.hear()[0]["5gmm-cause"] == "implicitly-deregistered"


@pytest.mark.parametrize("late", [False, True])
def test_a_periodic_registration_restarts_them(phone: Phone, *, late: bool) -> None:
    phone.idle()
    phone.world.advance(T3512 + (MARGIN + 60 if late else 0))
    assert timers(phone) == {IMPLICIT if late else REACHABLE}
    phone.open_again(phone.request("periodic-registration-updating"))
    assert timers(phone).isdisjoint({REACHABLE, IMPLICIT})
    phone.finish()
    phone.idle()
    phone.world.advance(T3512 + MARGIN - 1)
    assert timers(phone) == {REACHABLE}
    phone.world.advance(T3512 + MARGIN + 2)
    assert not phone.world.ue().registered
    phone.world.verify()


def test_a_connection_that_lasts_needs_no_timer(phone: Phone) -> None:
    steps = len(phone.world.steps[f"ue/{phone.supi}"])
    phone.world.advance(10 * T3512)
    assert phone.world.ue().registered
    assert len(phone.world.steps[f"ue/{phone.supi}"]) == steps


def test_no_paging_after_the_mobile_reachable_timer() -> None:
    """The report is acknowledged, and remembered in case the UE returns."""
    site = Site()
    address = site.establish()
    site.idle()
    site.world.advance(T3512 + MARGIN + 1)
    assert timers(site.phone) == {IMPLICIT}
    site.upfs.downlink_data(address)
    assert not site.world.pages
    site.world.advance(1000)
    assert not site.world.pages
    assert timers(site.phone) == {IMPLICIT}
    site.service_request("signalling")
    site.set_up("InitialContextSetup")
    assert site.session().user_plane == "on"
    site.world.verify()


def test_the_release_to_idle_costs_one_event_and_one_wake_up(phone: Phone) -> None:
    """It replaces the wake-up for the gNB's response, so that no wake-up is useless."""
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    phone.hear()
    steps = phone.world.steps[f"ue/{phone.supi}"]
    phone.ngap("UEContextReleaseComplete")
    last = steps[-1]
    (started,) = [e for e in last.events if isinstance(e, ReachableUntil)]
    (wake,) = [output for output in last.outputs if isinstance(output, Wake)]
    assert last.outputs == (wake,)
    assert wake == Wake(phone.world.now + (T3512 + MARGIN) * 1000, "deregistration")
    assert started.at == wake.at == phone.world.ue().wake_at
    assert len(encode(started)) + len(encode(wake)) <= 90
    count = len(steps)
    phone.world.advance(60)
    assert len(steps) == count


def test_an_idle_ue_with_sessions_has_one_too(phone: Phone) -> None:
    del phone
    site = Site()
    site.establish()
    steps = site.world.steps[f"ue/{site.phone.supi}"]
    site.idle()
    assert [sum(isinstance(e, ReachableUntil) for e in s.events) for s in steps[-2:]] == [0, 1]
    count = len(steps)
    site.world.advance(60)
    assert len(steps) == count


def test_a_upf_that_does_not_answer_keeps_no_ue_registered() -> None:
    site = Site()
    site.establish()
    site.upfs.silent = True
    site.idle()
    site.world.advance(3 * (T3512 + MARGIN))
    assert not site.world.ue().registered


def test_a_deregistered_ue_has_none(phone: Phone) -> None:
    phone.say(phone.deregistration())
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    assert timers(phone) == set()


def test_an_impostor_stops_them_and_they_start_again(phone: Phone) -> None:
    phone.idle()
    impostor = Phone(phone.world)
    impostor.ran_id, impostor.guti, impostor.ngksi = 99, phone.guti, phone.ngksi
    impostor.initial(wire.nas_encode(impostor.request()))
    assert REACHABLE not in timers(phone)
    impostor.hear()
    impostor.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    impostor.hear()
    impostor.ngap("UEContextReleaseComplete")
    assert timers(phone) == {REACHABLE}
    phone.world.verify()


def test_wake_ups_are_all_that_is_needed(phone: Phone) -> None:
    """No host has to remember an idle UE: each step schedules the next wake-up."""
    phone.idle()
    steps = phone.world.steps[f"ue/{phone.supi}"]
    phone.world.advance(2 * (T3512 + MARGIN) + 1)
    assert not phone.world.ue().registered
    last = steps[-1]
    assert last.trigger.type == "org.evcore.ue.timer"
    assert any(isinstance(e, Deregistered) for e in last.events)
    assert not any(isinstance(o, SendNgap | Page) for o in last.outputs)
    assert [m[MESSAGE] for m in phone.hear()] == []
