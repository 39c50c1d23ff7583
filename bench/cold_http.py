"""Measure an HTTP function from its start to its first response, with a caller that retries."""

import asyncio
import sys
import time
from pathlib import Path
from typing import Final

import aiohttp

from bench.cold_start import set_up
from evcore.local.broker import Broker, free_port
from evcore.local.data import DataDirectory
from evcore.local.process import Process
from eventing.cloudevents import http_binding
from eventing.dispatcher.credentials import Token
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import BusConfig, ensure
from schemas.config.reading import Config, NatsConfig

KNOCK: Final = 0.002
"""Seconds between two attempts to connect. Knative's queue-proxy probes at this rate while a pod
starts."""


async def first_responses(folder: Path, runs: int) -> list[float]:
    """Return the seconds from the start of the process to its response to an NG SETUP, once per
    run."""
    data = DataDirectory(folder)
    token = Token(data.prepare().http_tokens)
    broker = await Broker.start(data.broker, data.log("nats-server"))
    port = free_port()
    command = [
        *(sys.executable, "-m", "evcore", "function", "serve", "ran"),
        *("--port", str(port)),
        *("--config", str(data.config_file), "--secrets", str(data.secrets_file)),
    ]
    try:
        data.write_config(Config(nats=NatsConfig(url=broker.url)))
        async with connected(broker.url, "bench") as client:
            await ensure(client, BusConfig())
        async with aiohttp.ClientSession(headers=token.headers) as session:
            found: list[float] = []
            for number in range(runs):
                begun = time.perf_counter()
                function = await Process.start("function", command, data.log("function"))
                await _answered(session, f"http://127.0.0.1:{port}/", number)
                found.append(time.perf_counter() - begun)
                await function.stop()
            return found
    finally:
        await broker.stop()


async def _answered(session: aiohttp.ClientSession, url: str, number: int) -> None:
    event = set_up(number)
    while True:
        try:
            async with session.post(
                url, data=event.data, headers=http_binding.to_binary(event)
            ) as answer:
                answer.raise_for_status()
                return
        except aiohttp.ClientConnectorError:
            await asyncio.sleep(KNOCK)
