"""The committed ScaledObjects see pending events, by KEDA's own logic on a real nats-server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from nats.aio.client import Client
from nats.js.client import JetStreamContext

from evcore.local.lag import lag
from eventing import subjects
from eventing.jetstream.streams import BusConfig, ensure, ensure_streams
from k8s.generate import FOLDER
from schemas.origin import Origin
from schemas.procedures import Procedure
from tests.eventing.brokers import Bus, arrived, consumer, until
from tests.k8s import keda
from tests.k8s.keda import Scaling

pytestmark = pytest.mark.slow


def scaled_object(procedure: Procedure) -> dict[str, Any]:
    text = (FOLDER / "functions" / "pull" / f"{procedure}.yaml").read_text()
    found = [one for one in yaml.safe_load_all(text) if one["kind"] == "ScaledObject"]
    spec: dict[str, Any] = found[0]["spec"]
    return spec


REGISTRATION = scaled_object(Procedure.REGISTRATION)
PARTITIONS = len(REGISTRATION["triggers"])


@pytest.fixture
async def monitor(bus: Bus, client: Client) -> str:
    await ensure(client, BusConfig(PARTITIONS))
    return f"127.0.0.1:{bus.broker.monitor_port}"


async def publish(client: Client, partition: int, count: int) -> None:
    js = client.jetstream()
    for slot in range(count):
        subject = subjects.event(
            partition, Procedure.REGISTRATION, Origin.N2, partition + slot * PARTITIONS
        )
        await js.publish(subject, b"event")


async def pulling(client: Client, partition: int) -> JetStreamContext.PullSubscription:
    name = subjects.consumer(partition, Procedure.REGISTRATION)
    return await client.jetstream().pull_subscribe_bind(name, subjects.STREAM)


async def sees(client: Client, monitor: str, waits: int) -> None:
    """KEDA and `evcore up` both see `waits` pending events, and none for other procedures."""
    assert (await keda.scaling(REGISTRATION, monitor)).composite == waits
    here = await lag(client)
    assert here == {**dict.fromkeys(Procedure, 0), Procedure.REGISTRATION: waits}


async def test_every_trigger_names_a_consumer_that_there_is(monitor: str) -> None:
    for procedure in Procedure:
        spec = scaled_object(procedure)
        metrics = [await keda.metric(one["metadata"], monitor) for one in spec["triggers"]]
        assert metrics == [(0, False, True)] * PARTITIONS, procedure
        assert await keda.scaling(spec, monitor) == Scaling(0, 0)


async def test_queued(monitor: str, client: Client) -> None:
    """The lag is summed over the partitions. One event activates the first worker."""
    await publish(client, 3, 1)
    assert await keda.scaling(REGISTRATION, monitor) == Scaling(1, 1)
    await publish(client, 11, 4)
    await sees(client, monitor, 5)
    assert await keda.scaling(scaled_object(Procedure.SESSION), monitor) == Scaling(0, 0)


async def test_more_than_one_worker_meets_the_objective_for(monitor: str, client: Client) -> None:
    target = int(REGISTRATION["advanced"]["scalingModifiers"]["target"])
    await publish(client, 0, target)
    assert (await keda.scaling(REGISTRATION, monitor)).replicas == 1
    await publish(client, 1, 1)
    assert (await keda.scaling(REGISTRATION, monitor)).replicas == 2


async def test_in_flight(monitor: str, client: Client) -> None:
    """Unacknowledged events of a worker count, so it is not stopped during its work."""
    await publish(client, 0, 5)
    pull = await pulling(client, 0)
    taken = await pull.fetch(5, timeout=5)
    state = await consumer(client, subjects.consumer(0, Procedure.REGISTRATION))
    assert (state["num_pending"], state["num_ack_pending"]) == (0, 5)
    await sees(client, monitor, 5)
    for message in taken[:2]:
        await message.ack_sync()
    await sees(client, monitor, 3)
    for message in taken[2:]:
        await message.ack_sync()
    await sees(client, monitor, 0)


async def test_redelivered(monitor: str, client: Client) -> None:
    """An event that is returned and redelivered counts once."""
    await publish(client, 0, 3)
    pull = await pulling(client, 0)
    for message in await pull.fetch(3, timeout=5):
        await message.nak()
    await arrived(client)
    await sees(client, monitor, 3)
    again = await pull.fetch(3, timeout=5)
    assert {message.metadata.num_delivered for message in again} == {2}
    await sees(client, monitor, 3)
    for message in again:
        await message.ack_sync()
    await sees(client, monitor, 0)


async def test_not_acknowledged_in_time(monitor: str, client: Client) -> None:
    """The events of a dead worker wait until they are delivered to the next one."""
    await publish(client, 0, 2)
    pull = await pulling(client, 0)
    await pull.fetch(2, timeout=5)
    name = subjects.consumer(0, Procedure.REGISTRATION)
    next_worker = asyncio.ensure_future(pull.fetch(2, timeout=20))

    async def redelivered() -> bool:
        state = await consumer(client, name)
        found: int = state["num_redelivered"]
        return found == 2

    await until(redelivered)
    await sees(client, monitor, 2)
    for message in await next_worker:
        await message.ack_sync()
    await sees(client, monitor, 0)


async def test_without_consumers_keda_takes_the_last_sequence_number(
    bus: Bus, client: Client
) -> None:
    """The reason why `evcore streams` creates the consumers before scaling."""
    await ensure_streams(client, BusConfig(PARTITIONS))
    await publish(client, 0, 2)
    endpoint = f"127.0.0.1:{bus.broker.monitor_port}"
    metadata = REGISTRATION["triggers"][5]["metadata"]
    assert await keda.metric(metadata, endpoint) == (2, True, False)
    await ensure(client, BusConfig(PARTITIONS))
    assert await keda.metric(metadata, endpoint) == (0, False, True)


async def test_the_command_makes_what_the_triggers_name(bus: Bus, tmp_path: Path) -> None:
    config = tmp_path / "evcore.toml"
    config.write_text(f'[nats]\nurl = "{bus.url}"\npartitions = {PARTITIONS}\n')
    for _ in range(2):
        child = await asyncio.create_subprocess_exec(
            ".venv/bin/evcore", "streams", "--config", str(config)
        )
        assert await child.wait() == 0
    endpoint = f"127.0.0.1:{bus.broker.monitor_port}"
    for procedure in Procedure:
        for trigger in scaled_object(procedure)["triggers"]:
            assert (await keda.metric(trigger["metadata"], endpoint)).found
