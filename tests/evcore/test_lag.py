"""Queue lengths from the information about the consumers that JetStream's API gives."""

from pathlib import Path
from typing import Any

import pytest

from evcore.local import lag as module
from evcore.local.lag import Queue, is_served, lag, queues_by_procedure
from eventing.jetstream.connection import BusError
from eventing.jetstream.streams import BusConfig, ensure
from schemas.procedures import Procedure
from tests.servers import nats_client


def consumer(name: str, pending: int, unacknowledged: int) -> dict[str, Any]:
    return {
        "name": name,
        "delivered": {"consumer_seq": 10 + unacknowledged, "stream_seq": 99},
        "num_pending": pending,
        "num_ack_pending": unacknowledged,
    }


def test_by_procedure() -> None:
    found = [
        consumer("registration-0", 3, 1),
        consumer("registration-15", 0, 2),
        consumer("an-release-0", 0, 0),
    ]
    assert queues_by_procedure(found) == {
        "registration": Queue(6, 26),
        "an-release": Queue(0, 10),
    }
    assert queues_by_procedure([]) == {}


@pytest.mark.parametrize(
    ("stream", "consumers", "served"),
    [
        ({}, [{}, {}], True),  # a broker without a cluster
        ({"leader": "b-1"}, [{"leader": "b-1"}, {"leader": "b-2"}], True),
        ({"leader": "b-1"}, [{"leader": "b-1"}, {"replicas": []}], False),
        ({"leader": "b-1"}, [{"leader": "b-1"}], False),
        ({"name": "evcore"}, [{"leader": "b-1"}, {"leader": "b-1"}], False),
    ],
)
def test_who_leads(stream: dict[str, Any], consumers: list[dict[str, Any]], served: bool) -> None:
    info = {"cluster": stream, "state": {"consumer_count": 2}}
    found = [consumer("ran-0", 0, 0) | {"cluster": one} for one in consumers]
    assert is_served(info, found) is served


async def test_of_more_consumers_than_a_page_has(tmp_path: Path) -> None:
    """JetStream lists 256 consumers at a time."""
    async with nats_client(tmp_path) as client:
        with pytest.raises(BusError, match="stream not found"):
            await lag(client)
        await ensure(client, BusConfig(partitions=40), [*Procedure][:7])
        assert len(await module.consumers(client)) == 280
        assert await lag(client) == dict.fromkeys([*Procedure][:7], 0)
