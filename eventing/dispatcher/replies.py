"""The response of an HTTP function: messages for the bus, as CloudEvents in the JSON format.

JetStream must store these messages before the event that caused them is acknowledged. So a
function returns them in its response, and the dispatcher that called the function publishes them.
The attribute `subject` is the subject of the message on the bus.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from eventing import subjects
from eventing.cloudevents import http_binding, nats_binding
from eventing.cloudevents.http_binding import ReceivedEvent
from eventing.cloudevents.nats_binding import REPEATED, BadEventError
from eventing.jetstream import sealed
from eventing.jetstream.messages import Addressed, Outgoing, is_batch, opened
from schemas.cloudevents import CloudEvent, EventType
from schemas.origin import Origin

_HEADERS: Final = {
    "repeated": REPEATED,
    "schedule": "Nats-Schedule",
    "scheduletarget": "Nats-Schedule-Target",
    "reason": "evcore-reason",
}
"""Headers that are not attributes of events, by the extension attribute that carries each."""

LARGEST: Final = 1_000_000
"""Maximum octets of a message with its headers: JetStream's limit is 1 MiB, protocol included."""

_WORD: Final = r"[^\s.*>\x00-\x1f\x7f]+"
_EVENT: Final = rf"ue\.[0-9]{{1,4}}\.{_WORD}\.{Origin.CORE}\.[0-9]{{1,4}}(-again)?"
_is_event: Final = re.compile(_EVENT).fullmatch
_is_timer: Final = re.compile(rf"timer\.[0-9]{{1,4}}\.[0-9]{{1,4}}\.{_WORD}").fullmatch
_is_dead: Final = re.compile(
    rf"dead\.ue\.[0-9]{{1,4}}\.{_WORD}\.{_WORD}\.[0-9]{{1,4}}(-again)?"
).fullmatch
_is_passing: Final = re.compile(rf"n2\.{_WORD}\.{_WORD}|n4\.{_WORD}").fullmatch
"""Subjects of gateways: core NATS, no stream stores them. A message for a gNB is sealed."""
_is_schedule: Final = re.compile(
    r"@at [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z"
).fullmatch


class Reply(NamedTuple):
    """A message in a function's response."""

    message: Outgoing
    lasting: bool
    """Whether JetStream must store it before the event that caused it is acknowledged."""


def encode(messages: Sequence[Outgoing]) -> tuple[str, bytes]:
    """Return the content type and the body of a response: one event structured, more as a batch."""
    events = [_to_json(one) for message in messages for one in _apart(message)]
    if len(events) == 1:
        return http_binding.STRUCTURED, events[0]
    return http_binding.BATCH, http_binding.to_batch(events)


def _apart(message: Outgoing) -> list[Outgoing]:
    """Return the events of a message for the bus, each as a message of its own: an event in a
    response has a subject, and a batch for the bus has one for all its events."""
    if not is_batch(message.headers):
        return [message]
    apart: list[Outgoing] = []
    for entry in opened(message.data):
        subject = subjects.in_slot(message.subject, entry.event.slot)
        apart.append(Addressed(subject, entry.event, repeated=bool(entry.repeated)).outgoing)
    return apart


def _to_json(message: Outgoing) -> bytes:
    extensions = {
        name: message.headers[header]
        for name, header in _HEADERS.items()
        if header in message.headers
    }
    event = _event_of(message)
    return http_binding.to_json(event, {"subject": message.subject, **extensions})


def _event_of(message: Outgoing) -> CloudEvent:
    if not message.subject.startswith(subjects.N2):
        return nats_binding.from_message(message.headers, message.data)
    # A sealed message has no headers.
    number, gnb = sealed.number_of(message.data), message.subject.split(".")[1]
    kind = EventType.NGAP_DOWNLINK
    return CloudEvent(number, "/sealed", kind, gnb, message.data, sealed.MEDIA_TYPE)


def _is_time(schedule: str) -> bool:
    if not _is_schedule(schedule):
        return False
    try:
        datetime.fromisoformat(schedule.removeprefix("@at "))
    except ValueError:
        return False
    return True


def decode(content_type: str, body: bytes) -> list[Reply]:
    """Return the messages in a response, in order.

    Raises:
        BadEventError: a message is not an event, has a subject that functions may not write to, or
            is one that JetStream would refuse.
    """
    return [_reply(found) for found in http_binding.from_response(content_type, body)]


def _reply(found: ReceivedEvent) -> Reply:
    event, attributes = found
    subject = attributes.get("subject")
    passing = isinstance(subject, str) and _is_passing(subject) is not None
    if not isinstance(subject, str) or not (
        passing or _is_event(subject) or _is_timer(subject) or _is_dead(subject)
    ):
        raise BadEventError(f"{str(subject)[:80]!r} is no subject that a function writes to")
    given = {name: str(attributes[name]) for name in _HEADERS if name in attributes}
    when, target = given.get("schedule"), given.get("scheduletarget")
    if _is_timer(subject):
        if not _is_time(when or "") or not _is_event(target or ""):
            raise BadEventError(f"no wake-up has {str(when)[:40]!r} for {str(target)[:80]!r}")
    elif when is not None or target is not None:
        raise BadEventError(f"{subject[:80]!r} is not the subject of a wake-up")
    headers = {} if subject.startswith(subjects.N2) else nats_binding.to_headers(event)
    headers |= {_HEADERS[name]: value for name, value in given.items()}
    size = len(event.data) + sum(len(k) + len(v.encode()) + 4 for k, v in headers.items())
    if size > LARGEST:
        raise BadEventError(f"a message of {size} octets is more than {LARGEST}")
    return Reply(Outgoing(subject, event.data, headers), not passing)
