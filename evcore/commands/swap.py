"""`evcore swap`: another version of a procedure, first in some partitions, then everywhere."""

import asyncio
import importlib.util
import re
import sys
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Annotated, Final

import typer
from nats.errors import Error as NatsError

from evcore.commands.errors import CommandError, UsageError
from evcore.commands.options import DATA, Data, procedure_named
from evcore.commands.output import Notices, print_columns
from evcore.commands.running import run_tool
from evcore.local.data import DataDirectory
from evcore.swap import asking, kept
from evcore.swap.runner import sentence
from eventing.ownership.assignments import Margins, SwapError
from functions.runtime.variants import VariantError
from schemas.config import reading as configuration
from schemas.config.reading import NatsConfig
from schemas.procedures import Procedure

_SHARE: Final = re.compile(r"(\d{1,4})(?:/(\d{1,4}))?")


def swap(
    procedure: Annotated[
        str | None,
        typer.Argument(metavar="PROCEDURE", help="Which; all of them with --status."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="MODULE", help="The other version: a file, or its name."),
    ] = None,
    partitions: Annotated[
        str,
        typer.Option(metavar="N/M", help="The share of the partitions that it gets, or how many."),
    ] = "1/8",
    max_failures: Annotated[
        float,
        typer.Option(metavar="SHARE", min=0, max=1, help="More failures and rejects, at most."),
    ] = Margins().failures,
    max_p99_ratio: Annotated[
        float, typer.Option(metavar="N", min=1, help="Times the stable version's p99, at most.")
    ] = Margins().p99_ratio,
    finish: Annotated[bool, typer.Option("--finish", help="Let it decide everywhere.")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Go back to what was before.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show what became of swaps.")] = False,
    data: Data = DATA,
) -> None:
    """Swap a procedure of a core that runs for another version of it.

    The events of some partitions, and so of the same UEs all the time, are decided by MODULE, until
    --finish or --abort: a file of Python, or the name of a module, of which a copy is kept. It is
    rolled back by itself when it fails, rejects or is slower than the stable version by more than
    the margins, or its workers end.
    """
    if [to is not None, finish, abort, status].count(True) != 1:
        raise UsageError("say one of --to MODULE, --finish, --abort and --status")
    if isnan(max_failures) or isnan(max_p99_ratio):
        raise UsageError("a margin is nan, and nothing is worse than that")
    directory = DataDirectory(data)
    if not directory.running:
        raise CommandError(f"no core runs on {directory.root}: start `evcore up`")
    nats = configuration.load(directory.config_file).nats
    chosen = None if procedure is None else procedure_named(procedure)
    if status:
        _print_status(nats, list(Procedure) if chosen is None else [chosen])
        return
    if chosen is None:
        raise UsageError("name the procedure to swap")
    try:
        if to is not None:
            count = count_of(partitions, nats.partitions)
            variant = kept.keep(directory, chosen, file_of(to))
            margins = Margins(max_failures, max_p99_ratio)
            said = run_tool(_begin(nats, chosen, variant, tuple(range(count)), margins))
        else:
            said = run_tool(_end(nats, chosen, finish=finish))
    except VariantError as err:
        raise UsageError(str(err)) from None
    except (SwapError, NatsError) as err:
        raise CommandError(str(err)) from None
    Notices().say(said)


def file_of(module: str) -> Path:
    """The file of a module that is named by its path, or by its dotted name.

    Raises:
        UsageError: it has none.
    """
    if module.endswith(".py") or "/" in module:
        return Path(module)
    sys.path.insert(0, str(Path.cwd()))
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    except Exception as err:  # whatever the packages do that it is in
        raise UsageError(f"{module} cannot be found: {type(err).__name__}: {err}") from None
    origin = "" if spec is None else spec.origin or ""
    if not origin.endswith(".py"):
        raise UsageError(f"there is no module {module}; a file has a name that ends with .py")
    return Path(origin)


def count_of(share: str, partitions: int) -> int:
    """How many partitions ``"1/8"`` of them are, one at least; or ``"3"``.

    Raises:
        UsageError: it is neither, or none or more than there are.
    """
    found = _SHARE.fullmatch(share.strip())
    if found is not None:
        part, whole = int(found[1]), int(found[2] or partitions)
        if 1 <= part <= whole:
            return max(1, round(partitions * part / whole))
    raise UsageError(
        f"--partitions is a share as 1/8, or a number of 1 to {partitions}, not {share!r}"
    )


async def _begin(
    nats: NatsConfig,
    procedure: Procedure,
    variant: str,
    partitions: tuple[int, ...],
    margins: Margins,
) -> str:
    async with asking.asking(nats.url, procedure) as core:
        return await core.begin(variant, partitions, margins)


async def _end(nats: NatsConfig, procedure: Procedure, *, finish: bool) -> str:
    async with asking.asking(nats.url, procedure) as core:
        return await (core.finish() if finish else core.abort())


def _print_status(nats: NatsConfig, procedures: list[Procedure]) -> None:
    try:
        found = asyncio.run(asking.histories(nats.url, [*procedures]))
    except NatsError as err:
        raise CommandError(str(err)) from None
    rows = [
        (datetime.fromtimestamp(one.at / 1000, UTC).isoformat(" ", "seconds")[:19], sentence(one))
        for one in sorted((one for some in found.values() for one in some), key=lambda o: o.at)
    ]
    print_columns(("at (UTC)", "what became of swaps"), rows)
