"""Reliable delivery of PFCP (TS 29.244 clause 6.4): repeat requests, and answers to copies."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from loadgen.trees import Tree

Address: TypeAlias = tuple[str, int]
"""Host and port."""
Answered: TypeAlias = Callable[[Tree | None], None]
"""Receives the decoded answer to a request; None if no answer arrived."""


class Pending(Struct, eq=False):
    """A request of the UPF that waits for its answer."""

    message: str
    data: bytes
    address: Address
    answered: Answered
    tries: int
    timer: asyncio.TimerHandle | None = None


class Requests:
    """The requests of the UPF. Each is sent every T1 until it is answered, at most N1 times."""

    def __init__(self, send: Callable[[bytes, Address], None], t1: float, n1: int) -> None:
        """Start without requests.

        Args:
            send: sends octets.
            t1: seconds between two transmissions of a request.
            n1: maximum number of transmissions.
        """
        self.retransmissions = 0
        self._send, self._t1, self._n1 = send, t1, n1
        self._pending: dict[int, Pending] = {}
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._pending)

    def sequence(self) -> int:
        """Return a sequence number that no unanswered request has, 1 to 2^24-1."""
        while True:
            self._sequence = self._sequence % 0xFFFFFF + 1
            if self._sequence not in self._pending:
                return self._sequence

    def start(
        self, sequence: int, message: str, data: bytes, address: Address, answered: Answered
    ) -> None:
        """Send a request, and repeat it until it is answered.

        Args:
            sequence: the sequence number, returned by `sequence`.
            message: the name of the message.
            data: the octets of the message.
            address: the receiver.
            answered: called once, with the answer or after the last T1.
        """
        pending = Pending(message, data, address, answered, 0)
        self._pending[sequence] = pending
        self._again(sequence, pending)

    def find(self, sequence: int) -> Pending | None:
        """Return the pending request with a sequence number; None without one."""
        return self._pending.get(sequence)

    def answer(self, sequence: int, tree: Tree) -> None:
        """End a request, and pass on its answer."""
        self._end(sequence, tree)

    def cancel(self) -> None:
        """Drop all requests without calling `answered`."""
        for pending in self._pending.values():
            if pending.timer is not None:
                pending.timer.cancel()
        self._pending.clear()

    def _again(self, sequence: int, pending: Pending) -> None:
        if pending.tries >= self._n1:
            self._end(sequence, None)
            return
        self.retransmissions += pending.tries > 0
        pending.tries += 1
        loop = asyncio.get_running_loop()
        pending.timer = loop.call_later(self._t1, self._again, sequence, pending)
        self._send(pending.data, pending.address)

    def _end(self, sequence: int, tree: Tree | None) -> None:
        pending = self._pending.pop(sequence, None)
        if pending is None:
            return
        if pending.timer is not None:
            pending.timer.cancel()
        pending.answered(tree)


class _StoredAnswer(Struct, eq=False):
    request: bytes
    answer: bytes
    ready: float
    """Time at which the answer is sent, in the loop's time."""
    expires: float


class Answers:
    """The stored answers of the UPF. A repeated request gets the same answer again.

    A repeated request has the same peer, sequence number and octets. A restarted peer reuses the
    sequence numbers, with other octets.
    """

    def __init__(self, keep: float, limit: int = 65536) -> None:
        """Start without answers.

        Args:
            keep: seconds after which an answer is dropped.
            limit: maximum number of answers. The oldest is dropped first.
        """
        self._keep, self._limit = keep, limit
        self._answers: OrderedDict[tuple[Address, int], _StoredAnswer] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, address: Address, sequence: int, request: bytes, now: float) -> bytes | None:
        """Return the answer to a repeated request; None for a new request.

        The returned answer is empty if the answer is delayed and not sent yet.
        """
        self._expire(now)
        found = self._answers.get((address, sequence))
        if found is None or found.request != request:
            return None
        return found.answer if found.ready <= now else b""

    def keep(
        self,
        address: Address,
        sequence: int,
        request: bytes,
        answer: bytes,
        now: float,
        delay: float = 0.0,
    ) -> None:
        """Store an answer that is sent `delay` seconds from now."""
        key = (address, sequence)
        self._answers[key] = _StoredAnswer(request, answer, now + delay, now + delay + self._keep)
        self._answers.move_to_end(key)
        if len(self._answers) > self._limit:
            self._answers.popitem(last=False)

    def clear(self) -> None:
        """Drop all answers."""
        self._answers.clear()

    def _expire(self, now: float) -> None:
        answers = self._answers
        while answers and next(iter(answers.values())).expires <= now:
            answers.popitem(last=False)
