"""Fair shares: of a total, of a queue, and of the requests that are rejected."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eventing.fair_shares import CORE, level, sender_of
from eventing.jetstream.deadline_queue import DeadlineQueue, opens, source_of
from eventing.jetstream.delivery import Delivery
from functions.runtime.senders import SenderQueues
from schemas.cloudevents import CloudEvent, EventType

FIRST = CloudEvent("m-1", "/n2/g/a", EventType.NGAP_UPLINK, "", slot=0, sequence=0)


@pytest.mark.parametrize(
    ("source", "sender"),
    [
        ("/n2/001-01-gnb-24-1/ab-1", "001-01-gnb-24-1"),
        ("/n4/127.0.0.9", "127.0.0.9"),
        ("/ue/imsi-001010000000001", CORE),
        ("", CORE),
        ("/n2", CORE),
    ],
)
def test_the_sender_of_an_event(source: str, sender: str) -> None:
    assert sender_of(source) == sender


@given(
    st.lists(st.floats(0, 1000), min_size=1, max_size=20),
    st.floats(0, 3000),
    st.lists(st.sampled_from([0.5, 1.0, 4.0]), min_size=20, max_size=20),
)
def test_a_total_is_used_up_and_nobody_with_less_gives(
    wanted: list[float], total: float, weights: list[float]
) -> None:
    names = [str(number) for number in range(len(wanted))]
    by_name = dict(zip(names, weights, strict=False))
    found = level(zip(names, wanted, strict=True), total, by_name)
    given_ = [min(want, found * by_name[name]) for name, want in zip(names, wanted, strict=True)]
    assert sum(given_) == pytest.approx(min(total, sum(wanted)), abs=1e-6)


def request(gnb: str, number: int, key: str = "conn") -> Delivery:
    event = replace(FIRST, source=f"/n2/{gnb}/a", partitionkey=f"{key}-{gnb}-{number}")
    reply = f"$JS.ACK.EVCORE.registration-0000.1.1.1.{number}.0"
    return Delivery("", b"", {}, reply, 1, "registration-0000", event)


def message(gnb: str, number: int) -> Delivery:
    found = request(gnb, number, "ngap")
    assert found.event is not None
    return found._replace(event=replace(found.event, sequence=3))


def senders(found: list[Delivery]) -> Counter[str]:
    return Counter(sender_of(source_of(delivery)) for delivery in found)


def test_a_gnb_with_a_thousand_requests_does_not_delay_the_others() -> None:
    queue = DeadlineQueue()
    for number in range(1000):
        queue.append(request("hostile", number))
    for number in range(10):
        queue.append(request("a", 5000 + number))
        queue.append(request("b", 5000 + number))
    assert senders(queue.take(128, begin=12)) == {"hostile": 4, "a": 4, "b": 4}
    assert senders(queue.take(128, begin=15)) == {"hostile": 5, "a": 5, "b": 5}
    assert senders(queue.take(128, begin=12)) == {"hostile": 10, "a": 1, "b": 1}


def test_one_request_at_a_time_is_fair_too() -> None:
    queue = DeadlineQueue()
    for number in range(100):
        queue.append(request("hostile", number))
    queue.append(request("a", 999))
    queue.append(request("b", 999))
    found = [queue.take(2, begin=1)[0] for _ in range(4)]
    assert senders(found)["a"] == senders(found)["b"] == 1


def test_a_gnb_with_a_weight_has_a_larger_share() -> None:
    queue = DeadlineQueue(weights={"large": 3.0})
    for number in range(100):
        queue.append(request("large", number))
        queue.append(request("a", number))
    assert senders(queue.take(128, begin=32)) == {"large": 24, "a": 8}


def test_known_ues_come_first_and_strangers_keep_a_quarter() -> None:
    queue = DeadlineQueue()
    for number in range(100):
        queue.append(request("a", number))
        queue.append(request("a", number, "tmsi"))
    found = queue.take(128, begin=16)
    keys = Counter(d.event.partitionkey.partition("-")[0] for d in found if d.event is not None)
    assert keys == {"tmsi": 12, "conn": 4}


def test_strangers_get_a_quarter_of_single_requests_too() -> None:
    queue = DeadlineQueue()
    for number in range(100):
        queue.append(request("a", number))
        queue.append(request("a", number, "tmsi"))
    found = [queue.take(128, begin=1)[0] for _ in range(40)]
    keys = Counter(d.event.partitionkey.partition("-")[0] for d in found if d.event is not None)
    assert keys["conn"] == pytest.approx(10, abs=1)


def test_messages_of_one_gnb_leave_room_for_the_requests_of_others() -> None:
    queue = DeadlineQueue()
    for number in range(1000):
        queue.append(message("hostile", number))
        queue.append(request("hostile", number))
    for number in range(5):
        queue.append(request("a", number))
        queue.append(message("a", number))
    found = queue.take(128)
    assert senders([d for d in found if opens(d)]) == {"a": 5}
    assert senders([d for d in found if not opens(d)]) == {"a": 5, "hostile": 118}


def test_with_one_gnb_its_messages_come_before_its_requests() -> None:
    queue = DeadlineQueue()
    for number in range(200):
        queue.append(message("a", number))
        queue.append(request("a", number))
    assert not any(map(opens, queue.take(128)))


def test_requests_of_the_longest_queue_are_taken_to_be_rejected() -> None:
    queue = DeadlineQueue()
    for number in range(200):
        queue.append(message("a", number))
        queue.append(message("b", number))
        queue.append(request("hostile", number))
    for number in range(20):
        queue.append(request("a", number))
    found = queue.take(128, excess=100, begin=0)
    assert senders([d for d in found if opens(d)]) == {"hostile": 32}


def test_a_ue_that_changes_its_gnb_keeps_its_order() -> None:
    queue = DeadlineQueue()
    for number in range(3):
        for gnb in ("a", "b"):
            found = message(gnb, number)
            assert found.event is not None
            event = replace(found.event, partitionkey="ngap-1", id=f"{gnb}-{number}")
            queue.append(found._replace(event=event))
    taken = [one for _ in range(6) for one in queue.take(1)]
    assert [d.event.id for d in taken if d.event] == ["a-0", "b-0", "a-1", "b-1", "a-2", "b-2"]


def test_the_requests_beyond_the_share_of_a_gnb_are_rejected() -> None:
    """And of them those of strangers; no gNB with less than its share is affected."""
    queues = SenderQueues()
    batch = [request("hostile", 1), request("hostile", 2, "tmsi"), request("a", 1)]
    queues.begin(batch, 110.0, {"hostile": [10.0, 90.0], "a": [0.0, 10.0]})
    events = [one.event for one in batch if one.event is not None]
    assert [queues.exceeds(event, 50.0) for event in events] == [True, False, False]
    assert queues.total == pytest.approx(110.0)


def test_requests_that_are_not_here_are_like_those_that_are() -> None:
    queues = SenderQueues()
    batch = [request("hostile", 1), request("hostile", 2), request("hostile", 3), request("a", 1)]
    queues.begin(batch, 200.0, {})
    events = [one.event for one in batch if one.event is not None]
    assert [queues.exceeds(event, 120.0) for event in events] == [True, True, True, False]
