"""Two processes of one announcer share an entry: one is active at a time."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from eventing.jetstream.connection import connected
from eventing.jetstream.streams import ensure_buckets
from functions.announcer import position as positions
from functions.announcer.position import NotHolderError, Position, Positions
from tests.servers import nats_client, nats_server


async def test_the_first_begins_where_it_is_told(tmp_path: Path) -> None:
    async with nats_client(tmp_path) as client:
        await ensure_buckets(client)
        mine = await Positions.opened(client, "billing", "a")
        assert await mine.take(Position(b"now")) == Position(b"now", holder="a")
        other = await Positions.opened(client, "alarms", "b")
        assert await other.take(Position()) == Position(holder="b")


async def test_who_leaves_is_followed_at_once(tmp_path: Path) -> None:
    async with nats_client(tmp_path) as client:
        await ensure_buckets(client)
        mine = await Positions.opened(client, "billing", "a")
        place = await mine.take(Position())
        await mine.save(replace(place, cursor=b"1", aggregate="ue/1", seq=1))
        await mine.leave(replace(place, cursor=b"2", aggregate="ue/1", seq=2))
        other = await Positions.opened(client, "billing", "b")
        async with asyncio.timeout(positions.STALE / 2):
            taken = await other.take(Position())
        assert taken == Position(b"2", "ue/1", 2, holder="b")


async def test_one_who_renews_keeps_it_and_one_who_is_silent_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions, "STALE", 1.0)
    monkeypatch.setattr(positions, "RENEW", 0.25)
    monkeypatch.setattr(positions, "_LOOK", 0.1)
    async with nats_client(tmp_path) as client:
        await ensure_buckets(client)
        mine = await Positions.opened(client, "billing", "a")
        place = await mine.take(Position())
        other = await Positions.opened(client, "billing", "b")
        taking = asyncio.ensure_future(other.take(Position()))
        for seq in range(1, 9):
            place = replace(place, cursor=bytes([seq]), aggregate="ue/1", seq=seq)
            await mine.save(place)
            await asyncio.sleep(0.25)
        assert not taking.done()
        assert await taking == replace(place, holder="b")
        with pytest.raises(NotHolderError):
            await mine.save(place)
        await other.save(replace(place, seq=9))


async def test_one_who_cannot_renew_stops_before_another_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions, "STALE", 1.0)
    monkeypatch.setattr(positions, "RENEW", 0.25)
    async with nats_server(tmp_path) as broker, connected(broker.url, "test") as client:
        await ensure_buckets(client)
        mine = await Positions.opened(client, "billing", "a")
        place = await mine.take(Position())
        started = asyncio.get_running_loop().time()
        await broker.stop()
        with pytest.raises(NotHolderError, match="too long"):
            await mine.save(place)
        assert asyncio.get_running_loop().time() - started < positions.STALE
        await broker.run()
        assert await mine.take(Position(b"again")) == place
