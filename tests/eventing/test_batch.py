"""Batches: all events come out as they went in, those of one subject in order."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest
from cloudevents.core.formats.json import JSONFormat
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eventing.cloudevents import http_binding, nats_binding
from eventing.cloudevents.nats_binding import REPEATED, BadEventError
from eventing.jetstream.messages import (
    MOST,
    OCTETS,
    Addressed,
    Outgoing,
    addressed,
    events_of,
    gathered,
    opened,
)
from eventing.subjects import consumer_of
from schemas.cloudevents import CloudEvent
from tests.eventing.brokers import event
from tests.eventing.test_binding import TRICKY, events
from tests.eventing.test_http import sdk_event

BATCH = {"Content-Type": http_binding.BATCH}


def of_slots(*slots: int) -> list[Addressed]:
    return [addressed(event(n, slot=slot), 4) for n, slot in enumerate(slots)]


def by_subject(messages: Sequence[Outgoing]) -> dict[str, list[CloudEvent]]:
    """Return the events in messages by consumer."""
    found: defaultdict[str, list[CloudEvent]] = defaultdict(list)
    for subject, data, headers in messages:
        found[consumer_of(subject)] += events_of(headers, data)
    return dict(found)


@given(st.lists(st.tuples(st.sampled_from("abc"), events), max_size=40), st.integers(1, 5))
def test_all_comes_out_as_it_went_in(sent: list[tuple[str, CloudEvent]], most: int) -> None:
    messages = gathered([Addressed(f"ue.{to}", one) for to, one in sent], str, most)
    found: defaultdict[str, list[CloudEvent]] = defaultdict(list)
    for subject, data, headers in messages:
        inside = events_of(headers, data)
        assert len(inside) <= most
        assert (headers == BATCH) == (len(inside) > 1)
        found[subject] += inside
    wanted: defaultdict[str, list[CloudEvent]] = defaultdict(list)
    for to, one in sent:
        wanted[f"ue.{to}"].append(one)
    assert found == wanted


def test_the_events_of_one_consumer_share_a_message() -> None:
    sent = of_slots(0, 1, 4, 5, 8, 2)
    messages = gathered(sent)
    assert [message.subject for message in messages] == [
        "ue.0.registration.n2.0",
        "ue.1.registration.n2.1",
        "ue.2.registration.n2.2",
    ]
    assert by_subject(messages) == {
        "ue.0.registration.n2": [sent[0].event, sent[2].event, sent[4].event],
        "ue.1.registration.n2": [sent[1].event, sent[3].event],
        "ue.2.registration.n2": [sent[5].event],
    }


def test_what_is_said_of_one_key_stays_in_its_order() -> None:
    """Also if a connection's messages go to several procedures."""
    said = [("registration", "y"), ("session", "x"), ("registration", "x"), ("registration", "y")]
    messages = gathered(
        addressed(event(n, slot=0, procedure=procedure, partitionkey=key), 4)
        for n, (procedure, key) in enumerate(said)
    )
    found = [[one.id for one in events_of(m.headers, m.data)] for m in messages]
    assert found == [["test-0"], ["test-1"], ["test-2", "test-3"]]


def test_one_alone_is_in_binary_mode() -> None:
    one = Addressed("n2.gnb-1.a1", TRICKY, counted="3-4", repeated=True)
    (message,) = gathered([one])
    wanted = {**nats_binding.to_headers(TRICKY), nats_binding.COUNTED: "3-4", REPEATED: "1"}
    assert message == Outgoing("n2.gnb-1.a1", TRICKY.data, wanted) == one.outgoing


def test_what_is_no_attribute_of_an_event_goes_with_it() -> None:
    some = [Addressed("x", TRICKY, "7"), Addressed("x", TRICKY, repeated=True)]
    (message,) = gathered(some, str)
    found = [(entry.nascount, entry.repeated) for entry in opened(message.data)]
    assert found == [("7", ""), ("", "1")]


def test_a_message_has_no_more_than_so_many() -> None:
    messages = gathered(of_slots(*[3] * (2 * MOST + 1)))
    assert [len(events_of(m.headers, m.data)) for m in messages] == [MOST, MOST, 1]


def test_what_is_large_goes_alone() -> None:
    sizes = [OCTETS, 10, OCTETS + 1, OCTETS // 2, OCTETS // 2, 1]
    some = [Addressed("x", replace(event(1), data=bytes(size))) for size in sizes]
    found = [[len(e.data) for e in events_of(m.headers, m.data)] for m in gathered(some, str)]
    assert found == [[OCTETS], [10], [OCTETS + 1], [OCTETS // 2] * 2, [1]]


@given(events)
def test_each_is_what_the_sdk_makes_of_it(one: CloudEvent) -> None:
    (message,) = gathered([Addressed("x", one)] * 2, str)
    made = json.loads(JSONFormat().write(sdk_event(one)))
    if not made.get("data"):
        made.pop("data", None)
    if not made.get("data_base64"):
        made.pop("data_base64", None)
    if "data" in made:  # the SDK writes octets that are text as text
        assert made.pop("data") == one.data.decode()
        found = [{**e, "data_base64": None} for e in json.loads(message.data)]
        assert found == [{**made, "data_base64": None}] * 2
    else:
        assert json.loads(message.data) == [made] * 2


WHOLE: dict[str, Any] = json.loads(gathered([Addressed("x", event(1))] * 2, str)[0].data)[0]


def of(*entries: dict[str, Any]) -> bytes:
    return json.dumps(entries).encode()


BAD: dict[str, bytes] = {
    "was truncated": b"",
    "is malformed": b"\xff",
    "Expected `object`, got `array`": b"[" * 10_000,
    "Expected `array`, got `object`": b"{}",
    "length >= 1$": b"[]",
    "missing required field `specversion`": of({}),
    r"Invalid enum value '0.3' - at `\$\[0\].specversion`": of({**WHOLE, "specversion": "0.3"}),
    r"length >= 1 - at `\$\[1\].id`": of(WHOLE, {**WHOLE, "id": ""}),
    r"Expected `int` <= 1023 - at `\$\[0\].slot`": of({**WHOLE, "slot": 1024}),
    r"Expected `int \| null`, got `str` - at `\$\[0\].slot`": of({**WHOLE, "slot": "7"}),
    r"Expected `int` >= 0 - at `\$\[0\].sequence`": of({**WHOLE, "sequence": -1}),
    "Invalid base64": of({**WHOLE, "data_base64": "?"}),
    r"Expected `null`, got `object` - at `\$\[0\].data`": of({**WHOLE, "data": {"a": 1}}),
}


@pytest.mark.parametrize("why", list(BAD))
def test_what_is_no_batch(why: str) -> None:
    with pytest.raises(BadEventError, match=f"not a batch of events: .*{why}"):
        opened(BAD[why])


def test_what_others_add_is_left_out() -> None:
    (found,) = opened(
        json.dumps([{**WHOLE, "tenant": "a", "time": "2026-01-01T00:00:00Z"}]).encode()
    )
    assert found.event == event(1)


@given(st.binary(max_size=60) | st.text(alphabet='[]{}":,0a', max_size=60).map(str.encode))
def test_any_octets_are_a_batch_or_an_error(octets: bytes) -> None:
    try:
        found = opened(octets)
    except BadEventError:
        return
    assert found
