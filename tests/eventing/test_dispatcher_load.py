"""The shares of a queue that dispatchers and functions tell each other."""

import pytest

from eventing.dispatcher.load import (
    BACKLOG,
    DISPATCHERS_FRESH,
    FUNCTION,
    FUNCTIONS_FRESH,
    Dispatchers,
    Functions,
    answer_header,
)
from eventing.jetstream.intake import Backlog


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_function_gets_its_share_of_each_queue() -> None:
    clock = Clock()
    functions, here = Functions(clock), Dispatchers(clock)
    assert functions.header("d-1", Backlog(30.4, 8)) == {BACKLOG: "d-1 30 8"}
    for name in ("f-1", "f-2", "f-1"):
        functions.heard(answer_header(name, 0))
    here.heard(functions.header("d-1", Backlog(30.4, 8)))
    assert here.backlog == (15, 4)
    here.heard(functions.header("d-2", Backlog(10, 0)))
    assert here.backlog == (20, 4)
    here.heard(functions.header("d-1", Backlog(0, 0)))
    assert here.backlog == (5, 0), "the last one counts"


def test_the_excess_is_that_of_all_functions() -> None:
    functions = Functions(Clock())
    assert functions.excess == 0
    for name, excess in (("f-1", 7), ("f-2", 4), ("f-1", 3)):
        functions.heard(answer_header(name, excess))
    assert functions.excess == 7


def test_who_is_gone_does_not_count() -> None:
    clock = Clock()
    functions, here = Functions(clock), Dispatchers(clock)
    functions.heard(answer_header("f-1", 7))
    here.heard({BACKLOG: "d-1 9 9"})
    clock.now += DISPATCHERS_FRESH + 0.1
    functions.heard(answer_header("f-2", 2))
    assert here.backlog == (0, 0)
    assert functions.excess == 9
    clock.now += FUNCTIONS_FRESH - DISPATCHERS_FRESH
    assert functions.excess == 2
    assert functions.header("d-1", Backlog(8, 0)) == {BACKLOG: "d-1 8 0"}


@pytest.mark.parametrize(
    "value",
    ["", "x", "x 1", "x 1 2 3", "x -1 2", "x nan 1", "x 1e9 1", f"x {10**9} 1", "x\n 1 1", " 1 1"],
)
def test_other_headers_say_nothing(value: str) -> None:
    here = Dispatchers(Clock())
    here.heard({})
    here.heard({BACKLOG: value})
    assert here.backlog == (0, 0)
    functions = Functions(Clock())
    functions.heard({FUNCTION: f"{value} 1 1 1"})
    assert functions.excess == 0


def test_the_number_of_senders_is_bounded() -> None:
    here = Dispatchers(Clock())
    for number in range(1000):
        here.heard({BACKLOG: f"d-{number} 1 0"})
    assert here.backlog.requests == 256
