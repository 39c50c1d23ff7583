"""`evcore replay`: what another version of a procedure would have done, as a diff."""

import difflib
import json
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
from evcore.logs.candidate import load_module, procedure_of
from evcore.logs.describe import describe
from evcore.logs.verify import code_to_fetch, codes_then_and_now
from functions.runtime.replay import Redecided, Replayer
from functions.ue.dispatch import Procedures
from schemas.aggregates import kind_of
from schemas.procedures import Procedure
from schemas.step import Step

_COLOURS = {"+": "green", "-": "red", "@": "dim"}


def replay(
    supi: Annotated[
        str | None, typer.Argument(metavar="SUPI", help="Whose log; or --all for every one.")
    ] = None,
    with_: Annotated[
        str | None,
        typer.Option("--with", metavar="MODULE", help="A file of Python, or a module's name."),
    ] = None,
    procedure: Annotated[
        Procedure | None,
        typer.Option(help="What it takes the place of; else what its own name says."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every log.")] = False,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Decide recorded steps with another version of a procedure, and show what differs.

    Nothing is sent and nothing is stored. MODULE is code, which runs here. The exit status is
    1 if anything differs.
    """
    if (supi is None) == (not everything):
        raise UsageError("name a SUPI, or say --all")
    if not with_:
        raise UsageError("say with what: --with a file of Python, or a module's name")
    name = None if supi is None else aggregate_of(supi)
    module = load_module(with_)
    procedures = Procedures(replaced={procedure_of(module, procedure): module})
    differing = run_tool(_replay(name, procedures, Where(data, config, secrets)))
    raise typer.Exit(FAILED if differing else 0)


async def _replay(name: str | None, procedures: Procedures, where: Where) -> int:
    out = console()
    steps = differing = 0
    async with opened(*where, read_only=True) as access:
        names = await names_of(access, name)
        kept = access.variants.procedures
        replayer = Replayer(access.log, access.subscribers, procedures, kept)
        for one in progressing(names):
            async for found in replayer.steps(one):
                steps += 1
                if not found.same:
                    differing += 1
                    _print(out, found, code_to_fetch(replayer, found))
    codes = codes_then_and_now([replayer.decided_by(code) for code in replayer.codes])
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
