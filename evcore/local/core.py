"""The local core: nats-server, the gateways and an autoscaler of workers."""

import asyncio
import re
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from msgspec import structs

from evcore import operator
from evcore.local.autoscaler import Autoscaler
from evcore.local.broker import Broker
from evcore.local.data import DataDirectory
from evcore.local.disk import DiskWatch, check_room
from evcore.local.forking import ForkServer
from evcore.local.group import Group, Scale
from evcore.local.lag import wait_until_led
from evcore.local.process import Backoff, Process, ProcessError
from evcore.local.timers import make_timers
from evcore.swap.runner import Swaps
from eventing.access import keys
from eventing.access.authorization import configuration as users_of
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.streams import bus_config, ensure
from eventing.process import cancel_and_wait
from eventing.stats import StatsWatch
from schemas.config import reading as configuration
from schemas.config.nats import NatsConfig
from schemas.config.objectives import objectives_of
from schemas.config.reading import Config
from schemas.procedures import Procedure
from transport import Mode

ALL_IN_ONE: Final = (Group("core", tuple(Procedure)),)
"""One group of workers that host every procedure: the fewest hops between processes."""

_LISTENS: Final = re.compile(rf"evcore gateway n2: ({'|'.join(Mode)}) at (.+)")
"""Line of the N2 gateway when gNBs can connect."""

_SERVES: Final = r"evcore gateway n4: \d+ UPF"
"""Line of the N4 gateway when it serves UPFs."""


class LocalCore:
    """The processes of a core on this machine."""

    def __init__(
        self,
        data: DataDirectory,
        config: Config,
        brokers: Sequence[Broker],
        scaler: Autoscaler,
        updated: asyncio.Event,
        stats: StatsWatch,
    ) -> None:
        self.data = data
        self.config = config
        self.brokers = brokers
        """One for each replica of the streams."""
        self.broker = brokers[0]
        self.scaler = scaler
        self.stats = stats
        """The statistics of the workers."""
        self.gateway: Process | None = None
        self.gateway_n4: Process | None = None
        """None if no UPF is configured."""
        self.updated = updated
        """Set when `evcore network update` has written a new configuration."""
        self._listens: re.Match[str] | None = None

    async def start_gateway(self) -> Process:
        """Start or restart the N2 gateway.

        Raises:
            ProcessError: the gateway does not start.
        """
        command = [
            *(sys.executable, "-m", "gateway.n2"),
            *("--config", str(self.data.config_file)),
            *("--secrets", str(self.data.secrets_file)),
        ]
        log = self.data.log("gateway-n2")
        self.gateway = await Process.start("the N2 gateway", command, log, _LISTENS.pattern)
        matches = (_LISTENS.search(line) for line in self.gateway.said)
        self._listens = next((found for found in matches if found is not None), None)
        return self.gateway

    async def start_gateways(self) -> None:
        """Start the configured gateways.

        Raises:
            ProcessError: a gateway does not start. The other one is stopped.
        """
        try:
            await self.start_gateway()
            if self.config.upf:
                await self.start_gateway_n4()
        except BaseException:
            await self.stop_gateways()
            raise

    async def stop_gateways(self) -> None:
        """Stop the running gateways at the same time."""
        running = (one for one in (self.gateway, self.gateway_n4) if one is not None)
        await asyncio.gather(*(one.stop() for one in running))

    async def start_gateway_n4(self) -> Process:
        """Start or restart the N4 gateway.

        Raises:
            ProcessError: the gateway does not start. It never starts without UPFs.
        """
        command = [
            *(sys.executable, "-m", "gateway.n4"),
            *("--config", str(self.data.config_file)),
        ]
        log = self.data.log("gateway-n4")
        self.gateway_n4 = await Process.start(
            "the N4 gateway", command, log, _SERVES, with_keys=False
        )
        return self.gateway_n4

    @property
    def n2_mode(self) -> str:
        """The SCTP transport that the gateway has chosen, a value of `transport.Mode`."""
        return self._listens[1] if self._listens is not None else ""

    @property
    def n2_address(self) -> str:
        """The address for gNBs, as printed by the gateway."""
        return self._listens[2] if self._listens is not None else ""

    async def reload(self) -> int:
        """Apply the configuration in the file. Return the number of notified gNBs.

        Raises:
            ConfigError: the configuration is wrong.
            BusError: the broker cannot be reached.
            StoreError: the log cannot be read.
        """
        self.config = configuration.load(self.data.config_file)
        if self.gateway is not None:
            self.gateway.signal(signal.SIGHUP)
        await self.scaler.restart()
        return await operator.publish_network_change(self.data, self.config.nats)

    async def keep_running(self, tell: Callable[[str], None]) -> None:
        """Restart the gateways and the broker when they end, as Kubernetes would."""

        async def run(broker: Broker) -> Process:
            await broker.run()
            return broker.process

        disk = DiskWatch(self.data, self.config, self.brokers, tell)
        self.stats.also(disk.heard)
        gateway = self.gateway or await self.start_gateway()
        async with asyncio.TaskGroup() as kept:
            kept.create_task(disk.run())
            kept.create_task(_keep(gateway, self.start_gateway, tell))
            if self.gateway_n4 is not None:
                kept.create_task(_keep(self.gateway_n4, self.start_gateway_n4, tell))
            for broker in self.brokers:
                kept.create_task(_keep(broker.process, partial(run, broker), tell))


async def _keep(
    process: Process, start: Callable[[], Awaitable[Process]], tell: Callable[[str], None]
) -> None:
    backoff = Backoff()
    while True:
        since = time.monotonic()
        await process.wait()
        pause = backoff.after(time.monotonic() - since)
        why = f"{process.name} {process.end}"
        while True:
            if not process.stopping:  # or else it was said why
                tell(f"{why}; restarting" + (f" in {pause:g} s" if pause else ""))
            await asyncio.sleep(pause)
            try:
                process = await start()
                tell(f"{process.name} runs again")
                break
            except ProcessError as err:
                why, pause = str(err), backoff.after(0.0)


@asynccontextmanager
async def local_core(
    data: DataDirectory,
    config: Config,
    groups: tuple[Group, ...] = ALL_IN_ONE,
    changed: Callable[[Scale], None] | None = None,
    broker_port: int = 0,
    ended: Callable[[str], None] | None = None,
) -> AsyncGenerator[LocalCore]:
    """Run a core for the duration of a block.

    Args:
        data: the data directory. No other core may run on it.
        config: the configuration. Its store and broker are replaced by those of the directory.
        groups: the procedures that are hosted together.
        changed: called with each change of a group's number of workers.
        broker_port: the port of the broker, 0 for a free one.
        ended: called with a sentence for each worker that ended unexpectedly and for each change
            of a swap.

    Raises:
        ConfigError: the data directory cannot be used, or another core runs on it.
        ProcessError: a process of the core does not start.
        BusError: the existing streams do not fit the configuration.
    """
    data.prepare()
    updated = asyncio.Event()
    # As soon as the lock is held, `evcore network update` sends SIGUSR1: set the handler first.
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, updated.set)
    async with data.held() as lock:
        if (lacking := check_room(data, config)) and ended is not None:
            ended(lacking)
        users = users_of(await asyncio.to_thread(keys.make_missing, data.nats_keys))
        brokers = await _started(data, config.nats.replicas, broker_port, lock, users)
        try:
            nats = _bus_of(data, config, brokers[0])
            config = data.write_config(structs.replace(config, nats=nats))
            async with (
                connected_as(Role.SETUP, nats, "evcore-up setup") as setup,
                connected_as(Role.CONSOLE, nats, "evcore-up console") as console,
                connected_as(Role.OPERATOR, nats, "evcore-up operator") as swapping,
            ):
                await wait_until_led(setup)
                await ensure(setup, bus_config(nats))
                await make_timers(data, setup, nats.partitions)
                stats = StatsWatch()
                await stats.start(console)
                forks = ForkServer(data.log("fork-server"))
                scaler = Autoscaler(
                    *(groups, data, setup, changed, ended, forks.start),
                    objectives=objectives_of(config.objective),
                    stats=stats,
                )
                core = LocalCore(data, config, brokers, scaler, updated, stats)
                swaps = Swaps(scaler, data, swapping, stats, ended)
                await swaps.begin()
                await core.start_gateways()
                await forks.begin()
                running = [asyncio.ensure_future(one.run()) for one in (scaler, forks, swaps)]
                try:
                    yield core
                finally:
                    await cancel_and_wait(running)
                    await core.stop_gateways()
                    await asyncio.gather(scaler.stop(), forks.stop(), swaps.stop())
        finally:
            await asyncio.gather(*(one.stop() for one in brokers))


async def _started(
    data: DataDirectory, count: int, port: int, lock: int, users: str
) -> Sequence[Broker]:
    """Start the brokers of a core: one for each replica of the streams."""
    log, keep = data.log("nats-server"), (lock,)
    if count > 1:
        return await Broker.start_cluster(data.broker, log, count, port, keep=keep, settings=users)
    return [await Broker.start(data.broker, log, port, keep=keep, settings=users)]


def _bus_of(data: DataDirectory, config: Config, broker: Broker) -> NatsConfig:
    """Return [nats] for the processes of a core: its broker on loopback, and the keys of roles."""
    return structs.replace(
        config.nats,
        url=broker.url,
        nkey=str(data.nats_keys.resolve()),
        ca="",
        cert="",
        key="",
    )
