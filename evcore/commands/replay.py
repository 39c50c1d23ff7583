"""`evcore replay`: the decisions that another version would have made, as a diff."""

import difflib
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from evcore.commands.errors import FAILED, UsageError, clean, without_keys
from evcore.commands.logs import names_of, progressing
from evcore.commands.options import DATA, ConfigFile, Data, SecretsFile, Where, aggregate_of
from evcore.commands.output import console
from evcore.commands.running import run_tool
from evcore.logs.access import opened
from evcore.logs.describe import describe
from evcore.logs.verify import code_to_fetch, codes_then_and_now
from evcore.swap import environment
from functions.runtime import variants
from functions.runtime.replay import Redecided, Replayer, this_release
from functions.runtime.variants import Variant, VariantError
from schemas.aggregates import kind_of
from schemas.procedures import Procedure
from schemas.step import Step

_COLOURS = {"+": "green", "-": "red", "@": "dim"}


def replay(
    supi: Annotated[
        str | None, typer.Argument(metavar="SUPI", help="Whose log; or --all for every one.")
    ] = None,
    with_: Annotated[
        Path | None,
        typer.Option(
            "--with",
            metavar="PATH",
            help="A variant: a folder, a wheel, or a virtual environment.  [default: this evcore]",
        ),
    ] = None,
    procedure: Annotated[
        Procedure | None, typer.Option(help="Only the steps of this procedure; all by default.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every log.")] = False,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Decide recorded steps with another version of evcore, and show the differences.

    A folder or a wheel has modules in the layout of evcore, such as
    functions/gmm/registration/accept.py. They take the place of this evcore's. They are code, which
    runs here. A virtual environment decides with the evcore that is installed in it. Nothing is
    sent and nothing is stored. The exit status is 1 if anything differs.
    """
    if (supi is None) == (not everything):
        raise UsageError("name a SUPI, or say --all")
    if procedure == Procedure.IDENTIFICATION:
        raise UsageError(f"{procedure} has no state and leaves no steps to decide again")
    name = None if supi is None else aggregate_of(supi)
    where = Where(data, config, secrets)
    python = None if with_ is None else environment.python_of(with_)
    if python is not None:
        raise typer.Exit(_elsewhere(python, name, procedure, where))
    try:
        variant = None if with_ is None else variants.load(with_)
    except VariantError as err:
        raise UsageError(str(err)) from None
    differing = run_tool(_replay(name, variant, procedure, where))
    raise typer.Exit(FAILED if differing else 0)


def _elsewhere(python: Path, name: str | None, procedure: Procedure | None, where: Where) -> int:
    """Have the evcore of an environment decide again, and return its exit status."""
    arguments = ["replay", name or "--all", "--data", str(where.data)]
    for option, value in (
        ("--procedure", procedure),
        ("--config", where.config),
        ("--secrets", where.secrets),
    ):
        arguments += [] if value is None else [option, str(value)]
    done = environment.run(python, arguments)
    typer.echo(done.stdout, nl=False)
    typer.echo(done.stderr, nl=False, err=True)
    return done.returncode


async def _replay(
    name: str | None, variant: Variant | None, procedure: Procedure | None, where: Where
) -> int:
    out = console()
    steps = differing = 0
    candidate = this_release() if variant is None else variant.decide
    async with opened(*where, read_only=True) as access:
        names = await names_of(access, name)
        kept = access.variants.load
        replayer = Replayer(access.log, access.subscribers, candidate, kept)
        for one in progressing(names):
            async for found in replayer.steps(one):
                if procedure not in (None, found.recorded.procedure):
                    continue
                steps += 1
                if not found.same:
                    differing += 1
                    _print(out, found, code_to_fetch(replayer, found))
    codes = codes_then_and_now(
        [replayer.decided_by(code) for code in replayer.codes],
        None if variant is None else variant.code,
    )
    typer.echo(f"replay: aggregates={len(names)} steps={steps} differences={differing}, {codes}")
    return differing


def _print(out: Console, found: Redecided, code: str) -> None:
    title = f"{clean(found.aggregate)} step {found.recorded.seq}{code}"
    out.print(Text(title, style="bold underline"))
    if found.now is None:
        why = clean(without_keys(found.error)) or "nothing would be recorded"
        out.print(Text(why, style="red"))
        return
    lines = list(
        difflib.unified_diff(
            _lines(found, found.recorded),
            _lines(found, found.now),
            *("recorded", "now"),
            lineterm="",
            n=1,
        )
    )
    for line in lines or ["only keys differ, which are not shown"]:
        out.print(Text(line, style=_COLOURS.get(line[:1], "")))


def _lines(found: Redecided, step: Step[Any]) -> list[str]:
    kind = kind_of(found.aggregate)
    after = found.before
    for event in step.events:
        after = kind.evolve(after, event)
    shown = describe(step, found.before, after)
    body = {key: shown[key] for key in ("procedure", "events", "outputs")}
    return json.dumps(body, indent=1).splitlines()
