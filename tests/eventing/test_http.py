"""CloudEvents over HTTP: ours is what the CloudEvents SDK makes and reads."""

import json
from typing import Any

import pytest
from cloudevents.core.bindings import http as sdk
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent as SdkEvent
from hypothesis import given

from eventing.cloudevents import http_binding
from eventing.cloudevents.nats_binding import BadEventError
from schemas.cloudevents import CloudEvent
from tests.eventing.brokers import event
from tests.eventing.test_binding import TRICKY, attributes, events


def sdk_event(ours: CloudEvent) -> SdkEvent:
    """The same event, without the time that the SDK makes up."""
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
    assert json.loads(http_binding.to_body(http_binding.to_json(TRICKY))) == json.loads(made.body)


@given(events)
def test_any_event_comes_back(one: CloudEvent) -> None:
    body = http_binding.to_body(http_binding.to_json(one))
    assert (
        http_binding.from_http({"content-type": f"{http_binding.STRUCTURED}; charset=UTF-8"}, body)
        == one
    )
    (found,) = http_binding.from_response(
        http_binding.BATCH, http_binding.to_body([http_binding.to_json(one)])
    )
    assert http_binding.from_json(found) == one


@pytest.mark.parametrize(
    ("data", "octets"), [({"data": "text"}, b"text"), ({"data": {"a": 1}}, b'{"a":1}'), ({}, b"")]
)
def test_data_in_json(data: dict[str, Any], octets: bytes) -> None:
    found = {**http_binding.to_json(event(1, data=b"")), **data}
    assert http_binding.from_json(found).data == octets


STRUCTURED = {"content-type": http_binding.STRUCTURED}


@pytest.mark.parametrize(
    ("headers", "body", "why"),
    [
        ({}, b"", "neither a header ce-specversion"),
        ({"content-type": "application/json"}, b"{}", "neither a header ce-specversion"),
        ({"ce-specversion": "0.3"}, b"", "specversion is '0.3'"),
        ({"ce-specversion": "1.0", "ce-id": "1"}, b"", "the attribute source is missing"),
        (STRUCTURED, b"[]", "not a JSON object"),
        (STRUCTURED, b"\xff", "not a JSON object"),
        (STRUCTURED, b'{"specversion": "1.0", "id": 1.5}', "neither text nor a whole number"),
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
