"""JetStream as evcore uses it: events published in batches, pulled and acknowledged."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from bench.figures import Figure, Row
from evcore.local.broker import Broker
from eventing import subjects
from eventing.jetstream.connection import connected
from eventing.jetstream.intake import Intake
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure
from schemas.cloudevents import NGAP_MEDIA_TYPE, CloudEvent, EventType
from schemas.procedures import Procedure

EVENTS: Final = 5000
BATCHES: Final = (1, 16, 64)


def _event(number: int) -> CloudEvent:
    return CloudEvent(
        id=f"bench-{number:x}",
        source="/n2/001-01-gnb-24-1/0-0",
        type=EventType.NGAP_UPLINK,
        partitionkey=f"ngap-{number:010x}",
        data=bytes(80),
        datacontenttype=NGAP_MEDIA_TYPE,
        procedure=Procedure.REGISTRATION,
        slot=number % 1024,
        sequence=3,
    )


async def rows(folder: Path, runs: int = 5) -> AsyncIterator[Row]:
    """Measure the events per second on one connection, with file storage in JetStream."""
    folder.mkdir(parents=True, exist_ok=True)
    broker = await Broker.start(folder / "jetstream", folder / "nats-server.log")
    config = BusConfig()
    try:
        async with connected(broker.url, "bench") as client:
            await ensure(client, config, (Procedure.REGISTRATION,))
            publisher = Publisher(client, config.partitions)
            await publisher.start()
            intake = Intake(client)
            await intake.start()
            names = [
                subjects.consumer(partition, Procedure.REGISTRATION)
                for partition in range(config.partitions)
            ]
            published: dict[int, list[float]] = {batch: [] for batch in BATCHES}
            taken: list[float] = []
            for _ in range(runs):
                for batch, found in published.items():
                    count = EVENTS if batch > 1 else EVENTS // 5
                    found.append(await _publish(publisher, count, batch))
                    await intake.consume(names)
                    taken.append(await _take(intake, count))
                    await intake.consume([])
            for batch, found in published.items():
                text = f"events published, {batch} at a time"
                yield Row("bus", text, "1/s", Figure.of(found))
            yield Row("bus", "events pulled and acknowledged", "1/s", Figure.of(taken))
    finally:
        await broker.stop()


async def _publish(publisher: Publisher, count: int, batch: int) -> float:
    messages = [publisher.outgoing(_event(number)) for number in range(count)]
    begun = time.perf_counter()
    for at in range(0, count, batch):
        await publisher.publish(messages[at : at + batch])
    return count / (time.perf_counter() - begun)


async def _take(intake: Intake, count: int) -> float:
    begun, left = time.perf_counter(), count
    while left:
        for delivery in await intake.take(128, 10.0):
            await intake.ack(delivery)
            left -= 1
    return count / (time.perf_counter() - begun)
