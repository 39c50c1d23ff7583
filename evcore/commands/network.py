"""`evcore network`: the configuration of a core that runs."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from evcore.commands.errors import CommandError
from evcore.commands.options import DATA, Data
from evcore.commands.output import Notices
from evcore.local import network
from evcore.local.data import DataDirectory
from schemas.config import reading as configuration

app = typer.Typer(help="The configuration of a core that runs: update.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """One command is a group all the same."""


@app.command()
def update(
    config: Annotated[Path, typer.Argument(metavar="FILE", help="An evcore.toml.")],
    data: Data = DATA,
) -> None:
    """Give a core that runs other tracking areas, slices, names, security, timers or congestion.

    Its workers start anew with it, and gNBs are told what is new for them (TS 38.413 8.7.3). What
    else FILE has is for the next `evcore up`.
    """
    directory = DataDirectory(data)
    if not directory.running:
        raise CommandError(f"no core runs on {directory.root}: start `evcore up`")
    new = configuration.load(config)
    running = configuration.load(directory.config_file)
    directory.write_config(network.updated(running, new))
    with suppress(ProcessLookupError):  # it ended just now, and the next one has the file
        os.kill(directory.owner, signal.SIGUSR1)
    Notices().say("the configuration of the network is taken over, and gNBs are told of it")
