"""`evcore load`: gNBs and UEs against a core."""

import importlib.util
import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import typer

from evcore import population as populations
from evcore.commands.errors import FAILED, CommandError, UsageError
from evcore.commands.output import console
from evcore.commands.running import run, run_tool
from evcore.local.data import DEFAULT, DataDirectory
from loadgen import ConfigError as LoadConfigError
from loadgen import HomeKey, LoadConfig, Population, Procedure, SNssai
from loadgen import run as run_load
from loadgen.table import print_tables
from schemas import config as configuration
from schemas.config import ConfigError, N2Config, slice_of
from transport import Mode


class Target(NamedTuple):
    """The core that a load is for."""

    n2: N2Config
    plmn: str
    tac: int
    slices: tuple[str, ...]
    schemes: tuple[str, ...] = ("null",)
    home_keys: tuple[HomeKey, ...] = ()
    store: Path | None = None
    """Where its subscribers are, for a core of this machine."""


def load(
    ues: Annotated[int, typer.Option(metavar="N", min=1, help="UEs.")] = 64,
    procedures: Annotated[
        str,
        typer.Option(
            metavar="LIST", help=f"What each UE does, in this order; of {', '.join(Procedure)}."
        ),
    ] = "register,idle,deregister",
    duration: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="How long; without it each UE does it once."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(metavar="N", help="UEs that begin, a second, as a Poisson process."),
    ] = None,
    gnbs: Annotated[int, typer.Option(metavar="N", min=1, help="gNBs.")] = 1,
    json: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File for the report; - for standard output, alone."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PNG file for the latencies.")
    ] = None,
    capture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for every PDU, as JSON lines.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of credentials and arrivals.")] = 0,
    first_imsi: Annotated[
        str | None,
        typer.Option(metavar="IMSI", help="IMSI of the first UE, 15 digits; else MSIN 1."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Give subscribers that are there new credentials.")
    ] = False,
    provision: Annotated[
        bool, typer.Option(help="Put the UEs into the store of the local core first.")
    ] = True,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", help="Data directory of the local core.  [default: .evcore]"
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="N2 address of a core elsewhere."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Its SCTP port.")
    ] = None,
    udp_port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Its UDP port.")
    ] = None,
    transport: Annotated[Mode | None, typer.Option(help="Which SCTP it has.")] = None,
    plmn: Annotated[str | None, typer.Option(metavar="MCC-MNC", help="Its PLMN.")] = None,
    tac: Annotated[int | None, typer.Option(metavar="N", help="A TAC that it serves.")] = None,
    slices: Annotated[
        str | None, typer.Option(metavar="SLICES", help="Slices there, as 1-010203,2.")
    ] = None,
) -> None:
    """Run gNBs and UEs against the core of `evcore up`, or one elsewhere, and report.

    UEs check every MAC, AUTN and COUNT of the core. The exit status is 1 if a procedure failed
    or a check did. Without --host all about the core is known.
    """
    programme = programme_of(procedures)
    if duration is not None and not math.isfinite(duration):
        raise UsageError(f"--duration is {duration}: no load has an end then")
    target = _given(_target(data, host), host, port, udp_port, transport, plmn, tac, slices)
    first = first_imsi or target.plmn.replace("-", "").ljust(14, "0") + "1"
    shown = str(json) != "-"
    config = LoadConfig(
        host=target.n2.host,
        port=target.n2.port,
        udp_port=target.n2.udp_port,
        mode=Mode(target.n2.transport),
        plmn=target.plmn,
        tac=target.tac,
        slices=_slices(target.slices),
        gnbs=gnbs,
        population=Population(
            count=ues,
            first_imsi=first,
            plmn=target.plmn,
            seed=seed,
            schemes=cast("Any", target.schemes),
            home_keys=target.home_keys,
            slices=_slices(target.slices),
        ),
        programme=programme,
        repeat=1 if duration is None else None,
        duration=duration,
        rate=rate,
        seed=seed,
        json=str(json) if json is not None and shown else None,
        plot=str(plot) if plot is not None else None,
        capture=str(capture) if capture is not None else None,
        progress=shown and console().is_terminal,
    )
    try:
        config.check()
    except LoadConfigError as err:
        raise UsageError(str(err)) from None
    _check_outputs([path for path in (json, plot, capture) if path is not None and shown])
    if plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise CommandError("--plot needs matplotlib: pip install matplotlib")
    if provision and target.store is not None:
        run_tool(populations.provision(target.store, config.population, overwrite=overwrite))
    report = run(run_load(config))
    if shown:
        print_tables(report)
        typer.echo(report.line)
    else:
        sys.stdout.write(report.to_json().decode() + "\n")
    raise typer.Exit(0 if report.ok else FAILED)


def programme_of(text: str) -> tuple[Procedure, ...]:
    """The programme of ``"register,idle,deregister"``.

    Raises:
        UsageError: one of them is no procedure.
    """
    found: list[Procedure] = []
    for name in text.split(","):
        if name.strip() not in tuple(Procedure):
            names = ", ".join(Procedure)
            raise UsageError(f"a UE cannot {name.strip()!r}: its procedures are {names}")
        found.append(Procedure(name.strip()))
    return tuple(found)


def _target(data: Path | None, host: str | None) -> Target:
    """The local core, or the defaults for one elsewhere."""
    defaults = configuration.Config()
    directory = DataDirectory(data or DEFAULT)
    if host is not None and data is None:
        area = defaults.tracking_area[0]
        return Target(defaults.n2, defaults.amf.plmn, area.tac, area.slices)
    if not directory.config_file.exists() or (host is None and not directory.running):
        raise CommandError(f"no core runs on {directory.root}: start `evcore up`, or give --host")
    config, secrets = configuration.load(directory.config_file), directory.secrets()
    area = config.tracking_area[0]
    return Target(
        config.n2,
        area.plmn or config.amf.plmn,
        area.tac,
        area.slices,
        populations.schemes_of(secrets),
        populations.home_keys(secrets),
        directory.root,
    )


def _given(
    target: Target,
    host: str | None,
    port: int | None,
    udp_port: int | None,
    transport: Mode | None,
    plmn: str | None,
    tac: int | None,
    slices: str | None,
) -> Target:
    """A target with what was said about it on the command line."""
    n2 = target.n2
    return target._replace(
        n2=N2Config(
            host=host or _reachable(n2.host),
            port=port or n2.port,
            transport=transport or n2.transport,
            udp_port=udp_port or n2.udp_port,
        ),
        plmn=plmn or target.plmn,
        tac=target.tac if tac is None else tac,
        slices=target.slices if slices is None else tuple(slices.split(",")),
    )


def _reachable(host: str) -> str:
    """An address to connect to, of one that is listened on."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104


def _slices(texts: tuple[str, ...]) -> tuple[SNssai, ...]:
    try:
        found = [slice_of(text.strip()) for text in texts]
    except ConfigError as err:
        raise UsageError(f"--slices: {err}") from None
    return tuple(SNssai(one.sst, one.sd) for one in found)


def _check_outputs(paths: list[Path]) -> None:
    """Refuse before a load what would fail after it."""
    for path in paths:
        folder = path.parent
        if path.is_dir() or not folder.is_dir():
            what = "is a directory" if path.is_dir() else f"{folder} is no directory"
            raise CommandError(f"{path} cannot be written: {what}")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise CommandError(f"{path} cannot be written: permission denied")
