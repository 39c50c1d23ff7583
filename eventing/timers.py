"""Durable wake-ups: JetStream scheduled messages (ADR-51), of an aggregate or of many."""

from datetime import UTC, datetime

from eventing import binding, subjects
from eventing.publisher import Outgoing
from schemas.cloudevents import CloudEvent
from schemas.identity import partition_of


def schedule(event: CloudEvent, name: str, at: int, partitions: int) -> Outgoing:
    """The message that makes JetStream deliver `event` at a time.

    `at` is in milliseconds since the Unix epoch. `name` is that of an aggregate or of what many
    share; the message takes the place of a pending one of the same name.
    """
    slot = event.slot or 0
    partition = partition_of(slot, partitions)
    when = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    headers = binding.to_headers(event)
    headers["Nats-Schedule"] = f"@at {when.removesuffix('+00:00')}Z"
    headers["Nats-Schedule-Target"] = subjects.event(partition, event.procedure or "", slot)
    return Outgoing(subjects.timer(partition, slot, name), event.data, headers)
