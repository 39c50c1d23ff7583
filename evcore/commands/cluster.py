"""`evcore gateway` and `evcore streams`, for the containers of a cluster."""

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from evcore.commands.errors import CommandError
from evcore.commands.options import ConfigFile, SecretsFile
from evcore.commands.running import log_to_stderr
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.jetstream.streams import bus_config, ensure
from gateway.n2.__main__ import serve as serve_n2
from gateway.n4.__main__ import serve as serve_n4
from gateway.n4.endpoint import EndpointError
from schemas.config import reading as configuration
from schemas.config.reading import NatsConfig

app = typer.Typer(help="The gateways to gNBs and UPFs.", no_args_is_help=True)


@app.command("n2", epilog="Example: `evcore gateway n2 --config evcore.toml`.")
def n2(config: ConfigFile = None, secrets: SecretsFile = None) -> None:
    """Serve gNBs: NGAP over SCTP, until SIGTERM."""
    log_to_stderr()
    settings, keys = configuration.load(config), configuration.load_secrets(secrets)
    uvloop.run(serve_n2(settings, keys, config))


@app.command("n4", epilog="Example: `evcore gateway n4 --config evcore.toml`.")
def n4(config: ConfigFile = None) -> None:
    """Serve UPFs: PFCP over UDP, until SIGTERM."""
    log_to_stderr()
    settings = configuration.load(config)
    try:
        uvloop.run(serve_n4(settings))
    except EndpointError as err:
        raise CommandError(str(err)) from None


def streams(
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="An evcore.toml, for its [nats]."),
    ] = None,
) -> None:
    """Create the missing streams, consumers and key-value buckets, as the role setup.

    All other processes need them. `evcore up` creates its own.
    """
    uvloop.run(_ensure(configuration.load(config).nats))


async def _ensure(nats: NatsConfig) -> None:
    bus = bus_config(nats)
    async with connected_as(Role.SETUP, nats, "evcore-streams") as client:
        await ensure(client, bus)
