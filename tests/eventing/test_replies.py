"""The dispatcher sends the messages of a function's response unchanged."""

import pytest
from msgspec.structs import replace

from eventing import subjects
from eventing.cloudevents import http_binding, nats_binding
from eventing.cloudevents.nats_binding import BadEventError
from eventing.dispatcher import replies
from eventing.jetstream import messages
from eventing.jetstream.messages import Addressed, Outgoing, outgoing
from eventing.jetstream.sealed import DownlinkSealer
from schemas.cloudevents import EventType
from schemas.position import Position
from tests.eventing.brokers import event
from tests.eventing.test_binding import TRICKY

WAKE = event(3, type=EventType.TIMER, partitionkey="ue/imsi-001010000000003", data=b"")
(SEALED,) = DownlinkSealer(bytes(32)).messages(
    [Addressed(subjects.downlink("gnb-1", "a1"), event(5, data=b"pdu"))], 1
)
MESSAGES = [
    outgoing(event(1, type=EventType.IDENTIFIED), 16),
    outgoing(replace(TRICKY, type=EventType.IDENTIFIED), 16, repeated=True),
    messages.schedule(WAKE, WAKE.partitionkey, 1_800_000_000_123, 16),
    outgoing(event(6, position=Position(12, 1, 1_800_000_000_000)), 1),
    Outgoing(
        subjects.dead("ue.1.session.core.7-again"),
        b"x",
        {**nats_binding.to_headers(event(4)), "evcore-reason": "a%20b"},
    ),
    SEALED,
]


@pytest.mark.parametrize("count", [1, 2, len(MESSAGES)])
def test_messages_come_back_as_they_were(count: int) -> None:
    content_type, body = replies.encode(MESSAGES[:count])
    assert content_type == (http_binding.STRUCTURED if count == 1 else http_binding.BATCH)
    found = replies.decode(content_type, body)
    for reply, message in zip(found, MESSAGES, strict=False):
        assert reply.message.subject == message.subject
        assert reply.message.headers == message.headers
        assert reply.message.data == message.data
        assert reply.lasting == (not message.subject.startswith("n2."))


def test_a_function_writes_to_the_subjects_of_functions_alone() -> None:
    made = http_binding.to_json(event(1), {"subject": "$JS.API.STREAM.DELETE.EVCORE"})
    with pytest.raises(BadEventError, match="is no subject that a function writes to"):
        replies.decode(http_binding.STRUCTURED, made)
    with pytest.raises(BadEventError, match="is no subject that a function writes to"):
        replies.decode(http_binding.STRUCTURED, http_binding.to_json(event(1)))


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "ue.0.session"},
        {"subject": "ue.0.session.core.x"},
        {"subject": "ue.0.*.core.1"},
        {"subject": "n2.gnb a.b"},
        {"subject": "timer.0.1.ue-1.more"},
        {"subject": "ue.0.session.core.1", "schedule": "@at 2026-11-21T00:00:00.000Z"},
        {"subject": "timer.0.1.ue-1"},
        {
            "subject": "timer.0.1.ue-1",
            "schedule": "@at 2026-13-21T00:00:00.000Z",
            "scheduletarget": "ue.0.session.core.1",
        },
        {
            "subject": "timer.0.1.ue-1",
            "schedule": "@every 1s",
            "scheduletarget": "ue.0.session.core.1",
        },
        {
            "subject": "timer.0.1.ue-1",
            "schedule": "@at 2026-11-21T00:00:00.000Z",
            "scheduletarget": "dead.1",
        },
    ],
)
def test_what_jetstream_would_never_take_is_refused(changes: dict[str, str]) -> None:
    with pytest.raises(BadEventError):
        replies.decode(http_binding.STRUCTURED, http_binding.to_json(event(1), changes))
