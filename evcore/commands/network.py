"""`evcore network`: the configuration of a core that runs."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from evcore.commands.errors import CommandError
from evcore.commands.options import DATA, Data
from evcore.commands.output import Notices
from evcore.local.data import DataDirectory
from schemas.config import reading as configuration
from schemas.config.reading import AmfConfig, Config, ConfigError

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
    directory.write_config(updated(running, new))
    with suppress(ProcessLookupError):  # it ended just now, and the next one has the file
        os.kill(directory.owner, signal.SIGUSR1)
    Notices().say("the configuration of the network is taken over, and gNBs are told of it")


def updated(running: Config, new: Config) -> Config:
    """The configuration of a core that runs, with what `new` has of the network: [amf] but for who
    it is, tracking areas with their slices, security, timers, congestion and data networks.

    Processes keep their addresses, and a UPF its sessions: what else `new` has is for the next
    start.

    Raises:
        ConfigError: `new` is that of another AMF, whom no UE and no gNB of this one knows.
    """
    if _guami(new.amf) != _guami(running.amf):
        raise ConfigError(
            "plmn, region, set and pointer of [amf] are in the 5G-GUTIs of UEs: they cannot change "
            "while the core runs"
        )
    return replace(
        running,
        amf=new.amf,
        tracking_area=new.tracking_area,
        security=new.security,
        timers=new.timers,
        congestion=new.congestion,
        data_network=new.data_network if new.upf else running.data_network,
    )


def _guami(amf: AmfConfig) -> tuple[str, int, int, int]:
    return amf.plmn, amf.region, amf.set, amf.pointer
