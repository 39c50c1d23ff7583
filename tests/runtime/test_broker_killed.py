"""nats-server is killed between a delivery and its acknowledgement: it forgets the delivery."""

import wire
from eventing.jetstream.connection import BusError
from tests.eventing import brokers
from tests.eventing.brokers import until
from tests.runtime.plant import Plant
from tests.runtime.script import GNB_AGGREGATE


async def test_a_copy_for_a_released_connection_gets_nothing(impatient: Plant) -> None:
    """The worker has stored the step of the UE CONTEXT RELEASE COMPLETE, and its messages before
    that are not acknowledged either."""
    plant = impatient
    worker = await plant.worker()
    setup, (initial, connected, *_) = plant.script.lanes[0], plant.script.lanes[1]
    await plant.play(setup, [initial])
    await plant.idle()
    heads, last = await plant.store.heads(), connected.events[-1]
    assert wire.ngap_peek(last.data).message == "UEContextReleaseComplete"

    async def kill(method: str) -> None:
        if method == "append" and last.id in worker.store.appended[-1]:
            worker.store.after = nothing
            await plant.bus.restart(kill=True)

    worker.store.after = kill
    await plant.publish(connected.events)
    await plant.reached(connected.heads)

    async def idle() -> bool:
        try:
            return worker.store.after is nothing and not await brokers.events(plant.client)
        except BusError:  # the client has not noticed the kill yet
            return False

    await until(idle)
    assert (await plant.store.heads())[GNB_AGGREGATE] == heads[GNB_AGGREGATE]
    sent = [wire.ngap_peek(heard.data).message for heard in plant.heard]
    assert "ErrorIndication" not in sent


async def nothing(_: str) -> None:
    pass
