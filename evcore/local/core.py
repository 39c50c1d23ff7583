"""The local core: nats-server, the N2 gateway and an autoscaler of workers."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

from msgspec import structs

from evcore.local.autoscaler import Autoscaler, Group, Scale
from evcore.local.broker import Broker
from evcore.local.data import DataDirectory
from evcore.local.process import Process
from eventing.bus import connected
from eventing.streams import BusConfig, ensure
from schemas.config import Config, NatsConfig
from schemas.procedures import Procedure

ALL_IN_ONE: Final = (Group("core", tuple(Procedure)),)
"""One kind of worker that hosts every procedure: fewest hops between processes."""


class LocalCore:
    """The processes of a core that runs on this machine."""

    def __init__(
        self, data: DataDirectory, config: Config, broker: Broker, scaler: Autoscaler
    ) -> None:
        self.data = data
        self.config = config
        self.broker = broker
        self.scaler = scaler
        self.gateway: Process | None = None

    async def start_gateway(self) -> Process:
        """Start the N2 gateway, or start it anew after it ended."""
        command = [
            *(sys.executable, "-m", "gateway.n2"),
            *("--config", str(self.data.config_file)),
            *("--secrets", str(self.data.secrets_file)),
        ]
        ready = "evcore gateway n2:"
        log = self.data.log("gateway-n2")
        self.gateway = await Process.start("the N2 gateway", command, log, ready)
        return self.gateway

    @property
    def n2_address(self) -> str:
        """Where gNBs connect, as the gateway said it."""
        said = self.gateway.said if self.gateway is not None else []
        return next((line.rpartition(" at ")[2] for line in said if " at " in line), "")


@asynccontextmanager
async def local_core(
    data: DataDirectory,
    config: Config,
    groups: tuple[Group, ...] = ALL_IN_ONE,
    changed: Callable[[Scale], None] | None = None,
    broker_port: int = 0,
) -> AsyncGenerator[LocalCore]:
    """Run a core for the length of a block.

    Raises:
        ProcessError: a part of it does not start.
    """
    data.prepare()
    broker = await Broker.start(data.broker, data.log("nats-server"), broker_port)
    try:
        nats = structs.replace(config.nats, url=broker.url)
        config = data.write_config(structs.replace(config, nats=nats))
        async with connected(broker.url, "evcore-up") as client:
            await ensure(client, _bus(nats))
            scaler = Autoscaler(groups, data, client, broker.monitor_url, changed)
            core = LocalCore(data, config, broker, scaler)
            await core.start_gateway()
            scaling = asyncio.ensure_future(scaler.run())
            try:
                yield core
            finally:
                scaling.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await scaling
                if core.gateway is not None:
                    await core.gateway.stop()
                await scaler.stop()
    finally:
        await broker.stop()


def _bus(nats: NatsConfig) -> BusConfig:
    return BusConfig(nats.partitions, nats.replicas, nats.max_bytes)
