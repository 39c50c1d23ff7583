"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from evcore.local.data import DEFAULT

Data: TypeAlias = Annotated[Path, typer.Option("--data", help="Data directory of a local core.")]
ConfigFile: TypeAlias = Annotated[
    Path | None, typer.Option("--config", help="evcore.toml; its store is used, not --data's.")
]
SecretsFile: TypeAlias = Annotated[Path | None, typer.Option("--secrets", help="Secrets file.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="JSON, one document a line.")]
Supi: TypeAlias = Annotated[str, typer.Argument(metavar="SUPI", help='As "imsi-001010000000001".')]

DATA: Path = DEFAULT


def aggregate_of(name: str) -> str:
    """The aggregate of what a user typed: a SUPI, an IMSI, or the name of an aggregate."""
    if "/" in name:
        return name
    return f"ue/imsi-{name}" if name.isdigit() else f"ue/{name}"
