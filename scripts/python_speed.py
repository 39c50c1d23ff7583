"""Measure how fast this Python runs Python code: the milliseconds of a fixed task, best of several.

scripts/setup.sh uses it to compare the Pythons of a machine.
"""

import time


class _Event:
    __slots__ = ("key", "number")

    def __init__(self, key: int, number: int) -> None:
        self.key = key
        self.number = number

    def after(self, other: int) -> int:
        return self.number + other


def work() -> int:
    """Calls, attributes, containers and text, in the mix that decisions use."""
    last: dict[int, int] = {}
    total = 0
    for number in range(20_000):
        event = _Event(number & 255, number)
        last[event.key] = event.after(number)
        total += len(str(number)) + sum([one for one in (1, 2, 3) if one > 1])
    return total + len(last)


def best(times: int) -> float:
    """Return the time of the fastest run in milliseconds."""
    found = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        work()
        found = min(found, time.perf_counter() - begun)
    return 1000 * found


if __name__ == "__main__":
    print(f"{best(12):.2f}")
