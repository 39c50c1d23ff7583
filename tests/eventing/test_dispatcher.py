"""The dispatcher between a real nats-server and a real HTTP server that misbehaves."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from msgspec.structs import replace
from nats.aio.client import Client

from eventing import subjects
from eventing.cloudevents import http_binding, nats_binding
from eventing.cloudevents.nats_binding import REPEATED
from eventing.dispatcher import replies
from eventing.dispatcher import sink as sink_module
from eventing.dispatcher.dispatcher import DELIVERY, Dispatcher, DispatcherConfig
from eventing.dispatcher.load import BACKLOG, answer_header
from eventing.dispatcher.sink import FunctionSink, OverridesError, overrides
from eventing.jetstream.delivery import deliveries_of
from eventing.jetstream.messages import Addressed, Outgoing, addressed, gathered
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.sealed import DownlinkSealer
from eventing.jetstream.streams import BusConfig, assignment_bucket, ensure
from eventing.ownership import assignments, leases
from eventing.ownership.assignments import Assignment
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import SLOTS, partition_of
from tests.eventing import brokers
from tests.eventing.brokers import event, stored, until

BUS = BusConfig(partitions=2, ack_wait=30.0)
IMPATIENT = replace(BUS, ack_wait=1.0)
"""A dispatcher that ends waits so long for the answers of its function."""
PROCEDURES = ("registration", "session")


class Function:
    """A sink with settable answers."""

    def __init__(self) -> None:
        self.heard: list[tuple[CloudEvent, dict[str, str]]] = []
        self.answer: Callable[[CloudEvent, int], web.StreamResponse] = lambda *_: web.Response(
            status=204
        )
        self.tries: Counter[str] = Counter()
        self.busy: Counter[str] = Counter()
        self.most = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.url = ""

    async def take(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        found = http_binding.from_http(headers, await request.read())
        key = f"{found.slot}/{found.procedure}"
        self.tries[found.id] += 1
        self.heard.append((found, headers))
        self.busy[key] += 1
        assert self.busy[key] == 1, "two of one UE at a time"
        self.most = max(self.most, self.busy.total())
        try:
            await self.gate.wait()
            return self.answer(found, self.tries[found.id])
        finally:
            self.busy[key] -= 1

    @property
    def ids(self) -> list[str]:
        return [found.id for found, _ in self.heard]


@pytest.fixture
async def function() -> AsyncGenerator[Function]:
    made = Function()
    app = web.Application()
    app.router.add_post("/", made.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    made.url = f"{server.name}/"
    yield made
    made.gate.set()
    await runner.cleanup()


@pytest.fixture
async def publisher(client: Client) -> Publisher:
    await ensure(client, BUS, PROCEDURES)
    made = Publisher(client, BUS.partitions)
    await made.start()
    return made


class Dispatching:
    """A running dispatcher."""

    def __init__(self, client: Client, url: str, **changes: Any) -> None:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20))
        config = replace(DispatcherConfig(PROCEDURES, BUS, "test"), **changes)
        sink = FunctionSink(self._session, url, {"tenant": "a b"})
        self.dispatcher = Dispatcher(config, client, sink)
        self.task = asyncio.ensure_future(self.dispatcher.run())

    async def end(self) -> None:
        self.dispatcher.stop()
        await self.task
        await self._session.close()


@pytest.fixture
async def start(client: Client, function: Function) -> AsyncGenerator[Callable[..., Dispatching]]:
    made: list[Dispatching] = []

    def begin(url: str = "", **changes: Any) -> Dispatching:
        made.append(Dispatching(client, url or function.url, **changes))
        return made[-1]

    yield begin
    function.gate.set()
    for one in made:
        if not one.task.done():
            await one.end()


async def publish(publisher: Publisher, *some: CloudEvent) -> None:
    await publisher.publish([publisher.outgoing(one) for one in some])


def of_slot(slot: int, number: int, **more: Any) -> CloudEvent:
    return event(number, slot=slot, **more)


async def gone(client: Client) -> None:
    """Wait until all events are acknowledged."""

    async def none() -> bool:
        return not await brokers.events(client)

    await until(none)


Start = Callable[..., Dispatching]


async def test_each_ue_in_order_and_many_side_by_side(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    events = [of_slot(n % 7, n) for n in range(70)]
    await publish(publisher, *events)
    function.gate.clear()
    start(concurrency=5)
    await until(lambda: function.busy.total() == 5)
    function.gate.set()
    await gone(client)
    by_slot: defaultdict[int | None, list[str]] = defaultdict(list)
    for found, headers in function.heard:
        by_slot[found.slot].append(found.id)
        assert headers["ce-tenant"] == "a%20b"
        assert REPEATED not in headers
        assert deliveries_of(headers[DELIVERY]) == 1
    assert by_slot == {s: [e.id for e in events if e.slot == s] for s in range(7)}
    assert function.most == 5


async def test_what_fails_is_tried_again_and_holds_up_its_ue_alone(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    events = [of_slot(1, 1), of_slot(1, 2), of_slot(3, 3)]

    def answer(found: CloudEvent, tries: int) -> web.StreamResponse:
        return web.Response(status=503 if found.id == events[0].id and tries < 4 else 204)

    function.answer = answer
    await publish(publisher, *events)
    start()
    await gone(client)
    first, second, other = (one.id for one in events)
    assert [i for i in function.ids if i != other] == [first] * 4 + [second]
    assert function.ids.index(other) < function.ids.index(second)
    again = [headers for found, headers in function.heard if found.id == first]
    assert [REPEATED in headers for headers in again] == [False, True, True, True]


async def test_the_events_of_a_message_are_posted_each_by_itself(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    events = [of_slot(slot, number) for number, slot in enumerate((2, 4, 2, 4, 6, 2))]
    (message,) = gathered(addressed(one, BUS.partitions) for one in events)
    await publisher.publish([message])
    function.gate.clear()
    start()
    await until(lambda: function.busy.total() == 3)
    function.gate.set()
    await gone(client)
    for slot in (2, 4, 6):
        heard = [(found.id, found.data) for found, _ in function.heard if found.slot == slot]
        assert heard == [(one.id, one.data) for one in events if one.slot == slot]


async def test_of_a_message_the_refused_event_alone_is_a_dead_letter(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    events = [of_slot(2, 0), of_slot(4, 1)]
    (message,) = gathered(addressed(one, BUS.partitions) for one in events)
    function.answer = lambda found, _: web.Response(status=400 if found.id == "test-1" else 204)
    await publisher.publish([message])
    start()
    await gone(client)
    (letter,) = await stored(client, subjects.DEAD_LETTERS)
    assert nats_binding.from_message(letter.headers, letter.data) == events[1]
    assert letter.subject == "dead.ue.0.registration.n2.4"
    assert sorted(function.ids) == ["test-0", "test-1"]


def not_yet(**headers: str) -> web.Response:
    return web.Response(status=503, headers=headers)


async def test_an_event_that_its_function_gives_back_leaves_its_batch(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    """Otherwise the other events of the batch would stand in the stream until it is processed."""
    events = [of_slot(2, 0), of_slot(4, 1), of_slot(6, 2)]
    (message,) = gathered(addressed(one, BUS.partitions) for one in events)
    early = True

    def answer(found: CloudEvent, _: int) -> web.StreamResponse:
        waits = early and found.id == "test-1"
        return not_yet(**{"evcore-after": "0.1"}) if waits else web.Response(status=204)

    function.answer = answer
    await publisher.publish([message])
    start()

    async def alone() -> bool:
        return [one.subject for one in await stored(client)] == ["ue.0.registration.core.4-again"]

    await until(alone)
    (left,) = await stored(client)
    found = nats_binding.from_message(left.headers, left.data)
    assert found.position is not None
    assert replace(found, position=None) == events[1]
    assert (found.position.sequence, found.position.index) == (1, 1)
    assert REPEATED in left.headers
    early = False
    await gone(client)
    assert function.ids.count("test-0") == function.ids.count("test-2") == 1
    assert await stored(client, subjects.DEAD_LETTERS) == []


async def test_an_event_leaves_its_batch_after_those_before_it(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    """An event waits for the message of an earlier one, which must not wait for a later one."""
    events = [of_slot(2, 0), of_slot(4, 1)]
    (message,) = gathered(addressed(one, BUS.partitions) for one in events)
    open_for: set[str] = set()

    def answer(found: CloudEvent, _: int) -> web.StreamResponse:
        if found.id in open_for:
            return web.Response(status=204)
        return not_yet(**{"evcore-after": "0.1"} if found.id == "test-1" else {})

    function.answer = answer
    await publisher.publish([message])
    start()
    await until(lambda: min(function.tries["test-0"], function.tries["test-1"]) >= 3)
    assert [one.subject for one in await stored(client)] == [message.subject]
    open_for.add("test-0")

    async def alone() -> bool:
        return [one.subject for one in await stored(client)] == ["ue.0.registration.core.4-again"]

    await until(alone)
    open_for.add("test-1")
    await gone(client)


async def test_a_sink_at_zero_does_not_break_up_batches(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    (message,) = gathered(addressed(of_slot(2 * n, n), BUS.partitions) for n in range(3))
    function.answer = lambda _, tries: not_yet() if tries < 4 else web.Response(status=204)
    await publisher.publish([message])
    start()
    await gone(client)
    assert sorted(function.ids) == [f"test-{n}" for n in range(3) for _ in range(4)]
    assert len({headers[DELIVERY] for _, headers in function.heard}) == 1, "all of one message"


async def test_what_is_refused_is_a_dead_letter(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    def answer(found: CloudEvent, _: int) -> web.StreamResponse:
        return (
            web.Response(status=400, text="no such slice\n")
            if found.id == "test-1"
            else web.Response(status=204)
        )

    function.answer = answer
    await publish(publisher, of_slot(1, 1), of_slot(1, 2))
    start()
    await gone(client)
    (letter,) = await stored(client, subjects.DEAD_LETTERS)
    assert letter.headers["evcore-reason"] == nats_binding.header_value("status 400: no such slice")
    assert letter.data == event(1).data
    assert function.ids == ["test-1", "test-2"]


async def test_an_event_that_the_function_always_fails_on_ends_as_a_dead_letter(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    function.answer = lambda found, _: web.Response(status=500 if found.id == "test-1" else 204)
    await publish(publisher, of_slot(1, 1), of_slot(1, 2))
    start(attempts=3)
    await gone(client)
    assert function.ids == ["test-1"] * 3 + ["test-2"]
    (letter,) = await stored(client, subjects.DEAD_LETTERS)
    assert letter.headers["evcore-reason"] == nats_binding.header_value(
        "3 attempts, at last status 500"
    )


async def test_what_is_no_event_is_not_posted(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    await publisher.publish([Outgoing("ue.0.session.n2.2", b"x", {"ce-id": "1"})])
    start()
    await gone(client)
    assert len(await stored(client, subjects.DEAD_LETTERS)) == 1
    assert function.ids == []


async def test_a_sink_at_zero_is_waited_for_and_no_more_is_asked_for(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    """The other events stay in JetStream, where the autoscaler counts them."""
    function.gate.clear()
    await publish(publisher, *(of_slot(2 * n, n) for n in range(300)))
    start(concurrency=4, backlog=16)
    await until(lambda: len(function.heard) == 4)
    name = subjects.consumer(0, "registration")
    pending = (await brokers.consumer(client, name))["num_pending"]
    assert pending >= 300 - 128 - 64 - 64, "a batch, and what stands ready"
    assert len(function.heard) == 4
    function.gate.set()
    await gone(client)
    assert len(set(function.ids)) == 300


async def test_functions_get_their_share_of_the_queue(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    """Requests of UEs are apart from the other events."""

    def answer(found: CloudEvent, _: int) -> web.StreamResponse:
        name = f"f-{1 + int(found.id.removeprefix('test-')) % 2}"
        return web.Response(status=204, headers=answer_header(name, 5))

    function.answer = answer
    requests = [of_slot(2 * n, n, sequence=0, partitionkey=f"c-{n}") for n in range(100)]
    others = [of_slot(2 * n, n, sequence=1, partitionkey=f"ngap-{n}") for n in range(100, 300)]
    await publish(publisher, *requests, *others)
    function.gate.clear()
    start(concurrency=4)
    await until(lambda: len(function.heard) == 4)
    function.gate.set()
    await gone(client)
    found: list[tuple[int, int]] = []
    for _, headers in function.heard:
        _, first, second = headers[BACKLOG].split()
        found.append((int(first), int(second)))
    assert max(first + second for first, second in found) <= 300
    later = found[200:]
    assert {requests for requests, _ in later} == {0}, "they were the first"
    assert 40 <= max(later)[1] <= 55, "100 events for two functions"
    assert min(found) == (0, 0)


async def test_a_sink_that_is_not_there_yet(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    await publish(publisher, of_slot(1, 1))
    absent = start("http://127.0.0.1:9/", bus=IMPATIENT)
    await until(lambda: bool(absent.dispatcher.unfinished))
    await absent.end()
    start()
    await gone(client)
    assert function.ids == ["test-1"]
    assert await stored(client, subjects.DEAD_LETTERS) == []


async def test_what_the_function_answers_is_sent_before_the_event_is_let_go(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    onward = publisher.outgoing(event(9, type=EventType.IDENTIFIED, procedure="session", slot=1))
    sealed = Addressed("n2.gnb-1.a1", event(8, data=b"pdu"))
    (down,) = DownlinkSealer(bytes(32)).messages([sealed], 1)

    def answer(found: CloudEvent, _: int) -> web.StreamResponse:
        if found.id != "test-1":
            return web.Response(status=204)
        content_type, body = replies.encode([down, onward])
        return web.Response(body=body, headers={"content-type": content_type})

    function.answer = answer
    heard = await client.subscribe("n2.>")
    await publish(publisher, of_slot(1, 1))
    start()
    message = await heard.next_msg(10)
    assert (message.subject, message.data, message.headers) == (down.subject, down.data, None)
    await gone(client)
    assert function.ids == ["test-1", "test-9"]


def test_the_events_of_a_batch_are_apart_in_an_answer() -> None:
    """A page of wake-ups is a batch for the bus."""
    events = [of_slot(2 * n, n, type=EventType.TIMER, procedure="session") for n in range(3)]
    (message,) = gathered(addressed(one, BUS.partitions) for one in events)
    alone = [addressed(one, BUS.partitions).outgoing for one in events]
    found = replies.decode(*replies.encode([message, alone[0]]))
    assert [one.message for one in found] == [*alone, alone[0]]


async def test_an_answer_that_is_none_is_no_success(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    function.answer = lambda _, tries: web.Response(text="ok" if tries < 3 else "")
    await publish(publisher, of_slot(1, 1))
    start()
    await gone(client)
    assert function.ids == ["test-1"] * 3


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (http_binding.STRUCTURED, b'{"a":' + b"[" * 100_000),
        (
            http_binding.STRUCTURED,
            http_binding.to_json(event(9), {"subject": "ue.0.session"}),
        ),
        (
            http_binding.STRUCTURED,
            http_binding.to_json(event(9), {"subject": "n2.a.b c"}),
        ),
        (http_binding.STRUCTURED, b" " * 200_000),
    ],
    ids=["deep", "no such subject", "a space", "long"],
)
async def test_an_answer_that_would_never_be_sent_holds_up_nobody(
    client: Client,
    publisher: Publisher,
    function: Function,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    content_type: str,
    body: bytes,
) -> None:
    monkeypatch.setattr(sink_module, "MOST", 150_000)
    function.answer = lambda found, _: (
        web.Response(body=body, content_type=content_type)
        if found.id == "test-1"
        else web.Response(status=204)
    )
    await publish(publisher, of_slot(1, 1), of_slot(1, 2))
    start(attempts=2)
    await gone(client)
    assert function.ids == ["test-1", "test-1", "test-2"]
    assert len(await stored(client, subjects.DEAD_LETTERS)) == 1


async def test_an_event_that_cannot_be_posted_holds_up_nobody(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    await publish(publisher, of_slot(1, 1, datacontenttype="a\r\nb: c"), of_slot(1, 2))
    start(attempts=2)
    await gone(client)
    assert function.ids == ["test-2"]
    assert len(await stored(client, subjects.DEAD_LETTERS)) == 1


async def test_a_redirection_is_no_answer_and_is_not_followed(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    def answer(_: CloudEvent, tries: int) -> web.StreamResponse:
        elsewhere = {"location": function.url + "elsewhere"}
        return web.Response(status=302, headers=elsewhere) if tries < 4 else web.Response()

    function.answer = answer
    await publish(publisher, of_slot(1, 1))
    start(attempts=2)
    await gone(client)
    assert function.ids == ["test-1"] * 4
    assert await stored(client, subjects.DEAD_LETTERS) == []


async def test_the_end_gives_back_what_is_not_done(
    client: Client, publisher: Publisher, function: Function, start: Start
) -> None:
    function.answer = lambda *_: web.Response(status=503)
    await publish(publisher, *(of_slot(n, n) for n in range(10)))
    first = start(concurrency=2, bus=IMPATIENT)
    await until(lambda: len(function.heard) >= 2)
    await first.end()
    function.answer = lambda *_: web.Response(status=204)
    start()
    await gone(client)
    assert set(function.ids) == {f"test-{n}" for n in range(10)}


def test_overrides_of_knative() -> None:
    assert overrides("") == overrides("{}") == overrides('{"extensions": null}') == {}
    assert overrides('{"extensions": {"tenant": "a"}}') == {"tenant": "a"}
    for wrong in ("x", "[]", '{"extensions": {"a": 1}}', '{"extensions": {"A-b": "c"}}'):
        with pytest.raises(OverridesError, match="K_CE_OVERRIDES"):
            overrides(wrong)


async def test_a_version_that_is_swapped_in_has_its_partitions_to_itself(
    client: Client, publisher: Publisher, start: Start, function: Function
) -> None:
    kv = await assignment_bucket(client)
    start()
    swap = Assignment("registration", "canary", 1, canary="2+x", partitions=(0,))
    revision = await assignments.write(kv, swap, 0)

    async def taken_over() -> bool:
        return [one.assignments for one in await leases.live(client)] == [revision]

    await until(taken_over)
    slots = {partition_of(slot, BUS.partitions): slot for slot in range(SLOTS)}
    of_canary, of_function = of_slot(slots[0], 0), of_slot(slots[1], 1)
    await publish(publisher, of_canary, of_function)
    await until(lambda: bool(function.heard))
    assert function.ids == [of_function.id]
    await assignments.write(kv, assignments.rolled_back(swap, "worse", 2), revision)
    await gone(client)
    assert function.ids == [of_function.id, of_canary.id]
