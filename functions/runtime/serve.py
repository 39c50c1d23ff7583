"""The HTTP server of a function, with a graceful shutdown at SIGTERM."""

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Final

import uvicorn

from eventing.jetstream.connection import connected
from functions.runtime.http_function import application
from functions.runtime.opening import opened_store, worker_config
from functions.runtime.service import Service
from functions.runtime.worker import open_decider
from schemas.config.reading import Config, Secrets
from schemas.procedures import Procedure
from statestore.contract import Engine

GRACE: Final = 30
"""Seconds for running requests after SIGTERM; Knative gives a pod the same time."""


def serve(
    config: Config, secrets: Secrets, procedures: tuple[Procedure, ...], host: str, port: int
) -> None:
    """Process events over HTTP until SIGTERM or SIGINT.

    Raises:
        ConfigError: a key is missing or not valid.
        StoreError: the store cannot be opened.
        BusError: NATS cannot be reached.
        SystemExit: the port is not available; uvicorn has logged it.
    """
    settings = worker_config(config, secrets, procedures)
    errors: list[BaseException] = []

    @asynccontextmanager
    async def opening() -> AsyncGenerator[tuple[Service, Engine]]:
        try:
            async with (
                opened_store(config, secrets) as (events, subscribers),
                connected(config.nats.url, "evcore-function") as client,
            ):
                decider = await open_decider(settings, events, subscribers)
                yield Service(settings, client, decider, events), events.engine
        except Exception as err:
            errors.append(err)
            raise

    def failed(err: BaseException) -> None:
        errors.append(err)
        server.should_exit = True

    app = application(opening, settings.bus.partitions, failed)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="on",
            log_level="warning",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
    )

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
