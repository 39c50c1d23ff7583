"""`evcore announce`: POST domain events of the log to a sink, such as a Knative Broker."""

import asyncio
import os
import re
import signal
import ssl
from enum import StrEnum
from typing import Annotated, Final

import typer
import uvloop
from nats.errors import Error as NatsError

from evcore.commands.dispatch import CeOverrides, TokenFile, check_sink, extensions_of
from evcore.commands.errors import CommandError, UsageError
from evcore.commands.options import ConfigFile, SecretsFile
from evcore.commands.running import log_to_stderr
from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.dispatcher.credentials import OIDC_TOKEN, Token, tls_context
from eventing.process import beating
from functions.announcer.announcer import Announcer, AnnouncerConfig, OtherStoreError
from schemas.config import reading as configuration
from schemas.config.reading import Config
from schemas.domain import PREFIX, DomainType
from statestore.log import EventLog
from statestore.open import open_store
from statestore.vault import Vault

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class StartAt(StrEnum):
    """The first position of an announcer that has no stored position."""

    START = "start"
    NOW = "now"


def announce(
    sink: Annotated[
        str, typer.Option(metavar="URL", envvar="K_SINK", help="Where to POST the events.")
    ],
    name: Annotated[
        str,
        typer.Option(metavar="NAME", help="Name of the announcer; each name has its own position."),
    ] = "default",
    start: Annotated[
        StartAt, typer.Option("--from", help="First position of a new name.")
    ] = StartAt.START,
    types: Annotated[
        str,
        typer.Option(
            metavar="TYPES", help='Event types, such as "session,ue.registered", or "all".'
        ),
    ] = "all",
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, max=4096, help="Requests at the same time.")
    ] = 32,
    extensions: CeOverrides = "",
    token_file: TokenFile = OIDC_TOKEN,
    config: ConfigFile = None,
    secrets: SecretsFile = None,
) -> None:
    """POST the domain events of UEs, PDU sessions, gNBs and UPFs to a sink, until SIGTERM.

    Each event is sent at least once; the events of one UE are sent in order. In the container of a
    Knative ContainerSource, K_SINK, K_CE_OVERRIDES and K_CA_CERTS are in the environment.
    """
    log_to_stderr()
    check_sink(sink)
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name: {name!r} must be 1 to 63 lower-case letters, digits and hyphens")
    chosen = types_named(types)
    added = extensions_of(extensions)
    settings = configuration.load(config)
    master_key = configuration.key_of(configuration.load_secrets(secrets).master_key, "master_key")
    announcing = AnnouncerConfig(
        sink=sink,
        name=name,
        core=settings.amf.name,
        start=start.value,
        types=chosen,
        extensions=added,
        concurrency=concurrency,
    )
    token, context = Token(file=token_file), tls_context(settings.http, os.environ)
    uvloop.run(_run(settings, announcing, Vault(master_key), token, context))


def types_named(text: str) -> frozenset[DomainType]:
    """Parse a list of types: full names, names without ``org.evcore.``, or groups such as ``ue``.

    Raises:
        UsageError: a type does not exist.
    """
    if text == "all":
        return frozenset(DomainType)
    found: set[DomainType] = set()
    for word in text.split(","):
        wanted = word.strip().removeprefix(PREFIX)
        short = {kind: kind.removeprefix(PREFIX) for kind in DomainType}
        named = {k for k, name in short.items() if wanted in (name, name.partition(".")[0])}
        if not named:
            known = ", ".join(short.values())
            raise UsageError(f"--types: there is no {word.strip()!r}; choose from {known}")
        found |= named
    return frozenset(found)


async def _run(
    config: Config,
    announcing: AnnouncerConfig,
    vault: Vault,
    token: Token,
    context: ssl.SSLContext,
) -> None:
    engine = await open_store(config.store.url, read_only=True)
    try:
        async with (
            connected_as(Role.ANNOUNCER, config.nats, "evcore-announcer") as client,
            beating(),
        ):
            announcer = Announcer(announcing, client, EventLog(engine, vault), token, context)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, announcer.stop)
            await announcer.run()
    except (NatsError, OtherStoreError) as err:
        raise CommandError(str(err)) from err
    finally:
        await engine.close()
