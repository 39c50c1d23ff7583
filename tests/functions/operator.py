"""Events of an operator for a UE, as the evcore commands publish them."""

from msgspec import Struct
from msgspec.structs import replace

from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    CloudEvent,
    Deregister,
    EventType,
    SubscriptionChanged,
)
from schemas.identity import slot_of
from schemas.procedures import EVENTS
from schemas.step import encode
from schemas.subscriber import Subscriber
from tests.functions.world import World


def tell(world: World, kind: EventType, data: Struct, supi: str) -> None:
    """Publish an event of the operator for a UE."""
    world.count += 1
    world.deliver(
        CloudEvent(
            f"t-{world.count}",
            "/evcore/operator",
            kind,
            supi,
            encode(data),
            MSGPACK_MEDIA_TYPE,
            EVENTS[kind],
            slot_of(supi),
        )
    )


def deregister(world: World, supi: str, *, reregister: bool = False, cause: int = 0) -> None:
    """Do the same as `evcore subscriber deregister`."""
    tell(world, EventType.DEREGISTER, Deregister(reregister, cause), supi)


def withdraw(world: World, supi: str) -> None:
    """Do the same as `evcore subscriber remove`."""
    del world.subscribers[supi]
    tell(world, EventType.SUBSCRIPTION_CHANGED, SubscriptionChanged(2), supi)


def resubscribe(world: World, supi: str, *, slices: int) -> Subscriber:
    """Write a subscription with only the first slices of the current one."""
    one = world.subscribers[supi]
    changed = replace(one, slices=one.slices[:slices])
    world.subscribers[supi] = changed
    tell(world, EventType.SUBSCRIPTION_CHANGED, SubscriptionChanged(2), supi)
    return changed
