"""`evcore up`: a whole core on this machine, its functions at zero until they are needed."""

import asyncio
import contextlib
import signal
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from msgspec.structs import replace
from rich.console import Console

from evcore.commands.options import DATA, ConfigFile, Data
from evcore.local.autoscaler import Group, Scale
from evcore.local.core import LocalCore, local_core
from evcore.local.data import DataDirectory
from schemas import config as configuration
from schemas.config import Config
from schemas.procedures import Procedure


def groups_of(text: str, max_workers: int) -> tuple[Group, ...]:
    """The groups of ``"all"``, ``"each"`` or ``"registration,deregistration;ran;..."``."""
    if text == "all":
        return (Group("core", tuple(Procedure), max_workers),)
    if text == "each":
        return tuple(Group(p, (p,), max_workers) for p in Procedure)
    groups: list[Group] = []
    for part in text.split(";"):
        procedures = tuple(procedure_named(name) for name in part.split(","))
        groups.append(Group("+".join(procedures), procedures, max_workers))
    missing = set(Procedure) - {p for group in groups for p in group.procedures}
    if missing:
        names = ", ".join(sorted(missing))
        raise configuration.ConfigError(f"no group hosts {names}")
    return tuple(groups)


def procedure_named(name: str) -> Procedure:
    """The procedure of a name.

    Raises:
        ConfigError: there is none.
    """
    try:
        return Procedure(name.strip())
    except ValueError:
        names = ", ".join(Procedure)
        raise configuration.ConfigError(f"{name!r} is no procedure: {names}") from None


def up(
    data: Data = DATA,
    config: ConfigFile = None,
    groups: Annotated[
        str, typer.Option(help='What is hosted together: "all", "each", or "a,b;c".')
    ] = "all",
    max_workers: Annotated[int, typer.Option(min=1, help="Workers of a group, at most.")] = 2,
    host: Annotated[str | None, typer.Option(help="Address that gNBs connect to.")] = None,
    transport: Annotated[
        str | None, typer.Option(help="auto, kernel, userspace-udp or userspace-raw.")
    ] = None,
    udp_port: Annotated[int | None, typer.Option(help="UDP port of SCTP over UDP.")] = None,
    nats_port: Annotated[int, typer.Option(help="Port of the broker; 0 for a free one.")] = 4222,
) -> None:
    """Run nats-server, the N2 gateway and worker processes that scale from zero."""
    settings = configuration.load(config)
    n2 = settings.n2
    settings = replace(
        settings,
        n2=replace(
            n2,
            host=host or n2.host,
            transport=transport or n2.transport,
            udp_port=n2.udp_port if udp_port is None else udp_port,
        ),
    )
    chosen = groups_of(groups, max_workers)
    uvloop.run(_up(data, settings, chosen, nats_port))


async def _up(data: Path, config: Config, groups: tuple[Group, ...], nats_port: int) -> None:
    console = Console(stderr=True)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)

    def changed(scale: Scale) -> None:
        console.print(f"[dim]functions[/dim] {scale.group}: {scale.workers} worker(s)")

    directory = DataDirectory(data)
    async with local_core(directory, config, groups, changed, nats_port) as core:
        console.print(f"[bold]evcore is up[/bold]: N2 at {core.n2_address}")
        console.print(f"  broker {core.broker.url}, monitoring {core.broker.monitor_url}")
        console.print(f"  data in {data}, logs in {directory.root / 'logs'}")
        console.print("  functions are at zero until a gNB connects; Ctrl-C stops everything")
        gateway = asyncio.ensure_future(_watch_gateway(core, console))
        await stopped.wait()
        gateway.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gateway
        console.print("stopping")


async def _watch_gateway(core: LocalCore, console: Console) -> None:
    """Start the gateway anew when it ends, as Kubernetes would."""
    while core.gateway is not None:
        status = await core.gateway.wait()
        console.print(f"the N2 gateway ended with {status}: starting it again")
        await core.start_gateway()
