"""`evcore session`: the PDU sessions of UEs."""

from typing import Annotated

import typer

from evcore import operator
from evcore.commands.errors import CommandError
from evcore.commands.options import DATA, Data, Supi, supi_of
from evcore.commands.output import Notices, print_columns
from evcore.commands.running import run_tool
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from functions.runtime.replay import all_aggregates
from schemas.aggregates import ue_aggregate
from schemas.cloudevents import EventType, SessionRelease
from schemas.config import reading as configuration
from schemas.gsm.state import PduSession
from schemas.ue.state import Ue

app = typer.Typer(help="PDU sessions: list, release.", no_args_is_help=True)


@app.command("list")
def list_(data: Data = DATA) -> None:
    """List the PDU sessions."""
    print_columns(
        ("SUPI", "id", "stage", "user plane", "DNN", "slice", "address", "UPF"),
        run_tool(_rows(DataDirectory(data))),
    )


@app.command()
def release(
    supi: Supi,
    psi: Annotated[int, typer.Argument(metavar="ID", min=1, max=15, help="PDU session identity.")],
    data: Data = DATA,
) -> None:
    """Release a PDU session (TS 23.502 4.3.4). An idle UE is informed when it next connects."""
    directory = DataDirectory(data)
    if not directory.running:
        raise CommandError(f"no core runs on {directory.root}: start `evcore up`")
    found = supi_of(supi)
    if psi not in run_tool(_ids(directory, found)):
        raise CommandError(f"{found} has no PDU session {psi}: `evcore session list` shows them")
    run_tool(_publish(directory, found, psi))
    Notices().say(f"the release of PDU session {psi} of {found} is requested")


async def _rows(data: DataDirectory) -> list[tuple[str, ...]]:
    async with opened(data.root) as access:
        names = [name async for name, _ in all_aggregates(access.log, ue_aggregate("imsi-"))]
        found = await access.log.load_whole(names)
    states: list[Ue] = [aggregate.state for aggregate in found]
    return [_row(ue.supi, session) for ue in states for session in ue.sessions]


def _row(supi: str, session: PduSession) -> tuple[str, ...]:
    address = ", ".join(filter(None, (session.address.ipv4, session.address.ipv6)))
    about = (session.stage, session.user_plane, session.dnn, str(session.nssai))
    return supi, str(session.id), *about, address, session.n4.upf


async def _ids(data: DataDirectory, supi: str) -> set[int]:
    async with opened(data.root) as access:
        (found,) = await access.log.load([ue_aggregate(supi)])
    ue: Ue = found.state
    return {session.id for session in ue.sessions if session.stage != "released"}


async def _publish(data: DataDirectory, supi: str, psi: int) -> None:
    bus = configuration.load(data.config_file).nats
    wish = operator.event(EventType.SESSION_RELEASE, supi, SessionRelease(psi))
    await operator.publish(bus, [wish])
