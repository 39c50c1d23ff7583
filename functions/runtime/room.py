"""The room on the disk of the event log: with too little, UEs that are not registered are put off.

Each step takes room. The rest belongs to the UEs that are registered: their service requests,
updates, handovers and deregistrations go on until the disk is full. A decision records the answer
that it gets from here (`RoomLookup`).
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from statestore.disk import free_bytes, text_of

log = logging.getLogger(__name__)

KEPT: Final = 1.0
"""Seconds before the free octets are read again."""
PUT_OFF: Final = 120
"""Seconds for which a UE is put off at least. A rejected request takes room too, so UEs should not
come back often."""
ENOUGH_AGAIN: Final = 1.1
"""The free octets, in times of `min_free`, from which on all UEs are served again."""


class Room:
    """The free octets on the disk of a directory, compared with those that should stay free."""

    def __init__(
        self,
        directory: Path | None,
        min_free: int,
        clock: Callable[[], float] = time.monotonic,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        """Without a directory, or with a `min_free` of 0, there is always enough room. `clock` has
        seconds, `free` returns octets."""
        self._directory = directory
        self._min_free = min_free
        self._clock = clock
        self._free = free
        self._read_at = float("-inf")
        self._share = 1.0
        self._short = False

    @property
    def share(self) -> float:
        """The free octets as a share of `min_free`; 1 if there is enough room."""
        now = self._clock()
        if self._directory is None or not self._min_free or now - self._read_at < KEPT:
            return self._share
        self._read_at = now
        try:
            free = self._free(self._directory)
        except OSError as err:
            log.warning("the room in %s is not known: %s", self._directory, err.strerror)
            return self._share
        short = free < self._min_free * (ENOUGH_AGAIN if self._short else 1)
        if short != self._short:
            words = "are put off" if short else "are served again"
            log.warning(
                "there are %s left on the disk of %s: UEs that are not registered %s",
                *(text_of(free), self._directory, words),
            )
        self._short = short
        self._share = min(free / self._min_free, 0.99) if short else 1.0
        return self._share

    def put_off(self) -> int:
        """Return the seconds for which UEs that are not registered are put off; 0 to serve them."""
        return PUT_OFF if self.share < 1.0 else 0


ENOUGH: Final = Room(None, 0)
"""For a store that is not on a disk of this machine: FoundationDB looks after its own disks."""
