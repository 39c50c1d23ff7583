"""An INITIAL UE MESSAGE that is decided after a newer one of the same UE."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from schemas.cloudevents import CloudEvent
from schemas.event import Noted
from schemas.position import Position
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.world import subscriber


class Stream(CheckedWorld):
    """A world in which each event has a position. An event can be delayed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.delays = False
        self.delayed: list[CloudEvent] = []

    def deliver(self, event: CloudEvent) -> None:
        stored = replace(event, position=Position(self.count, 0, self.now))
        if self.delays:
            self.delayed.append(stored)
        else:
            super().deliver(stored)

    def deliver_late(self, *, stored_late: bool = False) -> None:
        """Deliver the delayed events. `stored_late` is for a gateway that could not publish them
        before: they stand behind all others in the stream."""
        self.delays = False
        for event in self.delayed:
            if stored_late:
                self.deliver(event)
            else:
                super().deliver(event)


@pytest.fixture
def world() -> Stream:
    made = Stream(subscriber(1))
    ng_setup(made)
    made.sent()
    return made


def deregister(phone: Phone) -> None:
    phone.open_again(phone.deregistration(switch_off=True), ran_id=8)


def register(phone: Phone) -> None:
    phone.open_again(phone.request(), ran_id=8)


def request_service(phone: Phone) -> None:
    phone.open_again(phone.service_request(), ran_id=8)


def register_by_suci(phone: Phone) -> None:
    phone.ran_id = 8
    request = {**phone.request(), "5gs-mobile-identity": phone.identity("A")}
    phone.initial(wire.nas_encode(request))


@pytest.mark.parametrize("earlier", [deregister, register, register_by_suci])
@pytest.mark.parametrize("still_connected", [True, False])
def test_it_does_not_act_on_the_newer_connection(
    world: Stream, earlier: Any, still_connected: bool
) -> None:
    phone = Phone(world)
    phone.register()
    phone.idle()
    world.delays = True
    earlier(phone)
    world.delays = False
    world.now += 10
    phone.open_again(phone.service_request(), ran_id=9)
    phone.hear()
    if not still_connected:
        phone.idle()
    before = world.ue()
    world.deliver_late()
    assert world.sent() == []
    assert world.ue() == before
    last = world.steps["ue/imsi-001010000000001"][-1]
    assert last.events == (Noted("the UE has opened a newer connection since"),)


def test_without_proof_a_connection_supersedes_nothing(world: Stream) -> None:
    """Anybody can send an INITIAL UE MESSAGE in the name of a UE."""
    phone = Phone(world)
    phone.register()
    phone.idle()
    world.delays = True
    phone.open_again(phone.service_request(), ran_id=8)
    world.delays = False
    attacker = Phone(world)
    attacker.guti, attacker.ran_id = phone.guti, 99
    attacker.initial(wire.nas_encode(attacker.request()))
    world.sent()
    world.deliver_late()
    assert phone.hear()[-1]["message-type"] == "service-accept"


@pytest.mark.parametrize("earlier", [deregister, register, register_by_suci, request_service])
def test_it_does_not_take_over_if_it_was_stored_late(world: Stream, earlier: Any) -> None:
    """Its NAS COUNT is lower than one that was accepted (TS 24.501 4.4.3.2), so it proves nothing.

    The UE has left its connection, and answers no challenge there.
    """
    phone = Phone(world)
    phone.register()
    phone.idle()
    world.delays = True
    earlier(phone)
    world.delays = False
    phone.open_again(phone.service_request(), ran_id=9)
    phone.hear()
    before = world.ue()
    world.deliver_late(stored_late=True)
    late = world.ue()
    assert (late.connection, late.security) == (before.connection, before.security)
    assert late.proved_at == before.proved_at
    world.advance(60)
    after = world.ue()
    assert (after.connection, after.parked, after.stale) == (before.connection, (), ())
    assert after.registered
    world.sent()
    phone.ran_id = 9
    phone.say(phone.service_request())
    assert phone.hear()[-1]["message-type"] == "service-accept"
    world.verify()
