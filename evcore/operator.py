"""Events that an operator sends to a running core, such as a deregistration."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.messages import addressed, gathered
from eventing.jetstream.publisher import Publisher
from functions.runtime.replay import all_aggregates
from schemas.aggregates import gnb_aggregate, ue_aggregate
from schemas.cloudevents import MSGPACK_MEDIA_TYPE, CloudEvent, EventType, SubscriptionChanged
from schemas.config import reading as configuration
from schemas.config.reading import NatsConfig
from schemas.identity import slot_of
from schemas.procedures import EVENTS, Procedure
from schemas.ran import Gnb
from schemas.step import encode
from schemas.ue.state import Ue
from statestore.log import EventLog

PAGE: Final = 200
"""Number of states that are read at once."""


def bus_of(data: DataDirectory, config: Path | None = None) -> NatsConfig | None:
    """Return the bus of the configured core, or of the core that runs on a data directory.

    Return None if no core runs.
    """
    if config is not None:
        return configuration.load(config).nats
    return configuration.load(data.config_file).nats if data.running else None


def event(kind: EventType, supi: str, data: Struct) -> CloudEvent:
    """Return an event from the operator for a UE."""
    return CloudEvent(
        id=f"operator-{os.urandom(8).hex()}",
        source="/evcore/operator",
        type=kind,
        partitionkey=supi,
        data=encode(data),
        datacontenttype=MSGPACK_MEDIA_TYPE,
        procedure=EVENTS[kind],
        slot=slot_of(supi),
    )


async def publish(bus: NatsConfig, events: Iterable[CloudEvent]) -> None:
    """Publish events on the bus of a core.

    Raises:
        BusError: NATS cannot be reached.
    """
    async with connected_as(Role.OPERATOR, bus, "evcore operator") as client:
        publisher = Publisher(client, bus.partitions)
        await publisher.start()
        await publisher.publish(gathered(addressed(one, bus.partitions) for one in events))


async def registered(log: EventLog, supis: Sequence[str]) -> list[str]:
    """Return the SUPIs that are registered."""
    found: list[str] = []
    for start in range(0, len(supis), PAGE):
        names = [ue_aggregate(supi) for supi in supis[start : start + PAGE]]
        states: list[Ue] = [aggregate.state for aggregate in await log.load_whole(names)]
        found += [ue.supi for ue in states if ue.registered]
    return found


async def publish_subscription_change(bus: NatsConfig, log: EventLog, supis: Sequence[str]) -> None:
    """Notify the core of changed or withdrawn subscriptions.

    The core updates the registered UEs at once. Other UEs get the change when they register.

    Raises:
        BusError: NATS cannot be reached.
    """
    found = await registered(log, supis)
    if found:
        changed = SubscriptionChanged()
        await publish(bus, [event(EventType.SUBSCRIPTION_CHANGED, one, changed) for one in found])


async def publish_network_change(data: DataDirectory, bus: NatsConfig) -> int:
    """Notify the core of a change of the network for every gNB with an NG interface that is up.

    Return the number of gNBs. The workers must already have the new configuration.

    Raises:
        BusError: NATS cannot be reached.
        StoreError: the log cannot be read.
    """
    async with opened(data.root, read_only=True) as access:
        gnbs = await _gnbs_up(access.log)
    await publish(bus, [_network_changed(gnb) for gnb in gnbs])
    return len(gnbs)


async def _gnbs_up(log: EventLog) -> list[str]:
    names = [name async for name, _ in all_aggregates(log, gnb_aggregate(""))]
    found: list[str] = []
    for start in range(0, len(names), PAGE):
        page = names[start : start + PAGE]
        for aggregate in await log.load_whole(page):
            gnb: Gnb = aggregate.state
            if gnb.association:
                found.append(aggregate.name)
    return found


def _network_changed(name: str) -> CloudEvent:
    return CloudEvent(
        id=f"operator-{os.urandom(8).hex()}",
        source="/evcore/operator",
        type=EventType.NETWORK_CHANGED,
        partitionkey=name,
        procedure=Procedure.RAN,
        slot=slot_of(name.removeprefix(gnb_aggregate(""))),
    )
