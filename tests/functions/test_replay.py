"""Consistency of logs: folds, repeated decisions, copies of events, and events out of order."""

import hashlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.decider import Inputs
from functions.decision.ue_decision import UeDecision
from functions.runtime import resolve
from functions.runtime.turn import is_early
from functions.ue import dispatch
from schemas.cloudevents import CloudEvent
from schemas.step import Step, encode
from schemas.ue.fold import fold
from tests.functions.states import STATES
from tests.functions.test_fuzz_ue import CASUAL, shoot, shots
from tests.functions.world import World, subscriber
from tests.histories.scenarios import SCENARIOS, at_a_gnb


@pytest.mark.parametrize("state", STATES)
@CASUAL
@given(fired=st.lists(shots, max_size=3))
def test_the_fold_of_the_events_is_the_state_that_was_decided_with(
    state: str, fired: list[tuple[Any, ...]]
) -> None:
    drafts: list[tuple[Any, UeDecision]] = []

    class Kept(UeDecision):
        def __init__(self, ue: Any, env: Any, trigger: CloudEvent) -> None:
            super().__init__(ue, env, trigger)
            drafts.append((ue, self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "UeDecision", Kept)
        phone = STATES[state]()
        for shot in fired:
            shoot(phone, shot)
    assert phone.world.order
    for before, draft in drafts:
        assert encode(fold(before, draft.events)) == encode(draft.ue)


class Recording(World):
    """A world with entropy that depends only on the event, so that it is the same in any order."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.taking = ""
        self.arrived: list[CloudEvent] = []

    def uplink_pdu(self, pdu: bytes, *where: str, **more: str) -> None:
        event = self.route(pdu, *where, **more)
        self.arrived.append(event)
        self.deliver(event)

    def _processed(self, event: CloudEvent) -> None:
        self.taking = event.id
        super()._processed(event)

    def inputs(self, name: str) -> Inputs:
        entropy = hashlib.sha256(f"{name} {self.taking}".encode()).digest()
        return super().inputs(name)._replace(entropy=entropy)


class Shuffled(Recording):
    """A world in which early events wait for their turn, as in a worker."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.waiting: dict[str, list[CloudEvent]] = defaultdict(list)

    def _processed(self, event: CloudEvent) -> None:
        name = self.owners.get(("ngap", event.partitionkey), "")
        if is_early(event, self.states.get(name), 0):
            self.waiting[event.partitionkey].append(event)
            return
        super()._processed(event)
        ready = self.waiting.pop(event.partitionkey, [])
        self.events.extend(sorted(ready, key=lambda held: held.sequence or 0))


def back_to_back() -> World:
    """Return a world in which the gNB sent several messages of a UE at once."""
    world = Recording(subscriber(1), subscriber(2))
    phone = at_a_gnb(world)
    phone.register("A")
    for _ in range(3):
        phone.ngap("UERadioCapabilityInfoIndication", UERadioCapability="c0ffee")
    phone.requested = [{"sst": 1, "sd": "010203"}]
    phone.say(phone.request("mobility-registration-updating"))
    phone.finish()
    phone.say(phone.deregistration())
    phone.ngap("UEContextReleaseComplete")
    return world


LIFE = back_to_back()
assert isinstance(LIFE, Recording)
ARRIVED = LIFE.arrived


def states(world: World) -> dict[str, bytes]:
    return {name: encode(state) for name, state in world.states.items()}


def swappable(first: CloudEvent, second: CloudEvent) -> bool:
    """Whether the gNB may have sent the second event before a response to the first."""
    keys = {first.partitionkey, second.partitionkey}
    return len(keys) == 1 and first.partitionkey.startswith("ngap-")


@CASUAL
@given(
    swapped=st.sets(st.integers(0, len(ARRIVED) - 2)),
    doubled=st.lists(st.tuples(st.integers(0, len(ARRIVED) - 1), st.integers(0, 8)), max_size=12),
)
def test_events_twice_and_out_of_order_leave_the_same_state(
    swapped: set[int], doubled: list[tuple[int, int]]
) -> None:
    order = list(range(len(ARRIVED)))
    for index in sorted(swapped):
        if swappable(ARRIVED[order[index]], ARRIVED[order[index + 1]]):
            order[index : index + 2] = order[index + 1], order[index]
    for index, later in doubled:
        order.insert(order.index(index) + 1 + later, index)
    world = Shuffled(subscriber(1), subscriber(2))
    for index in order:
        world.deliver(ARRIVED[index])
    assert not any(world.waiting.values())
    assert states(world) == states(LIFE)
    for name, steps in world.steps.items():
        triggers = [step.trigger.id for step in steps]
        assert len(set(triggers)) == len(triggers), "an event is in a log twice"
        assert triggers == [step.trigger.id for step in LIFE.steps[name]]
    world.verify()


def too_late(world: World, event: CloudEvent) -> bool:
    """Whether a copy has a 5G-TMSI that is two re-allocations old (decision 0006)."""
    return event.partitionkey.startswith("tmsi-") and resolve.entry(event) not in world.owners


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_every_event_of_a_run_once_more_changes_nothing(scenario: Callable[[], World]) -> None:
    world = scenario()
    before, steps = states(world), len(world.order)
    recorded: list[Step[Any]] = [step for _, step in world.order]
    for step in recorded:
        if not too_late(world, step.trigger):
            world.deliver(step.trigger)
    assert (states(world), len(world.order)) == (before, steps)
