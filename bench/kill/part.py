"""One part of `make kill`: a new core, UEs in a free loop, and kills."""

import asyncio
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from bench.core import UPFS, config_of, provisioned
from bench.kill.figures import Figures, Outage, Procedures, beside, figures_of, retransmitted
from bench.kill.victims import Victims
from evcore import emulated
from evcore.emulated import EmulatedUpfs
from evcore.local.core import LocalCore, local_core
from evcore.local.data import DataDirectory
from evcore.local.lag import wait_until_idle
from evcore.logs.access import opened
from evcore.logs.verify import verify_aggregates
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from functions.runtime.replay import all_aggregates
from loadgen import LoadConfig, Population, Procedure, Report, TimerValues
from loadgen.load.driver import Driver, connector_of
from loadgen.ue.model import Ended
from schemas.config.reading import Config, NatsConfig
from transport import Mode

PROGRAMME: Final = (
    Procedure.REGISTER,
    Procedure.SESSION,
    Procedure.IDLE,
    Procedure.SERVICE_REQUEST,
    Procedure.HANDOVER,
    Procedure.RELEASE_SESSION,
    Procedure.DEREGISTER,
)
UES: Final = 64
GNBS: Final = 4
PATIENT: Final = TimerValues(
    user_plane=30.0, handover=30.0, status_transfer=30.0, tunnel=30.0, ng_release=30.0
)
"""The timers that the specifications leave to a gNB are longer than an outage and a procedure.
Those of the UE (TS 24.501 table 10.2.1) stay."""
SHOWN: Final = 20
"""Lines of each kind that a part prints about what went wrong."""


class Part(Struct, frozen=True):
    """What is killed, in turn, and for how long."""

    name: str
    victims: tuple[str, ...]
    seconds: float
    brokers: int = 1


class Outcome(Struct, frozen=True):
    """The figures of a part, and sentences about what went wrong."""

    figures: Figures
    findings: list[str]


async def run(part: Part, folder: Path) -> Outcome:
    """Run a part on a new core in `folder`.

    Raises:
        ProcessError: a process of the core does not start.
        LoadError: the gNBs cannot be set up.
        TimeoutError: the successor of a killed process does not serve.
    """
    data = DataDirectory(folder)
    population = await provisioned(data, data.prepare(), UES)
    config = replace(config_of(UPFS), nats=NatsConfig(replicas=part.brokers))
    async with (
        emulated.running_upfs(config.upf) as upfs,  # the core sets the associations up
        local_core(data, config) as core,
    ):
        if not await upfs.associated():
            raise TimeoutError("the emulated UPFs are not associated with the core")
        await idle(core)
        async with Victims(core) as victims:
            procedures = Procedures()
            load = load_of(config, population, duration=part.seconds)
            driver = driver_of(load, upfs, procedures)
            killing = asyncio.ensure_future(victims.kill(part.victims, part.seconds))
            try:
                report = await driver.run()
                await killing
            finally:
                killing.cancel()
        await idle(core)
    differing = await _differing(data)
    figures = figures_of(report, procedures, victims.outages, len(upfs.violations), len(differing))
    findings = _findings(report, procedures, victims.outages)
    return Outcome(figures, [*findings, *upfs.violations[:SHOWN], *differing[:SHOWN]])


def load_of(config: Config, population: Population, **more: Any) -> LoadConfig:
    """Return the load of UEs that repeat `PROGRAMME` without a pause.

    `more` has the values of other fields of `LoadConfig`, or other values.
    """
    load = LoadConfig(
        port=config.n2.port,
        udp_port=config.n2.udp_port,
        mode=Mode.USERSPACE_UDP,
        gnbs=GNBS,
        population=population,
        programme=PROGRAMME,
        repeat=None,
        drain=90.0,
        seed=1,
        timers=PATIENT,
    )
    load = replace(load, **more)
    load.check()
    return load


def driver_of(load: LoadConfig, upfs: EmulatedUpfs, procedures: Procedures) -> Driver:
    """Return the driver of a load. The UPFs deliver its downlink packets."""
    return Driver(
        load, connector_of(load), None, upfs.downlink_data, upfs.downlink_tunnel, procedures
    )


async def idle(core: LocalCore) -> None:
    """Wait until the core has decided every event."""
    async with (
        asyncio.timeout(60),
        connected_as(Role.CONSOLE, core.config.nats, "bench-kill") as client,
    ):
        await wait_until_idle(client)


async def _differing(data: DataDirectory) -> list[str]:
    """Decide all logs again, and return the differences."""
    async with opened(data.root) as access:
        names = [name async for name, _ in all_aggregates(access.log)]
        return (await verify_aggregates(access, names)).differing


def _findings(report: Report, procedures: Procedures, outages: list[Outage]) -> list[str]:
    """Return what went wrong and the longest procedures, as sentences."""
    start = min((outage.begun for outage in outages), default=0.0)
    slowest = sorted(procedures.succeeded, key=lambda one: -beside(one[0], outages))[:5]
    return [
        f"outages: {', '.join(f'{one.ended - one.begun:.2f}' for one in outages)} s",
        *(_slow(one, who, outages, start) for one, who in slowest),
        *(f"{one.who}: {one.procedure} failed: {one.cause}" for one in report.failed[:SHOWN]),
        *(str(one) for one in report.violations[:SHOWN]),
        *(f"{n} times {timer} expired" for timer, n in retransmitted(report).items()),
        *(f"{n} ERROR INDICATION {cause}" for cause, n in report.error_indications.items()),
        *([report.cut_off] if report.cut_off else []),
    ]


def _slow(ended: Ended, who: str, outages: list[Outage], start: float) -> str:
    return (
        f"{who}: {ended.procedure} took {ended.ended - ended.began:.2f} s, "
        f"{beside(ended, outages):.2f} s beside the outages, from {ended.began - start:.2f} s "
        "after the first kill"
    )
