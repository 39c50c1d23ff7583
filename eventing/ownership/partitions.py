"""This process's share of the partitions: pulled from as workers come and go."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream.intake import Intake
from eventing.ownership.assignments import Assigned, Assignment
from eventing.ownership.leases import Lease, Membership
from eventing.process import end

log = logging.getLogger(__name__)

LOOK: Final = 1.0
"""Seconds between looks at the leases and the pull requests, when nothing else asks for one."""


class Share:
    """Joins those that share the partitions, and has an intake pull what falls to this one."""

    def __init__(
        self,
        client: Client,
        intake: Intake,
        lease: Lease,
        partitions: int,
        reassigned: Callable[[], None] | None = None,
    ) -> None:
        """`reassigned` is called when versions of procedures are assigned to other partitions, to
        call `take_over`; without it, the assignments are not for this one."""
        self._client = client
        self._intake = intake
        self._partitions = partitions
        self._changed = asyncio.Event()
        self.membership = Membership(client, lease, self._changed.set)
        self._assigned = None if reassigned is None else Assigned(client, reassigned)
        self._assignments: Mapping[str, Assignment] = MappingProxyType({})
        self._revision = 0
        self._task: asyncio.Task[None] | None = None

    async def join(self) -> None:
        """Begin to pull; if there may be assignments, with `take_over`. The consumers are there."""
        await self._intake.start()
        await self.membership.join()
        if self._assigned is None:
            await self._begin()
        else:
            # After the lease: who writes an assignment waits for all leases to say so.
            await self._assigned.start()

    def latest(self) -> Mapping[str, Assignment]:
        """The assignments as they are now. Once everything is decided by them, call `take_over`."""
        if self._assigned is not None:
            self._assignments = dict(self._assigned.found)
            self._revision = self._assigned.revision
        return self._assignments

    async def take_over(self) -> None:
        """Say that this one goes by the `latest` assignments, and pull by them."""
        if self._revision != self.membership.lease.assignments:
            await self.membership.took_over(self._revision)
        if self._task is None:
            await self._begin()
        else:
            self._changed.set()

    async def _begin(self) -> None:
        await self._pull()
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def leave(self) -> None:
        """Pull no more, and leave the partitions to the others. What has been delivered until
        this returns can still be taken."""
        if self._task is not None:
            await end([self._task])
        await self._intake.stop()
        if self._assigned is not None:
            await self._assigned.stop()
        await self.membership.leave()

    async def _follow(self) -> None:
        """Pull from what is this one's, as others come and go, and after reconnections."""
        connects = self._client.stats["reconnects"]
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), LOOK)
            self._changed.clear()
            try:
                await self._pull()
                reconnected = self._client.stats["reconnects"] != connects
                connects = self._client.stats["reconnects"]
                await self._intake.refresh(forget=reconnected)
                if self._assigned is not None:
                    await self._assigned.refresh()
            except Exception as err:
                log.warning("the partitions could not be followed: %s", err)

    async def _pull(self) -> None:
        owned = self.membership.owned(self._partitions, self._assignments)
        await self._intake.consume(
            subjects.consumer(partition, procedure) for procedure, partition in owned
        )
