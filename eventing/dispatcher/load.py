"""What dispatchers and functions tell each other about the queue of requests, in HTTP headers.

A dispatcher has the queue, and does not know what a function can serve. A function knows what it
can serve, and not the queue. So each request has the function's share of the queue, and each answer
has the requests that the function will reject. Several dispatchers may call several functions.
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import Final

from eventing.jetstream.intake import Backlog

BACKLOG: Final = "evcore-backlog"
"""Header of a request: the dispatcher, and how many requests of UEs and other events wait there for
this function."""
FUNCTION: Final = "evcore-function"
"""Header of an answer: the function, and how many of the waiting requests of UEs it will reject."""

FUNCTIONS_FRESH: Final = 10.0
"""Seconds for which a function counts after an answer. It is longer than a stall of the store: with
one function instead of many, the first one to answer would get the whole queue."""
DISPATCHERS_FRESH: Final = 3.0
"""Seconds for which the queue of a dispatcher counts. If nothing waits, nothing is sent."""

_MOST: Final = 256
"""Senders that are kept apart: headers may come from anywhere."""
_is_report: Final = re.compile(r"([\w-]{1,64})((?: [0-9]{1,9}){1,2})", re.ASCII).fullmatch


class _Reports:
    """The last numbers of each sender of a header."""

    def __init__(self, fresh: float, clock: Callable[[], float]) -> None:
        """`fresh` is the time, in seconds, for which numbers count; `clock` has seconds."""
        self._fresh = fresh
        self._clock = clock
        self._found: dict[str, tuple[float, list[int]]] = {}

    def heard(self, value: str | None, count: int) -> None:
        """Record a header with `count` numbers. Any other value is ignored."""
        match = _is_report(value or "")
        numbers = [int(number) for number in match[2].split()] if match else []
        if match and len(numbers) == count:
            self._found.pop(match[1], None)
            self._found[match[1]] = (self._clock(), numbers)
            if len(self._found) > _MOST:
                del self._found[next(iter(self._found))]

    @property
    def fresh(self) -> list[list[int]]:
        """The numbers that count."""
        since = self._clock() - self._fresh
        # The senders are in the order of their last headers.
        while self._found and self._found[first := next(iter(self._found))][0] < since:
            del self._found[first]
        return [numbers for _, numbers in self._found.values()]


class Functions:
    """The functions that answer a dispatcher."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` has seconds."""
        self._reports = _Reports(FUNCTIONS_FRESH, clock)

    def heard(self, headers: Mapping[str, str]) -> None:
        """Record the headers of an answer."""
        self._reports.heard(headers.get(FUNCTION), 1)

    @property
    def excess(self) -> int:
        """The waiting requests of UEs that the functions will reject."""
        return sum(number for (number,) in self._reports.fresh)

    def header(self, dispatcher: str, backlog: Backlog) -> dict[str, str]:
        """Return the header of a request, with a function's share of a queue."""
        functions = max(1, len(self._reports.fresh))
        requests, others = (round(number / functions) for number in backlog)
        return {BACKLOG: f"{dispatcher} {requests} {others}"}


class Dispatchers:
    """The dispatchers that call a function."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` has seconds."""
        self._reports = _Reports(DISPATCHERS_FRESH, clock)

    def heard(self, headers: Mapping[str, str]) -> None:
        """Record the headers of a request."""
        self._reports.heard(headers.get(BACKLOG), 2)

    @property
    def backlog(self) -> Backlog:
        """The events that wait at the dispatchers for this function."""
        fresh = self._reports.fresh
        return Backlog(sum(one[0] for one in fresh), sum(one[1] for one in fresh))


def answer_header(function: str, excess: int) -> dict[str, str]:
    """Return the header of a function's answer."""
    return {FUNCTION: f"{function} {excess}"}
