"""How much work waits, from the monitoring endpoint of the local broker."""

import asyncio
import json
import urllib.request
from http.client import HTTPException
from typing import Any

from eventing import subjects


async def lag(monitor_url: str) -> dict[str, int]:
    """Messages that wait or are worked on, by procedure.

    Raises:
        OSError: the broker's monitoring endpoint does not answer, or not with what it should.
    """
    url = f"{monitor_url}/jsz?consumers=true&streams=true"
    try:
        return lag_by_procedure(await asyncio.to_thread(_get, url))
    except (HTTPException, ValueError, KeyError, TypeError, AttributeError) as err:
        raise OSError(f"{url} answers strangely: {err}") from None


async def settled(monitor_url: str) -> None:
    """Wait until no event waits or is worked on: what was sent has been decided."""
    while True:
        if not sum((await lag(monitor_url)).values()):
            return
        await asyncio.sleep(0.1)  # the broker tells it to who asks, and only then


def lag_by_procedure(jsz: dict[str, Any]) -> dict[str, int]:
    """Messages pending or unacknowledged for each procedure, of a ``/jsz`` document."""
    found: dict[str, int] = {}
    for account in jsz.get("account_details", ()):
        for stream in account.get("stream_detail", ()):
            if stream.get("name") != subjects.STREAM:
                continue
            for consumer in stream.get("consumer_detail", ()):
                procedure = consumer["name"].rpartition("-")[0]
                waits = consumer["num_pending"] + consumer["num_ack_pending"]
                found[procedure] = found.get(procedure, 0) + waits
    return found


def _get(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own broker
        document: dict[str, Any] = json.load(answer)
        return document
