"""`evcore up`: run a core on this machine, with functions that scale from zero."""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from evcore import emulated
from evcore.commands import live
from evcore.commands.errors import UsageError
from evcore.commands.options import DATA, Data, procedure_named
from evcore.commands.output import Notices
from evcore.commands.running import Interrupted, run
from evcore.local.core import LocalCore, local_core
from evcore.local.data import DataDirectory
from evcore.local.group import Group, Scale
from evcore.local.log_file import LogFileHandler
from evcore.logs.access import opened
from eventing.jetstream.connection import BusError
from eventing.process import beating
from schemas.config import reading as configuration
from schemas.config.reading import Config, ConfigError
from schemas.procedures import Procedure
from statestore import damage
from statestore.contract import StoreError
from statestore.disk import free_bytes, text_of
from transport import Mode


def groups_of(text: str, max_workers: int) -> tuple[Group, ...]:
    """Parse groups: ``"all"``, ``"each"`` or ``"registration,deregistration;ran;..."``.

    Raises:
        UsageError: a procedure is in no group or in two groups, or it does not exist.
    """
    if text == "all":
        return (Group("core", tuple(Procedure), max_workers),)
    if text == "each":
        return tuple(Group(p, (p,), max_workers) for p in Procedure)
    groups: list[Group] = []
    for part in text.split(";"):
        procedures = tuple(procedure_named(name) for name in part.split(","))
        groups.append(Group("+".join(procedures), procedures, max_workers))
    hosted = [p for group in groups for p in group.procedures]
    twice = sorted({p for p in hosted if hosted.count(p) > 1})
    if twice:
        raise UsageError(f"--groups hosts {', '.join(twice)} twice")
    missing = sorted(set(Procedure) - set(hosted))
    if missing:
        raise UsageError(f"--groups hosts no {', '.join(missing)}")
    return tuple(groups)


def up(
    data: Data = DATA,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="An evcore.toml.  [default: none]"),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Address that gNBs connect to.  [default: 127.0.0.1]"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="PORT", min=1, max=65535, help="Its SCTP port.  [default: 38412]"),
    ] = None,
    transport: Annotated[
        Mode | None,
        typer.Option(help="SCTP transport.  [default: auto]"),
    ] = None,
    udp_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", min=1, max=65535, help="UDP port of userspace-udp.  [default: 9899]"
        ),
    ] = None,
    upfs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=64,
            help="UPFs from 127.0.0.8 on, for `evcore load`.  [default: 2, or those of FILE]",
        ),
    ] = None,
    nats_port: Annotated[
        int,
        typer.Option(metavar="PORT", min=0, max=65535, help="Port of the broker; 0 for any."),
    ] = 4222,
    groups: Annotated[
        str,
        typer.Option(metavar="GROUPS", help='Grouping of procedures: "all", "each", or "a,b;c".'),
    ] = "all",
    max_workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Maximum number of workers of a group.")
    ] = 2,
) -> None:
    """Run nats-server, the gateways and worker processes that scale from zero and back to zero.

    The core runs until Ctrl-C or SIGTERM. The next one with the same data continues from there.
    """
    chosen = groups_of(groups, max_workers)
    settings = configuration.load(config)
    n2 = settings.n2
    n2 = replace(
        n2,
        host=host or n2.host,
        port=port or n2.port,
        transport=transport or n2.transport,
        udp_port=udp_port or n2.udp_port,
    )
    if n2.transport not in tuple(Mode):
        raise ConfigError(f"n2.transport is {n2.transport!r}; it must be one of {', '.join(Mode)}")
    settings = replace(settings, n2=n2)
    if upfs is not None or config is None:
        tables = emulated.tables(2 if upfs is None else upfs)
        settings = replace(settings, upf=tables, data_network=(emulated.DATA_NETWORK,))
    notices = Notices()
    try:
        run(_up(DataDirectory(data), settings, chosen, nats_port, notices))
    except Interrupted:
        notices.say("stopped")


async def _up(
    data: DataDirectory,
    config: Config,
    groups: tuple[Group, ...],
    nats_port: int,
    notices: Notices,
) -> None:
    data.prepare(notices.say)
    log_to_file(data)
    say = timed(notices)
    scaled = telling_scale(say)
    async with beating(), local_core(data, config, groups, scaled, nats_port, say) as core:
        say("evcore is up; Ctrl-C stops it")
        for name, text in await _facts(core):
            notices.say(f"  {name:<12}{text}")
        reloading = asyncio.ensure_future(_reload(core, say))
        try:
            async with live.shown(core, notices):
                await core.keep_running(say)
        except asyncio.CancelledError:
            say("stopping")
            raise
        finally:
            reloading.cancel()


async def _reload(core: LocalCore, say: Callable[[str], None]) -> None:
    """On SIGUSR1, apply the configuration that `evcore network update` has written."""
    while True:
        await core.updated.wait()
        core.updated.clear()
        try:
            notified = await core.reload()
        except (ConfigError, BusError, StoreError) as err:
            say(f"the configuration of the network is not applied: {err}")
        else:
            say(f"the configuration of the network is applied; {notified} gNB(s) are notified")


async def _facts(core: LocalCore) -> list[tuple[str, str]]:
    """Return the addresses and settings of a started core, to print."""
    root, n2, area = core.data.root.resolve(), core.config.n2, core.config.tracking_area[0]
    facts = [("gNBs", f"connect to {core.n2_address}{_sctp(core)}")]
    if n2.host in ("127.0.0.1", "::1", "localhost"):
        facts.append(("", "only from this machine: --host ADDRESS allows others"))
    if upfs := core.config.upf:
        n4 = core.config.n4
        names = ", ".join(upf.node_id for upf in upfs[:3]) + (", ..." if len(upfs) > 3 else "")
        facts.append(("UPFs", f"{names}; the core's PFCP is at {n4.host}, UDP port {n4.port}"))
    own = core.config.amf.plmn
    plmns = ", ".join(dict.fromkeys(one.plmn or own for one in core.config.tracking_area))
    facts += [
        ("network", f"PLMN {plmns}, TAC {area.tac}, slices {', '.join(area.slices)}"),
        ("data", f"in {root}, log files in {root / 'logs'}, {text_of(free_bytes(root))} free"),
        ("broker", f"{core.broker.url}, with the keys in {core.data.nats_keys.resolve()}"),
    ]
    async with opened(core.data.root) as access:
        if not await access.subscribers.list_from(limit=1):
            facts.append(("subscribers", "none yet: `evcore subscriber add` or `import`"))
        for found in await damage.recorded(access.log.engine):
            facts.append(("damage", f"{found.problem}: `evcore log repair` checks it"))
    facts.append(("functions", "at zero until a gNB connects"))
    return facts


def _sctp(core: LocalCore) -> str:
    """Describe the SCTP transport if the address does not show it."""
    if core.n2_mode != Mode.USERSPACE_UDP:
        return ""
    why = "; the kernel's SCTP cannot be used: `evcore doctor` says why"
    return f" (RFC 6951{why if core.config.n2.transport == Mode.AUTO else ''})"


def timed(notices: Notices) -> Callable[[str], None]:
    """Return a function that prints a line with the time of day."""

    def say(text: str) -> None:
        notices.say(f"{time.strftime('%H:%M:%S')} {text}")

    return say


def telling_scale(say: Callable[[str], None]) -> Callable[[Scale], None]:
    """Return a function that prints each change of the number of workers."""

    def changed(scale: Scale) -> None:
        plural = "" if scale.workers == 1 else "s"
        say(f"functions {scale.group}: {scale.before} -> {scale.workers} worker{plural}")

    return changed


def log_to_file(data: DataDirectory) -> None:
    """Write the log records of this process to a file instead of the terminal.

    Raises:
        ConfigError: the file cannot be written.
    """
    try:
        handler = LogFileHandler(data.log("evcore"))
    except OSError as err:
        raise ConfigError(f"{data.logs} cannot be written: {err.strerror}") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logging.getLogger().addHandler(handler)
