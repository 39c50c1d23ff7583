"""`evcore network`: the configuration of a running core."""

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

app = typer.Typer(help="The configuration of a running core: update.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """With a callback, typer keeps a single command as a group."""


@app.command()
def update(
    config: Annotated[Path, typer.Argument(metavar="FILE", help="An evcore.toml.")],
    data: Data = DATA,
) -> None:
    """Change areas, slices, names, security, timers, causes or congestion of a running core.

    The workers restart with the new configuration, and the gNBs are notified (TS 38.413 8.7.3).
    Other changes in FILE need a restart of `evcore up`.
    """
    directory = DataDirectory(data)
    if not directory.running:
        raise CommandError(f"no core runs on {directory.root}: start `evcore up`")
    new = configuration.load(config)
    running = configuration.load(directory.config_file)
    directory.write_config(updated(running, new))
    with suppress(ProcessLookupError):  # the core has just ended; the next one reads the file
        os.kill(directory.owner, signal.SIGUSR1)
    Notices().say("the configuration is written; the core applies it and notifies the gNBs")


def updated(running: Config, new: Config) -> Config:
    """Return the running configuration with the network settings of `new`.

    These are [amf] without its GUAMI, tracking areas with their slices, security, timers,
    congestion, causes, emergency services, the order of IEs, [[gnb]] and data networks. Other
    settings apply at the next start: processes keep their addresses, and UPFs keep their sessions.

    Raises:
        ConfigError: `new` has another GUAMI, which the UEs and gNBs of this core do not know; or
            emergency services that the UPFs of the running core do not have.
    """
    if _guami(new.amf) != _guami(running.amf):
        raise ConfigError(
            "plmn, region, set and pointer of [amf] are in the 5G-GUTIs of UEs: they cannot change "
            "while the core runs"
        )
    found = replace(
        running,
        amf=new.amf,
        tracking_area=new.tracking_area,
        security=new.security,
        timers=new.timers,
        congestion=new.congestion,
        n2=replace(running.n2, ie_order=new.n2.ie_order),
        gnb=new.gnb,
        causes=new.causes,
        emergency=new.emergency,
        data_network=new.data_network if new.upf else running.data_network,
    )
    configuration.emergency_services_of(found)
    return found


def _guami(amf: AmfConfig) -> tuple[str, int, int, int]:
    return amf.plmn, amf.region, amf.set, amf.pointer
