"""The disk of a local core: the room that it needs, and its watch while it runs.

A core on a full disk goes on by itself when there is room again. Only nats-server does not: its
file store keeps the first error of a write (2.15), and stores nothing until it is started again.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from evcore.local.broker import Broker
from evcore.local.data import DataDirectory
from evcore.local.process import Backoff
from eventing.stats import Stats
from schemas.config.reading import Config, ConfigError
from statestore.disk import free_bytes, text_of, why_not_writable

PERIOD: Final = 1.0
"""Seconds between two looks."""
FRESH: Final = 5.0
"""Seconds for which the report of a worker counts; it reports once a second."""
ENOUGH_AGAIN: Final = 1.1
"""As in `functions.runtime.room`, which puts UEs off."""
RESTART: Final = 8 << 20
"""Octets that must be free before nats-server is started again: with less, it would soon stop
again."""
LEAST: Final = 4 << 20
"""Octets that a core with data needs to start at all."""


def needed(config: Config) -> int:
    """Return the octets that must be free for a core without data."""
    return config.nats.max_bytes * config.nats.replicas + config.store.min_free_bytes


def check_room(data: DataDirectory, config: Config) -> str:
    """Check the free octets before a core starts. Return a warning, or "" if there is enough room.

    A core that has data already serves UEs, so it starts with less room than it may need.

    Raises:
        ConfigError: a new core would not have the room that it needs, or the disk is full.
    """
    free = free_bytes(data.root)
    used = _octets(data.broker)
    wanted = max(LEAST, needed(config) - used)
    if free >= wanted:
        return ""
    nats, store = config.nats, config.store
    each = f"{nats.replicas} x " if nats.replicas > 1 else ""
    words = (
        f"the disk of {data.root} has {text_of(free)} free, and a core needs {text_of(wanted)}: "
        f"{each}{text_of(nats.max_bytes)} for events ([nats] max_bytes)"
        + (f", of which {text_of(used)} are in use," if used >= 1 << 20 else "")
        + f" and {text_of(store.min_free_bytes)} that stay free ([store] min_free_bytes)"
    )
    if free < LEAST or not data.broker.exists():
        raise ConfigError(words)
    return words


def _octets(folder: Path) -> int:
    """Return the octets of the files in a folder. Files that vanish meanwhile do not count."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(root) / name).stat().st_blocks * 512
    return total


class DiskWatch:
    """Tells the operator about a lack of room, and restarts brokers that store nothing any more."""

    def __init__(
        self,
        data: DataDirectory,
        config: Config,
        brokers: Sequence[Broker],
        tell: Callable[[str], None],
    ) -> None:
        """`tell` is called with each sentence for the operator."""
        self._root = data.root
        self._store = data.broker
        self._min_free = config.store.min_free_bytes
        self._brokers = brokers
        self._tell = tell
        self._short = False
        self._stalled = ""
        self._reports: dict[str, tuple[float, str]] = {}
        """By worker, when it said last that no step is stored, and why."""
        self._told: dict[Broker, str] = {}
        self._pauses = {broker: Backoff() for broker in brokers}
        self._not_before: dict[Broker, float] = {}

    def heard(self, stats: Stats) -> None:
        """Note the statistics of a worker."""
        if stats.load.stalled and not stats.ended:
            self._reports[stats.worker] = (time.monotonic(), stats.load.stalled)
        else:
            self._reports.pop(stats.worker, None)

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                free = free_bytes(self._root)
            except OSError as err:
                self._tell(f"the disk of {self._root} cannot be read: {err.strerror}")
                free = 0
            self._look_at_room(free)
            self._look_at_log()
            for broker in self._brokers:
                await self._look_at(broker, free)
            await asyncio.sleep(PERIOD)

    def _look_at_room(self, free: int) -> None:
        short = free < self._min_free * (ENOUGH_AGAIN if self._short else 1)
        if short == self._short:
            return
        self._short = short
        left = f"the disk of {self._root} has {text_of(free)} free"
        if short:
            self._tell(
                f"{left}, less than [store] min_free_bytes ({text_of(self._min_free)}): "
                "UEs that are not registered are put off"
            )
        else:
            self._tell(f"{left}: all UEs are served again")

    def _look_at_log(self) -> None:
        now = time.monotonic()
        why = next((why for at, why in self._reports.values() if now - at < FRESH), "")
        if why and why != self._stalled:
            self._tell(f"no step is stored, and events wait: {why}")
        elif self._stalled and not why:
            self._tell("steps are stored again")
        self._stalled = why

    async def _look_at(self, broker: Broker, free: int) -> None:
        error = broker.write_error
        if not error:
            self._told.pop(broker, None)
            return
        name = broker.process.name
        if broker not in self._told:
            self._told[broker] = error
            self._tell(
                f"{name} stores nothing: {error}; it is restarted as soon as its disk can be "
                "written. Gateways keep the events that they have, and hold their gNBs back"
            )
        if free < RESTART or time.monotonic() < self._not_before.get(broker, 0.0):
            return
        # One after the other, so that a cluster goes on.
        if not all(one.process.alive for one in self._brokers) or await asyncio.to_thread(
            why_not_writable, self._store
        ):
            return
        self._tell(f"the disk of {name} can be written again: {name} is restarted")
        ran = time.monotonic() - broker.started_at
        self._not_before[broker] = time.monotonic() + self._pauses[broker].after(ran)
        await broker.stop()  # `LocalCore.keep_running` starts it again
