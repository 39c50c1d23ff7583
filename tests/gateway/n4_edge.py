"""An N4 gateway between a real broker and UPFs that send any octets."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from msgspec import msgpack, structs
from nats.aio.client import Client
from nats.aio.msg import Msg

import wire
from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.jetstream import messages
from eventing.jetstream.connection import connected
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure
from gateway.n4.gateway import N4Gateway
from schemas.cloudevents import CloudEvent, EventType, UpfPath
from schemas.config.reading import N4Config, UpfConfig
from schemas.identity import index_seid, make_seid, slot_of, slot_of_seid
from tests.eventing import brokers
from tests.eventing.brokers import Bus

PARTITIONS = 4
SEID = make_seid(77, 12345)
KEY = index_seid(SEID)
CORE_STAMP = 3_900_000_000
UPF_STAMP = 3_900_000_100
ACCEPTED = 1
QUICK = N4Config(port=1, t1=0.05, n1=2, heartbeat=3600.0)
"""Without heartbeats; the port is replaced by a free one."""

Ies = list[dict[str, Any]]


def encode(message: str, ies: Ies, sequence: int = 0, **more: Any) -> bytes:
    return wire.pfcp_encode({"message": message, "sequence": sequence, "ies": ies, **more})


def node(node_id: str) -> dict[str, Any]:
    return {"Node ID": {"ipv4": node_id}}


def stamp(value: int) -> dict[str, Any]:
    return {"Recovery Time Stamp": value}


def deletion(seid: int = 9, **more: Any) -> bytes:
    """Return a request of the core about a session."""
    return encode("SessionDeletionRequest", [], seid=seid, **more)


def report(sequence: int, seid: int = SEID) -> bytes:
    ies: Ies = [{"Report Type": ["DLDR"]}, {"Downlink Data Report": [{"PDR ID": 2}]}]
    return encode("SessionReportRequest", ies, sequence, seid=seid)


def report_answer(sequence: int) -> bytes:
    return encode("SessionReportResponse", [{"Cause": ACCEPTED}], sequence, seid=5)


def setup(node_id: str, value: int, sequence: int = 0) -> bytes:
    return encode("AssociationSetupRequest", [node(node_id), stamp(value)], sequence)


class Upf(asyncio.DatagramProtocol):
    """A UDP socket of a UPF."""

    def __init__(self, edge: "Edge", node_id: str) -> None:
        self.node_id = node_id
        self.got: list[bytes] = []
        self.transport: asyncio.DatagramTransport
        self._edge = edge
        self._changed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        del addr
        self.got.append(data)
        self._changed.set()

    @property
    def port(self) -> int:
        port: int = self.transport.get_extra_info("sockname")[1]
        return port

    @property
    def key(self) -> str:
        return f"upf/{self.node_id}"

    def send(self, octets: bytes) -> None:
        self.transport.sendto(octets, ("127.0.0.1", self._edge.gateway.port))

    async def heard(self, count: int) -> list[bytes]:
        """Wait until `count` datagrams have arrived; return them."""
        async with asyncio.timeout(20):
            while len(self.got) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.got

    async def next(self, count: int = 1) -> list[wire.PfcpPeek]:
        """Wait for `count` datagrams, and remove them."""
        heard = await self.heard(count)
        self.got = heard[count:]
        return [wire.pfcp_peek(octets) for octets in heard[:count]]

    def answer(self, asked: wire.PfcpPeek, *ies: dict[str, Any], **more: Any) -> bytes:
        """Answer a request."""
        message = asked.message.removesuffix("Request") + "Response"
        if asked.message_type >= 50:
            more = {"seid": SEID, **more}
        octets = encode(message, list(ies), asked.sequence, **more)
        self.send(octets)
        return octets

    async def restarted(self, value: int, sequence: int = 900) -> None:
        """Send a heartbeat with another time stamp, and answer the one that verifies it."""
        self.send(encode("HeartbeatRequest", [stamp(value)], sequence))
        heard = sorted(await self.next(2), key=lambda peek: peek.message)
        assert [peek.message for peek in heard] == ["HeartbeatRequest", "HeartbeatResponse"]
        self.answer(heard[0], stamp(value))

    async def associated(self, number: int = 1) -> None:
        """Set up an association: request and response, with their events."""
        await self._edge.ask(self, setup("127.0.0.1", CORE_STAMP), number, self.key)
        (asked,) = await self.next()
        before = len(self._edge.events)
        self.answer(asked, node(self.node_id), {"Cause": ACCEPTED}, stamp(UPF_STAMP))
        await self._edge.until(before + 1)


class Edge:
    """A gateway and the core's side of the bus."""

    def __init__(self, bus: Bus, core: Client) -> None:
        self.bus = bus
        self.core = core
        self.gateway: N4Gateway
        self.upfs: list[Upf] = []
        self.events: list[CloudEvent] = []
        """The published events except UPF_PATH."""
        self.paths: list[UpfPath] = []
        self.subjects: list[str] = []
        self._changed = asyncio.Event()
        self._numbers = itertools.count(1)

    async def hear(self, message: Msg) -> None:
        for event in messages.events_of(message.headers, message.data):
            if event.type == EventType.UPF_PATH:
                self.paths.append(msgpack.decode(event.data, type=UpfPath))
            else:
                self.events.append(event)
                self.subjects.append(message.subject)
        self._changed.set()

    async def until(self, count: int) -> list[CloudEvent]:
        """Wait until `count` events have been published."""
        await self._wait(lambda: len(self.events) >= count)
        return self.events

    async def path(self, node_id: str, *states: str) -> list[UpfPath]:
        """Wait until a UPF's path has reported these states in order, not counting `served`."""

        def told() -> list[UpfPath]:
            of = [p for p in self.paths if p.upf == node_id]
            return of if "served" in states else [p for p in of if p.state != "served"]

        await self._wait(lambda: len(told()) >= len(states))
        assert [p.state for p in told()] == list(states)
        return told()

    async def ask(
        self, upf: Upf, pdu: bytes, number: int | None, key: str = KEY, **more: Any
    ) -> None:
        """Send a message as a worker's step does."""
        event = self.event(upf, number, key, **more)
        await self.core.publish(
            subjects.n4(upf.node_id), pdu, headers=nats_binding.to_headers(event)
        )

    def event(self, upf: Upf, number: int | None, key: str = KEY, **more: Any) -> CloudEvent:
        """Return a message of a worker's step."""
        return CloudEvent(
            id=f"down-{next(self._numbers)}",
            source="/ue/imsi-1",
            type=EventType.PFCP_DOWNLINK,
            partitionkey=key,
            slot=slot_of(upf.node_id) if key == upf.key else slot_of_seid(SEID),
            sequence=number,
            **more,
        )

    async def settled(self) -> None:
        """Wait until the gateway has read everything sent so far, from both sides."""
        counters, upf = self.gateway.counters, self.upfs[0]
        downlink = counters.malformed
        await self.core.publish(subjects.n4(upf.node_id), b"?")
        await brokers.until(lambda: counters.malformed > downlink)
        uplink = counters.malformed
        upf.send(b"?")
        await brokers.until(lambda: counters.malformed > uplink)
        await brokers.until(lambda: self.gateway.waiting == 0)
        await brokers.arrived(self.core)

    async def _wait(self, done: Any) -> None:
        async with asyncio.timeout(20):
            while not done():
                self._changed.clear()
                await self._changed.wait()

    async def upf(self, node_id: str, host: str = "127.0.0.1") -> Upf:
        """Return another socket of a UPF, or of another node at another host."""
        loop = asyncio.get_running_loop()
        _, upf = await loop.create_datagram_endpoint(
            lambda: Upf(self, node_id), local_addr=(host, 0)
        )
        self.upfs.append(upf)
        return upf


@asynccontextmanager
async def running(
    path: Path,
    config: N4Config = QUICK,
    nodes: Sequence[str] = ("10.0.0.1", "10.0.0.2"),
    configured: Sequence[UpfConfig] = (),
) -> AsyncGenerator[Edge]:
    """Run a gateway with one UPF, at its own port, for each Node ID."""
    async with (
        brokers.running(path) as bus,
        connected(bus.url, "gateway") as client,
        connected(bus.url, "core") as core,
    ):
        await ensure(core, BusConfig(partitions=PARTITIONS))
        publisher = Publisher(client, PARTITIONS)
        await publisher.start()
        edge = Edge(bus, core)
        for node_id in nodes:
            await edge.upf(node_id)
        upfs = tuple(UpfConfig(u.node_id, "127.0.0.1", u.port) for u in edge.upfs)
        config = structs.replace(config, port=0)
        edge.gateway = N4Gateway(client, publisher, config, (*upfs, *configured))
        await core.subscribe("ue.>", cb=edge.hear, pending_bytes_limit=0)
        await brokers.arrived(core)
        await edge.gateway.start()
        await brokers.arrived(client)
        try:
            yield edge
        finally:
            await edge.gateway.stop(0.05)
            for upf in edge.upfs:
                upf.transport.close()
            await asyncio.sleep(0)  # asyncio closes a socket in the next turn of its loop


@asynccontextmanager
async def another(edge: Edge, config: N4Config = QUICK) -> AsyncGenerator[N4Gateway]:
    """Run another gateway for the same UPFs."""
    async with connected(edge.bus.url, "gateway-2") as client:
        publisher = Publisher(client, PARTITIONS)
        await publisher.start()
        upfs = tuple(UpfConfig(u.node_id, "127.0.0.1", u.port) for u in edge.upfs)
        gateway = N4Gateway(client, publisher, structs.replace(config, port=0), upfs)
        await gateway.start()
        await brokers.arrived(client)
        try:
            yield gateway
        finally:
            await gateway.stop(0.05)
