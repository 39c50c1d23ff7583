"""`evcore dispatch`: POST events of JetStream to functions over HTTP."""

import asyncio
import os
import signal
import ssl
from pathlib import Path
from typing import Annotated, Final, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import typer
import uvloop

from evcore.commands.errors import UsageError
from evcore.commands.options import ConfigFile, SecretsFile, procedures_named
from evcore.commands.running import log_to_stderr
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.dispatcher.credentials import OIDC_TOKEN, Token, tls_context
from eventing.dispatcher.dispatcher import Dispatcher, DispatcherConfig
from eventing.dispatcher.sink import FunctionSink, OverridesError, overrides
from eventing.jetstream.streams import bus_config
from eventing.process import beating
from schemas.config import reading as configuration
from schemas.config.http import tokens_of
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
TokenFile: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="A token for the sink, if it exists.",
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
    token_file: TokenFile = OIDC_TOKEN,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """Pull the events of procedures and POST them to the sink, in order for each UE, until SIGTERM.

    In the container of a Knative ContainerSource, K_SINK, K_CE_OVERRIDES and K_CA_CERTS are in the
    environment. Each request has the token of the file, or the first of http_tokens.
    """
    log_to_stderr()
    names = procedures_named(procedures)
    check_sink(sink)
    added = extensions_of(extensions)
    settings = configuration.load(config)
    tokens = tokens_of(configuration.load_secrets(secrets).http_tokens)
    token = Token(tokens[0] if tokens else "", token_file)
    context = tls_context(settings.http, os.environ)
    chosen = DispatcherConfig(names, bus_config(settings.nats), VERSION, concurrency)
    uvloop.run(_run(settings, chosen, sink, added, token, context))


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


async def _run(
    config: Config,
    chosen: DispatcherConfig,
    url: str,
    added: dict[str, str],
    token: Token,
    context: ssl.SSLContext,
) -> None:
    connector = aiohttp.TCPConnector(limit=chosen.concurrency, ssl=context)
    async with (
        connected_as(Role.DISPATCHER, config.nats, "evcore-dispatcher") as client,
        aiohttp.ClientSession(connector=connector, timeout=TIMEOUT) as session,
        beating(),
    ):
        dispatcher = Dispatcher(chosen, client, FunctionSink(session, url, added, token))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, dispatcher.stop)
        await dispatcher.run()
