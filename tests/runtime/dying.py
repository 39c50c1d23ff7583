"""Workers in processes of their own that are killed at a point, one after the other.

``python -m tests.runtime.dying <url> <folder> <point>`` starts a worker for each line of its input,
and prints a line when the worker is dead.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from eventing.jetstream import streams
from eventing.jetstream.connection import connected
from eventing.jetstream.delivery import Delivery
from eventing.ownership import leases
from functions.runtime import worker
from functions.runtime.finisher import JetStreamFinisher
from functions.runtime.job import Job
from functions.runtime.worker import Worker, WorkerConfig
from schemas.step import SendNgap, Step
from tests.functions.world import HOME_KEYS, NETWORK
from tests.runtime.plant import ALL, IMPATIENT
from tests.runtime.script import Script, lives
from tests.runtime.store import opened

POINTS: Final = ("append", "downlinks", "acknowledgement")
"""A worker dies after the append of a step with messages to gNBs, after these messages, or after
the wake-ups and hand-offs of a step, before the acknowledgement."""


def die() -> None:
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying_at(point: str) -> type[JetStreamFinisher]:
    """Return a finisher that kills its process at a point."""

    class Dying(JetStreamFinisher):
        def __init__(self, downlinks: Any, intake: Any, *others: Any) -> None:
            super().__init__(downlinks, intake, *others)
            self._nats = downlinks._client
            if point == "acknowledgement":
                intake.ack = self._die

        async def _die(self, _: Delivery) -> None:
            await self._nats.flush()
            die()

        async def _send(self, done: Iterable[tuple[Job, Step[Any]]]) -> None:
            steps = [*done]
            sends = any(isinstance(o, SendNgap) for _, step in steps for o in step.outputs)
            if sends and point == "append":
                die()
            await super()._send(steps)
            if sends and point == "downlinks":
                await self._nats.flush()
                die()

    return Dying


async def work(url: str, folder: Path, script: Script) -> None:
    async with connected(url, "dying") as client:
        store = await opened(folder, script)
        config = WorkerConfig(ALL, IMPATIENT, NETWORK, HOME_KEYS, "test")
        await Worker(config, client, store.log, store.subscribers, draw=script.draw).run()


def main(url: str, folder: str, point: str) -> None:
    streams.LEASE_TTL, leases.RENEW = 0.6, 0.15
    worker.JetStreamFinisher = dying_at(point)
    script = lives()
    for _ in sys.stdin:
        pid = os.fork()
        if not pid:
            asyncio.run(work(url, Path(folder), script))
            os._exit(1)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
