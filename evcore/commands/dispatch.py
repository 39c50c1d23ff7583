"""`evcore dispatch`: events of JetStream to functions that are called over HTTP."""

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
"""Of a request: a function that scales from zero is waited for."""

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
        typer.Argument(metavar="PROCEDURES", help='As "registration,deregistration", or "all".'),
    ],
    sink: Annotated[
        str, typer.Option(metavar="URL", envvar="K_SINK", help="Where the function is.")
    ],
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, max=4096, help="Requests under way at a time.")
    ] = 64,
    extensions: CeOverrides = "",
    config: ConfigFile = None,
) -> None:
    """Pull the events of procedures and POST each to the sink, in the order of its UE, until
    SIGTERM.

    As the container of a Knative ContainerSource it finds K_SINK and K_CE_OVERRIDES in its
    environment.
    """
    log_to_stderr()
    names = procedures_named(procedures)
    check_sink(sink)
    added = extensions_of(extensions)
    settings = configuration.load(config)
    bus = bus_config(settings.nats)
    uvloop.run(_run(settings, DispatcherConfig(names, bus, VERSION, concurrency), sink, added))


def check_sink(url: str) -> None:
    """Refuse what cannot be POSTed to.

    Raises:
        UsageError: it is no http URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"--sink: {url!r} is no http URL")


def extensions_of(text: str) -> dict[str, str]:
    """The attributes to add to each event.

    Raises:
        UsageError: it is not what Knative makes it.
    """
    try:
        return overrides(text)
    except OverridesError as err:
        raise UsageError(str(err)) from None


async def _run(config: Config, what: DispatcherConfig, url: str, added: dict[str, str]) -> None:
    connector = aiohttp.TCPConnector(limit=what.concurrency)
    async with (
        connected(config.nats.url, "evcore-dispatcher") as client,
        aiohttp.ClientSession(connector=connector, timeout=TIMEOUT) as session,
        beating(),
    ):
        dispatcher = Dispatcher(what, client, FunctionSink(session, url, added))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, dispatcher.stop)
        await dispatcher.run()
