"""Another configuration for a core that runs: what may change, and telling the gNBs of it."""

import os
from typing import Final

from msgspec.structs import replace

from evcore import operator
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from functions.runtime.replay import all_aggregates
from schemas.aggregates import gnb_aggregate
from schemas.cloudevents import CloudEvent, EventType
from schemas.config.reading import AmfConfig, Config, ConfigError, NatsConfig
from schemas.identity import slot_of
from schemas.procedures import Procedure
from schemas.ran import Gnb
from statestore.log import EventLog

PAGE: Final = 200
"""gNBs whose states are read at once."""


def updated(running: Config, new: Config) -> Config:
    """The configuration of a core that runs, with what `new` has of the network: [amf] but for who
    it is, tracking areas with their slices, security, timers, congestion and data networks.

    Processes keep their addresses, and a UPF its sessions: what else `new` has is for the next
    start.

    Raises:
        ConfigError: `new` is that of another AMF, whom no UE and no gNB of this one knows.
    """
    if _guami(new.amf) != _guami(running.amf):
        raise ConfigError(
            "plmn, region, set and pointer of [amf] are in the 5G-GUTIs of UEs: they cannot change "
            "while the core runs"
        )
    return replace(
        running,
        amf=new.amf,
        tracking_area=new.tracking_area,
        security=new.security,
        timers=new.timers,
        congestion=new.congestion,
        data_network=new.data_network if new.upf else running.data_network,
    )


def _guami(amf: AmfConfig) -> tuple[str, int, int, int]:
    return amf.plmn, amf.region, amf.set, amf.pointer


async def announce(data: DataDirectory, bus: NatsConfig) -> int:
    """Have each gNB whose interface is up told what is new for it; how many there are.

    The workers must have the new configuration by then.

    Raises:
        BusError: NATS cannot be reached.
        StoreError: the log cannot be read.
    """
    async with opened(data.root, read_only=True) as access:
        gnbs = await _set_up(access.log)
    await operator.publish(bus, [_changed(gnb) for gnb in gnbs])
    return len(gnbs)


async def _set_up(log: EventLog) -> list[str]:
    names = [name async for name, _ in all_aggregates(log, gnb_aggregate(""))]
    found: list[str] = []
    for start in range(0, len(names), PAGE):
        page = names[start : start + PAGE]
        states: list[Gnb] = [aggregate.state for aggregate in await log.load(page)]
        found += [name for name, gnb in zip(page, states, strict=True) if gnb.association]
    return found


def _changed(name: str) -> CloudEvent:
    return CloudEvent(
        id=f"operator-{os.urandom(8).hex()}",
        source="/evcore/operator",
        type=EventType.NETWORK_CHANGED,
        partitionkey=name,
        procedure=Procedure.RAN,
        slot=slot_of(name.removeprefix(gnb_aggregate(""))),
    )
