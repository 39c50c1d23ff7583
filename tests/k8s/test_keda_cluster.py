"""KEDA's lag with three servers, as the Helm chart runs them. Whichever server KEDA asks, it finds
the leader of a consumer: no other server knows how much is pending."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from evcore.local.broker import binary, free_port
from evcore.local.process import Process
from eventing import subjects
from eventing.jetstream.connection import BusError, connected, request
from eventing.jetstream.streams import BusConfig, ensure
from schemas.origin import Origin
from schemas.procedures import Procedure
from tests.eventing.brokers import until
from tests.k8s import keda
from tests.k8s.test_keda_lag import PARTITIONS, REGISTRATION

pytestmark = pytest.mark.slow

HOSTS = ("127.0.0.11", "127.0.0.12", "127.0.0.13")
"""The same monitoring port on a separate address each, as pods have it."""


class Cluster:
    """The addresses of the servers."""

    def __init__(self) -> None:
        self.port, self.routes, self.monitor = free_port(), free_port(), free_port()

    @property
    def url(self) -> str:
        return f"nats://{HOSTS[0]}:{self.port}"

    @property
    def endpoints(self) -> list[str]:
        return [f"{host}:{self.monitor}" for host in HOSTS]

    def configuration(self, number: int, folder: Path) -> dict[str, Any]:
        host = HOSTS[number]
        return {
            "server_name": f"nats-{number}",
            "listen": f"{host}:{self.port}",
            "http": f"{host}:{self.monitor}",
            "jetstream": {"store_dir": str(folder / f"jetstream-{number}")},
            "cluster": {
                "name": "nats",
                "listen": f"{host}:{self.routes}",
                "routes": [f"nats://{other}:{self.routes}" for other in HOSTS],
            },
        }


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncGenerator[Cluster]:
    made = Cluster()
    async with AsyncExitStack() as stack:
        starting: list[asyncio.Task[Process]] = []
        for number in range(len(HOSTS)):
            file = tmp_path / f"nats-{number}.conf"
            file.write_text(json.dumps(made.configuration(number, tmp_path)))
            command = [str(binary()), "--config", str(file)]
            log = tmp_path / f"nats-{number}.log"
            start = Process.start("nats-server", command, log, "Server is ready")
            starting.append(asyncio.ensure_future(start))
        for process in await asyncio.gather(*starting):
            stack.push_async_callback(process.stop)
            stack.callback(process.kill)
        yield made


async def streams(client: Client, config: BusConfig) -> None:
    """Create the streams after the servers have elected their leaders."""

    async def made() -> bool:
        try:
            await ensure(client, config, [Procedure.REGISTRATION])
        except BusError:
            return False
        return True

    await until(made, 60)


async def test_whichever_is_asked(cluster: Cluster) -> None:
    async with connected(cluster.url, "test") as client:
        await streams(client, BusConfig(PARTITIONS, replicas=3))
        for bucket in (subjects.LEASES, subjects.ASSIGNMENTS):
            made = await request(client, f"STREAM.INFO.KV_{bucket}")
            assert made["config"]["num_replicas"] == len(HOSTS)  # survives the loss of a server
        js = client.jetstream()
        for partition in range(PARTITIONS):
            for _ in range(partition % 3):
                subject = subjects.event(partition, Procedure.REGISTRATION, Origin.N2, partition)
                await js.publish(subject, b"event", timeout=10)
        waits = sum(partition % 3 for partition in range(PARTITIONS))

        async def seen() -> bool:
            found = [await keda.scaling(REGISTRATION, one) for one in cluster.endpoints]
            return {one.composite for one in found} == {waits}

        await until(seen)
        for trigger in REGISTRATION["triggers"]:
            name = trigger["metadata"]["consumer"]
            state = await request(client, f"CONSUMER.INFO.{subjects.STREAM}.{name}")
            assert state["cluster"]["leader"] in {"nats-0", "nats-1", "nats-2"}
            metrics = [await keda.metric(trigger["metadata"], one) for one in cluster.endpoints]
            assert [one.value for one in metrics] == [state["num_pending"]] * len(HOSTS)
