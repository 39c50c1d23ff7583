"""`evcore log`: show the event logs, and verify that their steps are decided the same."""

from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.progress import track

from evcore.commands.errors import FAILED, CommandError, UsageError
from evcore.commands.options import (
    DATA,
    AsJson,
    ConfigFile,
    Data,
    Name,
    SecretsFile,
    Where,
    aggregate_of,
)
from evcore.commands.output import console, print_columns, print_json
from evcore.commands.running import run_tool
from evcore.logs.access import Access, opened
from evcore.logs.describe import describe
from evcore.logs.repair import Repair
from evcore.logs.repair import repair as repair_store
from evcore.logs.show import print_step
from evcore.logs.verify import Verification, verify_aggregates
from functions.runtime.replay import all_aggregates
from schemas.aggregates import kind_of, ue_aggregate, upf_aggregate
from schemas.redact import plain
from schemas.step import Step
from schemas.ue.state import Ue
from schemas.upf import Upf

app = typer.Typer(help="The event logs: list, show, state, verify, repair.", no_args_is_help=True)


@app.command("list", epilog="Example: `evcore log list ue/imsi-00101 --json`.")
def list_(
    prefix: Annotated[
        str, typer.Argument(metavar="PREFIX", help='Prefix of the names, such as "ue/".')
    ] = "",
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
    as_json: AsJson = False,
) -> None:
    """List the UEs, RAN nodes and UPFs with a log, the number of steps and the state."""
    run_tool(_list(prefix, Where(data, config, secrets), as_json=as_json))


async def _list(prefix: str, where: Where, *, as_json: bool) -> None:
    rows: list[tuple[str, str, str]] = []
    async with opened(*where, read_only=True) as access:
        async for name, head in all_aggregates(access.log, prefix):
            found = await access.log.load_whole([name])
            if found and not found[0].seq:
                continue  # it was removed meanwhile
            summary = _summary(found[0].state) if found else {"damaged": True}
            if as_json:
                print_json({"aggregate": name, "steps": head, **summary})
            else:
                words = " ".join(f"{key}={value}" for key, value in summary.items())
                rows.append((name, str(head), words))
    if not as_json:
        print_columns(("aggregate", "steps", "state"), rows)


def _summary(state: Any) -> dict[str, Any]:
    if isinstance(state, Ue):
        return {
            "rm": "REGISTERED" if state.registered else "DEREGISTERED",
            "cm": "IDLE" if state.connection is None else "CONNECTED",
            **({"gnb": state.connection.gnb} if state.connection is not None else {}),
        }
    if isinstance(state, Upf):
        found = {"associated": state.associated, "reachable": state.reachable}
        return {**found, "trouble": state.trouble} if state.trouble else found
    return {"name": state.name, "up": bool(state.association)}


@app.command(epilog="Example: `evcore log show imsi-001010000000001 | less`.")
def show(
    supi: Name,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
    seq: Annotated[
        int | None, typer.Option(metavar="SEQ", min=1, help="Show only the step of this number.")
    ] = None,
    as_json: AsJson = False,
    asn1: Annotated[bool, typer.Option("--asn1", help="NGAP as ASN.1 text, by pycrate.")] = False,
) -> None:
    """Show each step: its decoded trigger, its events and outputs, and the changes of the state.

    A line begins with "<-" for the trigger, "*" for an event, "->" for an output and "~" for a
    change of the state.
    """
    if as_json and asn1:
        raise UsageError("--asn1 and --json cannot be combined")
    where = Where(data, config, secrets)
    run_tool(_show(aggregate_of(supi), where, seq=seq, as_json=as_json, asn1=asn1))


async def _show(name: str, where: Where, *, seq: int | None, as_json: bool, asn1: bool) -> None:
    out = console()
    head = 0
    async with opened(*where, read_only=True) as access:
        async for step, before, after in _history(access, name):
            head = step.seq
            if seq is not None and step.seq != seq:
                continue
            described = describe(step, before, after)
            if as_json:
                print_json(described)
            else:
                print_step(out, step, described, await _code(access, step), asn1=asn1)
            if seq is not None:
                return
    _must_have(name, head, seq)


async def _code(access: Access, step: Step[Any]) -> str:
    return str(await access.log.code(step.code) or f"unknown code ({step.code})")


def _must_have(name: str, head: int, seq: int | None) -> None:
    """Check that a log has steps, and that it has the requested step.

    Raises:
        CommandError: the log or the step does not exist.
    """
    if not head:
        raise CommandError(
            f"there is no log of {name}: `evcore log list` shows the logs{_may_be_removed(name)}"
        )
    if seq is not None and seq > head:
        raise CommandError(f"the log of {name} ends with step {head}: there is no step {seq}")


def _may_be_removed(name: str) -> str:
    """Return the hint that a log may have been removed; empty for a log that is never removed."""
    if name.startswith(upf_aggregate("")):
        return ""
    who = "RAN nodes without an accepted NG SETUP"
    if name.startswith(ue_aggregate("")):
        who = "UEs that never proved their identity"
    return f", and those of {who} are removed ([strangers] in evcore.toml)"


async def _history(access: Access, name: str) -> AsyncIterator[tuple[Step[Any], Any, Any]]:
    """Yield each step with the state before and after it."""
    kind = kind_of(name)
    before = kind.new()
    async for step in access.log.steps(name):
        after = before
        for event in step.events:
            after = kind.evolve(after, event)
        yield step, before, after
        before = after


@app.command(epilog="Example: `evcore log state imsi-001010000000001 --at 3`.")
def state(
    supi: Name,
    at: Annotated[
        int | None,
        typer.Option(metavar="SEQ", min=1, help="State after this step.  [default: the last]"),
    ] = None,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on one line.")] = False,
) -> None:
    """Show the state after a step, folded from the log."""
    where = Where(data, config, secrets)
    run_tool(_state(aggregate_of(supi), where, at=at, as_json=as_json))


async def _state(name: str, where: Where, *, at: int | None, as_json: bool) -> None:
    found: Any = None
    head = 0
    async with opened(*where, read_only=True) as access:
        async for step, _, after in _history(access, name):
            head, found = step.seq, (step, after)
            if step.seq == at:
                break
    _must_have(name, head, at)
    step, after = found
    when = datetime.fromtimestamp(step.at / 1000, UTC).isoformat(timespec="milliseconds")
    document = {"aggregate": name, "seq": step.seq, "at": when, "state": plain(after)}
    print_json(document, indent=None if as_json else 2)


@app.command(epilog="Example: `evcore log verify --all`.")
def verify(
    supi: Annotated[
        str | None, typer.Argument(metavar="SUPI", help="SUPI of the log to verify; or --all.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Verify every log.")] = False,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Decide every recorded step again, and compare events and outputs octet for octet.

    The steps of a variant are decided by that variant, which the data directory keeps. Steps of a
    missing variant are counted separately. The exit status is 1 if a step differs.
    """
    if (supi is None) == (not everything):
        raise UsageError("name a SUPI, or say --all")
    name = None if supi is None else aggregate_of(supi)
    result = run_tool(_verify(name, Where(data, config, secrets)))
    for line in (*result.differing, *result.elsewhere):
        typer.echo(line)
    typer.echo(
        f"verify: aggregates={result.aggregates} steps={result.steps} "
        f"differences={len(result.differing)}"
        + (f" elsewhere={len(result.elsewhere)}" if result.elsewhere else "")
        + f", {result.codes}"
    )
    raise typer.Exit(FAILED if result.differing else 0)


@app.command(epilog="Example: `evcore log repair`.")
def repair(data: Data = DATA, config: ConfigFile = None, secrets: SecretsFile = None) -> None:
    """Write damaged snapshots and index entries again, and name the damage of steps.

    The core may run meanwhile. A damaged step, data key or document cannot be repaired: restore a
    backup. The exit status is 1 if there is one.
    """
    result = run_tool(_repair(Where(data, config, secrets)))
    for line in (*result.mended, *result.damaged):
        typer.echo(line)
    typer.echo(
        f"repair: aggregates={result.aggregates} steps={result.steps} "
        f"mended={len(result.mended)} damaged={len(result.damaged)}"
    )
    raise typer.Exit(FAILED if result.damaged else 0)


async def _repair(where: Where) -> Repair:
    async with opened(*where) as access:
        names = await names_of(access, None)
        return await repair_store(access, progressing(names, "reading"))


async def _verify(name: str | None, where: Where) -> Verification:
    async with opened(*where, read_only=True) as access:
        return await verify_aggregates(access, progressing(await names_of(access, name)))


async def names_of(access: Access, name: str | None) -> list[str]:
    """Return the name if it has a log, or the names of all aggregates if `name` is None.

    Raises:
        CommandError: the aggregate has no log.
    """
    if name is None:
        return [found async for found, _ in all_aggregates(access.log)]
    if await access.log.engine.data_key(name) is None:
        _must_have(name, 0, None)
    return [name]


def progressing(names: list[str], doing: str = "deciding again") -> Iterable[str]:
    """Iterate over the names, with a progress bar on a terminal."""
    watching = console(stderr=True)
    shown = watching.is_terminal and len(names) > 1
    return track(names, doing, console=watching, transient=True, disable=not shown)
