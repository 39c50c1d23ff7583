"""Wake-ups: scheduled messages of JetStream, one for each aggregate, that outlive the broker."""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from msgspec.structs import replace
from nats.aio.client import Client

from eventing.cloudevents import nats_binding
from eventing.cloudevents.nats_binding import REPEATED
from eventing.jetstream import messages
from eventing.jetstream.delivery import Delivery
from eventing.jetstream.intake import Intake
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure
from functions.runtime.job import parse
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import slot_of
from schemas.procedures import Procedure
from tests.eventing.brokers import Bus, stored, until

CONFIG = BusConfig(partitions=2, ack_wait=30.0)
UE, OTHER = "ue/imsi-001010000000001", "ue/imsi-001010000000002"


def wake(aggregate: str, number: int, **changes: Any) -> CloudEvent:
    values: dict[str, Any] = {
        "id": f"{aggregate}/{number}/0",
        "source": f"/{aggregate}",
        "type": EventType.TIMER,
        "partitionkey": aggregate,
        "procedure": Procedure.REGISTRATION,
        "slot": slot_of(aggregate.removeprefix("ue/")),
        **changes,
    }
    return CloudEvent(**values)


def now() -> int:
    return time.time_ns() // 1_000_000


class Clock:
    """The publisher of wake-ups, and the intake that receives them."""

    def __init__(self, publisher: Publisher, intake: Intake) -> None:
        self.intake = intake
        self._publisher = publisher

    async def schedule(self, event: CloudEvent, aggregate: str, at: int) -> None:
        message = messages.schedule(event, aggregate, at, CONFIG.partitions)
        await self._publisher.publish([message])

    async def next(self) -> tuple[CloudEvent, Delivery]:
        (delivery,) = await self.intake.take(1, 30)
        await self.intake.ack(delivery)
        return parse(delivery), delivery


@pytest.fixture
async def clock(client: Client) -> AsyncGenerator[Clock]:
    await ensure(client, CONFIG, [Procedure.REGISTRATION])
    publisher, intake = Publisher(client, CONFIG.partitions), Intake(client)
    await publisher.start()
    await intake.start()
    await intake.consume(["registration-0000", "registration-0001"])
    yield Clock(publisher, intake)
    await intake.stop()


def test_a_wake_up_is_a_scheduled_message_on_the_subject_of_its_aggregate() -> None:
    event = wake(UE, 1, slot=5)
    message = messages.schedule(event, UE, 1_700_000_000_123, 4)
    assert message.subject == "timer.1.5.ue-imsi-001010000000001"
    assert message.headers == {
        **nats_binding.to_headers(event),
        "Nats-Schedule": "@at 2023-11-14T22:13:20.123Z",
        "Nats-Schedule-Target": "ue.1.registration.core.5",
    }


async def test_it_comes_at_its_time_and_not_before(clock: Clock) -> None:
    at = now() + 700
    sent = wake(UE, 1)
    await clock.schedule(sent, UE, at)
    event, delivery = await clock.next()
    assert now() >= at
    assert replace(event, position=None) == sent
    assert delivery.subject == f"ue.{(sent.slot or 0) % 2}.registration.core.{sent.slot}"
    assert REPEATED not in delivery.headers
    assert await clock.intake.take(1, 0.2) == [], "and once"


async def test_a_time_that_has_passed_comes_at_once(clock: Clock) -> None:
    await clock.schedule(wake(UE, 1), UE, now() - 60_000)
    event, _ = await clock.next()
    assert event.id == f"{UE}/1/0"


@pytest.mark.parametrize("times", [(60_000, 120_000), (120_000, 60_000)])
async def test_a_later_one_of_the_same_aggregate_takes_its_place(
    client: Client, clock: Clock, times: tuple[int, int]
) -> None:
    """Also if the new time is earlier."""
    begun = now()
    for number, after in enumerate(times):
        await clock.schedule(wake(UE, number), UE, begun + after)
    await clock.schedule(wake(OTHER, 0), OTHER, begun + 90_000)
    pending = {message.headers["ce-partitionkey"]: message for message in await stored(client)}
    assert pending.keys() == {UE, OTHER}
    assert pending[UE].headers["ce-id"] == f"{UE}/1/0"
    wanted = messages.schedule(wake(UE, 1), UE, begun + times[1], CONFIG.partitions)
    assert pending[UE].headers["Nats-Schedule"] == wanted.headers["Nats-Schedule"]


async def test_what_was_replaced_never_comes(clock: Clock) -> None:
    begun = now()
    await clock.schedule(wake(UE, 1), UE, begun + 60_000)
    await clock.schedule(wake(UE, 2), UE, begun + 300)
    await clock.schedule(wake(UE, 3), UE, begun + 400)
    event, _ = await clock.next()
    while event.id == f"{UE}/2/0":  # the third was scheduled only after the second was due
        event, _ = await clock.next()
    assert event.id == f"{UE}/3/0"
    assert now() >= begun + 400
    assert await clock.intake.take(1, 0.2) == []


async def test_the_same_again_is_one(client: Client, clock: Clock) -> None:
    """A redelivered trigger sends its outputs again."""
    at = now() + 60_000
    await asyncio.gather(*(clock.schedule(wake(UE, 1), UE, at) for _ in range(3)))
    (pending,) = await stored(client)
    assert pending.headers["ce-id"] == f"{UE}/1/0"


@pytest.mark.parametrize("kill", [False, True])
async def test_it_outlives_the_broker(bus: Bus, client: Client, clock: Clock, kill: bool) -> None:
    """One is due while the broker is stopped, the other after its restart."""
    begun = now()
    await clock.schedule(wake(UE, 1), UE, begun + 100)
    await clock.schedule(wake(OTHER, 1), OTHER, begun + 1500)
    await bus.end(kill=kill)
    await until(lambda: not client.is_connected and now() > begun + 100)
    await bus.start()
    await until(lambda: client.is_connected)
    await clock.intake.refresh(reconnected=True)
    found = {(await clock.next())[0].partitionkey for _ in range(2)}
    assert found == {UE, OTHER}
    assert now() >= begun + 1500
