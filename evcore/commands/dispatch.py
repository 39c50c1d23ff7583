"""`evcore dispatch`: POST events of JetStream to functions over HTTP."""

import asyncio
import signal
from typing import Annotated, Final, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import typer
import uvloop

from evcore.commands.errors import UsageError
from evcore.commands.options import ConfigFile, procedures_named
from evcore.commands.running import log_to_stderr
from eventing.dispatcher.dispatcher import Dispatcher, DispatcherConfig
from eventing.dispatcher.sink import FunctionSink, OverridesError, overrides
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import bus_config
from eventing.process import beating
from schemas.config import reading as configuration
from schemas.config.reading import Config
from schemas.version import VERSION

TIMEOUT: Final = aiohttp.ClientTimeout(total=60, sock_connect=5)
"""Timeout of a request. It covers the start of a function from zero."""

CeOverrides: TypeAlias = Annotated[
    str,
    typer.Option(
        "--ce-overrides",
        metavar="JSON",
        envvar="K_CE_OVERRIDES",
        help='Attributes to add: {"extensions": {"name": "value"}}.',
    ),
]


def dispatch(
    procedures: Annotated[
        str,
        typer.Argument(
            metavar="PROCEDURES", help='Such as "registration,deregistration", or "all".'
        ),
    ],
    sink: Annotated[str, typer.Option(metavar="URL", envvar="K_SINK", help="URL of the function.")],
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, max=4096, help="Requests at the same time.")
    ] = 64,
    extensions: CeOverrides = "",
    config: ConfigFile = None,
) -> None:
    """Pull the events of procedures and POST them to the sink, in order for each UE, until SIGTERM.

    In the container of a Knative ContainerSource, K_SINK and K_CE_OVERRIDES are in the environment.
    """
    log_to_stderr()
    names = procedures_named(procedures)
    check_sink(sink)
    added = extensions_of(extensions)
    settings = configuration.load(config)
    bus = bus_config(settings.nats)
    uvloop.run(_run(settings, DispatcherConfig(names, bus, VERSION, concurrency), sink, added))


def check_sink(url: str) -> None:
    """Check the URL of a sink.

    Raises:
        UsageError: it is not an http URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"--sink: {url!r} is not an http URL")


def extensions_of(text: str) -> dict[str, str]:
    """Parse K_CE_OVERRIDES. Return the attributes to add to each event.

    Raises:
        UsageError: the text is not in the format of Knative.
    """
    try:
        return overrides(text)
    except OverridesError as err:
        raise UsageError(str(err)) from None


async def _run(config: Config, chosen: DispatcherConfig, url: str, added: dict[str, str]) -> None:
    connector = aiohttp.TCPConnector(limit=chosen.concurrency)
    async with (
        connected(config.nats.url, "evcore-dispatcher") as client,
        aiohttp.ClientSession(connector=connector, timeout=TIMEOUT) as session,
        beating(),
    ):
        dispatcher = Dispatcher(chosen, client, FunctionSink(session, url, added))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, dispatcher.stop)
        await dispatcher.run()
