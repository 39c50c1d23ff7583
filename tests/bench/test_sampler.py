"""Counters of processes that start and end, divided at two times."""

import asyncio
import os
import time

from bench.kernel import switches_of
from bench.sampler import Counters, Sampler


class Machine:
    """Processes with counters that the test sets."""

    def __init__(self) -> None:
        self.counters: dict[int, Counters] = {1: (10.0, 1.0)}
        self.looks = asyncio.Event()
        self.group = [1]

    def pids(self) -> dict[str, list[int]]:
        self.looks.set()
        return {"workers": self.group, "loadgen": []}

    async def looked(self) -> float:
        """Return a time at which the sampler has seen the current counters."""
        await self._looks(2)
        when = time.time()
        await self._looks(1)
        return when

    async def _looks(self, times: int) -> None:
        for _ in range(times):
            self.looks.clear()
            await self.looks.wait()


async def test_what_was_used_between_two_times() -> None:
    machine = Machine()
    sampler = Sampler(machine.pids, machine.counters.get)
    async with sampler.running():
        begun = await machine.looked()
        machine.counters[1] = (14.0, 3.0)
        ended = await machine.looked()
        machine.counters[1] = (99.0, 9.0)
        await machine.looked()
    assert sampler.between(begun, ended) == {"workers": (4.0, 2.0), "loadgen": ()}


async def test_a_process_that_comes_later_began_at_nothing_and_one_that_goes_keeps_its_share() -> (
    None
):
    machine = Machine()
    sampler = Sampler(machine.pids, machine.counters.get)
    async with sampler.running():
        begun = await machine.looked()
        machine.group.append(2)
        machine.counters[2] = (5.0, 5.0)
        await machine.looked()
        del machine.counters[2]
        ended = await machine.looked()
    assert sampler.between(begun, ended)["workers"] == (5.0, 5.0)


async def test_a_thread_that_ends_takes_nothing_back() -> None:
    machine = Machine()
    sampler = Sampler(machine.pids, machine.counters.get)
    async with sampler.running():
        begun = await machine.looked()
        machine.counters[1] = (8.0, 5.0)
        await machine.looked()
        machine.counters[1] = (9.0, 6.0)
        ended = await machine.looked()
    assert sampler.between(begun, ended)["workers"] == (1.0, 5.0)


async def test_between_two_looks_use_is_as_time() -> None:
    machine = Machine()
    sampler = Sampler(machine.pids, machine.counters.get)
    async with sampler.running():
        begun = await machine.looked()
        machine.counters[1] = (20.0, 1.0)
        ended = await machine.looked()
    whole = sampler.between(begun, ended)["workers"][0]
    halves = [
        sampler.between(begun, (begun + ended) / 2)["workers"][0],
        sampler.between((begun + ended) / 2, ended)["workers"][0],
    ]
    assert abs(sum(halves) - whole) < 1e-6


def test_context_switches_only_grow() -> None:
    before = switches_of(os.getpid())
    os.sched_yield()
    after = switches_of(os.getpid())
    assert before is not None
    assert after is not None
    assert sum(after) >= sum(before) > 0


def test_a_process_that_is_gone_has_no_counters() -> None:
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(child, 0)
    assert switches_of(child) is None
