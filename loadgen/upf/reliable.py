"""Reliable delivery of PFCP (TS 29.244 clause 6.4): T1 and N1, and requests seen before."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from loadgen.trees import Tree

Address: TypeAlias = tuple[str, int]
"""Host and port."""
Answered: TypeAlias = Callable[[Tree | None], None]
"""Takes the answer to a request of ours, or None when there came none."""


class Pending(Struct, eq=False):
    """A request of ours that is not answered."""

    message: str
    data: bytes
    address: Address
    answered: Answered
    tries: int
    timer: asyncio.TimerHandle | None = None


class Requests:
    """Our own requests: each is sent again every T1 until it is answered, N1 times in all."""

    def __init__(self, send: Callable[[bytes, Address], None], t1: float, n1: int) -> None:
        """No requests.

        Args:
            send: sends octets.
            t1: seconds until a request is sent again.
            n1: how often it is sent at most.
        """
        self.retransmissions = 0
        self._send, self._t1, self._n1 = send, t1, n1
        self._pending: dict[int, Pending] = {}
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._pending)

    def sequence(self) -> int:
        """A sequence number that no unanswered request has, 1 to 2^24-1."""
        while True:
            self._sequence = self._sequence % 0xFFFFFF + 1
            if self._sequence not in self._pending:
                return self._sequence

    def start(
        self, sequence: int, message: str, data: bytes, address: Address, answered: Answered
    ) -> None:
        """Send a request, and again.

        Args:
            sequence: its own, from `sequence`.
            message: its name.
            data: its octets.
            address: where to.
            answered: called once.
        """
        pending = Pending(message, data, address, answered, 0)
        self._pending[sequence] = pending
        self._again(sequence, pending)

    def find(self, sequence: int) -> Pending | None:
        """The request that an answer of that sequence number is to."""
        return self._pending.get(sequence)

    def answer(self, sequence: int, tree: Tree) -> None:
        """The answer came."""
        self._end(sequence, tree)

    def cancel(self) -> None:
        """Forget all requests without calling anyone."""
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
    expires: float


class Answers:
    """Our answers, so that a request that comes again gets the same one.

    The same request is one with the same peer, sequence number and octets: a peer that has
    restarted counts from the beginning, and its requests are new.
    """

    def __init__(self, keep: float, limit: int = 65536) -> None:
        """No answers.

        Args:
            keep: how many seconds each is kept.
            limit: how many are kept at most; the oldest goes first.
        """
        self._keep, self._limit = keep, limit
        self._answers: OrderedDict[tuple[Address, int], _StoredAnswer] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, address: Address, sequence: int, request: bytes, now: float) -> bytes | None:
        """The answer that a request got; None for a new request.

        It is empty for a request whose answer is still to be sent.
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
        """Keep an answer, which is sent `delay` seconds from now."""
        key = (address, sequence)
        self._answers[key] = _StoredAnswer(request, answer, now + delay, now + delay + self._keep)
        self._answers.move_to_end(key)
        if len(self._answers) > self._limit:
            self._answers.popitem(last=False)

    def clear(self) -> None:
        """Forget all answers."""
        self._answers.clear()

    def _expire(self, now: float) -> None:
        answers = self._answers
        while answers and next(iter(answers.values())).expires <= now:
            answers.popitem(last=False)
