"""Read the waiting messages from the monitoring endpoint of the local broker."""

import asyncio
import contextlib
import json
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any, NamedTuple

from eventing import subjects


class Queue(NamedTuple):
    """The messages of one procedure."""

    waits: int = 0
    """Messages that are pending, or delivered and not acknowledged."""
    arrived: int = 0
    """Total of messages, with each redelivery counted again."""


async def lag(monitor_url: str) -> dict[str, int]:
    """Return the number of waiting and delivered messages by procedure.

    Raises:
        OSError: the monitoring endpoint does not answer, or answers with an unexpected document.
    """
    return {procedure: queue.waits for procedure, queue in (await queues(monitor_url)).items()}


async def queues(monitor_url: str) -> dict[str, Queue]:
    """Return the queue of each procedure.

    Raises:
        OSError: the monitoring endpoint does not answer, or answers with an unexpected document.
    """
    url = f"{monitor_url}/jsz?consumers=true&streams=true"
    try:
        return queues_by_procedure(await asyncio.to_thread(_get, url))
    except (HTTPException, ValueError, KeyError, TypeError, AttributeError) as err:
        raise OSError(f"{url} answers with an unexpected document: {err}") from None


async def wait_until_idle(monitor_url: str) -> None:
    """Wait until every event is acknowledged: everything sent so far is decided."""
    while True:
        if not sum((await lag(monitor_url)).values()):
            return
        await asyncio.sleep(0.1)  # the broker has no notification for this


async def wait_until_served(monitor_url: str) -> None:
    """Wait until the stream of events and each of its consumers have a leader. In a cluster of
    brokers each consumer elects its own, for some seconds after a restart."""
    while True:
        with contextlib.suppress(OSError, HTTPException, ValueError):
            if is_served(await asyncio.to_thread(_get, f"{monitor_url}/jsz?consumers=true")):
                return
        await asyncio.sleep(0.05)  # the broker has no notification for this


def is_served(jsz: dict[str, Any]) -> bool:
    """Whether a ``/jsz`` document has the stream of events, and names all its leaders. A broker
    without a cluster names none and leads everything."""
    streams = list(_streams(jsz))
    if any(
        len(stream.get("consumer_detail", ())) < stream.get("state", {}).get("consumer_count", 0)
        for stream in streams
    ):
        return False
    every = [*streams, *(one for stream in streams for one in stream.get("consumer_detail", ()))]
    clusters = [one["cluster"] for one in every if one.get("cluster")]
    return bool(streams) and all(cluster.get("leader") for cluster in clusters)


def queues_by_procedure(jsz: dict[str, Any]) -> dict[str, Queue]:
    """Return the queue of each procedure from a ``/jsz`` document."""
    found: dict[str, Queue] = {}
    for stream in _streams(jsz):
        for consumer in stream.get("consumer_detail", ()):
            procedure = consumer["name"].rpartition("-")[0]
            pending = consumer["num_pending"]
            waits, arrived = found.get(procedure, Queue())
            found[procedure] = Queue(
                waits + pending + consumer["num_ack_pending"],
                arrived + pending + consumer["delivered"]["consumer_seq"],
            )
    return found


def _streams(jsz: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the stream of events of each account that has one."""
    for account in jsz.get("account_details", ()):
        for stream in account.get("stream_detail", ()):
            if stream.get("name") == subjects.STREAM:
                yield stream


def _get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own broker
        document: dict[str, Any] = json.load(answer)
        return document
