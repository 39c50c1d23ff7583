"""`evcore swap`: another version of a procedure, first in some partitions, then everywhere."""

import re
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias

import typer
from nats.errors import Error as NatsError

from evcore.commands.errors import CommandError, UsageError
from evcore.commands.options import DATA, Data, procedure_named
from evcore.commands.output import Notices, print_columns
from evcore.commands.running import Interrupted, run, run_tool
from evcore.local.data import DataDirectory
from evcore.swap import asking, environment, kept
from evcore.swap.watching import START, milliseconds, sentence, watching
from eventing.ownership.assignments import Margins, SwapError
from functions.runtime import variants
from functions.runtime.variants import VariantError
from schemas.config import reading as configuration
from schemas.config.reading import NatsConfig
from schemas.procedures import Procedure

_SHARE: Final = re.compile(r"(\d{1,4})(?:/(\d{1,4}))?")

Core: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar="EVCORE_CONFIG",
        help="An evcore.toml, for the NATS of another core than that of `evcore up`.",
    ),
]


def swap(
    procedure: Annotated[
        str | None,
        typer.Argument(metavar="PROCEDURE", help="Which; all of them with --status."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="VARIANT",
            help="A folder, a wheel or a virtual environment; or the id or name of a variant that "
            "workers host.",
        ),
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
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for a worker of it.")
    ] = START,
    finish: Annotated[bool, typer.Option("--finish", help="Let it decide everywhere.")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Go back to the version before.")] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Show the swaps, and the variants of workers.")
    ] = False,
    data: Data = DATA,
    config: Core = None,
) -> None:
    """Swap a procedure of a running core for another version of it.

    VARIANT decides the events of some partitions, so always of the same UEs, until --finish or
    --abort. It is rolled back by itself if it fails, rejects or is slower than the stable version
    by more than the margins, or if its workers end.

    With `evcore up`, the core keeps a copy of VARIANT, starts its workers and judges it. On any
    other core (--config), you start its workers (`evcore function work --variant`, or --with), and
    this command judges it for as long as it runs. Run it again to go on.
    """
    if [to is not None, finish, abort, status].count(True) != 1:
        raise UsageError("say one of --to VARIANT, --finish, --abort and --status")
    if isnan(max_failures) or isnan(max_p99_ratio) or isnan(wait):
        raise UsageError("a margin is nan, and nothing is worse than that")
    directory = DataDirectory(data) if config is None else None
    if directory is not None and not directory.running:
        raise CommandError(
            f"no core runs on {directory.root}: start `evcore up`, or name the configuration of "
            "another core with --config"
        )
    nats = configuration.load(config if directory is None else directory.config_file).nats
    chosen = None if procedure is None else procedure_named(procedure)
    try:
        if status:
            _print_status(nats, list(Procedure) if chosen is None else [chosen])
            return
        if chosen is None:
            raise UsageError("name the procedure to swap")
        if to is None:
            Notices().say(run_tool(_end(nats, chosen, finish=finish)))
            return
        count = count_of(partitions, nats.partitions)
        wanted = _wanted(directory, to)
        margins = Margins(max_failures, max_p99_ratio)
        new = _Swap(chosen, wanted, tuple(range(count)), margins, wait)
        if directory is not None:
            Notices().say(run_tool(_begin(nats, new, started=wanted != to)))
            return
        try:
            run(_judged(nats, new))
        except Interrupted:
            Notices().say("the canary is not judged any more: run this again, --finish or --abort")
            raise
    except VariantError as err:
        raise UsageError(str(err)) from None
    except (SwapError, NatsError) as err:
        raise CommandError(str(err)) from None


class _Swap(NamedTuple):
    """A swap to begin."""

    procedure: Procedure
    wanted: str
    """The id or the name of the variant."""
    partitions: tuple[int, ...]
    margins: Margins
    wait: float
    """Seconds to wait for a live worker of the variant."""


def _wanted(directory: DataDirectory | None, to: str) -> str:
    """Return the id of a variant that is given by its path, kept for `evcore up`; else `to`.

    Raises:
        VariantError: the path has no variant.
    """
    path = Path(to)
    if not path.exists() and "/" not in to and path.suffix != ".whl":
        return to
    if directory is not None:
        return kept.keep(directory, path).id
    python = environment.python_of(path)
    return variants.load(path).id if python is None else environment.code_of(python).id


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


async def _begin(nats: NatsConfig, new: _Swap, *, started: bool) -> str:
    """Begin a swap that `evcore up` judges; with `started`, it starts the workers as well."""
    async with asking.asking(nats, new.procedure) as core:
        variant = new.wanted if started else await core.variant(new.wanted, new.wait)
        return await core.begin(variant, new.partitions, new.margins)


async def _judged(nats: NatsConfig, new: _Swap) -> None:
    """Begin a swap, or go on with it, and judge its canary until it ends.

    Raises:
        SwapError: it is refused, or rolled back.
    """
    async with asking.asking(nats, new.procedure) as core:
        variant = await core.variant(new.wanted, new.wait)
        async with watching(core.client, new.procedure) as watch:
            since = milliseconds()
            Notices().say(await core.begin(variant, new.partitions, new.margins))
            ended = await watch.ended(variant, since)
    if ended.state == "rolled-back":
        raise SwapError(sentence(ended))
    Notices().say(sentence(ended))


async def _end(nats: NatsConfig, procedure: Procedure, *, finish: bool) -> str:
    async with asking.asking(nats, procedure) as core:
        return await (core.finish() if finish else core.abort())


def _print_status(nats: NatsConfig, procedures: list[Procedure]) -> None:
    found = run_tool(asking.status(nats, [*procedures]))
    histories = found.histories.values()
    rows = [
        (datetime.fromtimestamp(one.at / 1000, UTC).isoformat(" ", "seconds")[:19], sentence(one))
        for one in sorted((one for some in histories for one in some), key=lambda o: o.at)
    ]
    print_columns(("at (UTC)", "what became of swaps"), rows)
    if found.hosted:
        hosted = [(o.procedure, o.variant, o.name, str(o.workers)) for o in found.hosted]
        print_columns(("procedure", "variant", "name", "live workers"), hosted)
    for one in found.unhosted:
        Notices().say(
            f"no live worker hosts {one.procedure} {one.stable}: its events wait for one, or for "
            "--abort"
        )
