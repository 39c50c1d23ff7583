"""Downlink messages of a UE in the order of their NAS COUNTs (TS 24.501 4.4.3.1).

Two functions may speak to a UE one right after the other, each over its own way here, and a UE
drops what comes with a lower COUNT than it has seen. The gateway is where all of it comes
together. It knows the COUNTs of a connection by what has gone by, and waits a moment for what
seems to be missing; that it may be wrong costs that moment and no more.
"""

from collections import OrderedDict
from typing import Final, NamedTuple

WAIT = 0.1
"""Seconds for which a message is held for the ones before it."""
FAR = 16
"""COUNTs that may be missing; beyond it is another security context, or another gateway's past."""
MOST = 64
"""Messages that are held for a UE."""


class Downlink(NamedTuple):
    """A PDU for a UE, with the first and the last NAS COUNT in it; None where there is none."""

    stream: int
    pdu: bytes
    first: int | None = None
    last: int | None = None


class InOrder:
    """The downlink messages of one N2 connection."""

    __slots__ = ("_held", "_next")

    def __init__(self) -> None:
        self._next: int | None = None
        self._held: list[Downlink] = []

    @property
    def held(self) -> int:
        """How many messages wait for one before them."""
        return len(self._held)

    def take(self, message: Downlink) -> list[Downlink]:
        """What can be sent now that a message has come."""
        if not self._is_early(message):
            if not self._held:
                self._passed(message)
                return [message]
            if message.first is not None:
                self._passed(message)
                return [message, *self._freed()]
        self._held.append(message)
        return self.flush() if len(self._held) > MOST else []

    def flush(self) -> list[Downlink]:
        """All that is held, in its order: what is missing will not come."""
        counted: list[list[Downlink]] = []
        for message in self._held:
            if message.first is None and counted:
                counted[-1].append(message)
            else:
                counted.append([message])
        self._held.clear()
        counted.sort(key=lambda some: some[0].first or 0)
        found = [message for some in counted for message in some]
        for message in found:
            self._passed(message)
        return found

    def _freed(self) -> list[Downlink]:
        """What was held for nothing else than what has passed now."""
        found: list[Downlink] = []
        left: list[Downlink] = []
        before = -1
        while len(found) > before:
            before, free = len(found), False
            for message in self._held:
                # One without a COUNT belongs to the one before it.
                free = free if message.first is None else not self._is_early(message)
                if free:
                    self._passed(message)
                    found.append(message)
                else:
                    left.append(message)
            self._held, left = left, []
        return found

    def _is_early(self, message: Downlink) -> bool:
        if message.first is None or self._next is None:
            return False
        return self._next < message.first <= self._next + FAR

    def _passed(self, message: Downlink) -> None:
        if message.last is None:
            return
        # A message that comes again has an old COUNT; a new context begins with 0.
        new = self._next is None or message.first == 0 or message.last >= self._next
        self._next = message.last + 1 if new else self._next


KEPT: Final = 1 << 15
"""Messages that are known: more than leave within the time after which JetStream delivers again."""


class Sent:
    """The ids of the events of which PDUs were sent last."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def again(self, identifier: str) -> bool:
        """Whether the PDU of this event has left; from now on it has."""
        if identifier in self._ids:
            return True
        self._ids[identifier] = None
        if len(self._ids) > KEPT:
            self._ids.popitem(last=False)
        return False
