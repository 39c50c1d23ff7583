"""CloudEvents over HTTP: the SDK's octets, and evcore's checks of events from others."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.bindings import http as sdk
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent as SdkEvent
from hypothesis import given

from eventing.cloudevents import http_binding, nats_binding
from eventing.cloudevents.nats_binding import BadEventError
from eventing.jetstream.messages import Addressed, gathered
from schemas.cloudevents import CloudEvent
from tests.eventing.brokers import event
from tests.eventing.test_binding import TRICKY, attributes, events


def sdk_event(ours: CloudEvent) -> SdkEvent:
    """The same event, without the time that the SDK adds."""
    made = SdkEvent(attributes(ours), ours.data)
    del made.get_attributes()["time"]
    return made


def test_binary_mode_is_what_the_sdk_makes() -> None:
    made = sdk.to_binary(sdk_event(TRICKY), JSONFormat())
    ours = http_binding.to_binary(TRICKY)
    assert {k.lower(): v for k, v in made.headers.items()} == ours
    assert http_binding.from_http(ours, TRICKY.data) == TRICKY


def test_structured_mode_is_what_the_sdk_makes() -> None:
    made = sdk.to_structured(sdk_event(TRICKY), JSONFormat())
    headers = {k.lower(): v for k, v in made.headers.items()}
    assert http_binding.from_http(headers, made.body) == TRICKY
    assert json.loads(http_binding.to_json(TRICKY)) == json.loads(made.body)


@given(events)
def test_any_event_comes_back(one: CloudEvent) -> None:
    body = http_binding.to_json(one)
    headers = {"content-type": f"{http_binding.STRUCTURED}; charset=UTF-8"}
    assert http_binding.from_http(headers, body) == one
    (found,) = http_binding.from_response(http_binding.BATCH, http_binding.to_batch([body]))
    assert found.event == one
    assert http_binding.from_http(http_binding.to_binary(one), one.data) == one


@given(events)
def test_both_bindings_agree(one: CloudEvent) -> None:
    """The bus's own headers and batches are those of the SDK, for every event."""
    headers = nats_binding.to_headers(one)
    media_type = headers.pop("ce-datacontenttype", None)
    theirs = http_binding.to_binary(one)
    assert theirs.pop("content-type", None) == one.datacontenttype
    assert (theirs, media_type is None) == (headers, one.datacontenttype is None)
    (batch,) = gathered([Addressed("x", one)] * 2, str)
    assert [e.event for e in http_binding.from_response(http_binding.BATCH, batch.data)] == [
        one
    ] * 2


def test_extensions_are_encoded_as_attributes_are() -> None:
    assert http_binding.extension_headers({"tenant": 'a "b"', "core": "west"}) == {
        "ce-tenant": "a%20%22b%22",
        "ce-core": "west",
    }
    assert http_binding.extension_headers({}) == {}


def test_a_time_is_kept_when_it_is_given() -> None:
    given = {"id": "1", "source": "s", "type": "t", "time": datetime(2026, 11, 21, tzinfo=UTC)}
    assert http_binding.binary_headers(given)["ce-time"] == "2026-11-21T00:00:00Z"
    headers = {**http_binding.to_binary(TRICKY), "ce-time": "2026-11-21T00:00:00Z"}
    assert http_binding.from_http(headers, TRICKY.data) == TRICKY


@pytest.mark.parametrize(
    ("data", "octets"),
    [
        ({"data": "text"}, b"text"),
        ({"data": {"a": 1}}, b'{"a":1}'),
        ({"data": [1]}, b"[1]"),
        ({"data": None}, b""),
        ({}, b""),
    ],
)
def test_data_in_json(data: dict[str, Any], octets: bytes) -> None:
    found = {**json.loads(http_binding.to_json(event(1, data=b""))), **data}
    assert http_binding.from_json(json.dumps(found).encode()).event.data == octets


@pytest.mark.parametrize("data", [b'{"a": 1}', b"text", b"\xff", b""])
@pytest.mark.parametrize("media_type", ["application/json", "text/plain", None])
def test_octets_are_neither_parsed_nor_decoded(data: bytes, media_type: str | None) -> None:
    one = event(1, data=data, datacontenttype=media_type)
    assert http_binding.from_http(http_binding.to_binary(one), data) == one
    assert http_binding.from_json(http_binding.to_json(one)).event == one


def test_an_attribute_that_is_null_is_absent() -> None:
    found = {**json.loads(http_binding.to_json(event(1))), "traceparent": None, "subject": None}
    assert http_binding.from_json(json.dumps(found).encode()).event == event(1)


STRUCTURED = {"content-type": http_binding.STRUCTURED}


@pytest.mark.parametrize(
    ("headers", "body", "why"),
    [
        ({}, b"", "neither a header ce-specversion"),
        ({"content-type": "application/json"}, b"{}", "neither a header ce-specversion"),
        ({"ce-specversion": "0.3"}, b"", "specversion is '0.3'"),
        ({"ce-specversion": "1.0", "ce-id": "1"}, b"", "the attribute source is missing"),
        ({"ce-specversion": "1.0", "ce-source": "1"}, b"", "the attribute id is missing"),
        ({**http_binding.to_binary(event(1)), "ce-a-b": "x"}, b"", "lowercase letters and numbers"),
        ({**http_binding.to_binary(event(1)), "ce-time": "noon"}, b"", "not an event in binary"),
        (STRUCTURED, b"[]", "not a JSON object"),
        (STRUCTURED, b"\xff", "not a JSON object"),
        (STRUCTURED, b'{"specversion": "1.0", "id": 1.5}', "neither text nor a whole number"),
        (
            STRUCTURED,
            json.dumps({**json.loads(http_binding.to_json(event(1))), "slot": 1.5}).encode(),
            "neither text nor a whole number",
        ),
        (STRUCTURED, b'{"specversion": "1.0", "data_base64": "?"}', "is not base64"),
        ({"content-type": http_binding.BATCH}, b"[]", "is not taken"),
    ],
)
def test_what_is_no_event(headers: dict[str, str], body: bytes, why: str) -> None:
    with pytest.raises(BadEventError, match=why):
        http_binding.from_http(headers, body)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [("text/plain", b"x"), (http_binding.BATCH, b"{}"), (http_binding.STRUCTURED, b"x")],
)
def test_responses_that_hold_no_events(content_type: str, body: bytes) -> None:
    with pytest.raises(BadEventError):
        http_binding.from_response(content_type, body)
    assert http_binding.from_response("", b"") == []
