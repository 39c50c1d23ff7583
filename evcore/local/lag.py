"""Read the waiting messages from the API of JetStream, as the role `console` or `setup`."""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream.connection import BusError, request
from eventing.jetstream.streams import consumers


class Queue(NamedTuple):
    """The messages of one procedure."""

    waits: int = 0
    """Messages that are pending, or delivered and not acknowledged."""
    arrived: int = 0
    """Total of messages, with each redelivery counted again."""


async def lag(client: Client) -> dict[str, int]:
    """Return the number of waiting and delivered messages by procedure.

    Raises:
        BusError: JetStream does not answer.
    """
    return {procedure: queue.waits for procedure, queue in (await queues(client)).items()}


async def queues(client: Client) -> dict[str, Queue]:
    """Return the queue of each procedure.

    Raises:
        BusError: JetStream does not answer.
    """
    return queues_by_procedure(await consumers(client))


async def wait_until_idle(client: Client) -> None:
    """Wait until every event is acknowledged: everything sent so far is decided."""
    while True:
        if not sum((await lag(client)).values()):
            return
        await asyncio.sleep(0.1)  # the broker has no notification for this


async def wait_until_served(client: Client) -> None:
    """Wait until the stream of events and each of its consumers have a leader. In a cluster of
    brokers each consumer elects its own, for some seconds after a restart."""
    while True:
        with contextlib.suppress(BusError):
            stream = await request(client, f"STREAM.INFO.{subjects.STREAM}")
            if is_served(stream, await consumers(client)):
                return
        await asyncio.sleep(0.05)  # the broker has no notification for this


async def wait_until_led(client: Client) -> None:
    """Wait until JetStream serves. In a cluster of brokers, it elects a leader first."""
    while True:
        with contextlib.suppress(BusError):
            await request(client, "INFO", seconds=1)
            return
        await asyncio.sleep(0.05)  # the broker has no notification for this


def is_served(stream: dict[str, Any], found: list[dict[str, Any]]) -> bool:
    """Whether the information about the stream of events and its consumers names all leaders. A
    broker without a cluster names none and leads everything."""
    if len(found) < stream["state"]["consumer_count"]:
        return False
    clusters = [one["cluster"] for one in (stream, *found) if one.get("cluster")]
    return all(cluster.get("leader") for cluster in clusters)


def queues_by_procedure(found: Iterable[dict[str, Any]]) -> dict[str, Queue]:
    """Return the queue of each procedure from the information about the consumers."""
    made: dict[str, Queue] = {}
    for consumer in found:
        procedure = consumer["name"].rpartition("-")[0]
        pending = consumer["num_pending"]
        waits, arrived = made.get(procedure, Queue())
        made[procedure] = Queue(
            waits + pending + consumer["num_ack_pending"],
            arrived + pending + consumer["delivered"]["consumer_seq"],
        )
    return made
