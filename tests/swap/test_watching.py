"""The watch over canaries by leases and statistics, on a real key-value bucket."""

import time
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from nats.aio.client import Client
from nats.js.kv import KeyValue

from evcore.swap import asking, watching
from evcore.swap.asking import Asking, Hosting, hosted
from evcore.swap.watching import Canaries
from eventing.jetstream import streams
from eventing.ownership import assignments
from eventing.ownership.assignments import Assignment, Margins, SwapError
from eventing.ownership.leases import Lease
from eventing.stats import Stats, StatsWatch
from schemas.config.nats import NatsConfig
from tests.servers import nats_client

PAGING = "paging"
OLD, NEW = "aaaaaaaa", "bbbbbbbb"
CANARY = Assignment(PAGING, "canary", 0, canary=NEW, partitions=(0,))
ADOPTED = 10**6


def worker(name: str, code: str = OLD, *, variant: bool = False) -> Lease:
    """The lease of a worker that has adopted all assignments."""
    hosts = {PAGING: code} if variant else {}
    names = {code: "0.2.0" if code == NEW else "0.1.0"}
    return Lease(name, (PAGING,), "test", 1, hosts, ADOPTED, code, names)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    async with nats_client(tmp_path) as made:
        await streams.ensure_buckets(made)
        yield made


@pytest.fixture
async def kv(client: Client) -> KeyValue:
    return await streams.assignment_bucket(client)


async def lives(client: Client, *leases: Lease) -> None:
    """Write leases, as live workers do."""
    bucket = await streams.lease_bucket(client)
    for lease in leases:
        await bucket.put(lease.worker, msgspec.json.encode(lease))


def bus_of(client: Client) -> NatsConfig:
    assert client.connected_url is not None
    return NatsConfig(url=client.connected_url.geturl())


class Watched:
    """A watch at a time that a test sets."""

    def __init__(self, kv: KeyValue, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kv = kv
        self.now = 1000.0
        self.stats = StatsWatch()
        self.canaries = Canaries(kv, self.stats)
        clock = type("Clock", (), {"monotonic": lambda: self.now, "time_ns": time.time_ns})
        monkeypatch.setattr(watching, "time", clock)

    async def look(self, *live: Lease, after: float = 0.5) -> Assignment:
        """Look at the canary, some seconds later."""
        self.now += after
        one, _ = await assignments.read(self.kv, PAGING)
        assert one is not None
        await self.canaries.look([one] if one.under_way else [], live)
        found, _ = await assignments.read(self.kv, PAGING)
        assert found is not None
        return found


@pytest.fixture
async def watched(kv: KeyValue, monkeypatch: pytest.MonkeyPatch) -> Watched:
    await assignments.write(kv, replace(CANARY, state="starting"), 0)
    return Watched(kv, monkeypatch)


async def test_a_canary_begins_when_a_worker_of_it_lives(watched: Watched) -> None:
    assert (await watched.look(worker("s"))).state == "starting"
    assert (await watched.look(worker("s"), worker("c", NEW, variant=True))).state == "canary"


async def test_a_canary_without_a_worker_is_rolled_back(watched: Watched) -> None:
    assert (await watched.look(worker("s"))).state == "starting"
    assert (await watched.look(worker("s"), after=29.0)).state == "starting"
    found = await watched.look(worker("s"), after=2.0)
    assert found.reason == "no worker of it has lived for 30 s"


async def test_a_canary_that_lost_its_workers_is_rolled_back(watched: Watched) -> None:
    await watched.look(worker("c", NEW, variant=True))
    assert (await watched.look(after=4.0)).state == "canary"
    assert (await watched.look(after=2.0)).reason == "no worker of it has lived for 5 s"


async def test_a_canary_whose_workers_die_again_and_again_is_rolled_back(
    watched: Watched,
) -> None:
    """As a container that is restarted: one of them always lives."""
    for number in range(3):
        assert (await watched.look(worker(f"c{number}", NEW, variant=True))).state == "canary"
    last = worker("c3", NEW, variant=True)
    assert (await watched.look(last)).state == "canary"
    assert (await watched.look(last, after=11.0)).reason == "3 workers of it have died"


async def test_workers_that_end_in_order_are_no_fault(watched: Watched) -> None:
    for number in range(5):
        name = f"c{number}"
        assert (await watched.look(worker(name, NEW, variant=True))).state == "canary"
        watched.stats.note(Stats(name, "test", 1, ended=True))
    last = worker("c9", NEW, variant=True)
    assert (await watched.look(last)).state == "canary"
    assert (await watched.look(last, after=11.0)).state == "canary"


async def test_after_a_time_without_a_look_the_watch_begins_again(watched: Watched) -> None:
    await watched.look(worker("c", NEW, variant=True))
    watched.canaries.missed()
    assert (await watched.look(after=60.0)).state == "canary"
    assert (await watched.look(after=6.0)).state == "rolled-back"


# Requests of the command


async def test_a_variant_is_known_by_its_id_or_its_name(client: Client, kv: KeyValue) -> None:
    ask = Asking(client, kv, PAGING)
    await lives(client, worker("s"), worker("c", NEW, variant=True))
    assert await ask.variant(NEW) == NEW
    assert await ask.variant("0.2.0") == NEW
    with pytest.raises(SwapError, match=r"no live worker hosts 0\.1\.0 .*bbbbbbbb \(0\.2\.0\)"):
        await ask.variant("0.1.0", 0.05)


async def test_a_name_of_two_variants_is_refused(client: Client, kv: KeyValue) -> None:
    one = Lease("a", (PAGING,), "t", 1, {PAGING: "11"}, names={"11": "x"})
    two = Lease("b", (PAGING,), "t", 1, {PAGING: "22"}, names={"22": "x"})
    await lives(client, one, two)
    with pytest.raises(SwapError, match="x is the name of 11, 22"):
        await Asking(client, kv, PAGING).variant("x")
    assert hosted([one, two]) == [Hosting(PAGING, "11", "x", 1), Hosting(PAGING, "22", "x", 1)]


async def test_a_release_that_all_workers_have_is_no_variant_when_it_is_finished(
    client: Client, kv: KeyValue
) -> None:
    """Workers without a variant decide then, and may be upgraded as ever."""
    ask = Asking(client, kv, PAGING)
    canary = worker("c", NEW, variant=True)
    await lives(client, worker("s", NEW), canary)
    with pytest.raises(SwapError, match=f"{PAGING} {NEW} decides everywhere already"):
        await ask.begin(NEW, (0,), Margins())
    await assignments.write(kv, CANARY, 0)
    assert await ask.finish() == f"{PAGING} {NEW} decides everywhere"
    found, _ = await assignments.read(kv, PAGING)
    assert found is not None
    assert (found.state, found.stable) == ("finished", "")


async def test_a_release_that_some_workers_have_is_named_when_it_is_finished(
    client: Client, kv: KeyValue
) -> None:
    """Workers of that release decide, whether they host it as a variant or not."""
    ask = Asking(client, kv, PAGING)
    old, new, canary = worker("s"), worker("n", NEW), worker("c", NEW, variant=True)
    await lives(client, old, new, canary)
    await assignments.write(kv, CANARY, 0)
    await ask.finish()
    found, _ = await assignments.read(kv, PAGING)
    assert found is not None
    assert (found.state, found.stable) == ("finished", NEW)
    assert [lease.hosts(PAGING, NEW) for lease in (old, new, canary)] == [False, True, True]
    status = await asking.status(bus_of(client), [PAGING])
    assert status.unhosted == []
    assert [one.state for one in status.histories[PAGING]] == ["canary", "finished"]


async def test_a_stable_variant_that_no_worker_hosts_is_told(client: Client, kv: KeyValue) -> None:
    await lives(client, worker("s"))
    finished = Assignment(PAGING, "finished", 0, stable=NEW, canary=NEW)
    await assignments.write(kv, finished, 0)
    status = await asking.status(bus_of(client), [PAGING])
    assert status.unhosted == [finished]
    assert status.hosted == []
