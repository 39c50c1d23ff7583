"""CloudEvents in binary mode: the headers are those of the CloudEvents SDK for the same event.

The SDK has no binding for NATS. The NATS binding encodes header values like the HTTP binding. The
only difference: the media type is `ce-datacontenttype`, as any other attribute.
"""

from typing import Any

import pytest
from cloudevents.core.bindings import http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent as SdkEvent
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from nats.aio.client import Client

from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import BadEventError
from eventing.jetstream.delivery import Delivery
from functions.runtime.job import parse
from schemas.cloudevents import CloudEvent
from tests.eventing.brokers import event

NATS_NAME = "ce-datacontenttype"
HTTP_NAME = "content-type"

texts = st.text(min_size=1, max_size=30)
optional_texts = st.none() | texts
events = st.builds(
    CloudEvent,
    id=texts,
    source=texts,
    type=texts,
    partitionkey=texts,
    data=st.binary(max_size=50),
    datacontenttype=optional_texts,
    procedure=optional_texts,
    slot=st.none() | st.integers(0, 1023),
    sequence=st.none() | st.integers(0, (1 << 63) - 1),
    traceparent=optional_texts,
    incarnation=st.none() | st.integers(0, (1 << 32) - 1),
)

TRICKY = event(
    7,
    id='50% "off" \u20ac \U0001f4e1',
    source="/n2/gnb 1/a\r\nce-slot: 9",
    type="org.evcore.n2.uplink",
    datacontenttype='text/plain; charset="utf-8"',
    sequence=3,
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)


def attributes(ours: CloudEvent) -> dict[str, Any]:
    """Return the context attributes of an event by their names in the specification."""
    values = structs.asdict(ours)
    del values["data"]
    return {"specversion": "1.0", **{k: v for k, v in values.items() if v is not None}}


def of_sdk(ours: CloudEvent) -> http.HTTPMessage:
    """Return the SDK's message for the same event, without the time that the SDK adds."""
    theirs = SdkEvent(attributes(ours), ours.data)
    del theirs.get_attributes()["time"]
    return http.to_binary(theirs, JSONFormat())


@given(events)
def test_our_headers_are_those_of_the_sdk(ours: CloudEvent) -> None:
    message = of_sdk(ours)
    headers = dict(message.headers)
    media_type = headers.pop(HTTP_NAME, None)
    found = nats_binding.to_headers(ours)
    own_media_type = found.pop(NATS_NAME, None)
    assert found == headers
    assert message.body == ours.data
    assert own_media_type == (None if media_type is None else nats_binding.header_value(media_type))


@given(events)
def test_the_sdk_reads_our_headers(ours: CloudEvent) -> None:
    found = nats_binding.to_headers(ours)
    theirs = http.from_binary(http.HTTPMessage(found, ours.data), JSONFormat())
    read = dict(theirs.get_attributes())
    del read["time"]
    assert read == {k: str(v) for k, v in attributes(ours).items()}


@given(events)
def test_we_read_the_headers_of_the_sdk(ours: CloudEvent) -> None:
    message = of_sdk(ours)
    headers = dict(message.headers)
    if HTTP_NAME in headers:
        headers[NATS_NAME] = nats_binding.header_value(headers.pop(HTTP_NAME))
    assert nats_binding.from_message(headers, message.body) == ours


@given(events)
def test_a_header_is_printable_ascii_whatever_the_value(ours: CloudEvent) -> None:
    for value in nats_binding.to_headers(ours).values():
        assert all("!" <= char <= "~" for char in value), value


async def test_nats_carries_every_value_unchanged(client: Client) -> None:
    heard = await client.subscribe("here")
    await client.publish("here", TRICKY.data, headers=nats_binding.to_headers(TRICKY))
    message = await heard.next_msg(10)
    assert nats_binding.from_message(message.headers, message.data) == TRICKY


def test_values_are_encoded_as_the_specification_has_it() -> None:
    assert nats_binding.to_headers(TRICKY) == {
        "ce-specversion": "1.0",
        "ce-id": "50%25%20%22off%22%20%E2%82%AC%20%F0%9F%93%A1",
        "ce-source": "/n2/gnb%201/a%0D%0Ace-slot:%209",
        "ce-type": "org.evcore.n2.uplink",
        "ce-partitionkey": "imsi-001010000000007",
        "ce-datacontenttype": "text/plain;%20charset=%22utf-8%22",
        "ce-procedure": "registration",
        "ce-slot": str(TRICKY.slot),
        "ce-sequence": "3",
        "ce-traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }


def test_header_names_may_be_in_any_case() -> None:
    headers = {name.title(): value for name, value in nats_binding.to_headers(TRICKY).items()}
    assert "Ce-Partitionkey" in headers
    assert nats_binding.from_message(headers, TRICKY.data) == TRICKY


def test_other_headers_and_other_attributes_are_left_alone() -> None:
    headers = {**nats_binding.to_headers(TRICKY), "Nats-Msg-Id": "x", "ce-tenant": "y", "ce-": "z"}
    assert nats_binding.from_message(headers, TRICKY.data) == TRICKY


def without(name: str) -> dict[str, str]:
    return {k: v for k, v in nats_binding.to_headers(TRICKY).items() if k != name}


BAD: list[tuple[dict[str, str] | None, str]] = [
    (None, "a message without headers is no CloudEvent in binary mode"),
    ({}, "a message without headers is no CloudEvent in binary mode"),
    ({"Nats-Msg-Id": "x"}, "specversion is None, not '1.0'"),
    ({**without(""), "ce-specversion": "0.3"}, "specversion is '0.3', not '1.0'"),
    (without("ce-id"), "the attribute id is missing"),
    (without("ce-source"), "the attribute source is missing"),
    (without("ce-type"), "the attribute type is missing"),
    (without("ce-partitionkey"), "the attribute partitionkey is missing"),
    ({**without(""), "ce-id": ""}, "the attribute id is missing"),
    ({**without(""), "ce-id": "%ff"}, "id is not percent-encoded UTF-8"),
    ({**without(""), "ce-procedure": "%C3"}, "procedure is not percent-encoded UTF-8"),
    ({**without(""), "ce-slot": "x"}, "slot is 'x', not a number up to 1023"),
    ({**without(""), "ce-slot": "-1"}, "slot is '-1', not a number up to 1023"),
    ({**without(""), "ce-slot": "1024"}, "slot is '1024', not a number up to 1023"),
    ({**without(""), "ce-slot": "\u0661"}, "slot is '\u0661', not a number up to 1023"),
    (
        {**without(""), "ce-sequence": "9" * 5000},
        f"sequence is '{'9' * 40}', not a number up to 9223372036854775807",
    ),
]


@pytest.mark.parametrize(("headers", "words"), BAD, ids=[words[:40] for _, words in BAD])
def test_what_is_no_event_is_refused_in_one_sentence(
    headers: dict[str, str] | None, words: str
) -> None:
    with pytest.raises(BadEventError) as refused:
        nats_binding.from_message(headers, b"")
    assert str(refused.value) == words


headers_of_anyone = st.dictionaries(
    st.sampled_from([*nats_binding.to_headers(TRICKY), "Nats-Schedule", "ce-x"]),
    st.sampled_from(["1.0", "%", "%41", "1023", ""]) | st.text(max_size=10),
)


@given(headers_of_anyone, st.booleans())
def test_no_headers_raise_anything_else(headers: dict[str, str], specversion: bool) -> None:
    if specversion:
        headers = {**headers, "ce-specversion": "1.0"}
    try:
        found = nats_binding.from_message(headers, b"")
    except BadEventError:
        return
    assert nats_binding.from_message(nats_binding.to_headers(found), b"") == found


def delivered(subject: str, headers: dict[str, str]) -> Delivery:
    return Delivery(subject, b"data", headers, "", 1, "registration-0000")


def test_slot_and_procedure_come_from_the_subject_where_the_headers_have_none() -> None:
    headers = {k: v for k, v in without("ce-slot").items() if k != "ce-procedure"}
    headers["ce-source"] = "/n2/gnb-1/a1"
    found = parse(delivered("ue.3.deregistration.n2.35", headers))
    assert (found.slot, found.procedure) == (35, "deregistration")


@pytest.mark.parametrize(
    "subject", ["ue.registration.n2.3", "ue.1.1.ran.n2.2", "ue.1.ran.n2.x", "timer.1.n2.3"]
)
def test_a_subject_that_is_not_of_an_event_is_refused(subject: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the test checks the text
        parse(delivered(subject, without("ce-slot")))
    assert str(refused.value) == f"{subject!r} is not ue.<partition>.<procedure>.<origin>.<slot>"
