"""`evcore function`: hosting procedures."""

from typing import Annotated

import typer
import uvloop

from evcore.commands.options import ConfigFile, SecretsFile
from evcore.commands.up import procedure_named
from functions.runtime.__main__ import work
from schemas import config as configuration
from schemas.procedures import Procedure

app = typer.Typer(help="Procedure functions, one by one.", no_args_is_help=True)


@app.callback()
def _function() -> None:
    """Keep `work` a command of its own, though it is the only one."""


@app.command("work", epilog="Example: `evcore function work registration --config evcore.toml`.")
def work_(
    procedures: Annotated[
        str,
        typer.Argument(metavar="PROCEDURES", help='As "registration,deregistration", or "all".'),
    ] = "all",
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Pull events and decide about them, until SIGTERM."""
    names = tuple(Procedure)
    if procedures != "all":
        names = tuple(procedure_named(name) for name in procedures.split(","))
    settings = configuration.load(config)
    keys = configuration.load_secrets(secrets)
    uvloop.run(work(settings, keys, names))
