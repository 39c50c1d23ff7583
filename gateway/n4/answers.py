"""The requests of one UPF, to answer one that comes again as before (TS 29.244 6.4)."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from gateway.n4.endpoint import Address
from schemas.cloudevents import CloudEvent

KEPT: Final = 30.0
"""Seconds for which a request is known to have been there; T1 and N1 of the UPF end before."""
MAX_KEPT: Final = 8192
"""Requests of a UPF that are known."""
PATIENCE: Final = 3.0
"""Seconds after which a request that was repeated is told the core again: its answer is lost."""


class Taken:
    """A request of a UPF, and its answer once there is one."""

    __slots__ = ("address", "answer", "event", "octets", "since", "told")

    def __init__(self, octets: bytes, address: Address, event: CloudEvent, now: float) -> None:
        self.octets = octets
        self.address = address
        self.event: CloudEvent | None = event
        self.answer = b""
        self.since = now
        self.told = now
        """When the core was told of it last."""


class Answers:
    """The requests that a UPF has sent of late, by sequence number and type.

    One that is not the same octet by octet, from the same port, is another one: a UPF that has
    restarted counts anew.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._taken: OrderedDict[tuple[int, int], Taken] = OrderedDict()

    def find(
        self, sequence: int, message_type: int, octets: bytes, address: Address
    ) -> Taken | None:
        """The same request, if it was there before."""
        taken = self._taken.get((sequence, message_type))
        if taken is None or taken.since + KEPT <= self._clock():
            return None
        return taken if (taken.octets, taken.address) == (octets, address) else None

    def take(
        self, sequence: int, message_type: int, octets: bytes, address: Address, event: CloudEvent
    ) -> None:
        """Remember a request that the core is told of."""
        now = self._clock()
        while self._taken:
            oldest = next(iter(self._taken.values()))
            if oldest.since + KEPT > now and len(self._taken) < MAX_KEPT:
                break
            self._taken.popitem(last=False)
        key = (sequence, message_type)
        self._taken.pop(key, None)
        self._taken[key] = Taken(octets, address, event, now)

    def again(self, taken: Taken) -> CloudEvent | None:
        """The event to tell the core again, when the answer to `taken` is late."""
        now = self._clock()
        if taken.event is None or taken.told + PATIENCE > now:
            return None
        taken.told = now
        return taken.event

    def answer(self, sequence: int, message_type: int, octets: bytes) -> Address | None:
        """Keep the core's answer; where the request came from, None if it is not known."""
        taken = self._taken.get((sequence, message_type - 1))
        if taken is None:
            return None
        taken.answer, taken.event = octets, None
        return taken.address
