"""`evcore subscriber deregister`: deregister a UE."""

from typing import Annotated, Final

import typer

from evcore import operator
from evcore.commands.errors import CommandError, UsageError
from evcore.commands.options import (
    DATA,
    ConfigFile,
    Data,
    SecretsFile,
    Supi,
    Where,
    supi_of,
)
from evcore.commands.output import Notices
from evcore.commands.running import run_tool
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from schemas.causes import GmmCause
from schemas.cloudevents import Deregister, EventType

CAUSES: Final = (
    GmmCause.ILLEGAL_UE,
    GmmCause.ILLEGAL_ME,
    GmmCause.SERVICES_NOT_ALLOWED,
    GmmCause.PLMN_NOT_ALLOWED,
    GmmCause.TRACKING_AREA_NOT_ALLOWED,
    GmmCause.CONGESTION,
    GmmCause.N1_MODE_NOT_ALLOWED,
)
"""5GMM causes of a deregistration by the network (TS 24.501 5.5.2.3.2)."""

_CAUSES: Final = ", ".join(cause.text.removeprefix("#") for cause in CAUSES)


def deregister(
    supi: Supi,
    reregister: Annotated[
        bool, typer.Option("--reregister", help="Request the UE to register again at once.")
    ] = False,
    cause: Annotated[
        int,
        typer.Option(
            metavar="N", help=f"5GMM cause: {_CAUSES}.  [default: none]", show_default=False
        ),
    ] = 0,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Deregister a UE (TS 23.502 4.2.2.3.3). An idle UE is paged first."""
    found = supi_of(supi)
    if cause and cause not in CAUSES:
        raise UsageError(f"--cause: {cause} is not one of {_CAUSES}")
    where = Where(data, config, secrets)
    run_tool(_deregister(found, Deregister(reregister, cause), where))
    Notices().say(f"the deregistration of {found} is requested")


async def _deregister(supi: str, wish: Deregister, where: Where) -> None:
    bus = operator.bus_of(DataDirectory(where.data), where.config)
    if bus is None:
        raise CommandError(f"no core runs on {where.data}: start `evcore up`")
    async with opened(*where, read_only=True) as access:
        if not await operator.registered(access.log, [supi]):
            raise CommandError(f"{supi} is not registered: `evcore log state` shows its state")
    await operator.publish(bus, [operator.event(EventType.DEREGISTER, supi, wish)])
