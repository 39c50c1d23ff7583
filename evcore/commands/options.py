"""Options that several commands have."""

import re
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias

import typer

from evcore.commands.errors import UsageError, clean
from evcore.local.data import DEFAULT
from schemas.aggregates import KINDS, UNIDENTIFIED, ue_aggregate
from schemas.identity import supi_of_imsi
from schemas.procedures import Procedure

Data: TypeAlias = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="Data directory of a local core.")
]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar="EVCORE_CONFIG",
        help="An evcore.toml, for the store that it names.",
    ),
]
SecretsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--secrets",
        metavar="FILE",
        envvar="EVCORE_SECRETS",
        help="Secrets file, if not the data directory's.",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="JSON, one document a line.")]
Supi: TypeAlias = Annotated[
    str, typer.Argument(metavar="SUPI", help="As imsi-001010000000001, or its digits.")
]
Name: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="SUPI",
        help="As imsi-001010000000001, or its digits; or a name of `evcore log list`.",
    ),
]

DATA: Path = DEFAULT

_SUPI: Final = re.compile(r"(?:imsi-)?([0-9]{6,15})")
_LONGEST: Final = 40


class Where(NamedTuple):
    """Where the store is: a data directory, or a configuration and its secrets."""

    data: Path
    config: Path | None
    secrets: Path | None


def procedure_named(name: str) -> Procedure:
    """The procedure of a name.

    Raises:
        UsageError: there is none.
    """
    try:
        return Procedure(name.strip())
    except ValueError:
        raise UsageError(f"{name.strip()!r} is no procedure: {', '.join(Procedure)}") from None


def procedures_named(text: str) -> tuple[Procedure, ...]:
    """The procedures of ``"registration,session"``, or of ``"all"``.

    Raises:
        UsageError: there is no such procedure.
    """
    if text == "all":
        return tuple(Procedure)
    return tuple(dict.fromkeys(procedure_named(name) for name in text.split(",")))


def supi_of(text: str) -> str:
    """The SUPI that a user typed, with or without ``imsi-``.

    Raises:
        UsageError: it is none.
    """
    found = _SUPI.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(f"{_quoted(text)} is no SUPI: imsi- and 6 to 15 digits")
    return supi_of_imsi(found[1])


def aggregate_of(text: str) -> str:
    """The aggregate of what a user typed: a SUPI, an IMSI, or the name of an aggregate.

    Raises:
        UsageError: it is none of these.
    """
    name = text.strip()
    kind, _, rest = name.partition("/")
    if kind in KINDS and rest:
        return name
    if ue_aggregate(name).startswith(UNIDENTIFIED):
        return ue_aggregate(name)
    found = _SUPI.fullmatch(name.lower())
    if found is None:
        raise UsageError(
            f"{_quoted(text)} is neither a SUPI (imsi- and 6 to 15 digits) nor a name as "
            "`evcore log list` shows them"
        )
    return ue_aggregate(supi_of_imsi(found[1]))


def _quoted(text: str) -> str:
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return f"'{clean(text)}'"
