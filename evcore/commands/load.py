"""`evcore load`: gNBs and UEs against a core."""

import asyncio
from pathlib import Path
from typing import Annotated, Any, cast

import typer
import uvloop

from evcore import population as populations
from evcore.commands.errors import UsageError
from evcore.commands.options import DATA, Data
from evcore.local.data import DataDirectory
from loadgen import LoadConfig, Population, Procedure, run
from schemas import config as configuration
from schemas.config import N2Config
from transport import Mode


def load(
    ues: Annotated[int, typer.Option(min=1, help="UEs.")] = 64,
    procedures: Annotated[
        str, typer.Option(help="What each UE does, in order: register, idle, deregister...")
    ] = "register,idle,deregister",
    duration: Annotated[
        float | None, typer.Option(help="Seconds; without it each UE does it once.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Programmes a second, Poisson; else a closed loop.")
    ] = None,
    gnbs: Annotated[int, typer.Option(min=1)] = 1,
    json: Annotated[Path | None, typer.Option(help="File for the report.")] = None,
    plot: Annotated[Path | None, typer.Option(help="PNG file for the latencies.")] = None,
    capture: Annotated[Path | None, typer.Option(help="File for every PDU, JSON lines.")] = None,
    seed: Annotated[int, typer.Option(help="Of credentials and arrivals.")] = 0,
    host: Annotated[str | None, typer.Option(help="The N2 address; else the local core's.")] = None,
    port: Annotated[int | None, typer.Option()] = None,
    udp_port: Annotated[int | None, typer.Option()] = None,
    transport: Annotated[Mode, typer.Option()] = Mode.AUTO,
    data: Data = DATA,
    provision: Annotated[
        bool, typer.Option(help="Put the subscribers into the local core's store first.")
    ] = True,
) -> None:
    """Run a load, and report its latencies and failures."""
    directory = DataDirectory(data)
    n2 = N2Config()
    schemes: tuple[str, ...] = ("null",)
    keys: tuple[Any, ...] = ()
    if directory.config_file.exists():
        n2 = configuration.load(directory.config_file).n2
        secrets = directory.prepare()
        schemes, keys = populations.schemes_of(secrets), populations.home_keys(secrets)
    elif host is None:
        raise UsageError(f"there is no local core in {data}: start `evcore up`, or give --host")
    population = Population(count=ues, seed=seed, schemes=cast("Any", schemes), home_keys=keys)
    config = LoadConfig(
        host=host or n2.host,
        port=port or n2.port,
        udp_port=udp_port or n2.udp_port,
        mode=transport,
        gnbs=gnbs,
        population=population,
        programme=programme_of(procedures),
        repeat=1 if duration is None else None,
        duration=duration,
        rate=rate,
        seed=seed,
        json=str(json) if json is not None else None,
        plot=str(plot) if plot is not None else None,
        capture=str(capture) if capture is not None else None,
        progress=True,
        table=True,
    )
    config.check()
    if provision and directory.config_file.exists():
        asyncio.run(populations.provision(data, population))
    report = uvloop.run(run(config))
    typer.echo(report.line)
    raise typer.Exit(0 if report.ok else 1)


def programme_of(text: str) -> tuple[Procedure, ...]:
    """The programme of ``"register,idle,deregister"``.

    Raises:
        UsageError: one of them is no procedure.
    """
    try:
        return tuple(Procedure(name.strip()) for name in text.split(","))
    except ValueError as err:
        names = ", ".join(Procedure)
        raise UsageError(f"{err}: the procedures are {names}") from None
