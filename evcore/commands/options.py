"""Options of several commands, and the names that users type."""

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
        help="An evcore.toml, for the store in it.",
    ),
]
SecretsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--secrets",
        metavar="FILE",
        envvar="EVCORE_SECRETS",
        help="Secrets file.  [default: that of the data directory]",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, one document a line.")]
Supi: TypeAlias = Annotated[
    str, typer.Argument(metavar="SUPI", help="Such as imsi-001010000000001, or its digits.")
]
Name: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="SUPI",
        help="Such as imsi-001010000000001, its digits, or a name of `evcore log list`.",
    ),
]

DATA: Path = DEFAULT

_SUPI: Final = re.compile(r"(?:imsi-)?([0-9]{6,15})")
_LONGEST: Final = 40


class Where(NamedTuple):
    """The place of the store: a data directory, or a configuration and its secrets."""

    data: Path
    config: Path | None
    secrets: Path | None


def procedure_named(name: str) -> Procedure:
    """Return the procedure of a name.

    Raises:
        UsageError: there is no such procedure.
    """
    try:
        return Procedure(name.strip())
    except ValueError:
        raise UsageError(
            f"{name.strip()!r} is not a procedure; choose from {', '.join(Procedure)}"
        ) from None


def procedures_named(text: str) -> tuple[Procedure, ...]:
    """Parse a list of procedures such as ``"registration,session"``, or ``"all"``.

    Raises:
        UsageError: there is no such procedure.
    """
    if text == "all":
        return tuple(Procedure)
    return tuple(dict.fromkeys(procedure_named(name) for name in text.split(",")))


def supi_of(text: str) -> str:
    """Parse a SUPI, with or without ``imsi-``.

    Raises:
        UsageError: the text is not a SUPI.
    """
    found = _SUPI.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(f"{_quoted(text)} is not a SUPI: imsi- and 6 to 15 digits")
    return supi_of_imsi(found[1])


def aggregate_of(text: str) -> str:
    """Parse the name of an aggregate: a SUPI, an IMSI, or the name itself.

    Raises:
        UsageError: the text is none of these.
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
            f"{_quoted(text)} is neither a SUPI (imsi- and 6 to 15 digits) nor a name "
            "of `evcore log list`"
        )
    return ue_aggregate(supi_of_imsi(found[1]))


def _quoted(text: str) -> str:
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return f"'{clean(text)}'"
