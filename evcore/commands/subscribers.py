"""`evcore subscriber`: the subscribers of the network."""

import json
from typing import Annotated, Any, Final

import typer

from evcore import operator
from evcore import population as populations
from evcore.commands.deregister import deregister
from evcore.commands.errors import CommandError, UsageError
from evcore.commands.keys import keys_of, read_octets, warn_of_keys
from evcore.commands.options import (
    DATA,
    AsJson,
    ConfigFile,
    Data,
    SecretsFile,
    Supi,
    Where,
    supi_of,
)
from evcore.commands.output import Notices, print_columns, print_json
from evcore.commands.running import run_tool
from evcore.local.data import DataDirectory
from evcore.logs.access import Access, opened
from eventing.jetstream.connection import BusError
from schemas.config import reading as configuration
from schemas.config.reading import ConfigError, slice_of
from schemas.redact import plain
from schemas.subscriber import AuthMethod, Subscriber
from statestore.importers import Format, ImportProblem, read_subscribers

MOST_OCTETS: Final = 128 << 20
"""Largest file to import, in octets. The file is read whole."""
_SHOWN_NOTES: Final = 20

app = typer.Typer(
    help=(
        "Subscribers: add, import, list, show, remove, deregister, "
        "and the home network's public keys."
    ),
    no_args_is_help=True,
)
app.command()(deregister)


@app.command(
    epilog=(
        "Example: `evcore subscriber add imsi-001010000000001 --key-file sim.keys`. The file has a "
        "line `k=HEX` and a line `opc=HEX` or `op=HEX`. Without keys, a terminal is asked for them."
    )
)
def add(
    supi: Supi,
    key_file: Annotated[
        str | None,
        typer.Option(
            "--key-file", metavar="FILE", help="File with K and OPc or OP; - for standard input."
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "--k", metavar="HEX", help="K, 32 hexadecimal digits. `ps` shows it: use --key-file."
        ),
    ] = None,
    opc: Annotated[
        str | None, typer.Option("--opc", metavar="HEX", help="OPc, 32 hexadecimal digits.")
    ] = None,
    op: Annotated[
        str | None, typer.Option("--op", metavar="HEX", help="OP, instead of OPc.")
    ] = None,
    amf: Annotated[
        str, typer.Option(metavar="HEX", help="AMF of Milenage, 4 hexadecimal digits.")
    ] = "8000",
    sqn: Annotated[int, typer.Option(metavar="N", help="First SQN.")] = 0,
    auth_method: Annotated[
        AuthMethod, typer.Option("--auth-method", help="Authentication method of the UE.")
    ] = AuthMethod.FIVE_G_AKA,
    slices: Annotated[
        str,
        typer.Option(metavar="SLICES", help="Slices, the default first, such as 1-010203,2."),
    ] = "1-010203",
    dnn: Annotated[str, typer.Option(metavar="DNN", help="The DNN of every slice.")] = "internet",
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Add a subscriber, or a new version of one."""
    name = supi_of(supi)
    arguments = {"k": k, "opc": opc, "op": op}
    given = {name: key for name, key in arguments.items() if key is not None}
    keys = keys_of(key_file, given)
    record: dict[str, Any] = {
        "supi": name,
        **keys,
        "amf": amf,
        "sqn": sqn,
        "auth_method": auth_method.value,
        "slices": [
            {**one, "default": index == 0, "dnns": [{"name": dnn}]}
            for index, one in enumerate(_slices(slices))
        ],
    }
    try:
        found = read_subscribers(json.dumps(record).encode(), Format.JSON)
    except ImportProblem as err:
        raise UsageError(str(err).partition(": ")[2]) from None
    (version,) = run_tool(_put(list(found.subscribers), Where(data, config, secrets)))
    warn_of_keys(key_file, given, Notices().say)
    typer.echo(f"{name}: version {version}")


def _slices(text: str) -> list[dict[str, Any]]:
    try:
        found = [slice_of(one.strip()) for one in text.split(",")]
    except ValueError as err:
        raise UsageError(f"--slices: {err}") from None
    return [{"sst": one.sst, "sd": one.sd} for one in found]


async def _put(found: list[Subscriber], where: Where) -> list[int]:
    if where.config is None:
        DataDirectory(where.data).prepare(Notices().say)
    async with opened(*where) as access:
        versions = await access.subscribers.put_all(found)
        await _notify(where, access, [subscriber.supi for subscriber in found])
    return versions


async def _notify(where: Where, access: Access, supis: list[str]) -> None:
    """Notify the core if one runs. A failure does not undo the stored changes."""
    try:
        bus = operator.bus_of(DataDirectory(where.data), where.config)
        if bus is not None:
            await operator.publish_subscription_change(bus, access.log, supis)
    except BusError as err:
        Notices().say(f"note: the core is not notified; registered UEs get the change later: {err}")


@app.command(
    "import",
    epilog=(
        "Examples: `evcore subscriber import sims.csv`; from Open5GS, `mongoexport -d open5gs "
        "-c subscribers | evcore subscriber import -`."
    ),
)
def import_(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="JSON or CSV of evcore, or an export of Open5GS or free5GC; - for standard input.",
        ),
    ],
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Format of the file.  [default: detected]"),
    ] = None,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Import all subscribers of a file, or none if one is wrong."""
    octets = read_octets(file, MOST_OCTETS)
    try:
        found = read_subscribers(octets, format_)
    except ImportProblem as err:
        raise ImportProblem(*(f"{file}: {problem}" for problem in err.problems)) from None
    notices = Notices()
    warn_of_keys(file, (), notices.say)
    for note in _summed_up(found.notes):
        notices.say(f"note: {note}")
    versions = run_tool(_put(list(found.subscribers), Where(data, config, secrets)))
    some = "1 subscriber" if len(versions) == 1 else f"{len(versions)} subscribers"
    typer.echo(f"imported {some} (format {found.format})")


def _summed_up(notes: tuple[str, ...]) -> list[str]:
    """Merge equal notes of several records."""
    records: dict[str, list[str]] = {}
    for note in notes:
        record, _, text = note.partition(": ")
        records.setdefault(text, []).append(record)
    found = [
        f"{own[0]}: {text}" + (f" (and {len(own) - 1} more)" if len(own) > 1 else "")
        for text, own in records.items()
    ]
    left = len(found) - _SHOWN_NOTES
    return [*found[:_SHOWN_NOTES], f"and {left} other notes"] if left > 0 else found


@app.command("list")
def list_(
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
    as_json: AsJson = False,
) -> None:
    """List the subscribers."""
    run_tool(_list(Where(data, config, secrets), as_json=as_json))


async def _list(where: Where, *, as_json: bool) -> None:
    rows: list[tuple[str, str, str]] = []
    after = ""
    async with opened(*where, read_only=True) as access:
        while page := await access.subscribers.list_from(after=after):
            after = page[-1].supi
            for supi, version, subscriber in page:
                if subscriber is None:
                    continue
                slices = [str(one.nssai) for one in subscriber.slices]
                barred = {"barred": True} if subscriber.barred else {}
                if as_json:
                    print_json({"supi": supi, "version": version, "slices": slices, **barred})
                else:
                    rows.append((supi, str(version), " ".join([*slices, *barred])))
    if not as_json:
        print_columns(("SUPI", "version", "slices"), rows)


@app.command()
def show(
    supi: Supi,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on one line.")] = False,
) -> None:
    """Show a subscription without its keys."""
    document = run_tool(_show(supi_of(supi), Where(data, config, secrets)))
    print_json(document, indent=None if as_json else 2)


async def _show(supi: str, where: Where) -> dict[str, Any]:
    async with opened(*where, read_only=True) as access:
        found = await access.subscribers.get(supi)
    if found is None or found.subscriber is None:
        raise _unknown(supi)
    return {"version": found.version, **plain(found.subscriber)}


def _unknown(supi: str) -> CommandError:
    return CommandError(f"there is no subscriber {supi}: `evcore subscriber list` shows them")


@app.command()
def remove(
    supi: Supi,
    data: Data = DATA,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Withdraw a subscription and deregister its UE. Its log and earlier versions stay."""
    name = supi_of(supi)
    run_tool(_remove(name, Where(data, config, secrets)))
    typer.echo(f"{name}: removed")


async def _remove(supi: str, where: Where) -> None:
    async with opened(*where) as access:
        found = await access.subscribers.get(supi)
        if found is None or found.subscriber is None:
            raise _unknown(supi)
        await access.subscribers.withdraw(supi)
        await _notify(where, access, [supi])


@app.command("home-keys")
def home_keys(
    data: Data = DATA,
    secrets: SecretsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the public keys for SUPI concealment in USIMs (TS 33.501 annex C.3)."""
    path = secrets or DataDirectory(data).secrets_file
    if secrets is None and not path.exists():
        raise ConfigError(f"there are no keys in {data}: `evcore up` creates them")
    found = populations.home_keys(configuration.load_secrets(path, {}))
    if as_json:
        for key in found:
            print_json({"id": key.key_id, "profile": key.profile, "public_key": key.public_key})
    else:
        rows = [(str(key.key_id), key.profile, key.public_key) for key in found]
        print_columns(("key id", "profile", "public key"), rows)
