"""`evcore subscriber`: who may use the network."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import wire
from evcore.commands.errors import UsageError
from evcore.commands.options import DATA, AsJson, ConfigFile, Data, SecretsFile, Supi
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from schemas.config import slice_of
from schemas.redact import plain
from schemas.subscriber import Dnn, SubscribedSlice, Subscriber
from statestore.importers import Format, ImportProblem, read_subscribers

app = typer.Typer(help="Subscribers: add, import, list, show.", no_args_is_help=True)


def _octets(text: str, name: str, length: int) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != length:
        raise UsageError(f"{name} has {length * 2} hexadecimal digits")
    return found


@app.command()
def add(
    supi: Supi,
    k: Annotated[str, typer.Option("--k", help="K: 32 hexadecimal digits.")],
    opc: Annotated[str | None, typer.Option("--opc", help="OPc: 32 hexadecimal digits.")] = None,
    op: Annotated[str | None, typer.Option("--op", help="OP, in place of OPc.")] = None,
    amf: Annotated[str, typer.Option(help="AMF: 4 hexadecimal digits.")] = "8000",
    sqn: Annotated[int, typer.Option(help="Where SQN starts.")] = 0,
    slices: Annotated[
        str, typer.Option(help='Slices, the first the default: "1-010203,2".')
    ] = "1-010203",
    dnn: Annotated[str, typer.Option(help="DNN of every slice.")] = "internet",
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Add a subscriber, or a new version of one."""
    key = _octets(k, "K", 16)
    if (opc is None) == (op is None):
        raise UsageError("give OPc by --opc, or OP by --op")
    operator = (
        wire.milenage_opc(key, _octets(op, "OP", 16)) if op else _octets(opc or "", "OPc", 16)
    )
    subscribed = tuple(
        SubscribedSlice(slice_of(text.strip()), default=index == 0, dnns=(Dnn(dnn),))
        for index, text in enumerate(slices.split(","))
    )
    name = f"imsi-{supi}" if supi.isdigit() else supi
    if not (name.startswith("imsi-") and name[5:].isdigit() and 6 <= len(name[5:]) <= 15):
        raise UsageError(f"{supi!r} is no SUPI of an IMSI: imsi- and 6 to 15 digits")
    subscriber = Subscriber(name, key, operator, subscribed, _octets(amf, "AMF", 2), sqn)
    version = asyncio.run(_put([subscriber], data, config, secrets))[0]
    typer.echo(f"{name}: version {version}")


async def _put(found: list[Subscriber], data: Path, *where: Any) -> list[int]:
    if where[0] is None:
        DataDirectory(data).prepare()
    async with opened(data, *where) as access:
        return await access.subscribers.put_all(found)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="Subscribers of evcore, Open5GS or free5GC.")],
    format_: Annotated[
        Format | None, typer.Option("--format", help="What it is; else it is found out.")
    ] = None,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Import subscribers: all of a file, or none."""
    try:
        octets = file.read_bytes()
    except OSError as err:
        raise UsageError(f"{file} cannot be read: {err.strerror}") from None
    try:
        found = read_subscribers(octets, format_)
    except ImportProblem as err:
        raise UsageError(f"{file}: {err}") from None
    for note in found.notes:
        typer.echo(f"note: {note}")
    versions = asyncio.run(_put(list(found.subscribers), data, config, secrets))
    typer.echo(f"imported {len(versions)} subscriber(s)")


@app.command("list")
def list_(
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
    as_json: AsJson = False,
) -> None:
    """List the subscribers."""
    asyncio.run(_list(data, config, secrets, as_json=as_json))


async def _list(*where: Any, as_json: bool) -> None:
    table = Table("SUPI", "version", "slices")
    after = ""
    async with opened(*where) as access:
        while page := await access.subscribers.list_from(after=after):
            after = page[-1].supi
            for supi, version, subscriber in page:
                if subscriber is None:
                    continue
                slices = [str(slice_.nssai) for slice_ in subscriber.slices]
                if as_json:
                    typer.echo(json.dumps({"supi": supi, "version": version, "slices": slices}))
                table.add_row(supi, str(version), " ".join(slices))
    if not as_json:
        Console().print(table)


@app.command()
def show(
    supi: Supi,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Show a subscription; its keys stay hidden."""
    name = f"imsi-{supi}" if supi.isdigit() else supi
    asyncio.run(_show(name, data, config, secrets))


async def _show(supi: str, *where: Any) -> None:
    async with opened(*where) as access:
        found = await access.subscribers.get(supi)
    if found is None or found.subscriber is None:
        raise UsageError(f"there is no subscriber {supi}")
    typer.echo(json.dumps({"version": found.version, **plain(found.subscriber)}, indent=2))
