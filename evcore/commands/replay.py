"""`evcore replay`: what another version of a procedure would have done, as a diff."""

import asyncio
import difflib
import importlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from evcore.commands.errors import UsageError
from evcore.commands.options import DATA, ConfigFile, Data, SecretsFile, aggregate_of
from evcore.logs.access import opened
from evcore.logs.describe import describe
from functions.dispatch import Procedures
from functions.runtime.replay import Redecided, Replayer, all_aggregates
from schemas.aggregates import kind_of
from schemas.procedures import MODULES, Procedure
from schemas.step import Step


def replay(
    supi: Annotated[str, typer.Argument(metavar="SUPI", help="Or --all for every UE.")] = "",
    with_: Annotated[str, typer.Option("--with", help="A module, or a file of Python.")] = "",
    procedure: Annotated[
        str | None, typer.Option(help="What it takes the place of; else by its name.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every UE.")] = False,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Decide recorded steps with another version of a procedure, and show what differs."""
    if not with_ or (not supi and not everything):
        raise UsageError("name a SUPI or say --all, and name a module with --with")
    module = load_module(with_)
    replaced = procedure_of(module, procedure)
    names = None if everything else [aggregate_of(supi)]
    differing = asyncio.run(
        _replay(names, Procedures(replaced={replaced: module}), data, config, secrets)
    )
    raise typer.Exit(1 if differing else 0)


def load_module(name: str) -> ModuleType:
    """A module by its dotted name, or a file of Python by its path.

    Raises:
        UsageError: it is not there, or is no procedure.
    """
    path = Path(name)
    try:
        if path.suffix == ".py":
            spec = importlib.util.spec_from_file_location(path.stem, path)
            if spec is None or spec.loader is None or not path.exists():
                raise UsageError(f"there is no file {path}")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, str(Path.cwd()))
            module = importlib.import_module(name)
    except ImportError as err:
        raise UsageError(f"{name} cannot be imported: {err}") from None
    if not hasattr(module, "decide") or not hasattr(module, "VERSION"):
        raise UsageError(f"{name} is no procedure: it has no decide, or no VERSION")
    return module


def procedure_of(module: ModuleType, named: str | None) -> Procedure:
    """What a module takes the place of: as named, or else by its own name."""
    own = module.__name__.rpartition(".")[2]
    by_module = {path.rpartition(".")[2]: procedure for procedure, path in MODULES.items()}
    found = named or next((p for stem, p in by_module.items() if own.startswith(stem)), None)
    if found is None or found not in tuple(Procedure):
        names = ", ".join(Procedure)
        raise UsageError(f"{named or own!r} is no procedure: say --procedure, of {names}")
    return Procedure(found)


async def _replay(names: list[str] | None, procedures: Procedures, *where: Any) -> int:
    console = Console()
    steps = differing = 0
    async with opened(*where) as access:
        if names is None:
            names = [name async for name, _ in all_aggregates(access.log)]
        replayer = Replayer(access.log, access.subscribers, procedures)
        for name in names:
            async for found in replayer.steps(name):
                steps += 1
                if not found.same:
                    differing += 1
                    _print(console, found)
    typer.echo(f"replay: aggregates={len(names)} steps={steps} differences={differing}")
    return differing


def _print(console: Console, found: Redecided) -> None:
    console.rule(escape(f"{found.aggregate} step {found.recorded.seq}"), align="left")
    if found.error:
        console.print(f"[red]{escape(found.error)}[/red]")
    recorded = _lines(found, found.recorded)
    now = _lines(found, found.now) if found.now is not None else []
    for line in difflib.unified_diff(recorded, now, "recorded", "now", lineterm="", n=1):
        colour = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
        text = escape(line)
        console.print(f"[{colour}]{text}[/{colour}]" if colour else text, soft_wrap=True)


def _lines(found: Redecided, step: Step[Any]) -> list[str]:
    kind = kind_of(found.aggregate)
    after = found.before
    for event in step.events:
        after = kind.evolve(after, event)
    shown = describe(step, found.before, after)
    body = {"procedure": shown["procedure"], "events": shown["events"], "outputs": shown["outputs"]}
    return json.dumps(body, indent=1).splitlines()
