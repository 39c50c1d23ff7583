"""Which requests a worker serves, puts off or drops, by the time that it needs for its queue."""

from typing import Any

import pytest
from msgspec.structs import replace

import wire
from eventing.jetstream.deadline_queue import UNLIMITED
from eventing.jetstream.delivery import Delivery, pending_after, stored_at
from eventing.jetstream.intake import Backlog
from eventing.standing_queue import PATIENCE, RECENT
from functions.runtime import overload
from functions.runtime.overload import AT_ONCE, EXPECTED, PACE, SLOW_PACE, WAIT, Overload
from loadgen.gnb import messages
from loadgen.gnb.messages import GnbConfig
from schemas.cloudevents import CloudEvent, EventType
from schemas.network import Congestion
from schemas.position import Position
from tests.functions.phone import Phone
from tests.functions.world import World, subscriber

STORED = 1_700_000_000
SHORT = f"$JS.ACK.EVENTS.registration-0003.1.12.7.{STORED}000000000.4"
LONG = f"$JS.ACK.domain.account.EVENTS.registration-0003.1.12.7.{STORED}000000000.4.random"
EVENT = CloudEvent(
    "t-1", "/n2/g/a", EventType.NGAP_UPLINK, "imsi-001010000000001", slot=0, sequence=0
)
COST = 0.001
"""Seconds for an event."""


@pytest.mark.parametrize("reply", [SHORT, LONG])
def test_what_a_delivery_tells(reply: str) -> None:
    assert (stored_at(reply), pending_after(reply)) == (STORED, 4)


@pytest.mark.parametrize("reply", ["", "_INBOX.1.2", "$JS.ACK.a.b.1.2.3.x.4", "$JS.ACK.a"])
def test_other_subjects_say_nothing(reply: str) -> None:
    assert stored_at(reply) is None
    assert pending_after(reply) in (0, 4)


UPLINK = Delivery("", b"", {}, SHORT, 1, "", replace(EVENT, sequence=1, partitionkey="ngap-1"))


class Bench:
    """A worker's overload control with a clock of its own."""

    def __init__(self, **policy: Any) -> None:
        self.now = 100.0
        self.control = Overload(Congestion(**policy), lambda: self.now, lambda: STORED + self.now)
        self.batch(0, 0)

    def work(self) -> None:
        """Let the worker be busy for some seconds, with short batches."""
        for _ in range(600):
            self.control.worked(0.0, 0.01)

    def batch(self, requests: int, waiting: float, others: float = 0.0) -> list[int]:
        """Decide a batch with requests and what follows from them. Return the back-offs."""
        some = [delivery(stored=self.now)] * requests
        self.control.begin(some, Backlog(waiting, others), COST)
        answers = [self.control.back_off(EVENT) for _ in some]
        follow = sum(1 if answer else int(EXPECTED) - 1 for answer in answers)
        self.control.begin([self._uplink()] * follow, Backlog(waiting, others), COST)
        return answers

    def aged(self, seconds: float) -> None:
        """Decide a batch of events of open connections that have waited, and let a second pass."""
        self.control.begin([self._uplink(seconds)] * 20, Backlog(0, 0), COST)
        self.now += 1.0

    def _uplink(self, age: float = 0.0) -> Delivery:
        return UPLINK._replace(reply=delivery(stored=self.now - age).reply)

    @property
    def capacity(self) -> float:
        return self.control.capacity


def delivery(data: bytes = b"", stored: float = 0.0, **more: Any) -> Delivery:
    """Return a request, stored some seconds after `STORED`."""
    reply = f"$JS.ACK.EVENTS.registration-0003.1.12.7.{int((STORED + stored) * 1e9)}.4"
    event = replace(EVENT, data=data, **more)
    return Delivery("ue.0.registration.n2.0", data, {}, reply, 1, "registration-0003", event)


def test_a_queue_within_the_target_is_served() -> None:
    bench = Bench(after=1.0)
    for _ in range(100):
        assert bench.batch(4, 0.9 * bench.capacity) == [0] * 4
        bench.now += 0.1
    assert not bench.control.load.congested


def test_a_burst_is_absorbed_and_a_standing_queue_is_not() -> None:
    bench = Bench(after=1.0)
    for _ in range(round(PATIENCE * 10)):
        bench.now += 0.1
        assert bench.batch(1, 1.4 * bench.capacity) == [0]
    bench.now += 0.2
    (seconds,) = bench.batch(1, 1.4 * bench.capacity)
    assert seconds == 1, "when the backlog is served"
    assert bench.batch(1, 0.2 * bench.capacity) == [0], "it has ended"
    bench.now += RECENT - 0.1
    assert bench.batch(1, 1.4 * bench.capacity) == [1], "it goes on"
    assert bench.batch(1, 0.2 * bench.capacity) == [0]
    bench.now += RECENT
    assert bench.batch(1, 1.4 * bench.capacity) == [0], "another burst"


def test_a_queue_that_no_ue_would_wait_for_is_cut_at_once() -> None:
    """The first ones are put off until the rest can be served in the target time."""
    bench = Bench(after=1.0)
    assert 0 not in bench.batch(20, 2.5 * bench.capacity)
    answers = bench.batch(30, 0.9 * bench.capacity)
    served = answers.count(0)
    assert answers[-served:] == [0] * served
    assert served == pytest.approx(0.1 * bench.capacity, abs=3)
    assert not any(bench.batch(100, 0)), "nothing waits behind it"


def test_what_has_waited_for_jetstream_is_a_burst() -> None:
    """It is served in the time that a burst has. A load that goes on is put off."""
    bench = Bench(after=1.0)
    bench.work()
    bench.control.recovering = True
    assert bench.batch(20, 2.5 * bench.capacity) == [0] * 20
    assert bench.control.load.requests == 0.0, "gNBs refuse no UE"
    assert bench.control.room == int(WAIT / COST), "it keeps no pace"
    bench.now += PATIENCE
    assert 0 not in bench.batch(20, 2.5 * bench.capacity)
    assert bench.control.load.requests


def test_a_canary_puts_no_ue_off() -> None:
    bench = Bench(after=1.0)
    bench.control.on_trial = True
    assert bench.batch(20, 2.5 * bench.capacity) == [0] * 20


def test_each_ue_gets_a_time_of_its_own() -> None:
    """T3346 spreads the requests over the time that the worker needs for them."""
    bench = Bench(after=1.0, t3346_max=10_000)
    capacity = bench.capacity
    times = [time for _ in range(100) for time in bench.batch(20, 4000)]
    assert 0 not in times
    assert times == sorted(times)
    assert times[0] == pytest.approx(4000 / capacity, rel=0.1)
    assert times[-1] - times[0] == pytest.approx(2000 / capacity, rel=0.1)
    bench.now += 1000.0
    assert bench.batch(1, 4000)[0] == pytest.approx(times[0], abs=2), "that time is over"


def test_no_ue_waits_longer_than_the_configuration_allows() -> None:
    bench = Bench(after=1.0, t3346_max=60)
    assert max(bench.batch(200, 20_000)) == 60


@pytest.mark.parametrize("cost", [None, 0.0])
def test_a_worker_without_a_measurement_puts_no_ue_off(cost: float | None) -> None:
    control = Overload(Congestion())
    control.begin([delivery()], Backlog(100_000, 0), cost)
    assert control.back_off(EVENT) == 0


def test_it_can_be_switched_off() -> None:
    assert Bench(after=0).batch(1, 1_000_000) == [0]


def test_events_of_procedures_count_as_they_are() -> None:
    """They go first, so a request waits for them too; each is one event."""
    bench = Bench(after=1.0)
    bench.batch(0, 0, 500)
    assert bench.control.load.wait == pytest.approx(500 * COST)
    bench.batch(0, 100, 500)
    assert bench.control.load.wait == pytest.approx((500 + 100 * EXPECTED) * COST)
    assert 1 / bench.capacity == pytest.approx(EXPECTED * COST)


def test_the_capacity_follows_what_a_request_causes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload, "MEMORY", 4096)
    bench = Bench(after=1.0)
    for _ in range(4000):
        bench.control.begin([delivery(stored=bench.now), *[UPLINK] * 5], Backlog(0, 0), COST)
        bench.control.back_off(EVENT)
    assert 1 / bench.capacity == pytest.approx(6 * COST, rel=0.1)


# The pace


def test_requests_are_begun_at_a_steady_pace() -> None:
    """What they cause comes later, so an empty queue is no reason to begin a burst as a whole."""
    bench = Bench(after=1.0)
    bench.work()
    capacity = bench.capacity
    begun = 0
    for _ in range(20):
        room = bench.control.room
        begun += room
        assert bench.batch(room, 0) == [0] * room
        bench.now += 0.1
    assert begun == pytest.approx((AT_ONCE + 2.0) * PACE * capacity, rel=0.2)


def test_few_requests_are_begun_at_once_after_a_pause() -> None:
    bench = Bench(after=0.5)
    bench.work()
    assert bench.control.room == int(AT_ONCE * PACE * bench.capacity)
    bench.now += 60.0
    assert bench.control.room == int(AT_ONCE * PACE * bench.capacity)


@pytest.mark.parametrize("clocks", [-3.0, 0.0, 3.0])
def test_few_requests_are_begun_while_open_connections_wait(clocks: float) -> None:
    """`clocks` is the difference of the clocks of the broker and of the worker, in seconds."""
    bench = Bench(after=1.0)
    bench.work()
    bench.aged(clocks)
    for age, pace in ((WAIT / 2, PACE), (WAIT * 1.1, SLOW_PACE), (0.0, PACE)):
        bench.aged(clocks + age)
        assert bench.control.room == int(AT_ONCE * pace * bench.capacity)


def test_a_wait_that_lasts_is_not_taken_for_a_difference_of_clocks() -> None:
    bench = Bench(after=1.0)
    bench.work()
    bench.aged(0.0)
    for _ in range(60):
        bench.aged(2 * WAIT)
        assert bench.control.room == int(AT_ONCE * SLOW_PACE * bench.capacity)


def test_a_clock_that_is_set_counts_until_the_worker_has_time_to_spare() -> None:
    bench = Bench(after=1.0)
    for _ in range(600):
        bench.control.worked(0.01, 0.001)
    bench.aged(0.0)
    bench.aged(5.0)
    bench.work()
    bench.aged(5.0)
    assert bench.control.room == int(AT_ONCE * PACE * bench.capacity)


def test_events_wait_for_a_batch_that_takes_long() -> None:
    """With a slow store that is no sign of a load."""
    bench = Bench(after=1.0)
    for _ in range(60):
        bench.control.worked(0.0, 0.3)
    bench.aged(0.0)
    for age, pace in ((0.2, PACE), (0.4, SLOW_PACE)):
        bench.aged(age)
        assert bench.control.room == int(AT_ONCE * pace * bench.capacity)


def test_who_has_no_pace() -> None:
    bench, unlimited = Bench(after=1.0), Bench(after=0)
    for one in (bench, unlimited):
        one.work()
    assert bench.control.room < UNLIMITED
    assert unlimited.control.room == UNLIMITED, "it is switched off"
    bench.control.on_trial = True
    assert bench.control.room == UNLIMITED, "a canary"
    assert Overload(Congestion()).room == UNLIMITED, "nothing is measured"


def test_a_worker_with_time_to_spare_keeps_no_pace() -> None:
    """Its measurement of the capacity may be wrong."""
    bench = Bench(after=1.0)
    for _ in range(200):
        bench.control.worked(0.003, 0.007)
    for _ in range(2):
        assert bench.control.room == int(WAIT / COST)
        assert bench.batch(int(WAIT / COST), 0) == [0] * int(WAIT / COST)
    for _ in range(200):
        bench.control.worked(0.0005, 0.0095)
    assert bench.control.room < int(WAIT / COST)


# Requests that were given up


def initial_ue_message(nas: bytes) -> bytes:
    place = messages.location(GnbConfig("gnb-1", 1), "001-01")
    return messages.initial_ue_message(1, nas, place, "mo-Signalling", None, context=True)


REGISTRATION = initial_ue_message(wire.nas_encode(Phone(World(subscriber(1))).request()))
DEREGISTRATION = initial_ue_message(
    wire.nas_encode(Phone(World(subscriber(1))).deregistration(switch_off=True))
)


def given_up(found: Delivery, age: float) -> bool:
    control = Overload(Congestion(), wall=lambda: STORED + age)
    left, dropped = control.begin([found], Backlog(0, 0), COST)
    assert [*left, *dropped] == [found]
    assert control.load.dropped == len(dropped)
    return bool(dropped)


@pytest.mark.parametrize(("age", "answer"), [(0.0, False), (14.9, False), (15.0, True)])
def test_a_request_is_dropped_when_its_ue_has_given_it_up(age: float, answer: bool) -> None:
    assert given_up(delivery(REGISTRATION), age) is answer


def test_a_request_that_was_published_again_is_as_old_as_the_first_message() -> None:
    again = delivery(REGISTRATION, stored=10.0, position=Position(3, 0, STORED * 1000))
    assert given_up(again._replace(subject="ue.0.registration.core.0-again"), 16.0)


@pytest.mark.parametrize(
    "found",
    [
        delivery(DEREGISTRATION),
        delivery(REGISTRATION, sequence=1, partitionkey="ngap-0000000001"),
        delivery(REGISTRATION, type=EventType.IDENTIFIED),
        delivery(b"no PDU"),
        delivery(REGISTRATION)._replace(reply="_INBOX.1"),
    ],
    ids=["switch-off", "open connection", "not from a gNB", "malformed", "no time"],
)
def test_everything_else_is_decided(found: Delivery) -> None:
    """A UE that is switched off does not come again."""
    assert not given_up(found, 1000.0)
