"""Real servers for tests: each test has its own, on free ports of the loopback interface."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from nats.aio.client import Client

from evcore import population as populations
from evcore.emulated import free_udp_port
from evcore.local.broker import Broker
from evcore.local.core import ALL_IN_ONE, LocalCore, local_core
from evcore.local.data import DataDirectory
from evcore.local.group import Group
from evcore.local.lag import wait_until_idle
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.connection import connected
from loadgen import LoadConfig, Population, Procedure
from schemas.config.objectives import ObjectiveConfig
from schemas.config.reading import Config, DataNetworkConfig, N2Config, N4Config, UpfConfig
from schemas.config.strangers import DEFAULT_POLICY, StrangerPolicy
from schemas.network import Congestion, Timers
from transport import Mode


@asynccontextmanager
async def nats_server(folder: Path) -> AsyncGenerator[Broker]:
    broker = await Broker.start(folder / "jetstream", folder / "nats.log")
    try:
        yield broker
    finally:
        await broker.stop()


def violations(data: DataDirectory) -> list[str]:
    """Return the lines of nats-server about a process that has done what its role may not do."""
    lines = data.log("nats-server").read_text().splitlines()
    return [line for line in lines if "Violation" in line]


@asynccontextmanager
async def nats_client(folder: Path) -> AsyncGenerator[Client]:
    async with nats_server(folder) as broker, connected(broker.url, "test") as client:
        yield client


class Site(NamedTuple):
    """A running core with subscribers, and the population that they are of."""

    core: LocalCore
    data: DataDirectory
    population: Population

    async def settled(self) -> None:
        """Wait until no event waits or is worked on: what was sent has been decided."""
        async with self.connected(Role.CONSOLE) as client:
            await wait_until_idle(client)

    def connected(self, role: Role) -> AbstractAsyncContextManager[Client]:
        """Connect to its broker as a role."""
        return connected_as(role, self.core.config.nats, f"test {role}")

    def load(self, **changes: object) -> LoadConfig:
        """A load of all its UEs on two gNBs."""
        n2 = self.core.config.n2
        values: dict[str, object] = {
            "port": n2.port,
            "udp_port": n2.udp_port,
            "mode": Mode.USERSPACE_UDP,
            "gnbs": 2,
            "population": self.population,
            "programme": (Procedure.REGISTER,),
            **changes,
        }
        return LoadConfig(**values)  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def site(
    folder: Path,
    ues: int,
    groups: tuple[Group, ...] = ALL_IN_ONE,
    max_under_way: int = 8192,
    upfs: tuple[UpfConfig, ...] = (),
    data_networks: tuple[DataNetworkConfig, ...] = (),
    objectives: tuple[ObjectiveConfig, ...] = (),
    timers: Timers | None = None,
    congestion: Congestion | None = None,
    setup_within: float = 10.0,
    strangers: StrangerPolicy = DEFAULT_POLICY,
    *,
    attacked: bool = False,
) -> AsyncGenerator[Site]:
    """A core in a folder, with `ues` subscribers of every SUCI scheme, and perhaps with UPFs.

    Unless it is attacked, all of its processes must keep to their roles on the bus.
    """
    data = DataDirectory(folder / "data")
    secrets = data.prepare()
    population = Population(
        count=ues,
        schemes=("null", "A", "B"),
        home_keys=populations.home_keys(secrets),
        dnns=("internet",),
    )
    await populations.provision(data.root, population)
    n2 = N2Config(
        udp_port=free_udp_port(),
        transport=Mode.USERSPACE_UDP,
        max_under_way=max_under_way,
        setup_within=setup_within,
    )
    n4 = N4Config(port=free_udp_port())
    config = Config(
        n2=n2,
        n4=n4,
        upf=upfs,
        data_network=data_networks,
        objective=objectives,
        timers=timers or Timers(),
        congestion=congestion or Congestion(),
        strangers=strangers,
    )
    try:
        async with local_core(data, config, groups) as core:
            yield Site(core, data, population)
        assert attacked or violations(data) == []
    except BaseException:
        for log in sorted((data.root / "logs").glob("*.log")):
            words = [line for line in log.read_text().splitlines() if "[INF]" not in line]
            print(f"--- {log.name}", *words[-40:], sep="\n")
        raise
