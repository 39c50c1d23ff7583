"""A worker process dies by SIGKILL, and another one decides a wake-up before the redelivery."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from functions.runtime.effects import event_id
from schemas.cloudevents import CloudEvent
from schemas.step import SendNgap
from tests.runtime.dying import POINTS
from tests.runtime.plant import Plant
from tests.runtime.script import woken

SUPI = "imsi-001010000000001"
UE = f"ue/{SUPI}"


class Dying:
    """A process that starts workers which are killed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def start(self) -> None:
        """Start a worker."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")

    async def dead(self) -> None:
        """Wait until the worker is killed."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), 30)
        assert int(line) == -signal.SIGKILL


@asynccontextmanager
async def dying(plant: Plant, point: str) -> AsyncGenerator[Dying]:
    arguments = ("-m", "tests.runtime.dying", plant.bus.url, str(plant.path), point)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdin=PIPE, stdout=PIPE, start_new_session=True
    )
    try:
        yield Dying(process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


@pytest.mark.parametrize("point", POINTS)
async def test_its_messages_are_sent_in_the_order_of_the_log(impatient: Plant, point: str) -> None:
    plant = impatient
    initial, connected = plant.script.lanes[1][:2]
    async with dying(plant, point) as victims:
        for number, event in enumerate([*initial.events, *connected.events]):
            if sends(plant, event):
                victims.start()
                await plant.publish([event])
                await victims.dead()
            else:
                await plant.publish([event])
            await plant.publish([woken(SUPI, number)])
            living = await plant.worker()
            await plant.idle()
            await living.stop()
            assert sent(plant) == await owed(plant), event
    assert len(sent(plant)) >= 4


def sends(plant: Plant, event: CloudEvent) -> bool:
    """Whether the script has a step of an event with a message to a gNB."""
    steps = [step for steps in plant.script.steps.values() for step in steps]
    (step,) = [step for step in steps if step.trigger.id == event.id]
    return any(isinstance(output, SendNgap) for output in step.outputs)


def sent(plant: Plant) -> list[str]:
    """Return the ids of the messages for gNBs, in the order in which they came first."""
    return list(dict.fromkeys(h.id for h in plant.heard if h.id.startswith(f"{UE}/")))


async def owed(plant: Plant) -> list[str]:
    """Return the ids of the messages in the log of the UE, in order."""
    return [
        event_id(UE, step, index)
        for step in await plant.store.steps(UE)
        for index, output in enumerate(step.outputs)
        if isinstance(output, SendNgap)
    ]
