"""A gateway between a real broker and gNBs that send any octets."""

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from nats.aio.client import Client
from nats.aio.msg import Msg

import wire
from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.jetstream import messages as batch
from eventing.jetstream.connection import connected
from eventing.jetstream.downlinks import Downlinks
from eventing.jetstream.messages import Addressed
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.sealed import DownlinkOpener, DownlinkSealer
from eventing.jetstream.streams import BusConfig, ensure
from gateway.n2.admission import DEFAULT_PLACES, Places
from gateway.n2.gateway import N2Gateway
from gateway.n2.routing import Router
from loadgen.gnb import messages as ngap_gnb
from loadgen.gnb.messages import GnbConfig
from loadgen.trees import Tree
from schemas.cloudevents import CloudEvent, EventType
from tests.eventing import brokers
from tests.eventing.brokers import Bus
from tests.functions.world import NETWORK, TMSI_KEY
from tests.transport.recorder import Recorder
from tests.transport.worlds import MEMORY, World
from transport import NGAP_PPID, Association, Limits, Transport

PARTITIONS = 4
CIPHER = wire.TmsiCipher(TMSI_KEY)
PLENTY = 1 << 30


def ng_setup_response() -> bytes:
    slices = [{"s-NSSAI": {"sST": 1}}]
    return ngap_gnb.encode(
        "NGSetupResponse",
        {"AMFName": "test"},
        {
            "ServedGUAMIList": [
                {
                    "gUAMI": {
                        "pLMNIdentity": "001-01",
                        "aMFRegionID": 1,
                        "aMFSetID": 1,
                        "aMFPointer": 0,
                    }
                }
            ]
        },
        {"RelativeAMFCapacity": 255},
        {"PLMNSupportList": [{"pLMNIdentity": "001-01", "sliceSupportList": slices}]},
    )


def downlink_nas(amf_id: int, ran_id: int, nas: bytes = b"\x7e\x00\x64\x6f") -> bytes:
    ids = ngap_gnb.ue_ids(amf_id, ran_id)
    return ngap_gnb.encode("DownlinkNASTransport", *ids, {"NAS-PDU": nas.hex()})


class Ran:
    """One gNB's association; the test sends any octets by it."""

    def __init__(self, edge: "Edge", number: int) -> None:
        self.config = GnbConfig(f"gnb-{number}", number)
        self.heard = Recorder()
        self.transport: Transport
        self._edge = edge

    @property
    def id(self) -> str:
        """The gNB's Global RAN Node ID."""
        return f"001-01-gnb-24-{self.config.gnb_id:x}"

    @property
    def association(self) -> Association:
        return self.heard.up_[0]

    def send(self, pdu: bytes, stream: int = 0, ppid: int = NGAP_PPID) -> None:
        self.association.send(stream, pdu, ppid)

    async def sent(self, pdu: bytes) -> CloudEvent:
        """Send a PDU and return its event."""
        count = len(self._edge.events)
        self.send(pdu)
        return (await self._edge.got(count + 1))[count]

    async def set_up(self) -> CloudEvent:
        """Do NG Setup, with the test as the core; return the event of the request."""
        event = await self.sent(ngap_gnb.ng_setup_request(self.config))
        before = len(self.heard.messages)
        await self._edge.answer(event, ng_setup_response())
        await self.heard.got(before + 1)
        return event

    def initial(self, nas: bytes, ran_id: int = 1, **more: Any) -> bytes:
        s_tmsi = more.get("s_tmsi")
        place = ngap_gnb.location(self.config, self.config.plmn)
        return ngap_gnb.initial_ue_message(
            ran_id, nas, place, "mo-Signalling", s_tmsi, context=True
        )

    def uplink(self, nas: bytes, amf_id: int, ran_id: int = 1) -> bytes:
        ids = ngap_gnb.ue_ids(amf_id, ran_id)
        return ngap_gnb.uplink_nas_transport(
            ids, nas, ngap_gnb.location(self.config, self.config.plmn)
        )

    async def messages(self, *names: str) -> list[Tree]:
        """Return the received PDUs with some names, once there is one."""

        def found() -> list[Tree]:
            trees = [wire.ngap_decode(m.payload) for m in self.heard.messages]
            return [tree for tree in trees if tree["message"] in names]

        await self.heard.until(lambda: bool(found()))
        return found()


class Edge:
    """A gateway and the core's side of the bus."""

    def __init__(self, bus: Bus, core: Client, gateway: N2Gateway, world: World) -> None:
        self.bus = bus
        self.core = core
        self.downlinks = Downlinks(core, DownlinkSealer(TMSI_KEY))
        self.gateway = gateway
        self.world = world
        self.subjects: list[str] = []
        self.events: list[CloudEvent] = []
        """The published events, in order."""
        self.transport: Transport
        self._changed = asyncio.Event()
        self._numbers = itertools.count(1)
        self._answers = itertools.count(1)

    async def hear(self, message: Msg) -> None:
        if message.reply.startswith("$JS.ACK."):
            return  # a delivery: the test process listens as a worker too
        for event in batch.events_of(message.headers, message.data):
            self.subjects.append(message.subject)
            self.events.append(event)
        self._changed.set()

    async def got(self, count: int) -> list[CloudEvent]:
        """Wait until `count` events have been published."""
        async with asyncio.timeout(30):
            while len(self.events) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.events

    async def answered(self, count: int) -> None:
        """Wait until the gateway has kept, sent or dropped `count` PDUs."""

        def had() -> bool:
            counters, peers = self.gateway.counters, self.gateway.backlog
            return counters.downlink + counters.undeliverable + peers >= count

        await brokers.until(had)

    async def stored(self) -> list[CloudEvent]:
        """Return the events in JetStream, in order."""
        found = await brokers.stored(self.core)
        return [event for m in found for event in batch.events_of(m.headers, m.data)]

    async def ran(self, number: int = 0, limits: Limits | None = None, host: str = "") -> Ran:
        """Return a gNB with an association but without NG Setup."""
        ran = Ran(self, number or next(self._numbers))
        ran.transport = await self.world.connect(
            self.transport, ran.heard, limits=limits, local_host=host
        )
        await ran.heard.ups()
        return ran

    async def gnb(self, number: int = 0, limits: Limits | None = None, host: str = "") -> Ran:
        """Return a gNB after NG Setup."""
        ran = await self.ran(number, limits, host)
        await ran.set_up()
        return ran

    async def answer(
        self,
        event: CloudEvent,
        pdu: bytes,
        procedure: str = "ran",
        nas_count: int | None = None,
        identifier: str = "",
    ) -> None:
        """Send a PDU to the source of an event. An earlier `identifier` makes it a repetition."""
        _, _, gnb, association = event.source.split("/")
        identifier = identifier or f"down-{next(self._answers)}"
        made = CloudEvent(identifier, "/test", EventType.NGAP_DOWNLINK, gnb, procedure=procedure)
        subject = subjects.downlink(gnb, association)
        counted = "" if nas_count is None else nats_binding.counted(nas_count, nas_count)
        await self.downlinks.send([Addressed(subject, replace(made, data=pdu), counted)])
        await brokers.arrived(self.core)


@asynccontextmanager
async def running(
    path: Path,
    *,
    world: str = MEMORY,
    bound: int = 8192,
    max_bytes: int = PLENTY,
    limits: Limits | None = None,
    after: float = 0.0,
    places: Places = DEFAULT_PLACES,
) -> AsyncGenerator[Edge]:
    router = Router(NETWORK.guamis, CIPHER)
    async with (
        brokers.running(path) as bus,
        connected(bus.url, "gateway") as client,
        connected(bus.url, "core") as core,
    ):
        await ensure(core, BusConfig(partitions=PARTITIONS))
        publisher = Publisher(client, PARTITIONS)
        await publisher.start()
        opener = DownlinkOpener(TMSI_KEY)
        gateway = N2Gateway(client, publisher, router, opener, bound, max_bytes, after, places)
        edge = Edge(bus, core, gateway, World(world))
        await core.subscribe("ue.>", cb=edge.hear, pending_bytes_limit=0)
        await brokers.arrived(core)
        edge.transport = await edge.world.listen(gateway, limits=limits)
        gateway.start(edge.transport)
        try:
            yield edge
        finally:
            await edge.world.close()
            await gateway.stop(1.0)
