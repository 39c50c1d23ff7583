"""The order of a UE's downlink messages.

A UE drops a message with a lower NAS COUNT than it has seen (TS 24.501 4.4.3.1). Two functions may
send to a UE one right after the other, each by its own way to the gateway. The gateway sees all of
their messages. It knows the COUNTs of a connection from earlier messages and waits a moment for a
message that seems to be missing. If it is wrong, the messages only leave a moment later.
"""

from typing import NamedTuple

WAIT = 0.1
"""Seconds for which a message waits for the messages before it."""
FAR = 16
"""Maximum COUNTs that may be missing. A larger gap means another security context, or messages
that went by another gateway."""
MOST = 64
"""Maximum messages that wait for a UE."""


class DownlinkPdu(NamedTuple):
    """A PDU for a UE with its first and last NAS COUNT; None for no COUNT."""

    stream: int
    pdu: bytes
    first: int | None = None
    last: int | None = None


class DownlinkOrder:
    """The downlink messages of one N2 connection, in the order of their NAS COUNTs."""

    __slots__ = ("_held", "_next")

    def __init__(self) -> None:
        self._next: int | None = None
        self._held: list[DownlinkPdu] = []

    @property
    def held(self) -> int:
        """Number of messages that wait for an earlier one."""
        return len(self._held)

    def add(self, message: DownlinkPdu) -> list[DownlinkPdu]:
        """Add a message, and return the messages that can be sent now."""
        if not self._is_early(message):
            if not self._held:
                self._passed(message)
                return [message]
            if message.first is not None:
                self._passed(message)
                return [message, *self._released()]
        self._held.append(message)
        return self.flush() if len(self._held) > MOST else []

    def flush(self) -> list[DownlinkPdu]:
        """Return all waiting messages in order: the missing message will not come."""
        groups: list[list[DownlinkPdu]] = []
        for message in self._held:
            if message.first is None and groups:
                groups[-1].append(message)
            else:
                groups.append([message])
        self._held.clear()
        groups.sort(key=lambda some: some[0].first or 0)
        found = [message for some in groups for message in some]
        for message in found:
            self._passed(message)
        return found

    def _released(self) -> list[DownlinkPdu]:
        """Return the messages that waited only for the message that was just sent."""
        found: list[DownlinkPdu] = []
        left: list[DownlinkPdu] = []
        before = -1
        while len(found) > before:
            before, free = len(found), False
            for message in self._held:
                # A message without a COUNT belongs to the message before it.
                free = free if message.first is None else not self._is_early(message)
                if free:
                    self._passed(message)
                    found.append(message)
                else:
                    left.append(message)
            self._held, left = left, []
        return found

    def _is_early(self, message: DownlinkPdu) -> bool:
        if message.first is None or self._next is None:
            return False
        return self._next < message.first <= self._next + FAR

    def _passed(self, message: DownlinkPdu) -> None:
        if message.last is None:
            return
        # A repeated message has an old COUNT; a new security context starts with COUNT 0.
        new = self._next is None or message.first == 0 or message.last >= self._next
        self._next = message.last + 1 if new else self._next
