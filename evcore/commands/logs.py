"""`evcore log`: what is in the event logs, and whether it still decides the same."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from evcore.commands.errors import UsageError
from evcore.commands.options import (
    DATA,
    AsJson,
    ConfigFile,
    Data,
    SecretsFile,
    Supi,
    aggregate_of,
)
from evcore.logs.access import Access, opened
from evcore.logs.describe import describe
from evcore.logs.show import print_step
from functions.runtime.replay import Replayer, all_aggregates
from schemas.aggregates import kind_of
from schemas.redact import plain
from schemas.step import Step
from schemas.ue import Ue

app = typer.Typer(help="The event logs: list, show, state, verify.", no_args_is_help=True)


@app.command("list")
def list_(
    prefix: Annotated[str, typer.Argument(help='As "ue/" or "gnb/".')] = "",
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
    as_json: AsJson = False,
) -> None:
    """List the aggregates: UEs, and RAN nodes."""
    asyncio.run(_list(prefix, data, config, secrets, as_json=as_json))


async def _list(prefix: str, *where: Any, as_json: bool) -> None:
    table = Table("aggregate", "steps", "state")
    async with opened(*where) as access:
        async for name, head in all_aggregates(access.log, prefix):
            (aggregate,) = await access.log.load([name])
            summary = _summary(aggregate.state)
            if as_json:
                typer.echo(json.dumps({"aggregate": name, "steps": head, **summary}))
            else:
                words = " ".join(f"{key}={value}" for key, value in summary.items())
                table.add_row(name, str(head), words)
    if not as_json:
        Console().print(table)


def _summary(state: Any) -> dict[str, Any]:
    if isinstance(state, Ue):
        return {
            "rm": "REGISTERED" if state.registered else "DEREGISTERED",
            "cm": "IDLE" if state.connection is None else "CONNECTED",
            **({"gnb": state.connection.gnb} if state.connection is not None else {}),
        }
    return {"name": state.name, "up": bool(state.association)}


@app.command()
def show(
    supi: Supi,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
    seq: Annotated[int | None, typer.Option(help="This step alone.")] = None,
    as_json: AsJson = False,
    asn1: Annotated[bool, typer.Option("--asn1", help="NGAP as ASN.1 text, by pycrate.")] = False,
) -> None:
    """Show each step: its trigger, decoded, its events and outputs, and what changed."""
    asyncio.run(_show(supi, data, config, secrets, seq=seq, as_json=as_json, asn1=asn1))


async def _show(supi: str, *where: Any, seq: int | None, as_json: bool, asn1: bool) -> None:
    console = Console()
    shown = 0
    async with opened(*where) as access:
        async for step, before, after in _history(access, aggregate_of(supi)):
            if seq is not None and step.seq != seq:
                continue
            shown += 1
            described = describe(step, before, after)
            if as_json:
                typer.echo(json.dumps(described))
            else:
                print_step(console, step, described, asn1=asn1)
    if not shown:
        raise UsageError(f"there is no step of {aggregate_of(supi)}" + (f" {seq}" if seq else ""))


async def _history(access: Access, name: str) -> AsyncIterator[tuple[Step[Any], Any, Any]]:
    """Each step with the state before and after it."""
    try:
        kind = kind_of(name)
    except KeyError:
        raise UsageError(f"{name!r} is no aggregate: ue/<supi> or gnb/<id>") from None
    before = kind.new()
    async for step in access.log.steps(name):
        after = before
        for event in step.events:
            after = kind.evolve(after, event)
        yield step, before, after
        before = after


@app.command()
def state(
    supi: Supi,
    at: Annotated[int | None, typer.Option(help="After this step; the last by default.")] = None,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Show the state that the log folds to, after a step."""
    asyncio.run(_state(supi, data, config, secrets, at=at))


async def _state(supi: str, *where: Any, at: int | None) -> None:
    found: Any = None
    async with opened(*where) as access:
        async for step, _, after in _history(access, aggregate_of(supi)):
            found = step, after
            if at is not None and step.seq >= at:
                break
    if found is None:
        raise UsageError(f"there is no step of {aggregate_of(supi)}")
    step, after = found
    when = datetime.fromtimestamp(step.at / 1000, UTC).isoformat(timespec="milliseconds")
    document = {"aggregate": aggregate_of(supi), "seq": step.seq, "at": when, "state": plain(after)}
    typer.echo(json.dumps(document, indent=2))


@app.command()
def verify(
    supi: Annotated[str | None, typer.Argument(metavar="[SUPI]")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every aggregate.")] = False,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Decide every recorded step again, and compare events and outputs octet for octet."""
    if (supi is None) == (not everything):
        raise UsageError("name a SUPI, or say --all")
    names = None if supi is None else [aggregate_of(supi)]
    differences = asyncio.run(_verify(names, data, config, secrets))
    raise typer.Exit(1 if differences else 0)


async def _verify(names: list[str] | None, *where: Any) -> int:
    async with opened(*where) as access:
        if names is None:
            names = [name async for name, _ in all_aggregates(access.log)]
        result = await verify_aggregates(access, names)
    for line in result.differing:
        typer.echo(line)
    typer.echo(
        f"verify: aggregates={result.aggregates} steps={result.steps} "
        f"differences={len(result.differing)}"
    )
    return len(result.differing)


class Verification:
    """What came of deciding logs again."""

    def __init__(self) -> None:
        self.aggregates = 0
        self.steps = 0
        self.differing: list[str] = []
        """A line for each step that is decided otherwise now."""


async def verify_aggregates(access: Access, names: list[str]) -> Verification:
    """Decide every step of `names` again, and compare the fold with what a reader loads."""
    result = Verification()
    replayer = Replayer(access.log, access.subscribers)
    for name in names:
        before = result.steps
        async for found in replayer.steps(name):
            result.steps += 1
            if not found.same:
                why = found.error or "events or outputs differ"
                result.differing.append(f"{name} step {found.recorded.seq}: {why}")
        if result.steps == before:
            raise UsageError(f"there is no step of {name}")
        if not await replayer.state_is_the_fold(name):
            result.differing.append(f"{name}: its snapshot is not the fold of its steps")
        result.aggregates += 1
    return result
