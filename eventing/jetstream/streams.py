"""JetStream's streams, consumers and key-value buckets.

`ensure` makes what is missing, which only the role `setup` may do. All other processes `check`.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import KeyValueConfig
from nats.js.errors import BucketNotFoundError
from nats.js.kv import KeyValue

from eventing import subjects
from eventing.jetstream.connection import BusError, request
from eventing.jetstream.messages import Outgoing
from schemas.config.reading import NatsConfig
from schemas.identity import PARTITIONS, SLOTS
from schemas.procedures import Procedure

LEASE_TTL: Final = 4.0
"""Seconds after its last renewal that a lease expires."""
ASSIGNMENT_HISTORY: Final = 64
"""Entries of a procedure that the bucket of assignments keeps, the last included."""

_NOT_FOUND: Final = frozenset({10014, 10059})
"""JetStream's error codes for a missing consumer and a missing stream."""

_NO_MESSAGE: Final = 10037
_NOT_IN_STREAM: Final = 10057
"""JetStream's error codes for a message that the stream does not have, to read and to remove."""

_SECOND: Final = 1_000_000_000


class BusConfig(Struct, frozen=True, omit_defaults=True):
    """The layout of the bus. `partitions` cannot change once the streams exist."""

    partitions: int = PARTITIONS
    replicas: int = 1
    max_bytes: int = 1 << 30
    """Octets of events that may wait. Gateways enforce this limit: they slow their gNBs down. A
    stream with scheduled messages cannot refuse new messages (ADR-51), and a stream that discards
    old messages loses events."""
    ack_wait: float = 3.0
    """Seconds after which an event without an acknowledgement is redelivered."""
    max_ack_pending: int = 4096
    max_deliveries: int = 5
    """Deliveries of an event before it becomes a dead letter."""
    dead_letter_days: int = 30

    def __post_init__(self) -> None:
        """Refuse a number of partitions that the slots cannot be spread over."""
        if not 1 <= self.partitions <= SLOTS:
            raise ValueError(f"partitions is 1 to {SLOTS}, not {self.partitions}")


def bus_config(nats: NatsConfig) -> BusConfig:
    """Return the layout of the bus for a configuration."""
    return BusConfig(nats.partitions, nats.replicas, nats.max_bytes)


def stream_config(config: BusConfig) -> dict[str, Any]:
    """Return JetStream's configuration of the event stream."""
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
    """Return JetStream's configuration of the dead-letter stream."""
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
    """Return JetStream's configuration of the consumer of one procedure in one partition."""
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
    """Make the streams, the consumers of `procedures` and the buckets, if missing.

    Raises:
        BusError: the stream exists with another number of partitions.
    """
    await ensure_streams(client, config)
    await ensure_buckets(client, config.replicas)
    for partition, procedure in await _missing(client, config, procedures):
        await ensure_consumer(client, config, partition, procedure)


async def check(client: Client, config: BusConfig, procedures: Iterable[str] = ()) -> None:
    """Check that the event stream and the consumers of `procedures` exist.

    Raises:
        BusError: one is missing, or the stream has another number of partitions.
    """
    try:
        found = await request(client, f"STREAM.INFO.{subjects.STREAM}")
    except BusError as err:
        if err.code not in _NOT_FOUND:
            raise
        raise _unmade(f"the stream {subjects.STREAM}") from None
    _check_partitions(found, config)
    wanted = tuple(procedures)
    if wanted and (missing := await _missing(client, config, wanted)):
        raise _unmade(f"the consumer {subjects.consumer(*missing[0])}")


def _unmade(what: str) -> BusError:
    return BusError(f"{what} does not exist: `evcore streams` makes it")


async def _missing(
    client: Client, config: BusConfig, procedures: Iterable[str]
) -> list[tuple[int, str]]:
    """Return the partitions and procedures without a consumer."""
    names = await _consumer_names(client)
    return [
        (partition, procedure)
        for procedure in procedures
        for partition in range(config.partitions)
        if subjects.consumer(partition, procedure) not in names
    ]


async def ensure_streams(client: Client, config: BusConfig) -> None:
    """Make the two streams, or check that they have the same number of partitions.

    Raises:
        BusError: a stream exists with another number of partitions.
    """
    for wanted in (stream_config(config), dead_letter_config(config)):
        name = wanted["name"]
        try:
            found = await request(client, f"STREAM.INFO.{name}")
        except BusError as err:
            if err.code not in _NOT_FOUND:
                raise
            # Two processes may both get here: to create the same configuration again is no error.
            await request(client, f"STREAM.CREATE.{name}", wanted)
            continue
        _check_partitions(found, config)


def _check_partitions(found: dict[str, Any], config: BusConfig) -> None:
    """Check the number of partitions in the information about a stream."""
    name, made = found["config"]["name"], found["config"].get("metadata", {})
    partitions = made.get("evcore.partitions", str(config.partitions))
    if partitions != str(config.partitions):
        raise BusError(
            f"the stream {name} was made for {partitions} partitions, not {config.partitions}; "
            "the number is fixed while the stream exists: "
            f"set partitions = {partitions} in [nats]"
        )


async def stored_message(
    client: Client, which: dict[str, Any], seconds: float = 5, stream: str = subjects.STREAM
) -> dict[str, Any] | None:
    """Return a message of a stream, as JetStream's API gives it; None if there is none.

    `which` is the body of the request: ``seq``, ``next_by_subj``, ``last_by_subj``.

    Raises:
        BusError: JetStream does not answer, or there is no stream.
    """
    try:
        found = await request(client, f"STREAM.MSG.GET.{stream}", which, seconds)
    except BusError as err:
        if err.code == _NO_MESSAGE:
            return None
        raise
    message: dict[str, Any] = found["message"]
    return message


async def publish_once(client: Client, message: Outgoing, seconds: float = 5) -> None:
    """Publish a message to the event stream, and return when it is stored.

    Raises:
        BusError: JetStream does not store it in time.
    """
    subject, data, headers = message
    try:
        await client.jetstream().publish(subject, data, seconds, headers=dict(headers))
    except (TimeoutError, NatsError) as err:
        raise BusError(f"JetStream does not store {subject}: {err}") from err


async def remove_message(client: Client, sequence: int, seconds: float = 5) -> None:
    """Remove a message from the event stream, if it is there.

    Raises:
        BusError: JetStream does not answer, or there is no stream.
    """
    body = {"seq": sequence, "no_erase": True}
    try:
        await request(client, f"STREAM.MSG.DELETE.{subjects.STREAM}", body, seconds)
    except BusError as err:
        if err.code not in (_NO_MESSAGE, _NOT_IN_STREAM):
            raise


async def consumer_info(client: Client, consumer: str, seconds: float = 5) -> dict[str, Any]:
    """Return the state of a consumer of the event stream, as JetStream's API gives it.

    Raises:
        BusError: JetStream does not answer, or there is no such consumer.
    """
    subject = f"CONSUMER.INFO.{subjects.STREAM}.{consumer}"
    return await request(client, subject, None, seconds)


async def consumers(client: Client) -> list[dict[str, Any]]:
    """Return the states of all consumers of the event stream, as JetStream's API gives them.

    Raises:
        BusError: JetStream does not answer, or there is no stream.
    """
    found: list[dict[str, Any]] = []
    while True:
        subject = f"CONSUMER.LIST.{subjects.STREAM}"
        page = await request(client, subject, {"offset": len(found)})
        found += page.get("consumers") or ()
        if len(found) >= page["total"] or not page.get("consumers"):
            return found


async def waiting_bytes(client: Client) -> int:
    """Return the octets of all events that wait in the event stream.

    Raises:
        BusError: JetStream does not answer.
    """
    found = await request(client, f"STREAM.INFO.{subjects.STREAM}")
    count: int = found["state"]["bytes"]
    return count


async def ensure_consumer(
    client: Client, config: BusConfig, partition: int, procedure: str
) -> None:
    """Make one consumer. To make the same consumer again is no error."""
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


async def ensure_buckets(client: Client, replicas: int = 1) -> None:
    """Make the key-value buckets, if missing."""
    js = client.jetstream()
    for config in (
        KeyValueConfig(subjects.LEASES, history=1, ttl=LEASE_TTL, replicas=replicas),
        KeyValueConfig(subjects.ASSIGNMENTS, history=ASSIGNMENT_HISTORY, replicas=replicas),
        KeyValueConfig(subjects.ANNOUNCERS, history=1, replicas=replicas),
    ):
        try:
            await js.key_value(config.bucket)
        except BucketNotFoundError:
            await js.create_key_value(config)


async def lease_bucket(client: Client) -> KeyValue:
    """Return the bucket of leases; see `bucket`."""
    return await bucket(client, subjects.LEASES)


async def assignment_bucket(client: Client) -> KeyValue:
    """Return the bucket of assignments; see `bucket`."""
    return await bucket(client, subjects.ASSIGNMENTS)


async def bucket(client: Client, name: str) -> KeyValue:
    """Return a key-value bucket.

    Raises:
        BusError: it does not exist.
        nats.errors.Error: JetStream does not answer.
    """
    try:
        return await client.jetstream().key_value(name)
    except BucketNotFoundError:
        raise _unmade(f"the bucket {name}") from None
