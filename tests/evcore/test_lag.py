"""Queue lengths from the monitoring endpoint of the broker."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from evcore.local.broker import free_port
from evcore.local.lag import Queue, is_served, lag, queues_by_procedure
from eventing import subjects


def consumer(name: str, pending: int, unacknowledged: int) -> dict[str, Any]:
    return {
        "name": name,
        "delivered": {"consumer_seq": 10 + unacknowledged, "stream_seq": 99},
        "num_pending": pending,
        "num_ack_pending": unacknowledged,
    }


def document(*consumers: dict[str, Any], stream: str = subjects.STREAM) -> dict[str, Any]:
    detail = {"name": stream, "consumer_detail": list(consumers)}
    return {"account_details": [{"stream_detail": [detail]}]}


def test_by_procedure() -> None:
    jsz = document(
        consumer("registration-0", 3, 1),
        consumer("registration-15", 0, 2),
        consumer("an-release-0", 0, 0),
    )
    assert queues_by_procedure(jsz) == {
        "registration": Queue(6, 26),
        "an-release": Queue(0, 10),
    }


@pytest.mark.parametrize("jsz", [{}, {"account_details": []}, document(stream="OTHER")])
def test_nothing_there(jsz: dict[str, Any]) -> None:
    assert queues_by_procedure(jsz) == {}


@pytest.mark.parametrize(
    ("stream", "consumers", "served"),
    [
        ({}, [{}, {}], True),  # a broker without a cluster
        ({"leader": "b-1"}, [{"leader": "b-1"}, {"leader": "b-2"}], True),
        ({"leader": "b-1"}, [{"leader": "b-1"}, {"replicas": []}], False),
        ({"name": "evcore"}, [{"leader": "b-1"}], False),
    ],
)
def test_who_leads(stream: dict[str, Any], consumers: list[dict[str, Any]], served: bool) -> None:
    found = document(*(consumer("ran-0", 0, 0) | {"cluster": one} for one in consumers))
    found["account_details"][0]["stream_detail"][0]["cluster"] = stream
    assert is_served(found) is served
    assert not is_served({"account_details": []})


@asynccontextmanager
async def monitor(answer: bytes) -> AsyncGenerator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


HTTP = b"HTTP/1.0 200 OK\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.0 500 No\r\n\r\n",
        HTTP,
        HTTP + b"[]",
        HTTP + b'{"account_details": [{"stream_detail": [{"name": "EVCORE", '
        b'"consumer_detail": [{}]}]}]}',
    ],
)
async def test_an_answer_that_is_none_is_an_os_error(answer: bytes) -> None:
    async with monitor(answer) as url:
        with pytest.raises(OSError):  # noqa: PT011 - whichever
            await lag(url)


async def test_an_answer() -> None:
    async with monitor(HTTP + b"{}") as url:
        assert await lag(url) == {}


async def test_nobody_there() -> None:
    with pytest.raises(OSError, match="refused"):
        await lag(f"http://127.0.0.1:{free_port()}")
