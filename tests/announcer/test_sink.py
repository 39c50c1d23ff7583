"""POST to a real HTTP server: retries, refusals, and the format of a request."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from hypothesis import given
from hypothesis import strategies as st

from eventing.cloudevents import http_binding
from eventing.dispatcher.sink import OverridesError, overrides
from functions.announcer import sink as sinks
from functions.announcer.sink import LONGEST_RETRY_AFTER, RefusedError, Sink, retry_after
from tests.announcer.broker import ingress
from tests.announcer.told import told
from tests.evcore.recording import played

EVENTS = [one.event for one in told(played().order)]
EVENT = EVENTS[0]


async def test_an_event_is_a_cloudevent_in_binary_mode() -> None:
    async with ingress() as broker, Sink(broker.url, {"core": "west 1"}) as sink:
        for event in EVENTS:
            assert await sink.deliver(event)
    for sent, came in zip(EVENTS, broker.requests, strict=True):
        event = from_http_event(HTTPMessage(came.headers, came.body))
        assert event.get_id() == sent.id
        assert event.get_type() == sent.type
        assert event.get_datacontenttype() == "application/json"
        assert event.get_subject() == sent.aggregate.partition("/")[2]
        assert event.get_time() is not None
        assert event.get_extension("core") == "west 1"
        assert came.body == sent.body


@pytest.mark.parametrize("status", [404, 408, 409, 425, 429, 500, 503, 302, 401, 403, 405])
async def test_what_may_work_later_is_tried_again(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sinks, "FIRST_DELAY", 0.001)

    def answer(_: web.Request, before: int) -> tuple[int, dict[str, str]]:
        return (status, {"Location": "/elsewhere"}) if before < 3 else (202, {})

    async with ingress(answer) as broker, Sink(broker.url, {}) as sink:
        assert await sink.deliver(EVENT)
    assert [came.status for came in broker.requests] == [status] * 3 + [202]
    assert {came.id for came in broker.requests} == {EVENT.id}


@pytest.mark.parametrize("status", sorted(http_binding.REFUSALS))
async def test_what_will_never_work_is_refused(status: int) -> None:
    async with ingress(lambda *_: (status, {})) as broker, Sink(broker.url, {}) as sink:
        with pytest.raises(RefusedError, match=str(status)):
            await sink.deliver(EVENT)
    assert len(broker.requests) == 1


async def test_a_sink_that_wants_to_be_left_alone_is() -> None:
    loop = asyncio.get_running_loop()
    times: list[float] = []

    def answer(_: web.Request, before: int) -> tuple[int, dict[str, str]]:
        times.append(loop.time())
        return (429, {"Retry-After": "1"}) if before == 0 else (202, {})

    async with ingress(answer) as broker, Sink(broker.url, {}) as sink:
        assert await sink.deliver(EVENT)
    assert times[1] - times[0] >= 1.0


async def test_a_sink_that_is_not_there_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "FIRST_DELAY", 0.01)
    async with ingress() as gone:
        port = int(gone.url.split(":")[2].split("/")[0])
    async with Sink(gone.url, {}) as sink:
        delivering = asyncio.ensure_future(sink.deliver(EVENT))
        done, _ = await asyncio.wait((delivering,), timeout=0.1)
        assert not done
        async with ingress(port=port) as back:
            assert await delivering
    assert [came.id for came in back.requests] == [EVENT.id]


async def test_a_stop_ends_waiting_and_begins_nothing() -> None:
    busy = ingress(lambda *_: (503, {"Retry-After": "60"}))
    async with busy as broker, Sink(broker.url, {}) as sink:
        delivering = asyncio.ensure_future(sink.deliver(EVENT))
        await broker.until(lambda: bool(broker.requests))
        sink.stop()
        assert await delivering is False
        assert await sink.deliver(EVENT) is False
    assert len(broker.requests) == 1


@pytest.mark.parametrize("name", ["type", "id", "source", "Core", "a b", ""])
def test_an_override_is_an_extension(name: str) -> None:
    with pytest.raises(OverridesError):
        overrides(json.dumps({"extensions": {name: "x"}}))
    assert overrides('{"extensions": {"core": "west"}}') == {"core": "west"}


NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0.0),
        ("", 0.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("9" * 400, LONGEST_RETRY_AFTER),
        ("-3", 0.0),
        ("soon", 0.0),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),
        (format_datetime(NOW + timedelta(days=9), usegmt=True), LONGEST_RETRY_AFTER),
    ],
)
def test_retry_after(value: str | None, seconds: float) -> None:
    assert retry_after(value, NOW) == seconds


@given(st.text(max_size=40))
def test_any_retry_after_is_a_time_to_wait(value: str) -> None:
    assert 0.0 <= retry_after(value, NOW) <= LONGEST_RETRY_AFTER
