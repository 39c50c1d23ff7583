"""The incarnations of a UPF: each has its Recovery Time Stamp (TS 23.527 4.2, TS 29.244 6.2.2)."""

from collections import OrderedDict
from typing import Final

MAX_FORMER: Final = 16
"""Former incarnations that are kept; the oldest is dropped first."""

_HALF: Final = 1 << 31
"""Time stamps count seconds modulo 2**32."""


class Incarnation:
    """The current incarnation of a UPF, and its former ones."""

    def __init__(self) -> None:
        self.current: int | None = None
        """The Recovery Time Stamp, in seconds since 1900; None before the first one."""
        self._former: OrderedDict[int, None] = OrderedDict()

    def begin(self, stamp: int) -> bool:
        """Note the current time stamp of the UPF. Return whether the UPF has restarted."""
        before, self.current = self.current, stamp
        self._former.pop(stamp, None)
        if before in (None, stamp):
            return False
        self._former[before] = None
        if len(self._former) > MAX_FORMER:
            self._former.popitem(last=False)
        return True

    def is_over(self, stamp: int) -> bool:
        """Whether a time stamp belongs to a former incarnation."""
        if self.current in (None, stamp):
            return False
        return stamp in self._former or not self.is_later(stamp)

    def is_known(self, stamp: int | None) -> bool:
        """Whether a time stamp is the current one, or that of a former incarnation."""
        return stamp == self.current or stamp in self._former

    def is_later(self, stamp: int) -> bool:
        """Whether a time stamp is later than the current one. A clock that was set back shows in
        the UPF's answers only."""
        if self.current is None:
            return True
        return stamp not in self._former and 0 < (stamp - self.current) % (2 * _HALF) < _HALF
