"""The HTTP server of a function, with a graceful shutdown at SIGTERM."""

import ipaddress
import signal
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Final, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware

from eventing.access.connecting import connected_as
from eventing.access.roles import Role
from eventing.process import beating
from functions.runtime.callers import Callers, Verifier
from functions.runtime.http_connection import Connections
from functions.runtime.http_function import application
from functions.runtime.opening import opened_store, worker_config
from functions.runtime.service import Service
from functions.runtime.worker import open_decider
from schemas.config.http import HttpConfig, tokens_of
from schemas.config.reading import Config, Secrets
from schemas.config.values import ConfigError
from schemas.procedures import Procedure
from statestore.contract import Engine

KEEP_ALIVE: Final = 30
"""Seconds for which a connection without a request is kept; dispatchers drop theirs sooner."""
GRACE: Final = 30
"""Seconds for running requests after SIGTERM; Knative gives a pod the same time."""


class Address(NamedTuple):
    """The address that a function listens on."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def callers_of(config: HttpConfig, secrets: Secrets, *, anonymous: bool) -> Callers:
    """Return the check of callers for a configuration.

    Raises:
        ConfigError: callers would need no token and no certificate although they are not
            `anonymous`, or the settings of tokens are not valid.
    """
    tokens = tokens_of(secrets.http_tokens)
    verifier: Verifier | None = None
    if config.oidc is not None:
        try:
            from functions.runtime.oidc import verifier_of  # noqa: PLC0415 - 30 ms, if needed
        except ImportError:
            raise ConfigError("http.oidc needs PyJWT: pip install 'evcore[oidc]'") from None
        verifier = verifier_of(config.oidc)
    with_certificates = bool(config.cert and config.ca)
    if not (tokens or verifier or with_certificates or anonymous):
        raise ConfigError(
            "anybody could call this function: set http_tokens in the secrets file or "
            "EVCORE_HTTP_TOKENS, http.oidc, or http.ca; or pass --anonymous"
        )
    open_to_all = anonymous or not (tokens or verifier)
    return Callers(tokens, verifier, anonymous=open_to_all)


def serve(
    config: Config,
    secrets: Secrets,
    procedures: tuple[Procedure, ...],
    address: Address,
    *,
    anonymous: bool = False,
) -> None:
    """Process events over HTTP until SIGTERM or SIGINT.

    `anonymous` accepts requests without a token.

    Raises:
        ConfigError: a key, a token or a certificate is missing or not valid.
        StoreError: the store cannot be opened.
        BusError: NATS cannot be reached.
        SystemExit: the port is not available; uvicorn has logged it.
    """
    http = config.http
    callers = callers_of(http, secrets, anonymous=anonymous)
    settings = worker_config(config, secrets, procedures)
    errors: list[BaseException] = []

    @asynccontextmanager
    async def opening() -> AsyncGenerator[tuple[Service, Engine]]:
        try:
            async with (
                opened_store(config, secrets) as (events, subscribers),
                connected_as(Role.WORKER, config.nats, "evcore-function") as client,
                beating(),
            ):
                decider = await open_decider(settings, events, subscribers)
                yield Service(settings, client, decider, events), events.engine
        except Exception as err:
            errors.append(err)
            raise

    def failed(err: BaseException) -> None:
        errors.append(err)
        server.should_exit = True

    app = application(opening, settings.bus.partitions, failed, callers, http.body_within)
    if anonymous and address.is_loopback:
        # A page in a browser of this machine may have its own name resolved to this address.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1"])
    server = uvicorn.Server(_server_config(app, http, address))

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        # This handles a signal before uvicorn installs its handlers, and the signal that uvicorn
        # raises again after its shutdown.
        signal.signal(number, stop)
    try:
        server.run()
    except SystemExit:  # uvicorn raises it if the start fails
        if not errors:
            raise
    if errors:
        raise errors[0]


def _server_config(app: Starlette, http: HttpConfig, address: Address) -> uvicorn.Config:
    """Return the settings of uvicorn.

    Raises:
        ConfigError: a certificate or key cannot be used.
    """
    connections = Connections(http.connections, http.headers_within)
    made = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        loop="uvloop",
        http=connections.protocol,  # pyright: ignore[reportArgumentType] - makes protocols
        ws="none",
        lifespan="on",
        log_level="error",  # its warnings are about each wrong request
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=http.cert or None,
        ssl_keyfile=http.key or None,
        ssl_ca_certs=http.ca or None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if http.ca else ssl.CERT_NONE,
    )
    try:
        made.load()
    except (OSError, ssl.SSLError) as err:
        raise ConfigError(f"http.cert, http.key or http.ca cannot be used: {err}") from None
    return made
