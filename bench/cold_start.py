"""Measure a worker process from its start to its first response. The request waits in the
stream."""

import asyncio
import sys
import time
from pathlib import Path

import wire
from evcore.local.broker import Broker
from evcore.local.data import DataDirectory
from evcore.local.forking import ForkServer, start_plainly
from eventing import subjects
from eventing.jetstream.connection import connected
from eventing.jetstream.publisher import Publisher
from eventing.jetstream.streams import BusConfig, ensure
from schemas.cloudevents import NGAP_MEDIA_TYPE, CloudEvent, EventType
from schemas.config.reading import Config, NatsConfig
from schemas.identity import slot_of
from schemas.procedures import Procedure

GNB, ASSOCIATION = "001-01-gnb-24-1", "0-0"

NG_SETUP = wire.ngap_encode(
    {
        "message": "NGSetupRequest",
        "ies": [
            {
                "GlobalRANNodeID": {
                    "globalGNB-ID": {
                        "pLMNIdentity": "001-01",
                        "gNB-ID": {"gNB-ID": {"value": "000001", "length": 24}},
                    }
                }
            },
            {
                "SupportedTAList": [
                    {
                        "tAC": 1,
                        "broadcastPLMNList": [
                            {
                                "pLMNIdentity": "001-01",
                                "tAISliceSupportList": [{"s-NSSAI": {"sST": 1, "sD": "010203"}}],
                            }
                        ],
                    }
                ]
            },
            {"DefaultPagingDRX": "v128"},
        ],
    }
)


async def first_messages(folder: Path, runs: int, *, forked: bool) -> list[float]:
    """Return the seconds from the start of the process to its response to an NG SETUP, once per
    run.

    The process is `forked` by a running server, as with `evcore up`, or is a separate Python.
    """
    data = DataDirectory(folder)
    data.prepare()
    broker = await Broker.start(data.broker, data.log("nats-server"))
    forks = ForkServer(data.log("fork-server"))
    start = forks.start if forked else start_plainly
    arguments = ("--config", str(data.config_file), "--secrets", str(data.secrets_file))
    try:
        data.write_config(Config(nats=NatsConfig(url=broker.url)))
        async with connected(broker.url, "bench") as client:
            await ensure(client, BusConfig())
            publisher = Publisher(client, BusConfig().partitions)
            await publisher.start()
            answers = await client.subscribe(subjects.downlink(GNB, ASSOCIATION))
            if forked:
                await forks.begin()
                await (await start("worker", ("--help",), data.log("worker"))).wait()
            found: list[float] = []
            for number in range(runs):
                await publisher.publish([publisher.outgoing(set_up(number))])
                begun = time.perf_counter()
                worker = await start("worker", arguments, data.log("worker"))
                await answers.next_msg(timeout=30)
                found.append(time.perf_counter() - begun)
                await worker.stop()
            return found
    finally:
        await forks.stop()
        await broker.stop()


def set_up(number: int) -> CloudEvent:
    """Return the NG SETUP REQUEST of a gNB as a new event."""
    return CloudEvent(
        id=f"bench-{number}",
        source=f"/n2/{GNB}/{ASSOCIATION}",
        type=EventType.NGAP_UPLINK,
        partitionkey=f"gnb-{GNB}",
        data=NG_SETUP,
        datacontenttype=NGAP_MEDIA_TYPE,
        slot=slot_of(GNB),
        procedure=Procedure.RAN,
    )


async def python_starts(runs: int) -> list[float]:
    """Return the seconds of a Python process that does nothing, as a reference."""
    found: list[float] = []
    for _ in range(runs):
        begun = time.perf_counter()
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", "pass")
        await child.wait()
        found.append(time.perf_counter() - begun)
    return found
