"""The partitions that this process owns: it pulls their events as workers join and leave."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream.connection import when_reconnected
from eventing.jetstream.intake import Intake
from eventing.ownership.assignments import Assignment, AssignmentWatch
from eventing.ownership.leases import Lease, Membership
from eventing.process import cancel_and_wait

log = logging.getLogger(__name__)

REFRESH: Final = 1.0
"""Maximum seconds between two checks of the leases and the pull requests."""


class OwnedPartitions:
    """Joins the workers that share the partitions, and has an intake pull the owned ones."""

    def __init__(
        self,
        client: Client,
        intake: Intake,
        lease: Lease,
        partitions: int,
        reassigned: Callable[[], None] | None = None,
    ) -> None:
        """`reassigned` is called when an assignment changes; the caller then calls `adopt`.

        Without `reassigned`, this process ignores assignments.
        """
        self._client = client
        self._intake = intake
        self._partitions = partitions
        self._changed = asyncio.Event()
        self.membership = Membership(client, lease, self._changed.set)
        self._watch = None if reassigned is None else AssignmentWatch(client, reassigned)
        self._assignments: Mapping[str, Assignment] = MappingProxyType({})
        self._revision = 0
        self._task: asyncio.Task[None] | None = None

    async def join(self) -> None:
        """Start to pull, or with assignments, be ready for `adopt`. The consumers must exist."""
        when_reconnected(self._client, lambda _: self._changed.set())
        await self._intake.start()
        await self.membership.join()
        if self._watch is None:
            await self._begin()
        else:
            # After the lease: the writer of an assignment waits until all leases have adopted it.
            await self._watch.start()

    def latest(self) -> Mapping[str, Assignment]:
        """Return the current assignments. Call `adopt` once all decisions follow them."""
        if self._watch is not None:
            self._assignments = dict(self._watch.current)
            self._revision = self._watch.revision
        return self._assignments

    async def adopt(self) -> None:
        """Pull by the assignments of the last `latest`, and tell the other processes so."""
        if self._revision != self.membership.lease.assignments:
            await self.membership.adopt(self._revision)
        if self._task is None:
            await self._begin()
        else:
            self._changed.set()

    async def _begin(self) -> None:
        await self._pull()
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def leave(self) -> None:
        """Stop to pull, and leave the partitions to the other workers.

        Events that were delivered before this returns can still be taken from the intake.
        """
        if self._task is not None:
            await cancel_and_wait([self._task])
        await self._intake.stop()
        if self._watch is not None:
            await self._watch.stop()
        await self.membership.leave()

    async def _follow(self) -> None:
        """Pull the owned partitions as workers join and leave, and after reconnections."""
        reconnects = self._client.stats["reconnects"]
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REFRESH):
                    await self._changed.wait()
            self._changed.clear()
            try:
                await self._pull()
                reconnected = self._client.stats["reconnects"] != reconnects
                reconnects = self._client.stats["reconnects"]
                await self._intake.refresh(reconnected=reconnected)
                if self._watch is not None:
                    await self._watch.refresh()
            except Exception as err:
                log.warning("the pull requests cannot be refreshed: %s", err)

    async def _pull(self) -> None:
        owned = self.membership.owned(self._partitions, self._assignments)
        await self._intake.consume(
            subjects.consumer(partition, procedure) for procedure, partition in owned
        )
