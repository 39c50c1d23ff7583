"""The streams and consumers: made once, by any process, and kept by the broker."""

import asyncio
from typing import Any

import pytest
from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream.connection import BusError, request
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure, waiting_bytes
from schemas.procedures import Procedure
from tests.eventing.brokers import Bus, clients, consumer, count, event, stored, until

CONFIG = BusConfig(partitions=3)
BUCKETS = ("leases", "assignments", "announcers")
STREAMS = {"EVCORE", "EVCORE_DEAD", *(f"KV_evcore-{b}" for b in BUCKETS)}


async def made(client: Client) -> dict[str, Any]:
    """Return the configurations of all streams and consumers of the account by name."""
    found: dict[str, Any] = {}
    for stream in (await request(client, "STREAM.LIST"))["streams"]:
        name = stream["config"]["name"]
        found[name] = stream["config"]
        page = await request(client, f"CONSUMER.LIST.{name}")
        assert len(page["consumers"]) == page["total"]
        found |= {f"{name}/{one['name']}": one["config"] for one in page["consumers"]}
    return found


async def test_a_consumer_for_each_procedure_and_partition(client: Client) -> None:
    await ensure(client, CONFIG)
    wanted = {
        f"EVCORE/{procedure}-000{partition}" for procedure in Procedure for partition in "012"
    }
    assert (await made(client)).keys() == STREAMS | wanted


async def test_making_them_again_changes_nothing(client: Client) -> None:
    await ensure(client, CONFIG)
    first = await made(client)
    await ensure(client, CONFIG)
    assert await made(client) == first


async def test_several_processes_make_them_at_once(bus: Bus, client: Client) -> None:
    async with clients(bus, 6) as several:
        await asyncio.gather(*(ensure(one, CONFIG) for one in several))
    assert len(await made(client)) == len(STREAMS) + 3 * len(Procedure)


async def test_what_is_missing_is_made(client: Client) -> None:
    await ensure(client, CONFIG, [Procedure.RAN])
    first = await made(client)
    assert len(first) == len(STREAMS) + 3
    await ensure(client, CONFIG, [Procedure.RAN, Procedure.REGISTRATION])
    both = await made(client)
    assert len(both) == len(STREAMS) + 6
    assert first.items() <= both.items()


async def test_another_number_of_partitions_is_refused(client: Client) -> None:
    await ensure(client, CONFIG)
    before = await made(client)
    with pytest.raises(BusError) as refused:
        await ensure(client, BusConfig(partitions=4))
    assert str(refused.value) == (
        "the stream EVCORE was made for 3 partitions, not 4; "
        "the number is fixed while the stream exists: set partitions = 3 in [nats]"
    )
    assert await made(client) == before


async def test_replicas_that_the_broker_cannot_have_are_refused(client: Client) -> None:
    with pytest.raises(BusError, match=r"^STREAM\.CREATE\.EVCORE: replicas > 1 not supported"):
        await ensure(client, BusConfig(replicas=3))


@pytest.mark.parametrize("partitions", [0, -1, 1025])
def test_partitions_that_the_slots_cannot_be_spread_over(partitions: int) -> None:
    with pytest.raises(ValueError, match=f"^partitions is 1 to 1024, not {partitions}$"):
        BusConfig(partitions=partitions)


async def test_the_streams_are_what_the_design_promises(client: Client) -> None:
    await ensure(client, BusConfig(partitions=3, max_bytes=1 << 20, dead_letter_days=7))
    streams = await made(client)
    events, dead = streams[subjects.STREAM], streams[subjects.DEAD_LETTERS]
    assert events["subjects"] == ["ue.>", "timer.>"]
    assert (events["retention"], events["storage"]) == ("workqueue", "file")
    assert (events["max_bytes"], events["max_msgs"]) == (-1, -1), "an event is never discarded"
    assert events["allow_msg_schedules"] is True
    assert events["metadata"]["evcore.partitions"] == "3"
    assert dead["subjects"] == ["dead.>"]
    assert (dead["retention"], dead["storage"]) == ("limits", "file")
    assert (dead["max_age"], dead["max_bytes"]) == (7 * 86_400 * 10**9, 1 << 20)


async def test_the_consumers_are_what_the_design_promises(client: Client) -> None:
    await ensure(client, BusConfig(partitions=3, ack_wait=1.5, max_ack_pending=100))
    found = (await consumer(client, "registration-0002"))["config"]
    assert found["durable_name"] == "registration-0002"
    assert found["filter_subject"] == "ue.2.registration.*.*"
    assert found["ack_policy"] == "explicit"
    assert found["ack_wait"] == 1_500_000_000
    assert found["max_ack_pending"] == 100
    assert found["max_deliver"] == -1, "the runtime counts deliveries, and keeps a dead letter"
    assert "deliver_subject" not in found, "a pull consumer"


@pytest.mark.parametrize("kill", [False, True])
async def test_events_and_consumers_survive_the_broker(
    bus: Bus, client: Client, kill: bool
) -> None:
    await ensure(client, CONFIG)
    publisher = Publisher(client, CONFIG.partitions)
    await publisher.start()
    await publisher.publish([publisher.outgoing(event(n)) for n in range(50)])
    before, kept = await made(client), await stored(client)
    assert [message.data for message in kept] == [b"pdu %d" % n for n in range(50)]
    await bus.restart(kill=kill)
    await until(lambda: client.is_connected)
    assert await stored(client) == kept
    assert await made(client) == before
    await ensure(client, CONFIG)


async def test_what_waits_is_told_in_octets(client: Client) -> None:
    await ensure(client, CONFIG)
    assert await waiting_bytes(client) == 0
    publisher = Publisher(client, CONFIG.partitions)
    await publisher.start()
    await publisher.publish([publisher.outgoing(event(1, data=bytes(10_000)))])
    assert await count(client) == 1
    assert 10_000 < await waiting_bytes(client) < 12_000


async def test_octets_that_wait_cannot_be_told_without_a_stream(client: Client) -> None:
    with pytest.raises(BusError, match=r"^STREAM\.INFO\.EVCORE: stream not found$"):
        await waiting_bytes(client)
