"""`evcore demo`: run a core with UEs, gNBs and UPFs, and verify its log."""

import asyncio
import shutil
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, cast

import typer
from msgspec.structs import replace

from evcore import emulated
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
from loadgen.report.terminal import print_tables
from schemas.config.reading import Config, N2Config, N4Config
from transport import Mode

BACK_TO_ZERO: Final = 40.0
"""Seconds to wait for the functions to go back to zero."""
_SHOWN_DIFFERENCES: Final = 10


PROGRAMME: Final = (
    Procedure.REGISTER,
    Procedure.SESSION,
    Procedure.IDLE,
    Procedure.SERVICE_REQUEST,
    Procedure.IDLE,
    Procedure.PAGE,
    Procedure.RELEASE_SESSION,
    Procedure.DEREGISTER,
)
"""The procedures of each UE: with a session it goes idle, returns by itself, and is paged."""


class Outcome(NamedTuple):
    """The result of a demonstration."""

    report: Report
    sessions: int
    """PDU sessions that were established at the UPFs."""
    rules_left: int
    """Rules in the tables of the UPFs at the end."""
    violations: list[str]
    """Errors of the core that the UPFs found."""
    verification: Verification
    scaled: bool
    """Whether the functions were scaled from zero and back to zero."""

    @property
    def faults(self) -> list[str]:
        """The failed checks."""
        found = {
            "there were failures or violations": not self.report.ok,
            "the UPFs got wrong requests": bool(self.violations),
            "sessions were left at the UPFs": bool(self.rules_left),
            "the functions did not go from zero and back to zero": not self.scaled,
            "the log is not decided the same again": bool(self.verification.differing),
        }
        return [fault for fault, failed in found.items() if failed]


def demo(
    ues: Annotated[int, typer.Option(metavar="N", min=1, help="UEs.")] = 200,
    gnbs: Annotated[int, typer.Option(metavar="N", min=1, help="gNBs.")] = 2,
    upfs: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="UPFs.")] = 2,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", help="Keep the data in DIR. Without it, delete the data."
        ),
    ] = None,
) -> None:
    """Run UEs over real NGAP/SCTP, with PDU sessions on emulated UPFs, and verify their logs.

    The UEs register, go idle, return, are paged and deregister. The last line is for programs.
    The exit status is 1 if a check failed.
    """
    notices = Notices()
    begun = time.monotonic()
    directory = data or Path(tempfile.mkdtemp(prefix="evcore-demo-"))
    faults: list[str] = []
    try:
        outcome = run(_demo(DataDirectory(directory), ues, gnbs, upfs, notices))
        faults = outcome.faults
    finally:
        if data is None and not faults:
            shutil.rmtree(directory, ignore_errors=True)
    shown = [*outcome.verification.differing[:_SHOWN_DIFFERENCES]]
    for text in [*shown, *outcome.violations[:_SHOWN_DIFFERENCES], *faults]:
        notices.say(text, "red")
    if faults:
        notices.say(f"the logs are kept in {directory}")
    procedures = outcome.report.procedures.values()
    typer.echo(
        f"demo: ues={ues} procedures={sum(found.count for found in procedures)} "
        f"failures={sum(found.failed for found in procedures)} "
        f"steps={outcome.verification.steps} differences={len(outcome.verification.differing)} "
        f"seconds={time.monotonic() - begun:.1f} "
        f"sessions={outcome.sessions} upf_rules_left={outcome.rules_left}"
    )
    raise typer.Exit(FAILED if faults else 0)


async def _demo(data: DataDirectory, ues: int, gnbs: int, upfs: int, notices: Notices) -> Outcome:
    secrets = data.prepare(notices.say)
    log_to_file(data)
    schemes = populations.schemes_of(secrets)
    population = Population(
        count=ues,
        schemes=cast("Any", schemes),
        home_keys=populations.home_keys(secrets),
        dnns=(emulated.DNN,),
    )
    count = await populations.provision(data.root, population)
    notices.say(f"1. {count} subscribers: SUCI {', '.join(schemes)}; NEA0-2, NIA1-2", "bold")

    def indented(text: str) -> None:
        notices.say(f"  {text}")

    n2 = N2Config(udp_port=emulated.free_udp_port(), transport=Mode.AUTO)
    n4 = N4Config(port=emulated.free_udp_port())
    tables = tuple(replace(upf, port=emulated.free_udp_port()) for upf in emulated.tables(upfs))
    config = Config(n2=n2, n4=n4, upf=tables, data_network=(emulated.DATA_NETWORK,))
    async with (
        emulated.running_upfs(tables) as user_plane,
        local_core(data, config, changed=telling_scale(indented), ended=indented) as core,
    ):
        notices.say(f"2. the core is up, N2 at {core.n2_address}, functions at zero", "bold")
        await user_plane.associated()
        notices.say(f"3. {gnbs} gNBs, {upfs} UPFs: {', '.join(PROGRAMME)}", "bold")
        report = await run_load(
            LoadConfig(
                port=n2.port,
                udp_port=n2.udp_port,
                gnbs=gnbs,
                population=population,
                programme=PROGRAMME,
                progress=notices.watched,
            ),
            downlink_data=user_plane.downlink_data,
        )
        print_tables(report)
        notices.say("4. waiting for the functions to go back to zero", "bold")
        at_zero = await _back_to_zero(core.scaler)
        peak = max(scale.workers for scale in core.scaler.history)
        sessions, left = user_plane.sessions, user_plane.rules_left
        violations = user_plane.violations
    notices.say("5. deciding every step of every log again", "bold")
    async with opened(data.root, read_only=True) as access:
        names = [name async for name, _ in all_aggregates(access.log)]
        verification = await verify_aggregates(access, names)
    return Outcome(report, sessions, left, violations, verification, at_zero and peak > 0)


async def _back_to_zero(scaler: Autoscaler) -> bool:
    """Wait until no worker runs. Return False after the timeout."""
    deadline = time.monotonic() + BACK_TO_ZERO
    while time.monotonic() < deadline:
        if not scaler.workers:
            return True
        await asyncio.sleep(0.2)
    return False
