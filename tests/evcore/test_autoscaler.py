"""Scaling workers from zero and back to zero by the length of the queues; failing workers."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from evcore.local import autoscaler
from evcore.local.autoscaler import Autoscaler
from evcore.local.data import DataDirectory
from evcore.local.group import Group, Scale
from evcore.local.lag import Queue
from evcore.local.process import Process
from eventing.stats import Batches, Stats, StatsWatch
from schemas.config.objectives import Objectives
from schemas.procedures import Procedure
from tests.servers import nats_client

RAN = Group("ran", (Procedure.RAN,), max_workers=3, target=10, cooldown=0.0)
PAUSES = (sys.executable, "-c", "import signal; signal.pause()")
FAILS = (sys.executable, "-c", "import sys; print('no way', file=sys.stderr); sys.exit(5)")


class Plant:
    """An autoscaler with queue lengths that a test sets."""

    def __init__(
        self,
        folder: Path,
        client: Client,
        group: Group,
        command: tuple[str, ...],
        objectives: Objectives | None,
    ) -> None:
        self.waits = 0
        self.arrived = 0
        self.stats = StatsWatch()
        self.looks: asyncio.Queue[int] = asyncio.Queue()
        self.changes: asyncio.Queue[Scale] = asyncio.Queue()
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.client = client

        async def start(name: str, arguments: Sequence[str], log: Path) -> Process:
            return await Process.start(name, [*command, *arguments], log)

        self.scaler = Autoscaler(
            (group,),
            DataDirectory(folder),
            client,
            self.changes.put_nowait,
            self.ends.put_nowait,
            start,
            objectives=objectives,
            stats=self.stats,
        )

    async def queues(self, _: str) -> dict[str, Queue]:
        self.looks.put_nowait(self.waits)
        return {Procedure.RAN: Queue(self.waits, self.arrived)}

    def says(self, worker: Process, cost: float) -> None:
        """Set the service time of an event, as a worker measured it."""
        self.stats.note(Stats("w", "1", worker.pid, batches=Batches(10, 1000, 1000 * cost)))

    async def becomes(self, workers: int) -> None:
        """Wait until this number of workers runs."""
        while (await self.changes.get()).workers != workers:
            pass

    async def looked(self, times: int) -> None:
        for _ in range(times):
            await self.looks.get()


@asynccontextmanager
async def scaling(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    group: Group = RAN,
    command: tuple[str, ...] = PAUSES,
    objectives: Objectives | None = None,
) -> AsyncGenerator[Plant]:
    monkeypatch.setattr(autoscaler, "POLL", 0.01)
    async with nats_client(folder) as client:
        plant = Plant(folder, client, group, command, objectives)
        monkeypatch.setattr(autoscaler, "queues", plant.queues)
        task = asyncio.create_task(plant.scaler.run())
        try:
            yield plant
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await plant.scaler.stop()
            assert plant.scaler.workers == []


async def test_as_many_as_the_queue_asks_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scaling(home, monkeypatch) as plant:
        await plant.looked(2)
        assert plant.scaler.workers == []
        plant.waits = 1
        await plant.becomes(1)
        plant.waits = 11
        await plant.becomes(2)
        plant.waits = 1000
        await plant.becomes(3)
        plant.waits = 0
        await plant.becomes(0)
        assert [s.workers for s in plant.scaler.history] == [0, 1, 2, 3, 0]


async def test_workers_stay_while_they_cool_down(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are not stopped one by one: the queue may fill again at once."""
    group = Group("ran", (Procedure.RAN,), max_workers=3, target=10, cooldown=3600.0)
    async with scaling(home, monkeypatch, group) as plant:
        plant.waits = 25
        await plant.becomes(3)
        plant.waits = 0
        await plant.looked(5)
        assert len(plant.scaler.workers) == 3


async def test_an_event_wakes_a_group_at_zero_without_a_look(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scaling(home, monkeypatch) as plant:
        await plant.looked(1)
        monkeypatch.setattr(autoscaler, "POLL", 3600.0)
        await plant.looked(1)
        await plant.client.publish("ue.3.ran.n2.77", b"")
        await plant.becomes(1)


async def test_a_worker_that_is_killed_is_replaced_at_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scaling(home, monkeypatch) as plant:
        plant.waits = 1
        await plant.becomes(1)
        (worker,) = plant.scaler.workers
        monkeypatch.setattr(autoscaler, "POLL", 3600.0)
        await plant.looked(1)
        worker.kill()
        assert await plant.ends.get() == "worker-ran-1 was ended by SIGKILL"
        await plant.becomes(1)
        assert plant.scaler.workers != [worker]


async def test_one_that_fails_is_given_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scaling(home, monkeypatch, command=FAILS) as plant:
        plant.waits = 1
        said = "worker-ran-1 ended with 5: no way"
        assert await plant.ends.get() == said
        assert await plant.ends.get() == f"{said}; the next one may start in 0.5 s"


async def test_a_command_that_is_not_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scaling(home, monkeypatch, command=("/none",)) as plant:
        plant.waits = 1
        said = "worker-ran-1 cannot be started: No such file or directory (/none)"
        assert await plant.ends.get() == f"{said}; again"
        assert await plant.ends.get() == f"{said}; again in 0.5 s"


async def test_a_broker_that_does_not_say_changes_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scaling(home, monkeypatch) as plant:
        plant.waits = 1
        await plant.becomes(1)
        asked = asyncio.Event()

        async def silent(_: str) -> dict[str, Queue]:
            asked.set()
            raise OSError("it does not answer")

        monkeypatch.setattr(autoscaler, "queues", silent)
        await asked.wait()
        asked.clear()
        await asked.wait()
        assert len(plant.scaler.workers) == 1


async def test_a_bug_in_it_does_not_end_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scaling(home, monkeypatch) as plant:
        calls: list[Any] = []

        async def wrong(_: str) -> dict[str, Queue]:
            calls.append(None)
            monkeypatch.setattr(autoscaler, "queues", plant.queues)
            raise ValueError("what")

        monkeypatch.setattr(autoscaler, "queues", wrong)
        said = await plant.ends.get()
        assert said == "the autoscaler failed and continues: ValueError: what"
        plant.waits = 1
        await plant.becomes(1)
        assert len(calls) == 1


async def test_by_the_waiting_time_that_is_predicted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the length of the queue until the service time is measured, then by the objective."""
    group = Group("ran", (Procedure.RAN,), max_workers=9, target=10, cooldown=3600.0)
    objectives = Objectives({Procedure.RAN: 0.1})
    async with scaling(home, monkeypatch, group, objectives=objectives) as plant:
        plant.waits = 11
        await plant.becomes(2)
        plant.says(plant.scaler.workers[0], cost=0.002)
        await plant.looked(3)
        assert len(plant.scaler.workers) == 2, "eleven of 2 ms are done with in time"
        plant.waits = 1400
        await plant.becomes(8)


async def test_by_length_alone_where_a_group_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = Group("ran", (Procedure.RAN,), max_workers=9, target=1000, objectives=Objectives())
    objectives = Objectives({Procedure.RAN: 0.1})
    async with scaling(home, monkeypatch, group, objectives=objectives) as plant:
        plant.waits = 1
        await plant.becomes(1)
        plant.says(plant.scaler.workers[0], cost=0.002)
        plant.waits = 1400
        await plant.becomes(2)


async def test_cold_starts_are_counted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scaling(home, monkeypatch) as plant:
        for waits, workers in ((1, 1), (11, 2), (0, 0), (11, 2)):
            plant.waits = waits
            await plant.becomes(workers)
        count, pid = plant.scaler.cold_starts_of("ran")
        assert count == 2
        assert pid == plant.scaler.workers[0].pid
