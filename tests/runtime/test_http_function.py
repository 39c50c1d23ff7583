"""Functions over HTTP: complete scenarios of UEs, refused requests, and retries."""

import asyncio
import io
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
import uvicorn
from msgspec.structs import replace

import wire
from eventing.cloudevents import http_binding
from eventing.dispatcher import replies
from eventing.dispatcher.credentials import Token
from eventing.dispatcher.dispatcher import Dispatcher, DispatcherConfig
from eventing.dispatcher.load import BACKLOG, FUNCTION
from eventing.dispatcher.sink import FunctionSink
from eventing.jetstream.connection import connected
from functions.runtime import service as module
from functions.runtime.callers import Callers
from functions.runtime.deadlines import TIMER
from functions.runtime.http_function import DELIVERY, application
from functions.runtime.service import Service
from functions.runtime.worker import WorkerConfig, open_decider
from schemas.cloudevents import CloudEvent, EventType, FanOutDue, TimersDue
from schemas.network import Congestion, Network
from schemas.position import Position
from schemas.procedures import MODULES, Procedure
from schemas.step import encode
from schemas.ue.waking import WAKE
from statestore.contract import Engine, StoreUnavailable
from tests.eventing.brokers import until
from tests.functions.world import HOME_KEYS, NETWORK
from tests.runtime import plant as plants
from tests.runtime.plant import ALL, IMPATIENT, Heard, Plant
from tests.runtime.store import Store, opened
from tests.runtime.test_poison import leaving
from tests.runtime.test_worker import holds

TOKEN = "0123456789abcdef" * 2
REGISTRATION_REJECT = 0x44
"""The message type (TS 24.501 table 9.7.1)."""


class Called(NamedTuple):
    """A running function and its store."""

    url: str
    store: Store
    session: aiohttp.ClientSession
    services: list[Service]

    async def post(self, event: CloudEvent) -> tuple[int, str, bytes]:
        async with self.session.post(
            self.url, data=event.data, headers=http_binding.to_binary(event)
        ) as answer:
            return answer.status, answer.headers.get("content-type", ""), await answer.read()


@asynccontextmanager
async def serving(
    plant: Plant, procedures: tuple[Procedure, ...] = ALL, network: Network = NETWORK
) -> AsyncGenerator[Called]:
    """Run an HTTP function with the times and the entropy of the script."""
    store = await opened(plant.path, plant.script)
    settings = WorkerConfig(procedures, plant.config, network, HOME_KEYS, "test")

    @asynccontextmanager
    async def opening() -> AsyncGenerator[tuple[Service, Engine]]:
        async with connected(plant.bus.url, "function") as client:
            decider = await open_decider(settings, store.log, store.subscribers, plant.script.draw)
            services.append(Service(settings, client, decider, store.log))
            yield services[0], store

    services: list[Service] = []
    failures: list[BaseException] = []
    callers = Callers((TOKEN,))
    app = application(opening, plant.config.partitions, failures.append, callers, 10.0)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(app, lifespan="on", log_config=None, ws="none"))
        task = asyncio.ensure_future(server.serve([listening]))
        async with aiohttp.ClientSession(headers=Token(TOKEN).headers) as session:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
            try:
                yield Called(url, store, session, services)
            finally:
                server.should_exit = True
                await task
                await store.close()
    assert failures == []


@asynccontextmanager
async def dispatched(
    plant: Plant, procedures: tuple[Procedure, ...] = ALL
) -> AsyncGenerator[Called]:
    """Run a function and a dispatcher that calls it."""
    async with (
        serving(plant, procedures) as called,
        connected(plant.bus.url, "dispatcher") as client,
    ):
        config = DispatcherConfig(procedures, plant.config, "test")
        dispatcher = Dispatcher(config, client, FunctionSink(called.session, called.url, {}))
        task = asyncio.ensure_future(dispatcher.run())
        try:
            yield called
        finally:
            dispatcher.stop()
            await task


@pytest.mark.parametrize(
    "groups",
    [(ALL,), (ALL[:2], ALL[2:5], ALL[5:]), (ALL, ALL)],
    ids=["one", "three that share the procedures", "two alike"],
)
async def test_whole_lives_over_http(
    plant: Plant, groups: tuple[tuple[Procedure, ...], ...]
) -> None:
    async with AsyncExitStack() as stack:
        for procedures in groups:
            await stack.enter_async_context(dispatched(plant, procedures))
        await plant.play_all()
        await holds(plant)


async def test_beside_a_worker_that_pulls(plant: Plant) -> None:
    async with dispatched(plant, ALL[:4]):
        await plant.worker(ALL[2:])
        await plant.play_all()
        await holds(plant)


async def test_one_event_and_its_copy(plant: Plant) -> None:
    event = plant.script.lanes[0][0].events[0]
    async with serving(plant) as called:
        assert (await called.post(event))[0] == 204
        steps = await called.store.heads()
        assert await called.post(event) == (204, "", b"")
        assert await called.store.heads() == steps
        await until(lambda: len(plant.heard) == 2)
        assert plant.heard[0] == plant.heard[1], "sent again, and decided once"


async def test_what_has_to_be_kept_is_in_the_response(plant: Plant) -> None:
    async with serving(plant) as called:
        (set_up,) = plant.script.lanes[0][0].events
        assert (await called.post(set_up))[0] == 204
        first = plant.script.lanes[1][0].events[0]
        status, content_type, body = await called.post(first)
        assert status == 200
        kept = replies.decode(content_type, body)
        assert kept
        assert all(reply.lasting for reply in kept)


def due(at: int, partition: int, procedure: str = Procedure.REGISTRATION) -> CloudEvent:
    """Return an expired shared wake-up."""
    return CloudEvent(
        id=f"due/{partition}",
        source="/test",
        type=EventType.TIMERS_DUE,
        partitionkey=f"wakes-{procedure}-{at}",
        data=encode(TimersDue(at)),
        procedure=procedure,
        slot=partition,
    )


async def test_a_shared_wake_up_is_answered_with_those_of_its_ues(plant: Plant) -> None:
    async with serving(plant) as called:
        (set_up,) = plant.script.lanes[0][0].events
        await called.post(set_up)
        asked: list[dict[str, str]] = []
        for lane in plant.script.lanes[1:3]:
            first = replace(lane[0].events[0], position=Position(1, 0, 1_800_000_000_000))
            _, content_type, body = await called.post(first)
            asked += [reply.message.headers for reply in replies.decode(content_type, body)]
        keys = {h["ce-partitionkey"] for h in asked if h["ce-type"] == EventType.TIMERS_DUE}
        at = min(int(key.rsplit("-", 1)[1]) for key in keys)
        woken: list[str] = []
        for partition in range(plant.config.partitions):
            status, content_type, body = await called.post(due(at, partition))
            found = replies.decode(content_type, body) if status == 200 else []
            assert all(one.message.headers["ce-type"] == EventType.TIMER for one in found)
            woken += [one.message.headers["ce-partitionkey"] for one in found]
        owners = [owner for _, owner in await called.store.scan(WAKE, f"{at:013d}/")]
        assert sorted(woken) == sorted(owners) != []


async def test_requests_at_the_same_time_share_a_transaction(plant: Plant) -> None:
    async with serving(plant) as called:
        (set_up,) = plant.script.lanes[0][0].events
        await called.post(set_up)
        entered, free = asyncio.Event(), asyncio.Event()

        async def slow(method: str) -> None:
            if method == "append":
                entered.set()
                await free.wait()

        called.store.before = slow
        began = [lane[0].events[0] for lane in plant.script.lanes[1:]]
        firsts = [event for event in began if event.procedure == Procedure.REGISTRATION][:3]
        one = asyncio.ensure_future(called.post(firsts[0]))
        await entered.wait()
        others = [asyncio.ensure_future(called.post(event)) for event in firsts[1:]]
        await until(lambda: called.services[0].waiting == 2)
        free.set()
        assert {(await found)[0] for found in (one, *others)} <= {200, 204}
        assert [len(batch) for batch in called.store.appended[-2:]] == [1, 2]


async def test_what_is_no_event_of_ours(plant: Plant) -> None:
    event = plant.script.lanes[0][0].events[0]
    async with serving(plant) as called:
        headers = http_binding.to_binary(event)
        for changes, status, why in (
            ({"ce-id": None}, 400, "the attribute id is missing"),
            ({"ce-slot": None}, 400, "slot and procedure are needed"),
            ({"ce-procedure": "nonsense"}, 400, "there is no procedure"),
            ({"ce-slot": "x"}, 400, "slot is 'x'"),
            ({"ce-specversion": None}, 400, "neither a header ce-specversion"),
        ):
            sent = {k: v for k, v in {**headers, **changes}.items() if v is not None}
            async with called.session.post(called.url, data=event.data, headers=sent) as answer:
                assert (answer.status, why in await answer.text()) == (status, True), changes
        deep = b'{"a":' + b"[" * 100_000
        sent = {"content-type": http_binding.STRUCTURED}
        async with called.session.post(called.url, data=deep, headers=sent) as answer:
            assert (answer.status, "not a JSON object" in await answer.text()) == (400, True)
        big = io.BytesIO(bytes((1 << 20) + 1))
        async with called.session.post(called.url, data=big, headers=headers) as answer:
            assert answer.status == 413
        async with called.session.get(called.url) as answer:
            assert answer.status == 405
        assert await called.store.heads() == {}


async def test_health(plant: Plant) -> None:
    async with serving(plant) as called:
        for path in ("live", "ready"):
            async with called.session.get(f"{called.url}healthz/{path}") as answer:
                assert answer.status == 200

        async def gone(_: str) -> None:
            raise StoreUnavailable("the store is away")

        async def ready(_: int = 0) -> tuple[int, str]:
            async with called.session.get(f"{called.url}healthz/ready") as answer:
                return answer.status, await answer.text()

        called.store.before = gone
        away = (503, "the store does not answer: the store is away\n")

        async def is_away() -> bool:
            return await ready() == away

        await until(is_away)
        asked = 0

        async def counted(_: str) -> None:
            nonlocal asked
            asked += 1

        called.store.before = counted
        await asyncio.gather(*map(ready, range(200)))
        assert asked <= 4, "anybody may ask, so the store is asked once a second"


async def test_too_many_at_a_time_are_told_to_come_again(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAITING", 0)
    async with serving(plant) as called:
        event = plant.script.lanes[0][0].events[0]
        async with called.session.post(
            called.url, data=event.data, headers=http_binding.to_binary(event)
        ) as answer:
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_a_delivery_that_is_none_of_jetstream_is_the_first(plant: Plant) -> None:
    event = plant.script.lanes[0][0].events[0]
    async with serving(plant) as called:
        headers = {**http_binding.to_binary(event), DELIVERY: "$JS.ACK.a.b.c.d.e.f.g"}
        async with called.session.post(called.url, data=event.data, headers=headers) as answer:
            assert answer.status == 204


def delivered(event: CloudEvent, age: float) -> dict[str, str]:
    """Return the headers of an event that JetStream has stored some seconds ago."""
    stored = time.time_ns() - int(age * 1e9)
    reply = f"$JS.ACK.EVCORE.registration-0000.1.12.7.{stored}.0"
    return {**http_binding.to_binary(event), DELIVERY: reply}


def requests(plant: Plant) -> list[CloudEvent]:
    """Return the REGISTRATION REQUESTs of the script that need no de-concealment."""
    found = (lane[0].events[0] for lane in plant.script.lanes[1:])
    return [event for event in found if event.procedure == Procedure.REGISTRATION]


def nas_type(heard: Heard) -> int | None:
    nas = wire.ngap_peek(heard.data).nas
    return None if nas is None else nas.message_type


async def answered(
    called: Called, event: CloudEvent, headers: dict[str, str]
) -> tuple[int, dict[str, str]]:
    async with called.session.post(called.url, data=event.data, headers=headers) as answer:
        return answer.status, dict(answer.headers)


async def test_a_request_that_its_ue_has_given_up_is_dropped(plant: Plant) -> None:
    async with serving(plant) as called:
        await called.post(plant.script.lanes[0][0].events[0])
        event, other, *_ = requests(plant)
        heads = await called.store.heads()
        assert (await answered(called, event, delivered(event, TIMER)))[0] == 204
        stored = time.time_ns() // 1_000_000 - int(TIMER * 1000)
        again = replace(event, position=Position(3, 0, stored))
        assert (await answered(called, again, delivered(again, 0.0)))[0] == 204
        assert await called.store.heads() == heads
        assert (await answered(called, other, delivered(other, TIMER - 5.0)))[0] == 200
        assert called.services[0].load.dropped == 2


async def test_requests_are_put_off_by_the_queues_of_the_dispatchers(plant: Plant) -> None:
    """A request of a queue that is too long gets the cause #22. The dispatchers learn how many."""
    network = replace(NETWORK, congestion=Congestion())
    async with serving(plant, network=network) as called:
        await called.post(plant.script.lanes[0][0].events[0])
        first, second, *_ = requests(plant)
        status, headers = await answered(called, first, delivered(first, 0.0))
        assert (status, headers[FUNCTION].partition(" ")[2]) == (200, "0")
        queue = {BACKLOG: "dispatcher-1 100000 0"}
        _, headers = await answered(called, second, delivered(second, 0.0) | queue)
        excess = int(headers[FUNCTION].partition(" ")[2])
        assert 90_000 < excess < 100_000
        await until(lambda: REGISTRATION_REJECT in [nas_type(heard) for heard in plant.heard])
        load = called.services[0].load
        assert (load.admitted, load.put_off, load.congested) == (1, 1, True)


async def test_what_fails_each_time_is_a_dead_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = leaving()
    monkeypatch.setitem(MODULES, Procedure.DEREGISTRATION, "tests.runtime.wrong")
    async with plants.running(tmp_path, script, IMPATIENT) as plant, dispatched(plant):
        lanes = plant.script.lanes
        await plant.play(lanes[0])
        await plant.play(*lanes[1:3])
        await plant.publish(lanes[3][0].events)
        await plant.play(lanes[4])
        await plant.idle()
        (letter,) = await plant.letters()
        assert letter.headers["evcore-reason"] == "ZeroDivisionError:%20wrong%20on%20purpose"


@pytest.mark.parametrize("kind", [EventType.TIMERS_DUE, EventType.FAN_OUT])
async def test_a_store_that_is_away_tells_nobody_yet(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, kind: EventType
) -> None:
    async def away(*_: object) -> None:
        raise StoreUnavailable("the store is away")

    event = due(1024, 0)
    if kind == EventType.FAN_OUT:
        data = encode(FanOutDue("gnb/none", 1, 0))
        event = replace(event, type=kind, partitionkey="gnb/none", data=data)
    async with serving(plant) as called:
        with monkeypatch.context() as patch:
            patch.setattr(module.Effects, "page", away)
            assert (await called.post(event))[0] == 503
        assert (await called.post(event))[0] == 204
