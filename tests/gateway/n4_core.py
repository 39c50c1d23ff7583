"""An N4 gateway between an emulated UPF and the decisions of the core, over real sockets.

The core is a `World` of the decision tests: its time stands still unless a test advances it.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import structs
from nats.aio.client import Client
from nats.aio.msg import Msg

from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.jetstream import messages
from eventing.jetstream.connection import connected
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure
from gateway.n4.gateway import N4Gateway
from loadgen.upf.config import UpfConfig as Emulated
from loadgen.upf.upf import Upf
from schemas.cloudevents import CloudEvent, EventType
from schemas.config.reading import N4Config, UpfConfig
from tests.eventing import brokers
from tests.functions.site import Site
from tests.functions.world_n4 import UPF

PARTITIONS = 4
HOST = "127.0.0.1"
QUICK = N4Config(port=1, t1=0.05, n1=2, heartbeat=0.2)


class Core:
    """A UE with its gNB, decided by the core, and its UPF behind a gateway."""

    def __init__(self, client: Client, site: Site, upf: Upf, gateway: N4Gateway) -> None:
        self.site, self.upf, self.gateway = site, upf, gateway
        self.world = site.world
        self._client = client
        self._sent = 0

    async def hear(self, message: Msg) -> None:
        """Decide the events of the gateway."""
        for event in messages.events_of(message.headers, message.data):
            self.world.deliver(event)
        await self.flush()

    async def flush(self) -> None:
        """Send the core's messages for the UPF to the gateway."""
        while self.world.pfcp:
            upf, key, number, pdu = self.world.pfcp.popleft()
            if upf != UPF:
                continue
            self._sent += 1
            event = CloudEvent(
                id=f"down-{self._sent}",
                source="/core",
                type=EventType.PFCP_DOWNLINK,
                partitionkey=key,
                slot=1,
                sequence=number,
                incarnation=self.world.incarnations.get((key, number)) or None,
            )
            await self._client.publish(
                subjects.n4(upf), pdu, headers=nats_binding.to_headers(event)
            )

    async def does(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Let the UE, its gNB or the time do something; the UPF gets the requests."""
        found = action(*arguments)
        await self.flush()
        return found

    async def until(self, done: Callable[[], bool]) -> None:
        await brokers.until(done, 20)

    async def session(self) -> str:
        """Establish a session; return the address of the UE."""
        await self.does(self.site.ask)
        await self.until(lambda: bool(self.site.world.downlink))
        setup = self.site.hear()[-1]
        await self.does(self.site.set_up)
        await self.restored()
        address: str = setup["PDUSessionResourceSetupListSUReq"][0]["nas"]["pdu-address"]["ipv4"]
        return address

    def is_at_upf(self) -> bool:
        """Whether the UPF has exactly the sessions of the core."""
        state, sessions = self.world.upf(UPF), self.world.ue().sessions
        at_upf = {view.up_seid: view.downlink for view in self.upf.sessions.values()}
        return (
            state.associated
            and state.reachable
            and state.leftovers == ()
            and all(s.n4.sent is None for s in sessions)
            and at_upf.keys() == {s.n4.up_seid for s in sessions}
            and all((at_upf[s.n4.up_seid] is None) == (s.access is None) for s in sessions)
        )

    async def restored(self) -> None:
        """Wait until the UPF has exactly the sessions of the core."""
        await self.until(self.is_at_upf)


@asynccontextmanager
async def running(
    path: Path, addresses: tuple[str, ...] = (), **emulated: Any
) -> AsyncGenerator[Core]:
    """Run a UPF, a gateway, and a core with a registered UE."""
    settings: dict[str, Any] = {"t1": 0.05, "n1": 3, **emulated}
    upf = Upf(Emulated(node_id=UPF, host=HOST, port=0, **settings))
    await upf.start()
    site = Site()
    site.upfs.silent = True
    site.world.network = structs.replace(
        site.world.network, n4_address=HOST, upfs=site.world.network.upfs[:1]
    )
    site.world.networks["emulated"] = site.world.network
    async with (
        brokers.running(path) as bus,
        connected(bus.url, "gateway") as client,
        connected(bus.url, "core") as core,
    ):
        await ensure(core, BusConfig(partitions=PARTITIONS))
        publisher = Publisher(client, PARTITIONS)
        await publisher.start()
        configured = UpfConfig(UPF, HOST, upf.address[1], addresses=addresses)
        gateway = N4Gateway(client, publisher, structs.replace(QUICK, port=0), (configured,))
        found = Core(core, site, upf, gateway)
        await core.subscribe("ue.>", cb=found.hear, pending_bytes_limit=0)
        await brokers.arrived(core)
        await gateway.start()
        try:
            state = site.world.upf
            await found.until(lambda: upf.associations != {} or state(UPF).trouble != "")
            await found.does(site.world.advance, 11)  # it may ignore heartbeats until then
            await found.until(lambda: upf.associations != {} and found.is_at_upf())
            yield found
        finally:
            await gateway.stop(0.05)
            upf.close()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
    assert [one.text for one in upf.violations] == []
