"""`evcore announce` as a process: killed, stopped and restarted, with a Broker that fails.

The log is a real log: the recorded scenarios of UEs, gNBs and UPFs, stored in SQLite. It grows
while it is announced.
"""

import asyncio
import random
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from aiohttp import web
from msgspec.structs import replace

from evcore.local.broker import Broker as NatsServer
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import BusConfig, ensure
from functions.announcer.announcer import IDLE
from functions.announcer.position import Position
from statestore.contract import Appended
from statestore.log import EventLog
from statestore.open import open_store
from statestore.vault import Vault
from tests.announcer.broker import Ingress, always, ingress
from tests.announcer.told import told
from tests.evcore.recording import played
from tests.servers import nats_server

KEY = bytes(range(32))


class Place(NamedTuple):
    """A store, a NATS server and their configuration files."""

    folder: Path
    log: EventLog
    broker: NatsServer

    @property
    def nats(self) -> str:
        return self.broker.url

    async def grow(self, copies: range) -> list[str]:
        """Append logs of more UEs on other nodes. Return their domain event ids, in order."""
        ids: list[str] = []
        for copy in copies:
            order = [(f"{name}-{copy}", step) for name, step in played().order]
            for name, step in order:
                (aggregate,) = await self.log.load([name])
                before = aggregate.state
                aggregate.apply(step)
                entry = self.log.entry(aggregate, step, before)
                entry = replace(entry, put=(), drop=())  # indexes do not matter here
                assert await self.log.engine.append([entry]) == [Appended()]
            ids += [one.event.id for one in told(order)]
        return ids

    def command(self, url: str, *more: str) -> list[str]:
        files = ("--config", self.folder / "evcore.toml", "--secrets", self.folder / "secrets.toml")
        return [sys.executable, "-m", "evcore", "announce", *map(str, files), "--sink", url, *more]

    @asynccontextmanager
    async def announcer(self, url: str, *more: str) -> AsyncGenerator[asyncio.subprocess.Process]:
        child = await asyncio.create_subprocess_exec(
            *self.command(url, *more), stderr=asyncio.subprocess.PIPE
        )
        assert child.stderr is not None
        try:
            yield child
        finally:
            if child.returncode is None:
                child.kill()
            print((await child.stderr.read()).decode())
            await child.wait()

    async def position(self, name: str = "default") -> Position:
        async with connected(self.nats, "test") as client:
            kv = await client.jetstream().key_value("evcore-announcers")
            entry = await kv.get(name)
        return msgspec.json.decode(entry.value or b"", type=Position)

    async def reached(self, cursor: bytes) -> None:
        """Wait until the position of the announcer reaches the end of the log."""
        async with connected(self.nats, "test") as client:
            kv = await client.jetstream().key_value("evcore-announcers")
            watcher = await kv.watch("default")
            async for entry in watcher:
                value = entry.value if entry is not None else None
                if value and msgspec.json.decode(value, type=Position).cursor == cursor:
                    break
            await watcher.stop()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    store = f"sqlite://{tmp_path / 'store.db'}"
    engine = await open_store(store)
    async with nats_server(tmp_path) as broker:
        async with connected(broker.url, "test") as client:
            await ensure(client, BusConfig(partitions=1), ())
        text = f'[nats]\nurl = "{broker.url}"\npartitions = 1\n[store]\nurl = "{store}"\n'
        (tmp_path / "evcore.toml").write_text(text)
        (tmp_path / "secrets.toml").write_text(f'master_key = "{KEY.hex()}"\n')
        yield Place(tmp_path, EventLog(engine, Vault(KEY)), broker)
    await engine.close()


def firsts(broker: Ingress) -> list[str]:
    """Return the accepted ids, each at its first position."""
    return list(dict.fromkeys(request.id for request in broker.taken))


def by_aggregate(ids: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in ids:
        found.setdefault("/".join(one.split("/")[:2]), []).append(one)
    return found


async def test_what_happens_is_announced_in_order(place: Place) -> None:
    before = await place.grow(range(20))
    async with ingress() as broker, place.announcer(broker.url) as child:
        await broker.until(lambda: len(broker.requests) >= len(before))
        after = await place.grow(range(20, 25))
        await broker.until(lambda: len(broker.requests) >= len(before + after))
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
    assert len(broker.requests) == len(before + after), "once each, when nothing fails"
    came = [request.id for request in broker.requests]
    assert by_aggregate(came) == by_aggregate(before + after)
    position = await place.position()
    assert (position.sent, position.refused, position.holder) == (len(came), 0, "")
    assert position.cursor == await place.log.engine.feed_end()


@pytest.mark.slow
async def test_a_killed_announcer_loses_nothing(place: Place) -> None:
    """Two announcers are killed in turn at random moments, with a Broker that often fails."""
    rng = random.Random(5)
    statuses = [*[202] * 16, 500, 503, 429, 404]

    def answer(_: web.Request, __: int) -> tuple[int, dict[str, str]]:
        return rng.choice(statuses), {}

    wanted = await place.grow(range(40))
    restarted = 0
    async with ingress(answer) as broker:
        while restarted < 2:
            goal = len(broker.requests) + rng.randrange(20, len(wanted) // 8)
            async with place.announcer(broker.url, "--concurrency", "8") as child:
                await broker.until(lambda goal=goal: len(broker.requests) >= goal)
                child.kill()
                assert await child.wait() == -signal.SIGKILL
            wanted += await place.grow(range(40 + restarted, 41 + restarted))
            restarted += 1
        killed_at = await place.position()
        assert killed_at.cursor < await place.log.engine.feed_end()
        async with place.announcer(broker.url) as child:
            # Requests of a killed announcer may still fail now: the position counts.
            await place.reached(await place.log.engine.feed_end())
            child.send_signal(signal.SIGTERM)
            assert await child.wait() == 0
    assert set(firsts(broker)) == set(wanted)
    assert by_aggregate(firsts(broker)) == by_aggregate(wanted), "in order, copies left out"
    assert (await place.position()).cursor == await place.log.engine.feed_end()


async def test_a_restarted_one_goes_on_where_it_was(place: Place) -> None:
    wanted = await place.grow(range(10))
    async with ingress() as broker:
        async with place.announcer(broker.url) as child:
            await broker.until(lambda: len(broker.requests) >= len(wanted))
            child.send_signal(signal.SIGTERM)
            assert await child.wait() == 0
        more = await place.grow(range(10, 12))
        async with place.announcer(broker.url, "--from", "now") as child:
            await broker.until(lambda: len(broker.requests) >= len(wanted + more))
            child.send_signal(signal.SIGTERM)
            assert await child.wait() == 0
    assert sorted(firsts(broker)) == sorted(wanted + more)
    assert len(broker.requests) == len(wanted + more)


async def test_types_names_and_the_end_of_the_feed(place: Place) -> None:
    old = await place.grow(range(3))
    more = ("--name", "sessions", "--types", "ue.registered,gnb", "--from", "now")
    async with ingress() as broker, place.announcer(broker.url, *more) as child:
        await taken(place, "sessions")
        new = await place.grow(range(3, 6))
        wanted = [one for one in new if one.endswith(("/ue.registered", "/gnb.connected"))]
        await broker.until(lambda: len(broker.requests) >= len(wanted))
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
        assert sorted(firsts(broker)) == sorted(wanted)
        assert not set(firsts(broker)) & set(old)


async def taken(place: Place, name: str) -> Position:
    """Wait until a process is the active announcer of this name."""
    async with connected(place.nats, "test") as client:
        subject = f"$KV.evcore-announcers.{name}"
        subscription = await client.subscribe(subject)
        await client.flush()
        message = await subscription.next_msg(timeout=30)
        return msgspec.json.decode(message.data, type=Position)


async def test_what_is_refused_is_a_dead_letter_and_the_rest_goes_on(place: Place) -> None:
    wanted = await place.grow(range(4))
    bad = next(one for one in wanted if one.endswith("/ue.registered"))

    def answer(request: web.Request, _: int) -> tuple[int, dict[str, str]]:
        return (400, {}) if request.headers["ce-id"] == bad else (202, {})

    async with ingress(answer) as broker, place.announcer(broker.url) as child:
        await broker.until(lambda: len(broker.requests) >= len(wanted))
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
    assert by_aggregate(firsts(broker)) == by_aggregate([one for one in wanted if one != bad])
    position = await place.position()
    assert (position.sent, position.refused) == (len(wanted) - 1, 1)
    async with connected(place.nats, "test") as client:
        js = client.jetstream()
        letter = await js.get_last_msg("EVCORE_DEAD", "dead.announce.default")
    assert letter.headers is not None
    assert letter.headers["ce-id"] == bad
    assert letter.headers["evcore-reason"].startswith("400")
    assert msgspec.json.decode(letter.data or b"")["supi"] == bad.split("/")[1]


async def test_of_two_one_stands_by_and_takes_over(place: Place) -> None:
    wanted = await place.grow(range(4))
    async with ingress() as broker, place.announcer(broker.url) as first:
        await broker.until(lambda: len(broker.requests) >= len(wanted))
        async with place.announcer(broker.url) as second:
            wanted += await place.grow(range(4, 6))
            await broker.until(lambda: len(broker.requests) >= len(wanted))
            first.kill()
            await first.wait()
            wanted += await place.grow(range(6, 8))
            await broker.until(lambda: set(wanted) <= set(firsts(broker)))
            second.send_signal(signal.SIGTERM)
            assert await second.wait() == 0
    assert by_aggregate(firsts(broker)) == by_aggregate(wanted)


async def test_a_sink_that_is_away_loses_nothing(place: Place) -> None:
    wanted = await place.grow(range(3))
    async with ingress(lambda *_: (503, {})) as broker, place.announcer(broker.url) as child:
        await broker.until(lambda: len(broker.requests) >= 10)
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
        assert (await place.position()).cursor == b""
        broker.answer = always
        async with place.announcer(broker.url) as again:
            await broker.until(lambda: len(broker.taken) >= len(wanted))
            again.send_signal(signal.SIGTERM)
            assert await again.wait() == 0
    assert by_aggregate(firsts(broker)) == by_aggregate(wanted)


@pytest.mark.slow
async def test_without_jetstream_it_waits_and_then_goes_on(place: Place) -> None:
    """An announcer that cannot write its position stops sending, and still ends in order."""
    wanted = await place.grow(range(3))
    async with ingress() as broker, place.announcer(broker.url) as child:
        await broker.until(lambda: len(broker.requests) >= len(wanted))
        await place.broker.stop()
        wanted += await place.grow(range(3, 6))
        assert child.stderr is not None
        while b"this process stands by" not in await child.stderr.readline():
            pass
        began = asyncio.get_running_loop().time()
        late: list[str] = []
        while asyncio.get_running_loop().time() < began + 2 * IDLE:  # long enough to see them
            late += await place.grow(range(6 + len(late), 7 + len(late)))
        assert not set(late) & set(firsts(broker)), "it has stopped by itself"
        await place.broker.run()
        await broker.until(lambda: set(wanted + late) <= set(firsts(broker)))
        await place.broker.stop()
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
        await place.broker.run()
    assert by_aggregate(firsts(broker)) == by_aggregate(wanted + late)


async def test_a_position_of_another_store_is_refused(place: Place, tmp_path: Path) -> None:
    wanted = await place.grow(range(1))
    async with ingress() as broker:
        async with place.announcer(broker.url) as child:
            await broker.until(lambda: len(broker.requests) >= len(wanted))
            child.send_signal(signal.SIGTERM)
            assert await child.wait() == 0
        other = tmp_path / "other.db"
        await (await open_store(f"sqlite://{other}")).close()
        config = place.folder / "evcore.toml"
        config.write_text(config.read_text().replace("store.db", "other.db"))
        child = await asyncio.create_subprocess_exec(
            *place.command(broker.url), stderr=asyncio.subprocess.PIPE
        )
        _, err = await child.communicate()
        assert child.returncode == 1
        assert "is not in this store: give another --name" in err.decode()


async def test_overrides_of_knative_are_in_every_event(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = await place.grow(range(1))
    async with ingress() as broker:
        monkeypatch.setenv("K_SINK", broker.url)
        monkeypatch.setenv("K_CE_OVERRIDES", '{"extensions": {"core": "west"}}')
        command = place.command("")
        command = command[: command.index("--sink")]
        child = await asyncio.create_subprocess_exec(*command)
        await broker.until(lambda: len(broker.requests) >= len(wanted))
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
    assert {request.headers["ce-core"] for request in broker.requests} == {"west"}
