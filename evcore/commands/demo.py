"""`evcore demo`: the whole thing, from nothing to a verified log, in one command."""

import asyncio
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, cast

import typer

from evcore import population as populations
from evcore.commands.errors import FAILED
from evcore.commands.output import Notices
from evcore.commands.running import run
from evcore.commands.up import log_to_file, telling_scale
from evcore.local.autoscaler import Autoscaler
from evcore.local.core import local_core
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from evcore.logs.verify import Verification, verify_aggregates
from functions.runtime.replay import all_aggregates
from loadgen import LoadConfig, Population, Procedure, Report
from loadgen import run as run_load
from loadgen.table import print_tables
from schemas.config import Config, N2Config
from transport import Mode

BACK_TO_ZERO: Final = 40.0
"""Seconds that functions are given to go back to zero."""
_SHOWN_DIFFERENCES: Final = 10


class Outcome(NamedTuple):
    """What came of a demonstration."""

    report: Report
    verification: Verification
    scaled: bool
    """Whether functions went from zero and back to it."""

    @property
    def faults(self) -> list[str]:
        """What was not as it should be."""
        found = {
            "there were failures or violations": not self.report.ok,
            "the functions did not go from zero and back to it": not self.scaled,
            "the log does not decide the same again": bool(self.verification.differing),
        }
        return [fault for fault, there in found.items() if there]


def demo(
    ues: Annotated[int, typer.Option(metavar="N", min=1, help="UEs.")] = 200,
    gnbs: Annotated[int, typer.Option(metavar="N", min=1, help="gNBs.")] = 2,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Keep the data here; else it is thrown away."),
    ] = None,
) -> None:
    """Register UEs over real NGAP/SCTP, let them go idle and deregister, verify their logs.

    The last line is for machines. The exit status is 1 if anything was not as it should be.
    """
    notices = Notices()
    begun = time.monotonic()
    directory = data or Path(tempfile.mkdtemp(prefix="evcore-demo-"))
    faults: list[str] = []
    try:
        outcome = run(_demo(DataDirectory(directory), ues, gnbs, notices))
        faults = outcome.faults
    finally:
        if data is None and not faults:
            shutil.rmtree(directory, ignore_errors=True)
    for text in [*outcome.verification.differing[:_SHOWN_DIFFERENCES], *faults]:
        notices.say(text, "red")
    if faults:
        notices.say(f"its logs are kept in {directory}")
    procedures = outcome.report.procedures.values()
    typer.echo(
        f"demo: ues={ues} procedures={sum(found.count for found in procedures)} "
        f"failures={sum(found.failed for found in procedures)} "
        f"steps={outcome.verification.steps} differences={len(outcome.verification.differing)} "
        f"seconds={time.monotonic() - begun:.1f}"
    )
    raise typer.Exit(FAILED if faults else 0)


async def _demo(data: DataDirectory, ues: int, gnbs: int, notices: Notices) -> Outcome:
    secrets = data.prepare()
    log_to_file(data)
    schemes = populations.schemes_of(secrets)
    population = Population(
        count=ues, schemes=cast("Any", schemes), home_keys=populations.home_keys(secrets)
    )
    count = await populations.provision(data.root, population)
    notices.say(f"1. {count} subscribers: SUCI {', '.join(schemes)}; NEA0-2, NIA1-2", "bold")

    def indented(text: str) -> None:
        notices.say(f"  {text}")

    n2 = N2Config(udp_port=_free_udp_port(), transport=Mode.AUTO)
    scaled = telling_scale(indented)
    async with local_core(data, Config(n2=n2), changed=scaled, ended=indented) as core:
        notices.say(f"2. the core is up, N2 at {core.n2_address}, functions at zero", "bold")
        notices.say(f"3. {gnbs} gNBs: register, idle, deregister", "bold")
        report = await run_load(
            LoadConfig(
                port=n2.port,
                udp_port=n2.udp_port,
                gnbs=gnbs,
                population=population,
                programme=(Procedure.REGISTER, Procedure.IDLE, Procedure.DEREGISTER),
                progress=notices.watched,
            )
        )
        print_tables(report)
        notices.say("4. waiting for the functions to go back to zero", "bold")
        at_zero = await _back_to_zero(core.scaler)
        peak = max(scale.workers for scale in core.scaler.history)
    notices.say("5. deciding every step of every log again", "bold")
    async with opened(data.root, read_only=True) as access:
        names = [name async for name, _ in all_aggregates(access.log)]
        verification = await verify_aggregates(access, names)
    return Outcome(report, verification, at_zero and peak > 0)


async def _back_to_zero(scaler: Autoscaler) -> bool:
    """Whether the workers went to zero."""
    deadline = time.monotonic() + BACK_TO_ZERO
    while time.monotonic() < deadline:
        if not scaler.workers:
            return True
        await asyncio.sleep(0.2)
    return False


def _free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
