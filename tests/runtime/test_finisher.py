"""Events that a worker gives back."""

from pathlib import Path
from typing import Any

from eventing.jetstream.delivery import event_of
from eventing.jetstream.intake import Intake
from eventing.jetstream.messages import addressed, gathered
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure
from functions.runtime.finisher import JetStreamFinisher
from functions.runtime.job import Job
from tests.eventing.brokers import event, events, until
from tests.servers import nats_client


async def test_an_event_that_leaves_its_batch_can_be_found_by_its_slot(tmp_path: Path) -> None:
    """Otherwise a later event of its UE would not wait for it."""
    nothing: Any = None
    async with nats_client(tmp_path) as client:
        await ensure(client, BusConfig(partitions=1))
        publisher, intake = Publisher(client, 1), Intake(client)
        await publisher.start()
        pair = [event(n, slot=n, procedure="session") for n in (7, 8)]
        await publisher.publish(gathered(addressed(one, 1) for one in pair))
        await intake.consume(["session-0000"])
        first, second = await intake.take(2, 5)
        finisher = JetStreamFinisher(nothing, intake, publisher, nothing, nothing)
        await finisher.retry(Job(second, event_of(second), 0.0), 0)
        await finisher.drain(5)
        await intake.ack(first)

        async def alone() -> bool:
            return await events(client) == {"ue.0.session.core.8-again": 1}

        await until(alone)
        (again,) = await intake.take(1, 5)
        assert event_of(again).position == event_of(second).position
        await intake.stop()
