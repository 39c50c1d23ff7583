"""An event that comes as the last worker leaves is answered as soon as a worker can start."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace
from nats.aio.client import Client
from nats.aio.msg import Msg

from bench.cold_start import ASSOCIATION, set_up
from evcore.local.core import local_core
from evcore.local.data import DataDirectory
from evcore.local.group import Group, Scale
from eventing import subjects
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.messages import schedule
from eventing.jetstream.publisher import Publisher
from schemas.config.reading import Config, N2Config
from schemas.position import Position
from schemas.procedures import Procedure
from tests.servers import free_udp_port
from transport import Mode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TRIES: Final = 24
LATE: Final = 1.0
"""Maximum seconds for an answer, a cold start included."""
PARTITIONS: Final = Config().nats.partitions


class Leaving:
    """A core whose last worker leaves again and again, with a gNB that sets up NG."""

    def __init__(self) -> None:
        self.publisher: Publisher
        self.timers: Publisher
        self.answers: asyncio.Queue[Msg] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.number = 0

    async def begin(self, gateway: Client, worker: Client) -> None:
        self.publisher = Publisher(gateway, PARTITIONS)
        self.timers = Publisher(worker, PARTITIONS)
        await self.publisher.start()
        await self.timers.start()
        await gateway.subscribe(subjects.downlinks_of(ASSOCIATION), cb=self.answers.put)

    def changed(self, scale: Scale) -> None:
        if scale.workers == 0:
            self.gone.set()

    async def left(self) -> None:
        """Wake a worker, and wait until it is told to leave."""
        await self.sent()
        await self.answers.get()
        self.gone.clear()
        await self.gone.wait()

    async def sent(self) -> None:
        self.number += 1
        await self.publisher.publish([self.publisher.outgoing(set_up(self.number))])

    async def due(self, at: float) -> None:
        """Have JetStream send the event at a time in seconds.

        Only functions use timers, so the event is one that a function has handed on.
        """
        self.number += 1
        position = Position(self.number, 0, int(time.time() * 1000))
        event = replace(set_up(self.number), position=position)
        message = schedule(event, f"try-{self.number}", int(at * 1000), PARTITIONS)
        await self.timers.publish([message])

    async def answered(self) -> float:
        """Return the seconds until the answer."""
        begun = time.monotonic()
        await self.answers.get()
        return time.monotonic() - begun


@asynccontextmanager
async def leaving(folder: Path) -> AsyncGenerator[Leaving]:
    data = DataDirectory(folder)
    data.prepare()
    config = Config(n2=N2Config(udp_port=free_udp_port(), transport=Mode.USERSPACE_UDP))
    it, group = Leaving(), Group("core", tuple(Procedure), cooldown=0.3)
    async with (
        local_core(data, config, (group,), it.changed) as core,
        connected_as(Role.GATEWAY_N2, core.config.nats, "test") as gateway,
        connected_as(Role.WORKER, core.config.nats, "test") as worker,
    ):
        await it.begin(gateway, worker)
        yield it


async def test_an_event_that_comes_as_the_last_worker_leaves(tmp_path: Path) -> None:
    """It reaches JetStream from 0 to 2 ms after the decision to stop the worker."""
    async with leaving(tmp_path) as it:
        late: dict[int, float] = {}
        for turn in range(TRIES):
            await it.left()
            await asyncio.sleep(0.0001 * turn)
            await it.sent()
            late[turn] = await it.answered()
    assert max(late.values()) < LATE, late


async def test_a_timer_that_expires_as_the_last_worker_leaves(tmp_path: Path) -> None:
    async with leaving(tmp_path) as it:
        late: list[float] = []
        for turn in range(TRIES // 3):
            await it.left()
            at = time.time() + 0.02 * turn
            await it.due(at)
            await it.answered()
            late.append(time.time() - at)
    assert max(late) < LATE, late
