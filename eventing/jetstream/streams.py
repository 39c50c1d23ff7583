"""The streams and consumers, made if they are missing and checked if they are not."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct
from nats.aio.client import Client

from eventing import subjects
from eventing.jetstream.connection import BusError, request
from eventing.ownership import assignments, leases
from schemas.config import NatsConfig
from schemas.identity import PARTITIONS, SLOTS
from schemas.procedures import Procedure

_NOT_FOUND: Final = frozenset({10014, 10059})
"""JetStream's codes for a consumer or stream that does not exist."""

_SECOND: Final = 1_000_000_000


class BusConfig(Struct, frozen=True, omit_defaults=True):
    """How the bus is laid out. `partitions` is fixed once the streams are made."""

    partitions: int = PARTITIONS
    replicas: int = 1
    max_bytes: int = 1 << 30
    """Of events that wait. It is gateways that keep to it, by slowing their gNBs: a stream with
    scheduled messages cannot refuse new ones (ADR-51), and discarding old ones loses them."""
    ack_wait: float = 3.0
    """Seconds after which an event that nobody has acknowledged is delivered again."""
    max_ack_pending: int = 4096
    max_deliveries: int = 5
    """After which an event is a dead letter."""
    dead_letter_days: int = 30

    def __post_init__(self) -> None:
        """Refuse a number of partitions that the slots cannot be spread over."""
        if not 1 <= self.partitions <= SLOTS:
            raise ValueError(f"partitions is 1 to {SLOTS}, not {self.partitions}")


def bus_config(nats: NatsConfig) -> BusConfig:
    """The bus of a configuration."""
    return BusConfig(nats.partitions, nats.replicas, nats.max_bytes)


def stream_config(config: BusConfig) -> dict[str, Any]:
    """JetStream's configuration of the event stream."""
    return {
        "name": subjects.STREAM,
        "subjects": list(subjects.STREAM_SUBJECTS),
        "retention": "workqueue",
        "storage": "file",
        "num_replicas": config.replicas,
        "allow_msg_schedules": True,
        "allow_direct": False,
        "metadata": {"evcore.partitions": str(config.partitions)},
    }


def dead_letter_config(config: BusConfig) -> dict[str, Any]:
    """JetStream's configuration of the dead-letter stream."""
    return {
        "name": subjects.DEAD_LETTERS,
        "subjects": list(subjects.DEAD_LETTER_SUBJECTS),
        "retention": "limits",
        "storage": "file",
        "max_age": config.dead_letter_days * 86_400 * _SECOND,
        "max_bytes": config.max_bytes,
        "num_replicas": config.replicas,
    }


def consumer_config(config: BusConfig, partition: int, procedure: str) -> dict[str, Any]:
    """JetStream's configuration of the consumer of one procedure in one partition."""
    return {
        "durable_name": subjects.consumer(partition, procedure),
        "filter_subject": subjects.events_of(partition, procedure),
        "ack_policy": "explicit",
        "ack_wait": int(config.ack_wait * _SECOND),
        "max_ack_pending": config.max_ack_pending,
        "max_deliver": -1,
        "deliver_policy": "all",
        "replay_policy": "instant",
    }


async def ensure(
    client: Client, config: BusConfig, procedures: Iterable[str] = tuple(Procedure)
) -> None:
    """Make the streams, the consumers of `procedures` and the buckets that workers share, whatever
    of them is missing.

    Raises:
        BusError: the stream exists with another number of partitions.
    """
    await ensure_streams(client, config)
    for bucket in (leases.bucket, assignments.bucket):
        await bucket(client, config.replicas)
    names = await _consumer_names(client)
    for procedure in procedures:
        for partition in range(config.partitions):
            if subjects.consumer(partition, procedure) not in names:
                await ensure_consumer(client, config, partition, procedure)


async def ensure_streams(client: Client, config: BusConfig) -> None:
    """Make the two streams, or check that they are for as many partitions."""
    for wanted in (stream_config(config), dead_letter_config(config)):
        name = wanted["name"]
        try:
            found = await request(client, f"STREAM.INFO.{name}")
        except BusError as err:
            if err.code not in _NOT_FOUND:
                raise
            # Two processes may both get here; the same configuration again is no error.
            await request(client, f"STREAM.CREATE.{name}", wanted)
            continue
        made: dict[str, str] = found["config"].get("metadata", {})
        partitions = made.get("evcore.partitions", str(config.partitions))
        if partitions != str(config.partitions):
            raise BusError(
                f"the stream {name} was made for {partitions} partitions, not {config.partitions}; "
                "the number is fixed while the stream exists: "
                f"set partitions = {partitions} in [nats]"
            )


async def waiting_bytes(client: Client) -> int:
    """How much waits in the event stream.

    Raises:
        BusError: JetStream does not say.
    """
    found = await request(client, f"STREAM.INFO.{subjects.STREAM}")
    count: int = found["state"]["bytes"]
    return count


async def ensure_consumer(
    client: Client, config: BusConfig, partition: int, procedure: str
) -> None:
    """Make one consumer; the same again is no error."""
    wanted = consumer_config(config, partition, procedure)
    body = {"stream_name": subjects.STREAM, "config": wanted}
    subject = f"CONSUMER.DURABLE.CREATE.{subjects.STREAM}.{wanted['durable_name']}"
    await request(client, subject, body)


async def _consumer_names(client: Client) -> set[str]:
    names: set[str] = set()
    while True:
        subject = f"CONSUMER.NAMES.{subjects.STREAM}"
        page = await request(client, subject, {"offset": len(names)})
        names.update(page.get("consumers") or ())
        if len(names) >= page["total"] or not page.get("consumers"):
            return names
