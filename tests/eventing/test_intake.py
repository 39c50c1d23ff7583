"""Pulling events: batches, answers and redeliveries."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable

import pytest
from nats.aio.client import Client

from eventing.cloudevents import http_binding
from eventing.cloudevents.nats_binding import REPEATED
from eventing.jetstream import intake as intake_module
from eventing.jetstream.delivery import Delivery, messages_of
from eventing.jetstream.intake import PULL, Intake
from eventing.jetstream.messages import Outgoing, addressed, gathered
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure, ensure_consumer
from schemas.cloudevents import CloudEvent
from tests.eventing.brokers import Bus, arrived, consumer, count, event, until

CONFIG = BusConfig(partitions=2, ack_wait=2.0)
ONE, OTHER = "registration-0000", "registration-0001"


@pytest.fixture
async def publisher(client: Client) -> Publisher:
    await ensure(client, CONFIG)
    made = Publisher(client, CONFIG.partitions)
    await made.start()
    return made


@pytest.fixture
async def intake(client: Client, publisher: Publisher) -> AsyncGenerator[Intake]:
    del publisher  # the fixture has made the consumers
    made = Intake(client)
    await made.start()
    yield made
    await made.stop()


def in_partition(partition: int, number: int) -> CloudEvent:
    return event(number, slot=partition)


async def publish(publisher: Publisher, partition: int, numbers: Iterable[int]) -> None:
    events = [in_partition(partition, number) for number in numbers]
    await publisher.publish([publisher.outgoing(one) for one in events])


async def publish_together(publisher: Publisher, *events: CloudEvent) -> None:
    """Return events of one consumer in one message."""
    (message,) = gathered(addressed(one, CONFIG.partitions) for one in events)
    await publisher.publish([message])


async def take(intake: Intake, number: int) -> list[Delivery]:
    """Take `number` events with as many calls as needed."""
    found: list[Delivery] = []
    async with asyncio.timeout(30):
        while len(found) < number:
            found += await intake.take(number - len(found))
    return found


def data(found: list[Delivery]) -> list[bytes]:
    return [delivery.data for delivery in found]


def pdus(numbers: Iterable[int]) -> list[bytes]:
    return [b"pdu %d" % number for number in numbers]


async def waits_for(client: Client, name: str) -> int:
    """Return the number of unacknowledged deliveries of a consumer."""
    number: int = (await consumer(client, name))["num_ack_pending"]
    return number


async def test_a_consumer_that_comes_back_while_its_events_wait_here(
    intake: Intake, publisher: Publisher
) -> None:
    """A consumer is pulled again once its events are taken, also if it was removed and added."""
    await publish(publisher, 0, [0])
    await intake.consume([ONE])
    await until(lambda: intake.waiting == 1)
    await intake.consume([])
    await intake.consume([ONE])
    assert data(await take(intake, 1)) == pdus([0])
    for number in range(1, PULL * 2 + 2):
        await publish(publisher, 0, [number])
        assert data(await take(intake, 1)) == pdus([number])


async def test_a_delivery_is_the_event_as_it_was_published(
    intake: Intake, publisher: Publisher
) -> None:
    sent = publisher.outgoing(in_partition(1, 5))
    await publisher.publish([sent])
    await intake.consume([OTHER])
    (found,) = await intake.take(10)
    assert (found.subject, found.data, found.headers) == sent
    assert (found.deliveries, found.consumer) == (1, OTHER)


async def test_events_of_a_message_come_as_if_each_had_one(
    intake: Intake, publisher: Publisher
) -> None:
    events = [event(number, slot=slot) for number, slot in enumerate((4, 2, 4))]
    await publish_together(publisher, *events)
    await intake.consume([ONE])
    found = [*await intake.take(2), *await intake.take(2)]
    assert [delivery.event for delivery in found] == events
    assert [delivery.subject for delivery in found] == [
        f"ue.0.registration.n2.{slot}" for slot in (4, 2, 4)
    ]
    assert data(found) == pdus(range(3))
    assert {(d.headers.get(REPEATED), d.deliveries, d.consumer) for d in found} == {(None, 1, ONE)}
    assert messages_of(found) == 1


@pytest.mark.parametrize("all_of_it", [False, True])
async def test_what_may_have_come_before_says_so_in_a_batch(
    intake: Intake, publisher: Publisher, all_of_it: bool
) -> None:
    some = [addressed(in_partition(0, n), 2, repeated=n == 1) for n in range(2)]
    (message,) = gathered(some)
    if all_of_it:
        message = message._replace(headers={**message.headers, REPEATED: "1"})
    await publisher.publish([message])
    await intake.consume([ONE])
    found = await take(intake, 2)
    first, second = (delivery.headers.get(REPEATED) for delivery in found)
    assert (first, second) == ("1" if all_of_it else None, "1")


async def three_together(intake: Intake, publisher: Publisher) -> list[Delivery]:
    """Take three events of one message."""
    await publish_together(publisher, *[in_partition(0, number) for number in range(3)])
    await intake.consume([ONE])
    return await take(intake, 3)


async def test_a_batch_is_acknowledged_with_the_last_of_it(
    client: Client, intake: Intake, publisher: Publisher
) -> None:
    first, second, third = await three_together(intake, publisher)
    await intake.ack(third)
    await intake.ack(first)
    await intake.ack(first)
    await arrived(client)
    assert await waits_for(client, ONE) == 1
    await intake.ack(second)
    await until(lambda: _holds(client, 0))


async def test_a_batch_comes_again_once_nothing_of_it_is_worked_on(
    client: Client, intake: Intake, publisher: Publisher
) -> None:
    first, second, third = await three_together(intake, publisher)
    await intake.redeliver(second, 0)
    await intake.ack(first)
    assert await intake.take(1, 0.1) == []
    begun = time.monotonic()
    await intake.redeliver(third, 0.5)
    found = await take(intake, 3)
    assert time.monotonic() - begun >= 0.5
    assert data(found) == pdus(range(3))
    assert {delivery.deliveries for delivery in found} == {2}
    for delivery in found:
        await intake.ack(delivery)
    await until(lambda: _holds(client, 0))


async def test_one_in_progress_keeps_the_others_of_its_batch(
    intake: Intake, publisher: Publisher
) -> None:
    await publish_together(publisher, in_partition(0, 1), in_partition(0, 2))
    await publish(publisher, 0, [3])
    await intake.consume([ONE])
    working, _, left = await take(intake, 3)
    again: list[Delivery] = []
    async with asyncio.timeout(30):
        while not again:
            await intake.in_progress(working)
            again = await intake.take(10, 0.1)
    assert data(again) == [left.data]


async def test_what_is_no_batch_comes_as_it_is(intake: Intake, publisher: Publisher) -> None:
    sent = Outgoing("ue.0.registration.n2.4", b"[1]", {"Content-Type": http_binding.BATCH})
    await publisher.publish([sent])
    await intake.consume([ONE])
    (found,) = await take(intake, 1)
    assert ((found.subject, found.data, found.headers), found.event) == (sent, None)


async def test_events_come_in_batches_and_in_order(intake: Intake, publisher: Publisher) -> None:
    await publish(publisher, 0, range(30))
    await intake.consume([ONE])
    await until(lambda: intake.waiting == 30)
    assert data(await intake.take(20)) == pdus(range(20))
    assert intake.waiting == 10
    assert data(await intake.take(100)) == pdus(range(20, 30))
    assert intake.waiting == 0


async def test_nothing_comes_while_there_is_nothing(intake: Intake) -> None:
    await intake.consume([ONE, OTHER])
    assert await intake.take(10, 0.05) == []


async def test_an_event_ends_the_wait(intake: Intake, publisher: Publisher) -> None:
    await intake.consume([ONE])
    waiting = asyncio.ensure_future(intake.take(10))
    await asyncio.sleep(0)
    await publish(publisher, 0, [1])
    assert data(await waiting) == pdus([1])


async def test_what_waits_is_bounded(client: Client, intake: Intake, publisher: Publisher) -> None:
    await publish(publisher, 0, range(3 * PULL))
    await publish(publisher, 1, range(1000, 1000 + 2 * PULL))
    await intake.consume([ONE, OTHER])
    await until(lambda: intake.waiting == 2 * PULL)
    for name in (ONE, OTHER):
        assert await waits_for(client, name) == PULL, "nothing beyond it has left JetStream"
        assert (await consumer(client, name))["num_waiting"] == 0
    found = await take(intake, 5 * PULL)
    assert sorted(data(found)) == sorted(
        [*pdus(range(3 * PULL)), *pdus(range(1000, 1000 + 2 * PULL))]
    )
    assert intake.waiting == 0


async def test_one_request_stands_for_each_consumer(
    client: Client, intake: Intake, publisher: Publisher
) -> None:
    await intake.consume([ONE, OTHER])
    for number in range(5):
        await intake.refresh()
        await publish(publisher, 0, [number])
        assert data(await intake.take(10)) == pdus([number])
    for name in (ONE, OTHER):
        await until(lambda name=name: _stands(client, name, 1))


async def _stands(client: Client, name: str, number: int) -> bool:
    return (await consumer(client, name))["num_waiting"] == number


async def test_an_acknowledged_event_is_gone(
    client: Client, intake: Intake, publisher: Publisher
) -> None:
    await publish(publisher, 0, range(10))
    await intake.consume([ONE])
    for delivery in await take(intake, 10):
        await intake.ack(delivery)
    await until(lambda: _holds(client, 0))
    assert await waits_for(client, ONE) == 0


async def _holds(client: Client, number: int) -> bool:
    return await count(client) == number


async def test_only_what_is_in_progress_is_not_delivered_again(
    intake: Intake, publisher: Publisher
) -> None:
    await publish(publisher, 0, [1, 2])
    await intake.consume([ONE])
    working, left = await take(intake, 2)
    again: list[Delivery] = []
    async with asyncio.timeout(30):
        while not again:
            await intake.in_progress(working)
            again = await intake.take(10, 0.1)
    assert data(again) == [left.data]
    assert again[0].deliveries == 2


async def test_an_event_comes_again_no_sooner_than_asked_for(
    intake: Intake, publisher: Publisher
) -> None:
    await publish(publisher, 0, [1, 2])
    await intake.consume([ONE])
    later, soon = await take(intake, 2)
    begun = time.monotonic()
    await intake.redeliver(later, 1.0)
    await intake.redeliver(soon, 0)
    first, second = await take(intake, 2)
    assert (first.data, first.deliveries) == (soon.data, 2)
    assert (second.data, second.deliveries) == (later.data, 2)
    assert time.monotonic() - begun >= 1.0


async def test_consumers_are_added_and_removed(
    client: Client, intake: Intake, publisher: Publisher
) -> None:
    await publish(publisher, 0, range(PULL))
    await publish(publisher, 1, range(1000, 1000 + PULL))
    await intake.consume([ONE])
    await until(lambda: intake.waiting == PULL)
    assert await waits_for(client, OTHER) == 0
    await intake.consume([OTHER])
    found = await take(intake, 2 * PULL)
    assert {delivery.consumer for delivery in found} == {ONE, OTHER}
    await publish(publisher, 0, [2000])
    await publish(publisher, 1, [1999])
    assert data(await take(intake, 1)) == pdus([1999])
    assert (await consumer(client, ONE))["num_pending"] == 1, "nobody asks for it any more"
    await intake.consume([ONE, OTHER])
    assert data(await take(intake, 1)) == pdus([2000])


async def test_a_request_ends_with_the_wish(
    client: Client, intake: Intake, publisher: Publisher
) -> None:
    await intake.consume([ONE, OTHER])
    await until(lambda: _stands(client, ONE, 1))
    await intake.consume([OTHER])
    await publish(publisher, 0, [1])
    await publish(publisher, 1, [2])
    assert data(await take(intake, 1)) == pdus([2])
    assert (await consumer(client, ONE))["num_pending"] == 1


async def test_a_request_that_has_expired_is_made_anew(
    client: Client, intake: Intake, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "EXPIRES", 0.1)
    heard = await client.subscribe(f"$JS.API.CONSUMER.MSG.NEXT.*.{ONE}")
    await intake.consume([ONE])
    for _ in range(3):
        await heard.next_msg(10)
    await publish(publisher, 0, [1])
    assert data(await intake.take(10, 30)) == pdus([1])


@pytest.mark.parametrize("kill", [False, True])
async def test_pulling_goes_on_after_a_restart_of_the_broker(
    bus: Bus, client: Client, intake: Intake, publisher: Publisher, kill: bool
) -> None:
    await publish(publisher, 0, [1])
    await intake.consume([ONE, OTHER])
    (first,) = await take(intake, 1)
    await bus.end(kill=kill)
    await until(lambda: not client.is_connected)
    await bus.start()
    await until(lambda: client.is_connected)
    await publish(publisher, 1, [2])
    await intake.refresh(reconnected=True)
    found = await take(intake, 2)
    while len(set(data(found))) < 2:  # the publisher may repeat an event after a reconnection
        found += await take(intake, 1)
    assert set(data(found)) == {first.data, b"pdu 2"}
    for delivery in found:
        await intake.ack(delivery)
    await until(lambda: _holds(client, 0))


async def test_a_consumer_that_was_removed_is_asked_again_when_it_is_back(
    client: Client, intake: Intake, publisher: Publisher
) -> None:
    await intake.consume([ONE])
    await until(lambda: _stands(client, ONE, 1))
    js = client.jetstream()
    await js.delete_consumer("EVCORE", ONE)
    await ensure_consumer(client, CONFIG, 0, "registration")
    await publish(publisher, 0, [1])

    async def came() -> bool:
        await intake.refresh()
        return intake.waiting == 1

    await until(came)
    assert data(await intake.take(10)) == pdus([1])


async def test_nothing_is_delivered_to_an_intake_that_has_stopped(client: Client) -> None:
    """After `stop` its events are known and can be returned before they are redelivered."""
    await ensure(client, BusConfig(partitions=2, ack_wait=600.0))
    publisher = Publisher(client, 2)
    await publisher.start()
    stopping, other = Intake(client), Intake(client)
    await stopping.start()
    await other.start()
    await publish(publisher, 0, range(PULL + 10))
    await stopping.consume([ONE])
    await take(stopping, PULL)  # which sends the next pull request
    await stopping.stop()
    for delivery in await stopping.take(PULL, 0.05):
        await stopping.redeliver(delivery, 0)
    await publish(publisher, 0, range(1000, 1020))
    await other.consume([ONE])
    found = await take(other, 30)
    assert sorted(data(found)) == sorted(pdus([*range(PULL, PULL + 10), *range(1000, 1020)]))
    assert stopping.waiting == 0
    await other.stop()


async def test_an_answer_that_cannot_be_sent_is_no_error(
    bus: Bus, client: Client, intake: Intake, publisher: Publisher
) -> None:
    await publish(publisher, 0, [1])
    await intake.consume([ONE])
    (delivery,) = await take(intake, 1)
    await bus.end()
    await client.close()
    await intake.ack(delivery)
    await intake.redeliver(delivery, 0)
    await intake.refresh(reconnected=True)
    await intake.stop()
