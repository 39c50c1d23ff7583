"""UEs in every state of the core, each reached in the shortest way."""

from collections.abc import Callable
from typing import Any

import wire
from functions.decider import Inputs
from schemas.cloudevents import CloudEvent
from schemas.procedures import Procedure
from tests.functions import operator
from tests.functions.checked import CheckedWorld
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.world import subscriber

MESSAGE = "message-type"
FOREIGN = {"plmn": "999-99", "amf-region-id": 9, "amf-set-id": 9, "amf-pointer": 9, "tmsi": 1}


class SlowWorld(CheckedWorld):
    """A world that can hold back events for `identification`, and can fail decisions."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.hold = False
        self.held: list[CloudEvent] = []
        self.poisoned = False

    def inputs(self, name: str) -> Inputs:
        return super().inputs(name)._replace(poisoned=self.poisoned)

    def _processed(self, event: CloudEvent) -> None:
        if self.hold and event.procedure == Procedure.IDENTIFICATION:
            self.held.append(event)
        else:
            super()._processed(event)


def fresh() -> Phone:
    world = SlowWorld(subscriber(1), subscriber(2, k=bytes(16)))
    ng_setup(world)
    return Phone(world)


def asked() -> Phone:
    """A foreign 5G-GUTI: the UE is unidentified."""
    phone = fresh()
    phone.guti = FOREIGN
    phone.initial(wire.nas_encode(phone.request()))
    phone.hear()
    return phone


def given_away() -> Phone:
    """The SUCI is concealed, and `identification` has the event."""
    phone = asked()
    phone.world.hold = True  # pyright: ignore[reportAttributeAccessIssue]
    phone.say({MESSAGE: "identity-response", "mobile-identity": phone.identity("A")}, 0)
    return phone


def challenged() -> Phone:
    phone = fresh()
    phone.initial(wire.nas_encode(phone.request()))
    return phone


def securing() -> Phone:
    phone = challenged()
    phone.authenticate()
    return phone


def accepted() -> Phone:
    phone = securing()
    phone.hear()
    phone.say({MESSAGE: "security-mode-complete"}, 4)
    phone.hear()
    return phone


def registered() -> Phone:
    phone = fresh()
    phone.register()
    return phone


def unconfirmed() -> Phone:
    """Registered after the fifth expiry of T3550."""
    phone = accepted()
    phone.ngap("InitialContextSetupResponse")
    phone.world.advance(60)
    phone.hear()
    return phone


def idle() -> Phone:
    phone = registered()
    phone.idle()
    phone.ran_id = 9
    return phone


def deregistered() -> Phone:
    phone = registered()
    phone.say(phone.deregistration())
    phone.hear()
    phone.ngap("UEContextReleaseComplete")
    phone.ran_id = 9
    return phone


def challenged_by_guti() -> Phone:
    phone = idle()
    phone.initial(wire.nas_encode(phone.request()))
    return phone


def failed_by_guti() -> Phone:
    """The response was wrong, and the UE was asked for its identity."""
    phone = challenged_by_guti()
    phone.hear()
    phone.say({MESSAGE: "authentication-failure", "5gmm-cause": "mac-failure"}, 0)
    phone.hear()
    return phone


def reauthenticating() -> Phone:
    """A registration of another type on a secure connection."""
    phone = registered()
    phone.say(phone.request("mobility-registration-updating", ngksi="no-key"))
    return phone


def moved() -> Phone:
    """A second registration, while the previous connection still exists."""
    phone = registered()
    phone.ran_id, phone.guti, phone.ngksi, phone.security = 9, None, 7, None
    phone.initial(wire.nas_encode(phone.request()))
    return phone


def attacked() -> Phone:
    """Others claimed to be the connected UE, without authentication."""
    phone = registered()
    for ran_id in range(60, 66):
        other = Phone(phone.world)
        other.ran_id, other.guti = ran_id, phone.guti
        deregisters = ran_id % 2 == 0
        tree = other.deregistration() if deregisters else other.request()
        other.initial(wire.nas_encode(tree))
    phone.hear()
    return phone


def deregistering() -> Phone:
    """A deregistration without a MAC, and a pending challenge."""
    phone = idle()
    phone.initial(wire.nas_encode(phone.deregistration()))
    return phone


def deregistering_secured() -> Phone:
    phone = deregistering()
    phone.authenticate()
    return phone


def releasing() -> Phone:
    phone = registered()
    phone.ngap("UEContextReleaseRequest", Cause={"radioNetwork": "user-inactivity"})
    return phone


def commanded() -> Phone:
    """A CONFIGURATION UPDATE COMMAND with a new 5G-GUTI, without its COMPLETE."""
    phone = idle()
    phone.open_again(phone.service_request("mobile-terminated-services"))
    phone.hear()
    phone.ngap("InitialContextSetupResponse")
    assert "T3555" in phone.world.ue().timers
    return phone


def asked_to_leave() -> Phone:
    """A DEREGISTRATION REQUEST of the network, without its ACCEPT."""
    phone = registered()
    operator.deregister(phone.world, phone.supi, reregister=True)
    assert "T3522" in phone.world.ue().timers
    return phone


def paged_to_leave() -> Phone:
    """The network pages the UE, to deregister it."""
    phone = idle()
    operator.deregister(phone.world, phone.supi, cause=12)
    assert "T3513" in phone.world.ue().timers
    return phone


def overdue() -> Phone:
    """The mobile reachable timer has expired, and the UE is no longer paged."""
    phone = idle()
    phone.world.advance(3900)
    assert "implicit-deregistration" in phone.world.ue().timers
    return phone


STATES: dict[str, Callable[[], Phone]] = {
    build.__name__: build
    for build in (
        fresh,
        asked,
        given_away,
        challenged,
        securing,
        accepted,
        registered,
        unconfirmed,
        idle,
        deregistered,
        challenged_by_guti,
        failed_by_guti,
        reauthenticating,
        moved,
        attacked,
        deregistering,
        deregistering_secured,
        releasing,
        commanded,
        asked_to_leave,
        paged_to_leave,
        overdue,
    )
}
