"""Strangers at the HTTP door of a function: a real process of `evcore function serve`."""

import asyncio
import contextlib
import resource
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp
import pytest
from msgspec.structs import replace

from evcore.local.broker import Broker, free_port
from evcore.local.data import DataDirectory
from evcore.local.process import Process, ProcessError
from eventing.cloudevents import http_binding
from eventing.dispatcher.credentials import Token, tls_context
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import BusConfig, ensure
from schemas.cloudevents import CloudEvent
from schemas.config.http import HttpConfig
from schemas.config.reading import Config, NatsConfig
from schemas.identity import slot_of
from tests.runtime.certificates import Authority
from tests.runtime.script import registrations

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

HOST: Final = "127.0.0.1"
BOUNDS: Final = HttpConfig(connections=200, headers_within=1.0, body_within=1.0)
SOON: Final = 5.0
"""Seconds in which the function must have ended a slow connection."""


class Door(NamedTuple):
    """A running function, its token and its log."""

    port: int
    token: str
    log: Path
    writers: list[asyncio.StreamWriter]
    """Of the connections that the test has opened."""

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"

    async def post(
        self, headers: dict[str, str] | None = None, body: bytes = b"", token: str | None = None
    ) -> tuple[int, str, dict[str, str]]:
        """POST an event with a token, by default the right one. Return status, text, headers."""
        own = Token(self.token if token is None else token).headers
        sent = {**http_binding.to_binary(EVENT), **own, **(headers or {})}
        timeout = aiohttp.ClientTimeout(total=20)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(self.url, data=body or EVENT.data, headers=sent) as answer,
        ):
            return answer.status, await answer.text(), dict(answer.headers)

    async def is_served(self) -> bool:
        """Whether an event with the right token is processed."""
        return (await self.post())[0] in (200, 204)

    async def raw(self, octets: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(HOST, self.port)
        self.writers.append(writer)
        writer.write(octets)
        await writer.drain()
        return reader, writer


def _event() -> CloudEvent:
    found = registrations(1).lanes[0][0].events[0]
    return replace(found, slot=slot_of(found.partitionkey), procedure="registration")


EVENT: Final = _event()
HEAD: Final = b"POST / HTTP/1.1\r\nHost: function\r\n"


@contextlib.asynccontextmanager
async def serving(
    folder: Path,
    http: HttpConfig = BOUNDS,
    *arguments: str,
    token: str | None = None,
    ready: bool = True,
) -> AsyncGenerator[Door]:
    """Run a function with a broker and a store of its own."""
    data = DataDirectory(folder / "data")
    secrets = data.prepare()
    broker = await Broker.start(data.broker, data.log("nats-server"))
    try:
        data.write_config(Config(nats=NatsConfig(url=broker.url), http=http))
        async with connected(broker.url, "test") as client:
            await ensure(client, BusConfig())
        port = free_port()
        command = [sys.executable, "-m", "evcore", "function", "serve", "all"]
        command += ["--port", str(port), "--config", str(data.config_file)]
        command += ["--secrets", str(data.secrets_file), *arguments]
        environment = {} if token is None else {"EVCORE_HTTP_TOKENS": token}
        function = await Process.start(
            "function", command, data.log("function"), environment=environment
        )
        door = Door(port, secrets.http_tokens, data.log("function"), [])
        try:
            if ready:
                await until_ready(door, function)
            yield door
        finally:
            for writer in door.writers:
                writer.transport.abort()
            await function.stop()
    finally:
        await broker.stop()


async def until_ready(door: Door, function: Process) -> None:
    async with asyncio.timeout(30), aiohttp.ClientSession() as session:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"{door.url}healthz/ready") as answer:
                    if answer.status == 200:
                        return
            if function.status is not None:
                raise ProcessError(f"{function.end}: {door.log.read_text()}")
            await asyncio.sleep(0.05)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncGenerator[Door]:
    async with serving(tmp_path) as found:
        yield found


async def closed(reader: asyncio.StreamReader) -> bytes:
    """Return all octets that the function sends until it closes a connection."""
    found = b""
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(SOON):
            while octets := await reader.read(1 << 16):
                found += octets
    return found


async def test_an_event_without_the_token_is_refused(door: Door) -> None:
    for token, challenge, text in (
        ("", "Bearer", "a token is needed: Authorization: Bearer ..."),
        ("0" * 64, 'Bearer error="invalid_token"', "the token is none of this function's"),
        (door.token[:-1], 'Bearer error="invalid_token"', "the token is none of this function's"),
        ("x" * 9000, 'Bearer error="invalid_token"', "the token is too long"),
    ):
        status, said, headers = await door.post(token=token)
        assert (status, said.strip(), headers["WWW-Authenticate"]) == (401, text, challenge)
        assert headers["Connection"] == "close"
    assert (await door.post({"Authorization": f"Basic {door.token}"}))[0] == 401
    assert await door.is_served()
    assert "request(s) refused: a token is needed" in door.log.read_text()


async def test_only_this_machine_reaches_it(door: Door) -> None:
    """Linux answers on all of 127.0.0.0/8: a socket for every address would be reached there."""
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.2", door.port)


async def test_without_a_token_it_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match="anybody could call this function"):
        async with serving(tmp_path, BOUNDS, "--host", "0.0.0.0", token=""):  # noqa: S104
            pass


async def test_a_page_in_a_browser_of_this_machine_has_another_host(tmp_path: Path) -> None:
    async with serving(tmp_path, BOUNDS, "--anonymous", token="") as door:
        assert (await door.post({"Host": "evil.example"}, token=""))[0] == 400
        assert (await door.post(token=""))[0] in (200, 204)


@pytest.mark.parametrize(
    "begin",
    [b"", b"POST /x", HEAD, HEAD + b"X-Slow: "],
    ids=["nothing", "half a line", "a line", "half a header"],
)
async def test_slow_headers_end_a_connection(door: Door, begin: bytes) -> None:
    begun = time.monotonic()
    reader, writer = await door.raw(begin)

    async def drip() -> None:
        with contextlib.suppress(ConnectionError):
            while begin:
                await asyncio.sleep(0.2)
                writer.write(b"x")

    dripping = asyncio.ensure_future(drip())
    assert await closed(reader) == b""
    dripping.cancel()
    assert 0.8 < time.monotonic() - begun < SOON
    assert await door.is_served()


async def test_octets_that_are_no_request_do_not_fill_the_log(door: Door) -> None:
    for _ in range(100):
        reader, _ = await door.raw(b"\0\1 nonsense\r\n\r\n")
        assert (await closed(reader)).startswith(b"HTTP/1.1 400 ")
    assert door.log.read_text().count("\n") < 10


async def test_slow_headers_of_a_second_request_end_a_connection(door: Door) -> None:
    reader, writer = await door.raw(b"GET /healthz/live HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b"alive" in await reader.readuntil(b"alive\n")
    begun = time.monotonic()
    for octet in b"GET /health":
        writer.write(bytes([octet]))
        await asyncio.sleep(0.05)
    await closed(reader)
    assert time.monotonic() - begun < SOON


async def test_a_slow_body_is_answered_408(door: Door) -> None:
    authorized = HEAD + f"Authorization: Bearer {door.token}\r\n".encode()
    reader, writer = await door.raw(authorized + b"Content-Length: 1000\r\n\r\n")
    for _ in range(4):
        writer.write(b"x")
        await asyncio.sleep(0.1)
    answer = await closed(reader)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"the body is not here within 1 s" in answer
    assert await door.is_served()


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_body_without_end_is_not_read(door: Door, *, chunked: bool) -> None:
    kind = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 1000000000"
    for authorization in (f"Authorization: Bearer {door.token}\r\n".encode(), b""):
        reader, writer = await door.raw(HEAD + authorization + kind + b"\r\n\r\n")
        part = bytes(1 << 16)
        sent, wanted = 0, 413 if authorization else 401
        with contextlib.suppress(ConnectionError):
            for _ in range(1000):
                writer.write(b"10000\r\n" + part + b"\r\n" if chunked else part)
                await writer.drain()
                sent += len(part)
        assert sent < 16 << 20, "most of it was not taken"
        with contextlib.suppress(ConnectionError):
            answer = await closed(reader)
            assert not answer or answer.startswith(b"HTTP/1.1 %d " % wanted)
    assert await door.is_served()


async def test_headers_without_end_are_not_kept(door: Door) -> None:
    reader, writer = await door.raw(HEAD)
    sent = 0
    with contextlib.suppress(ConnectionError):
        for _ in range(8000):
            writer.write(b"X-Long: " + b"x" * 8000 + b"\r\n")
            await writer.drain()
            sent += 8000
            await asyncio.sleep(0)
    await closed(reader)
    assert sent < 32_000_000, "most of it was not taken"
    assert await door.is_served()


async def test_2000_connections_do_not_lock_others_out(door: Door) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    held: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    try:
        for number in range(2000):
            with contextlib.suppress(ConnectionError):
                held.append(await door.raw(HEAD if number % 2 else b""))
            if number % 400 == 399:
                begun = time.monotonic()
                assert await door.is_served()
                assert time.monotonic() - begun < 2
        await asyncio.gather(*(closed(reader) for reader, _ in held))
        assert await door.is_served()
        assert "HTTP connection(s) closed: there are 200 others" in door.log.read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_health_needs_no_token_and_asks_the_store_seldom(door: Door) -> None:
    async with aiohttp.ClientSession() as session:

        async def get(path: str) -> int:
            async with session.get(f"{door.url}healthz/{path}") as answer:
                return answer.status

        found = await asyncio.gather(*(get("ready") for _ in range(300)))
        assert {*found} == {200}
        assert await get("live") == 200


async def test_with_a_ca_a_caller_without_a_certificate_is_refused(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    cert, key = authority.certificate("function")
    mutual = replace(BOUNDS, cert=cert, key=key, ca=str(authority.file))
    event = http_binding.to_binary(EVENT)

    async def post(door: Door, by: tuple[str, str] | None) -> int:
        own = ("", "") if by is None else by
        context = tls_context(HttpConfig(ca=str(authority.file), cert=own[0], key=own[1]), {})
        url = door.url.replace("http:", "https:")
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=EVENT.data, headers=event, ssl=context) as answer,
        ):
            return answer.status

    # No token: the certificates are enough.
    async with serving(tmp_path, mutual, token="", ready=False) as door:
        own = authority.certificate("dispatcher")
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(aiohttp.ClientConnectorError):
                    assert await post(door, own) in (200, 204)
                    break
                await asyncio.sleep(0.05)
        for by in (None, stranger.certificate("mallory")):
            with pytest.raises((aiohttp.ClientError, OSError)):
                await post(door, by)
        assert await post(door, own) in (200, 204)
