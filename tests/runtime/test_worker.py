"""Complete scenarios of UEs through workers: the log equals that of the core in memory."""

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from eventing.ownership.leases import Membership
from schemas.cloudevents import CloudEvent
from schemas.procedures import Procedure
from tests.eventing.brokers import until
from tests.runtime.plant import ALL, BUS, Heard, Plant, listen, running
from tests.runtime.script import GNB_AGGREGATE, Lane, Script, Stretch

in_batches = pytest.mark.parametrize("together", [False, True], ids=["by themselves", "in batches"])
"""Each event in its own message, or the events of one consumer in one message."""


async def holds(plant: Plant) -> None:
    """Assert that all events are acknowledged without dead letters, and that the log is right."""
    await plant.idle()
    assert await plant.letters() == []
    await plant.store.holds(plant.script)


@pytest.mark.parametrize(
    "groups",
    [
        (ALL,),
        (ALL, ALL, ALL),
        tuple((procedure,) for procedure in ALL),
        (ALL[:2], ALL[2:], (Procedure.REGISTRATION,)),
    ],
    ids=["one", "three alike", "one for each procedure", "some of each"],
)
@in_batches
async def test_workers_share_the_procedures_in_any_way(
    plant: Plant, together: bool, groups: tuple[tuple[Procedure, ...], ...]
) -> None:
    plant.together = together
    for procedures in groups:
        await plant.worker(procedures)
    await plant.play_all()
    await holds(plant)


async def test_what_was_sent_before_there_was_a_worker_is_taken(plant: Plant) -> None:
    """The events wait in the streams until the first worker starts."""
    first = [stretch.events for stretch in (lane[0] for lane in plant.script.lanes)]
    for events in first:
        await plant.publish(events)
    await plant.worker()
    await plant.play_all()
    await holds(plant)


@pytest.mark.parametrize("alone", [True, False])
async def test_a_ue_that_was_identified_goes_by_the_bus_only_to_another(
    plant: Plant, alone: bool
) -> None:
    first = Procedure.IDENTIFICATION
    others = tuple(procedure for procedure in ALL if procedure != first)
    onward: list[Heard] = []
    await listen(plant.client, "ue.>", onward)
    for procedures in (ALL,) if alone else ((first,), others):
        await plant.worker(procedures)
    await plant.play_all()
    await holds(plant)
    times = Counter(heard.id for heard in onward)
    concealed = {heard.id for heard in onward if heard.subject.split(".")[2] == first}
    assert concealed
    assert {times[one] for one in concealed} == {1 if alone else 2}


def thrice(lane: Lane, rng: random.Random) -> Lane:
    """Return a lane with each event three times. The first ones are in order, the copies in any."""
    return [Stretch(_thrice(stretch.events, rng), stretch.heads) for stretch in lane]


def _thrice(events: list[CloudEvent], rng: random.Random) -> list[CloudEvent]:
    places = rng.sample([*range(len(events))] * 3, len(events) * 3)
    first = {place: number for number, place in enumerate(dict.fromkeys(places))}
    return [events[first[place]] for place in places]


@pytest.mark.parametrize("seed", range(3))
@in_batches
async def test_each_event_three_times_with_its_copies_in_any_order(
    plant: Plant, together: bool, seed: int
) -> None:
    plant.together = together
    rng = random.Random(seed)
    await plant.worker()
    await plant.play(plant.script.lanes[0])
    await plant.play(*(thrice(lane, rng) for lane in plant.script.lanes[1:]))
    await holds(plant)


async def churn(plant: Plant, kill: bool, over: asyncio.Event) -> None:
    """Start and stop workers, two or three at a time, until the block ends."""
    working = [await plant.worker() for _ in range(2)]
    while not over.is_set():
        working.append(await plant.worker())
        await some_steps(plant, over)
        goes = working.pop(0)
        await (goes.kill() if kill else goes.stop())


async def some_steps(plant: Plant, over: asyncio.Event | None = None) -> None:
    before = sum((await plant.store.heads()).values())

    async def more() -> bool:
        ended = over is not None and over.is_set()
        return ended or sum((await plant.store.heads()).values()) > before + 3

    await until(more)


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
@in_batches
async def test_partitions_change_hands_in_the_middle(
    impatient: Plant, together: bool, kill: bool
) -> None:
    impatient.together = together
    over = asyncio.Event()
    going = asyncio.ensure_future(churn(impatient, kill, over))
    try:
        await impatient.play_all()
    finally:
        over.set()
        await going
    await impatient.worker()
    await holds(impatient)


async def test_a_worker_decides_nothing_of_partitions_that_another_has(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pull requests stay open for seconds."""
    asked: Counter[Membership] = Counter()

    def owned(self: Membership, partitions: int, _: object) -> list[tuple[str, int]]:
        asked[self] += 1
        if self is not [*asked][-1]:
            return []
        return [(procedure, number) for procedure in ALL for number in range(partitions)]

    monkeypatch.setattr(Membership, "owned", owned)
    before = await plant.worker()
    await until(lambda: len(asked) == 1)
    await plant.worker()
    await until(lambda: len(asked) == 2)
    (first, count), _ = asked.items()
    await until(lambda: asked[first] >= count + 2)  # partitions are released at the second call
    await plant.play_all()
    await holds(plant)
    assert before.store.appended == []


async def test_the_broker_is_killed_in_the_middle(tmp_path: Path, script: Script) -> None:
    """It loses the delivery counts: late copies then count as errors of the gNB.

    An event that waits for its turn must also wait for the broker.
    """
    async with running(tmp_path, script, replace(BUS, ack_wait=2.0)) as plant:
        await plant.worker()
        await plant.play(*script.lanes[:3])
        playing = asyncio.ensure_future(plant.play(*script.lanes[3:]))
        await some_steps(plant)
        await plant.bus.restart(kill=True)
        await playing
        await until(lambda: plant.client.is_connected)
        await plant.idle()
        assert await plant.letters() == []
        heads, story = await plant.store.heads(), await plant.store.story()
    expected = {**script.heads, GNB_AGGREGATE: heads[GNB_AGGREGATE]}
    assert heads == expected, heads
    assert {**story, GNB_AGGREGATE: story[GNB_AGGREGATE][:1]} == script.story()
