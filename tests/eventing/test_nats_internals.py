"""The internals of nats-py are as `nats_internals` expects; its shortcuts behave like nats-py."""

import asyncio
import gc
import hashlib
import inspect
import subprocess
import sys
import weakref
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import ConnectionReconnectingError, FlushTimeoutError
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as RequestTimeoutError
from nats.js.api import Header
from nats.protocol import command

from eventing.cloudevents import nats_binding
from eventing.jetstream.connection import connected, listen
from eventing.jetstream.nats_internals import BusClient, parse_headers
from tests.eventing import brokers
from tests.eventing.brokers import Bus
from tests.eventing.test_binding import TRICKY, events

VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
NAMES = st.text("abcXYZ-_019", min_size=1, max_size=8)

SOURCES = {
    "_connect_command": "1999c01f55c91ecc",
    "_process_connect_init": "e1ed2da075c82ab0",
    "_process_msg": "6cff75947e97717a",
    "_process_headers": "fe656f61147df989",
    "_parse_header_lines": "049cf69148e0bb4f",
    "_send_publish": "300b534f8eabee74",
    "_send_ping": "d57b2f820443afb4",
    "_process_pong": "ee4c4d01a16de074",
    "_send_command": "ed57e8e86389cf94",
    "_flush_pending": "317c8d7ef54b90b7",
    "request": "5b1b97e620daed80",
    "_request_new_style": "78cc35ce5ad4f811",
}
"""Start of the SHA-256 of each method that `BusClient` overrides, copies or calls."""


@pytest.mark.parametrize(("name", "digest"), SOURCES.items())
def test_the_methods_of_nats_py_have_not_changed(name: str, digest: str) -> None:
    """If this fails: compare `BusClient` with the new source, then write the new digest here."""
    source = inspect.getsource(getattr(Client, name))
    assert hashlib.sha256(source.encode()).hexdigest().startswith(digest)


def test_the_signatures_of_the_overridden_methods_are_those_of_nats_py() -> None:
    for name in ("_process_msg", "_send_ping", "_send_publish", "request"):
        ours, theirs = (inspect.signature(getattr(made, name)) for made in (BusClient, Client))
        assert list(ours.parameters) == list(theirs.parameters)
        assert inspect.iscoroutinefunction(getattr(Client, name))


def test_only_these_methods_of_nats_py_are_overridden() -> None:
    assert set(vars(BusClient)) & set(vars(Client)) - {"__doc__", "__module__"} == {
        "__init__",
        "_connect_command",
        "_process_msg",
        "_send_ping",
        "_send_publish",
        "request",
    }


def test_the_attributes_that_are_read_exist() -> None:
    client = Client()
    assert attrgetter("_subs")(client) == {}
    assert attrgetter("_flush_queue")(client) is None
    assert attrgetter("_pongs")(client) == []
    assert attrgetter("_resp_map")(client) == {}
    assert inspect.iscoroutinefunction(attrgetter("_error_cb")(client))
    assert {"in_msgs", "in_bytes", "out_msgs", "out_bytes"} <= client.stats.keys()

    async def callback(_: object) -> None: ...

    assert attrgetter("_cb")(Subscription(client, cb=callback)) is callback
    assert command.hpub_cmd("a", "b", b"NATS/1.0\r\n\r\n", b"x") == (
        b"HPUB a b 12 13\r\nNATS/1.0\r\n\r\nx\r\n"
    )


def test_nats_py_is_imported_without_aiohttp_and_aiohttp_can_be_imported_later() -> None:
    """nats-py itself imports it: if that ends, `_import_without_aiohttp` can go."""
    nats_alone = "import sys, nats.aio.client; sys.exit('aiohttp' not in sys.modules)"
    ours = (
        "import sys, eventing.subjects, nats.aio.client; from nats.aio import transport;"
        "assert 'aiohttp' not in sys.modules; assert transport.aiohttp is None;"
        "import aiohttp; assert aiohttp.ClientSession"
    )
    for script in (nats_alone, ours):
        subprocess.run([sys.executable, "-c", script], check=True)


def sent(made: type[Client], headers: dict[str, Any]) -> bytes | type[Exception]:
    """Return the octets of a message with these headers, or the type of its error."""
    client = made()

    async def publish() -> bytes:
        await attrgetter("_send_publish")(client)("a.b", "back", b"data", 4, headers)
        return b"".join(attrgetter("_pending")(client))

    try:
        return asyncio.run(publish())
    except NatsError as err:
        return type(err)


@given(events)
def test_headers_of_events_leave_as_nats_py_writes_them(event: Any) -> None:
    headers = nats_binding.to_headers(event)
    assert sent(BusClient, headers) == sent(Client, headers)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_what_any_headers_become_is_read_the_same(headers: dict[str, str]) -> None:
    ours, theirs = sent(BusClient, headers), sent(Client, headers)
    assert isinstance(ours, bytes)
    assert isinstance(theirs, bytes)
    assert read(BusClient, ours) == read(Client, theirs)


def read(made: type[Client], command: bytes) -> dict[str, str]:
    head = command.partition(b"\r\n")[2].removesuffix(b"data\r\n")
    return parsed(made, head.partition(b"\r\n")[2])


def parsed(made: type[Client], lines: bytes) -> dict[str, str]:
    """Return the headers in some lines as a client reads them."""
    if made is BusClient:
        return parse_headers(lines)
    found: dict[str, str] = attrgetter("_parse_header_lines")(made())(lines)
    return found


def test_names_of_jetstream_are_written_by_their_values() -> None:
    headers = {Header.EXPECTED_LAST_SUBJECT_SEQUENCE: "0", **nats_binding.to_headers(TRICKY)}
    assert sent(BusClient, headers) == sent(Client, headers)


@pytest.mark.parametrize("name", ["", "a b", "a:b", "ä", "a\r\nb"])
def test_a_name_that_is_none_is_refused_or_left_out_alike(name: str) -> None:
    headers = {**nats_binding.to_headers(TRICKY), name: "x"}
    assert sent(BusClient, headers) == sent(Client, headers)


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=20),
            st.sampled_from(
                [b"a: b", b"a b: c", b":x", b"k:\tv ", b"ce-id: \xff", b" a : b", b"a\x1c:\x1db"]
            ),
        ),
        max_size=5,
    )
)
def test_any_octets_are_read_as_nats_py_reads_them(lines: list[bytes]) -> None:
    raw = b"\r\n".join([*lines, b"", b""])
    assert parsed(BusClient, raw) == parsed(Client, raw)


async def test_what_is_heard_comes_at_once_in_order_and_whole(client: Client) -> None:
    heard: list[tuple[str, str, bytes, dict[str, str] | None]] = []
    last = asyncio.Event()

    def hear(subject: str, reply: str, data: bytes, headers: dict[str, str] | None) -> None:
        heard.append((subject, reply, data, headers))
        if data == b"raises":
            raise ValueError("a handler with a fault")
        if data == b"last":
            last.set()

    subscription = await listen(client, "here.*", hear)
    headers = nats_binding.to_headers(TRICKY)
    await client.publish("here.1", b"1", "back", headers)
    await client.publish("here.2", b"raises")
    for number in range(1000):
        await client.publish("here.3", b"%d" % number)
    await client.publish("here.4", b"last")
    await asyncio.wait_for(last.wait(), 10)
    assert heard[0] == ("here.1", "back", b"1", headers)
    assert heard[1] == ("here.2", "", b"raises", None)
    assert [data for _, _, data, _ in heard[2:]] == [*(b"%d" % n for n in range(1000)), b"last"]
    await subscription.drain()
    await client.publish("here.5", b"to nobody")
    await brokers.arrived(client)
    assert heard[-1][2] == b"last"


@pytest.mark.parametrize("end", [Subscription.unsubscribe, Subscription.drain])
async def test_who_listens_no_more_is_let_go(
    client: Client, end: Callable[[Subscription], Awaitable[None]]
) -> None:
    class Hearing:
        def hear(self, *_: object) -> None:
            """Ignore all messages."""

    hearing = Hearing()
    gone = weakref.ref(hearing)
    subscription = await listen(client, "here", hearing.hear)
    await end(subscription)
    await brokers.arrived(client)
    del hearing, subscription
    gc.collect()
    assert gone() is None


async def test_of_a_queue_group_one_hears(client: Client) -> None:
    heard: list[str] = []
    for name in "ab":
        await listen(client, "shared", lambda *_, name=name: heard.append(name), "group")
    for _ in range(50):
        await client.publish("shared", b"")
    await brokers.arrived(client)
    assert len(heard) == 50


async def test_a_status_without_a_message_is_heard(client: Client) -> None:
    """No responders: the server reports it by a status line before the headers."""
    said: asyncio.Future[dict[str, str] | None] = asyncio.get_running_loop().create_future()
    inbox = client.new_inbox()
    await listen(client, inbox, lambda _, __, ___, headers: said.set_result(headers))
    await client.publish("nobody.listens.here", b"", inbox)
    assert (await asyncio.wait_for(said, 10) or {})["Status"] == "503"


async def test_a_ping_comes_after_all_that_was_sent_before_it() -> None:
    """Otherwise the PONG says nothing about it."""
    read: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.12.0","max_payload":1048576}\r\n')
        while line := await reader.readline():
            read.append(line.split()[0])
            if line == b"PING\r\n":
                writer.write(b"PONG\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, connected(f"nats://127.0.0.1:{port}", "test") as client:
        await client.flush()
        read.clear()
        subscription = await client.subscribe("a")
        await client.publish("a", b"b")
        await client.flush()
        assert read == [b"SUB", b"PUB", b"b", b"PING"]
        await subscription.drain()
        assert read[4:] == [b"UNSUB", b"PING"]


async def test_a_connection_survives_a_flush_that_was_given_up(bus: Bus) -> None:
    async with connected(bus.url, "test") as client:
        heard: list[str] = []
        await listen(client, "a", lambda subject, *_: heard.append(subject))
        await brokers.arrived(client)
        with bus.frozen(), pytest.raises(FlushTimeoutError):
            await client.flush(timeout=0.1)  # pyright: ignore[reportArgumentType] - seconds
        await client.publish("a", b"")
        await client.flush()
        assert heard == ["a"]


async def test_a_request_ends_with_its_connection(bus: Bus) -> None:
    """The broker dies before it answers. A request that waits for a connection gets its answer."""
    async with connected(bus.url, "test") as client:
        with bus.frozen():
            lost = asyncio.ensure_future(client.request("asked", timeout=60))
            await brokers.until(lambda: not client.pending_data_size)
            await bus.end(kill=True)
        with pytest.raises(ConnectionReconnectingError):
            await asyncio.wait_for(lost, 10)
        waiting = asyncio.ensure_future(client.request("$SYS.REQ.USER.INFO", timeout=60))
        await bus.start()
        assert b"account" in (await asyncio.wait_for(waiting, 10)).data


async def test_a_request_that_is_cancelled_with_its_answer_ends(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a task that asks again and again cannot be cancelled (Python 3.11)."""
    async with connected(bus.url, "test") as client:

        async def answer(message: Msg) -> None:
            await message.respond(b"")

        await client.subscribe("asked", cb=answer)
        asking: asyncio.Task[Msg] | None = None
        send = attrgetter("_process_msg")(client)

        async def cancel(sid: int, subject: bytes, *values: Any) -> None:
            await send(sid, subject, *values)
            if subject.startswith(b"_INBOX.") and asking is not None:
                asking.cancel()

        monkeypatch.setattr(client, "_process_msg", cancel)
        asking = asyncio.ensure_future(client.request("asked", timeout=60))
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_a_request_without_an_answer_times_out(bus: Bus) -> None:
    async with connected(bus.url, "test") as client:
        await client.subscribe("asked")
        with pytest.raises(RequestTimeoutError):
            await client.request("asked", timeout=0.05)
