"""`evcore demo`: the whole thing, from nothing to a verified log, in one command."""

import asyncio
import contextlib
import shutil
import socket
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer
import uvloop
from rich.console import Console

from evcore import population as populations
from evcore.commands.logs import Verification, verify_aggregates
from evcore.local.autoscaler import Autoscaler, Scale
from evcore.local.core import local_core
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from functions.runtime.replay import all_aggregates
from loadgen import LoadConfig, Population, Procedure, Report, run
from schemas.config import Config, N2Config
from transport import Mode

BACK_TO_ZERO: Final = 40.0
"""Seconds that functions are given to go back to zero."""


def demo(
    ues: Annotated[int, typer.Option(min=1, help="UEs.")] = 200,
    gnbs: Annotated[int, typer.Option(min=1, help="gNBs.")] = 2,
    data: Annotated[
        Path | None, typer.Option("--data", help="Keep the data here; else it is thrown away.")
    ] = None,
) -> None:
    """Register UEs over real NGAP/SCTP, let them go idle and deregister, verify their logs."""
    with _directory(data) as directory:
        ok = uvloop.run(_demo(DataDirectory(directory), ues, gnbs))
    raise typer.Exit(0 if ok else 1)


@contextlib.contextmanager
def _directory(data: Path | None) -> Generator[Path]:
    if data is not None:
        yield data
        return
    made = Path(tempfile.mkdtemp(prefix="evcore-demo-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


async def _demo(data: DataDirectory, ues: int, gnbs: int) -> bool:
    console = Console(stderr=True)
    begun = time.monotonic()
    secrets = data.prepare()
    schemes = populations.schemes_of(secrets)
    population = Population(
        count=ues, schemes=cast("Any", schemes), home_keys=populations.home_keys(secrets)
    )
    count = await populations.provision(data.root, population)
    console.print(f"[bold]1[/bold] {count} subscribers: SUCI {', '.join(schemes)}; NEA0-2, NIA1-2")

    def changed(scale: Scale) -> None:
        console.print(f"  functions {scale.group}: {scale.workers} worker(s)")

    n2 = N2Config(udp_port=_free_udp_port(), transport=Mode.AUTO)
    async with local_core(data, Config(n2=n2), changed=changed) as core:
        console.print(f"[bold]2[/bold] the core is up, N2 at {core.n2_address}, functions at zero")
        console.print(f"[bold]3[/bold] {gnbs} gNBs: register, idle, deregister")
        report = await run(
            LoadConfig(
                port=n2.port,
                udp_port=n2.udp_port,
                gnbs=gnbs,
                population=population,
                programme=(Procedure.REGISTER, Procedure.IDLE, Procedure.DEREGISTER),
                progress=console.is_terminal,
                table=True,
            )
        )
        console.print("[bold]4[/bold] waiting for the functions to go back to zero")
        at_zero = await _back_to_zero(core.scaler)
        peak = max(scale.workers for scale in core.scaler.history)
    console.print("[bold]5[/bold] deciding every step of every log again")
    result = await _verify(data.root)
    for line in result.differing[:10]:
        console.print(line)
    ok = _judge(console, report, result, scaled=at_zero and peak > 0)
    procedures = sum(found.count for found in report.procedures.values())
    failures = sum(found.failed for found in report.procedures.values())
    typer.echo(
        f"demo: ues={ues} procedures={procedures} failures={failures} steps={result.steps} "
        f"differences={len(result.differing)} seconds={time.monotonic() - begun:.1f}"
    )
    return ok


def _judge(console: Console, report: Report, result: Verification, *, scaled: bool) -> bool:
    if not report.ok:
        console.print("[red]there were failures or violations[/red]")
    if not scaled:
        console.print("[red]the functions did not go from zero and back to it[/red]")
    if result.differing:
        console.print("[red]the log does not decide the same again[/red]")
    return report.ok and scaled and not result.differing


async def _back_to_zero(scaler: Autoscaler) -> bool:
    """Whether the workers went to zero, and stay there with no timer left to wake them."""
    deadline = time.monotonic() + BACK_TO_ZERO
    while time.monotonic() < deadline:
        if not scaler.workers:
            return True
        await asyncio.sleep(0.2)
    return False


async def _verify(data: Path) -> Verification:
    async with opened(data) as access:
        names = [name async for name, _ in all_aggregates(access.log)]
        return await verify_aggregates(access, names)


def _free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
