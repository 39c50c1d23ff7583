"""`evcore streams`: the streams and consumers of a cluster."""

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from eventing.jetstream.connection import connected
from eventing.jetstream.streams import bus_config, ensure
from schemas.config import reading as configuration
from schemas.config.reading import NatsConfig


def streams(
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="An evcore.toml, for its [nats]."),
    ] = None,
) -> None:
    """Make the streams and the consumers of all procedures, whatever of them is missing.

    Workers make those of their own procedures; this is for before there are any, so that what
    scales them from zero finds what to look at.
    """
    uvloop.run(_ensure(configuration.load(config).nats))


async def _ensure(nats: NatsConfig) -> None:
    bus = bus_config(nats)
    async with connected(nats.url, "evcore-streams") as client:
        await ensure(client, bus)
