"""GNBs are asked for fewer requests while the disk of the log lacks room (TS 38.413 8.7.7)."""

from eventing.stats import Load, Stats
from gateway.n2.overload import EVERYTHING, FRESH
from gateway.n2.room import STUCK, RoomReduction


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def stats(worker: str, room: float = 1.0, stalled: str = "", *, ended: bool = False) -> Stats:
    return Stats(worker, "1", 1, load=Load(room=room, stalled=stalled), ended=ended)


def test_the_reduction_grows_as_the_room_goes() -> None:
    room = RoomReduction(Clock())
    found: list[int] = []
    for share in (1.0, 0.9, 0.5, 0.4, 0.25, 0.1, 0.0):
        room.heard(stats("a", share))
        found.append(room.percent(0.0))
    assert found == [0, 0, 0, 20, 50, 79, 99]
    assert room.reason == "the disk of the event log is nearly full"


def test_a_log_that_takes_no_steps_needs_silence() -> None:
    room = RoomReduction(Clock())
    room.heard(stats("a", 0.9))
    room.heard(stats("b", 0.9, "the disk is full"))
    assert (room.percent(0.0), room.reason) == (EVERYTHING, "the disk is full")
    room.heard(stats("b", 0.9))
    assert (room.percent(0.0), room.reason) == (0, "")


def test_a_worker_that_ends_or_says_nothing_does_not_count() -> None:
    clock = Clock()
    room = RoomReduction(clock)
    room.heard(stats("a", 0.0))
    room.heard(stats("a", 0.0, ended=True))
    assert room.percent(0.0) == 0
    room.heard(stats("a", 0.0))
    clock.now += FRESH + 0.1
    assert room.percent(0.0) == 0


def test_a_broker_that_stores_nothing_needs_silence() -> None:
    room = RoomReduction(Clock())
    assert [room.percent(delay) for delay in (0.0, STUCK - 1, STUCK)] == [0, 0, EVERYTHING]
    assert room.reason == "JetStream stores no events"
    assert (room.percent(0.0), room.reason) == (0, "")


def test_silence_lasts_until_jetstream_answers() -> None:
    room = RoomReduction(Clock())
    room.answered = False
    assert room.percent(0.0) == 0, "only silence lasts"
    room.heard(stats("a", 0.9, "the disk is full"))
    assert room.percent(0.0) == EVERYTHING
    room.heard(stats("a", 0.9))
    assert (room.percent(0.0), room.reason) == (EVERYTHING, "JetStream stores no events")
    room.answered = True
    assert (room.percent(0.0), room.reason) == (0, "")
