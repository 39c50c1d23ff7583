"""The disk of a local core: the room that it needs, and a broker that stores nothing any more."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from nats.aio.client import Client

from evcore.local.broker import Broker
from evcore.local.data import DataDirectory
from evcore.local.disk import DiskWatch, check_room, needed
from eventing.jetstream.connection import BusError, connected, request
from eventing.jetstream.messages import Outgoing
from eventing.jetstream.streams import BusConfig, ensure_streams, publish_once
from eventing.process import cancel_and_wait
from eventing.stats import Load, Stats
from schemas.config.reading import Config, ConfigError, NatsConfig, StoreConfig
from tests import disks
from tests.eventing.brokers import until

SMALL = Config(nats=NatsConfig(max_bytes=4 * disks.MIB), store=StoreConfig(min_free_bytes=0))
FULL = "nats-server stores nothing: no space left on device; it is restarted as soon as its disk"


def config(max_mib: int, min_free_mib: int) -> Config:
    return Config(
        nats=NatsConfig(max_bytes=max_mib * disks.MIB),
        store=StoreConfig(min_free_bytes=min_free_mib * disks.MIB),
    )


def test_a_new_core_without_the_room_of_its_streams_is_refused(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path / "disk", 16) as disk:
        assert check_room(DataDirectory(disk), config(8, 4)) == ""
        with pytest.raises(ConfigError) as caught:
            check_room(DataDirectory(disk), config(64, 4))
    assert str(caught.value) == (
        f"the disk of {disk} has 16 MiB free, and a core needs 68 MiB: 64 MiB for events "
        "([nats] max_bytes) and 4.0 MiB that stay free ([store] min_free_bytes)"
    )


def test_a_core_with_data_starts_and_says_so(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path / "disk", 16) as disk:
        (disk / "jetstream").mkdir()
        (disk / "jetstream" / "1.blk").write_bytes(bytes(2 * disks.MIB))
        words = check_room(DataDirectory(disk), config(14, 4))
        assert "14 MiB free, and a core needs 16 MiB: 14 MiB for events" in words
        assert "of which 2.0 MiB are in use, and 4.0 MiB that stay free" in words
        disks.fill(disk)
        with pytest.raises(ConfigError, match="has 0 octets free, and a core needs"):
            check_room(DataDirectory(disk), config(14, 4))


def test_each_broker_of_a_cluster_needs_room() -> None:
    settings = Config(nats=NatsConfig(max_bytes=5 << 20, replicas=3), store=StoreConfig())
    assert needed(settings) == (15 << 20) + (256 << 20)


class Watched:
    """A broker on a small disk, with the watch of `evcore up` and its restarts."""

    def __init__(self, disk: Path, broker: Broker, client: Client) -> None:
        self.disk = disk
        self.broker = broker
        self.client = client
        self.said: list[str] = []
        self.restarts = 0
        self.watch = DiskWatch(DataDirectory(disk), SMALL, [broker], self.said.append)

    async def keep(self) -> None:
        while True:
            await self.broker.process.wait()
            await self.broker.run()
            self.restarts += 1

    async def says(self, words: str) -> None:
        await until(lambda: any(words in line for line in self.said))

    async def publish(self, octets: int = 1000, seconds: float = 1.0) -> bool:
        message = Outgoing("ue.0.registration.1", os.urandom(octets), {})
        try:
            await publish_once(self.client, message, seconds)
        except BusError:
            return False
        return True


@asynccontextmanager
async def watched(folder: Path, mib: int = 48) -> AsyncGenerator[Watched]:
    with disks.small_disk(folder / "disk", mib) as disk:
        broker = await Broker.start(disk / "jetstream", folder / "nats.log")
        try:
            async with connected(broker.url, "test") as client:
                await ensure_streams(client, BusConfig(max_bytes=SMALL.nats.max_bytes))
                it = Watched(disk, broker, client)
                tasks = [asyncio.ensure_future(one) for one in (it.keep(), it.watch.run())]
                yield it
                await cancel_and_wait(tasks)
        finally:
            await broker.stop()


@pytest.mark.slow
async def test_the_broker_is_restarted_when_there_is_room_and_has_all_that_it_acknowledged(
    tmp_path: Path,
) -> None:
    async with watched(tmp_path) as it:
        stored = sum([await it.publish() for _ in range(50)])
        filler = disks.fill(it.disk)
        while await it.publish(50_000):
            stored += 1
        await it.says(FULL)
        assert not await it.publish()
        assert it.restarts == 0, "there is no room yet"
        filler.unlink()
        await it.says("the disk of nats-server can be written again: nats-server is restarted")
        async with asyncio.timeout(10):
            while not await it.publish():
                pass
        stored += 1
        state = (await request(it.client, "STREAM.INFO.EVCORE"))["state"]
        assert state["messages"] >= stored
        assert it.restarts == 1
        assert len([line for line in it.said if "stores nothing" in line]) == 1


@pytest.mark.slow
async def test_a_restart_with_little_room_restores_the_streams(tmp_path: Path) -> None:
    """By default nats-server restores no stream that reserves more than is free."""
    async with watched(tmp_path, 8) as it:
        assert await it.publish()
        disks.fill(it.disk, disks.MIB)
        await it.broker.stop()
        async with asyncio.timeout(10):
            while not await it.publish():
                pass
        streams = await request(it.client, "STREAM.NAMES")
        assert {"EVCORE", "EVCORE_DEAD"} <= set(streams["streams"])


async def test_a_lack_is_said_once(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path / "disk", 16) as disk:
        said: list[str] = []
        watch = DiskWatch(DataDirectory(disk), config(1, 8), [], said.append)
        running = asyncio.ensure_future(watch.run())
        filler = disks.fill(disk, 4 * disks.MIB)

        async def told(words: str) -> None:
            await until(lambda: any(words in line for line in said))

        await told(
            f"the disk of {disk} has 4.0 MiB free, less than [store] min_free_bytes (8.0 MiB)"
        )
        stalled = Stats("w", "1", 1, load=Load(stalled="the disk is full"))
        watch.heard(stalled)
        await told("no step is stored, and events wait: the disk is full")
        watch.heard(Stats("w", "1", 1))
        await told("steps are stored again")
        filler.unlink()
        await told("16 MiB free: all UEs are served again")
        await cancel_and_wait([running])
        assert len(said) == 4


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            "[1] 02:42:17 [ERR] Filestore [A] Critical write error: a: no space left on device",
            "no space left on device",
        ),
        (
            "[1] 02:42:17 [ERR] JetStream out of File resources, will be DISABLED",
            "JetStream has stopped",
        ),
        (
            "[1] 02:42:17 [ERR] File system permission denied while writing, disabling JetStream",
            "JetStream has stopped",
        ),
        ("[1] 02:42:17 [INF] Server is ready", ""),
        ('[1] 02:42:17 [WRN] Ignoring non-write error: "x"', ""),
    ],
)
def test_the_words_of_nats_server(tmp_path: Path, line: str, error: str) -> None:
    broker = Broker(tmp_path, tmp_path / "log", 1, ())
    broker._heard(line)  # pyright: ignore[reportPrivateUsage]
    assert broker.write_error == error
