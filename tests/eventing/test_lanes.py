"""Bounded concurrency, in the order of each key."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable

import pytest

from eventing.dispatcher.lanes import Lanes


class Site:
    """Work that ends when the test says so."""

    def __init__(self, width: int, rank: Callable[[str], int] = lambda _: 0) -> None:
        self.lanes: Lanes[str, str] = Lanes(self.work, width, lambda item: (rank(item), 0))
        self.gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.begun: list[str] = []

    async def work(self, item: str) -> bool:
        self.begun.append(item)
        await self.gates[item].wait()
        return not self.lanes.overtaken(item[0])

    async def let(self, *items: str) -> None:
        for item in items:
            self.gates[item].set()
        for _ in range(5):
            await asyncio.sleep(0)


async def test_one_key_in_order_and_several_at_a_time() -> None:
    site = Site(2)
    for item in ("a1", "a2", "b1", "c1"):
        site.lanes.put(item[0], item)
    await site.let()
    assert site.begun == ["a1", "b1"], "no more than two, and a2 not before a1 is done"
    await site.let("a1")
    assert site.begun == ["a1", "b1", "c1"], "who waited longest comes first"
    await site.let("b1")
    assert site.begun[3:] == ["a2"]
    assert site.lanes.items == ["a2", "c1"]
    await site.let("a2", "c1")
    await site.lanes.below(1)
    assert len(site.lanes) == 0


async def test_with_a_rank_the_first_comes_first() -> None:
    """Items that wait for an earlier item of another key must not occupy all places."""
    site = Site(1, rank=lambda item: int(item[1:]))
    for item in ("a3", "b2", "c1", "a4"):
        site.lanes.put(item[0], item)
    await site.let("a3", "b2", "c1", "a4")
    await site.lanes.below(1)
    assert site.begun == ["a3", "c1", "b2", "a3", "a4"]


async def test_an_earlier_item_that_is_put_later_goes_first() -> None:
    """The event of a dispatcher that died is delivered again behind later events of its UE."""
    site = Site(1, rank=lambda item: int(item[1:]))
    for item in ("a3", "a5"):
        site.lanes.put(item[0], item)
    await site.let()
    for item in ("a2", "a4"):
        site.lanes.put(item[0], item)
    await site.let("a2", "a3", "a4", "a5")
    await site.lanes.below(1)
    assert site.begun == ["a3", "a2", "a3", "a4", "a5"], "a3 waits for a2, and is given back"


async def test_an_earlier_item_of_another_key_gets_a_place() -> None:
    """Items that wait for an earlier item of another key give their places up."""
    site = Site(1, rank=lambda item: int(item[1:]))
    for item in ("a3", "b2"):
        site.lanes.put(item[0], item)
    await site.let("a3", "b2")
    await site.lanes.below(1)
    assert site.begun == ["a3", "b2", "a3"]


async def test_waiting_for_room() -> None:
    site = Site(1)
    for item in ("a1", "a2", "b1"):
        site.lanes.put(item[0], item)
    room = asyncio.ensure_future(site.lanes.below(2))
    await site.let("a1")
    assert not room.done()
    await site.let("b1")
    assert room.done()
    await site.let("a2")


async def test_what_is_cancelled_is_still_there() -> None:
    site = Site(1)
    for item in ("a1", "a2", "b1"):
        site.lanes.put(item[0], item)
    await site.let()
    await site.lanes.cancel()
    assert sorted(site.lanes.items) == ["a1", "a2", "b1"]
    assert site.begun == ["a1"]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(site.lanes.below(3), 0.01)


async def test_nothing_is_begun_once_it_is_cancelled() -> None:
    begun: list[str] = []
    entered = asyncio.Event()

    async def work(item: str) -> bool:
        begun.append(item)
        entered.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return True

    lanes: Lanes[str, str] = Lanes(work, 1, lambda _: (0, 0))
    for item in ("a1", "a2"):
        lanes.put("a", item)
    await entered.wait()
    await lanes.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert begun == ["a1"]


async def test_places_are_shared_by_senders() -> None:
    """A gNB with a hundred events does not delay those of another one."""
    begun: list[str] = []
    free = asyncio.Event()

    async def work(item: str) -> bool:
        begun.append(item)
        await free.wait()
        return True

    lanes: Lanes[str, str] = Lanes(work, 4, lambda item: (int(item[1:]), 0), lambda item: item[0])
    for number in range(100):
        lanes.put(f"h{number}", f"h{number}")
    for item in ("a200", "a201", "b202"):
        lanes.put(item, item)
    free.set()
    await lanes.below(1)
    assert {"a200", "a201", "b202"} <= set(begun[4:11]), "as soon as there are places"
    assert begun[:4] == ["h0", "h1", "h2", "h3"]
    assert [item for item in begun if item[0] == "h"] == [f"h{number}" for number in range(100)]
