"""The leases of live workers: workers join, leave and die, and the others take over."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack

import msgspec
import pytest
from nats.aio.client import Client
from nats.errors import OutboundBufferLimitError

from eventing import subjects
from eventing.jetstream import streams
from eventing.jetstream.connection import connected
from eventing.jetstream.streams import ensure_buckets, lease_bucket
from eventing.ownership import leases as leases_module
from eventing.ownership.leases import Lease, Membership, live
from eventing.process import cancel_and_wait
from schemas.procedures import Procedure
from tests.eventing.brokers import Bus, clients, until

PARTITIONS = 8
ALL = tuple(Procedure)
EVERYTHING = {(procedure, partition) for procedure in ALL for partition in range(PARTITIONS)}

pytestmark = pytest.mark.usefixtures("_fast")


@pytest.fixture
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LEASE_TTL", 1.5)
    monkeypatch.setattr(leases_module, "RENEW", 0.1)


class Worker:
    """A member, its connection, and its number of change notifications."""

    def __init__(self, name: str, client: Client, procedures: tuple[Procedure, ...] = ALL) -> None:
        self.name = name
        self.client = client
        self.changes = 0
        self.membership = Membership(client, Lease(name, procedures, "1"), self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def owned(self) -> set[tuple[str, int]]:
        return set(self.membership.owned(PARTITIONS))

    def sees(self, *names: str) -> bool:
        return {lease.worker for lease in self.membership.live()} == set(names)

    async def dies(self) -> None:
        """Die without giving up the lease."""
        await self.client.close()


class Fleet:
    """Workers with a connection each."""

    def __init__(self, bus: Bus, stack: AsyncExitStack) -> None:
        self._bus = bus
        self._stack = stack

    async def join(self, name: str, procedures: tuple[Procedure, ...] = ALL) -> Worker:
        client = await self._stack.enter_async_context(connected(self._bus.url, name))
        worker = Worker(name, client, procedures)
        await worker.membership.join()
        self._stack.push_async_callback(worker.membership.leave)
        return worker


@pytest.fixture
async def fleet(bus: Bus) -> AsyncGenerator[Fleet]:
    async with AsyncExitStack() as stack, connected(bus.url, "setup") as client:
        await ensure_buckets(client)
        yield Fleet(bus, stack)


async def test_one_worker_owns_everything_at_once(fleet: Fleet) -> None:
    alone = await fleet.join("a")
    assert alone.owned() == EVERYTHING
    assert alone.sees("a")


async def test_workers_share_what_there_is_without_a_gap_or_an_overlap(fleet: Fleet) -> None:
    workers = [await fleet.join(name) for name in "abc"]
    await until(lambda: all(worker.sees(*"abc") for worker in workers))
    shares = [worker.owned() for worker in workers]
    assert set.union(*shares) == EVERYTHING
    assert sum(map(len, shares)) == len(EVERYTHING)
    assert all(shares)


async def test_who_joins_knows_the_others_before_it_takes_anything(fleet: Fleet) -> None:
    await fleet.join("a")
    await fleet.join("b")
    late = await fleet.join("c")
    assert late.sees(*"abc")


async def test_a_worker_owns_only_what_it_hosts(fleet: Fleet) -> None:
    some = await fleet.join("a", (Procedure.RAN,))
    most = await fleet.join("b", tuple(p for p in ALL if p != Procedure.RAN))
    await until(lambda: some.sees("a", "b") and most.sees("a", "b"))
    assert {procedure for procedure, _ in some.owned()} == {Procedure.RAN}
    assert some.owned() | most.owned() == EVERYTHING
    assert not some.owned() & most.owned()


async def test_who_leaves_is_succeeded_at_once(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "LEASE_TTL", 600.0)
    stays, leaves = await fleet.join("a"), await fleet.join("b")
    await until(lambda: stays.sees("a", "b"))
    told = stays.changes
    await leaves.membership.leave()
    await until(lambda: stays.changes > told)
    assert stays.owned() == EVERYTHING


async def test_who_dies_is_succeeded_before_its_lease_ends(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a worker that was there, and by one that joins then."""
    monkeypatch.setattr(streams, "LEASE_TTL", 600.0)
    stays, dies = await fleet.join("a"), await fleet.join("b")
    await until(lambda: stays.sees("a", "b"))
    told = stays.changes
    await dies.dies()
    late = await fleet.join("c")
    await until(lambda: stays.changes > told + 1)
    await until(lambda: stays.sees("a", "c") and late.sees("a", "c"))
    assert stays.owned() | late.owned() == EVERYTHING


async def test_who_stands_still_is_succeeded_when_its_lease_ends(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is connected, but it does not renew its lease."""
    stays, stands = await fleet.join("a"), await fleet.join("b")
    await until(lambda: stays.sees("a", "b"))

    async def nothing(*_: object) -> None: ...

    monkeypatch.setattr(stands.membership, "_renew", nothing)
    told = stays.changes
    await until(lambda: stays.changes > told)
    assert stays.owned() == EVERYTHING


async def test_a_lease_that_is_only_renewed_is_no_change(client: Client, fleet: Fleet) -> None:
    watcher, other = await fleet.join("a"), await fleet.join("b")
    await until(lambda: watcher.sees("a", "b"))
    await until(lambda: watcher.changes == 2)  # its own lease and the other's
    renewed = await client.subscribe(f"$KV.{subjects.LEASES}.{other.name}")
    for _ in range(5):
        await renewed.next_msg(10)
    assert watcher.changes == 2


async def test_what_is_no_lease_is_left_alone(
    client: Client, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    worker = await fleet.join("a")
    kv = await lease_bucket(client)
    await kv.put("x", b"{}")
    await kv.put("y", msgspec.json.encode(Lease("y", ALL, "1")))
    await until(lambda: worker.sees("a", "y"))
    assert "the lease of x cannot be read: Object missing required field" in caplog.text


async def test_several_processes_make_the_bucket_at_once(bus: Bus) -> None:
    async with clients(bus, 6) as several:
        await asyncio.gather(*map(ensure_buckets, several))
        found = await asyncio.gather(*map(lease_bucket, several))
        states = [await one.status() for one in found]
    assert {state.ttl for state in states} == {1.5}
    assert {state.history for state in states} == {1}


async def test_workers_find_each_other_again_after_a_restart_of_the_broker(
    bus: Bus, fleet: Fleet
) -> None:
    workers = [await fleet.join(name) for name in "ab"]
    await until(lambda: all(worker.sees(*"ab") for worker in workers))
    await bus.end()
    await until(lambda: all(worker.sees(worker.name) for worker in workers))
    await bus.start()
    await until(lambda: all(worker.sees(*"ab") for worker in workers), 10)
    late = await fleet.join("c")
    await until(lambda: all(worker.sees(*"abc") for worker in (*workers, late)), 10)


async def test_a_lease_is_renewed_again_after_the_connection_could_take_no_more(
    bus: Bus, fleet: Fleet
) -> None:
    workers = [await fleet.join(name) for name in "ab"]
    await until(lambda: all(worker.sees(*"ab") for worker in workers))
    full = workers[0].client
    await bus.end()
    await until(lambda: not full.is_connected)
    with pytest.raises(OutboundBufferLimitError):
        await asyncio.gather(*(full.publish("nowhere", bytes(100_000)) for _ in range(100)))
    await until(lambda: all(worker.sees(worker.name) for worker in workers))
    await bus.start()
    await until(lambda: all(worker.sees(*"ab") for worker in workers), 10)


async def test_leaving_a_broker_that_is_gone_is_no_error(bus: Bus, fleet: Fleet) -> None:
    worker = await fleet.join("a")
    await bus.end()
    await worker.client.close()
    await worker.membership.leave()
    assert worker.sees("a")


async def test_whoever_renews_a_lease_just_then_is_not_overlooked(client: Client) -> None:
    await ensure_buckets(client)
    kv = await lease_bucket(client)
    names = [f"w{number}" for number in range(4)]

    async def renew(name: str) -> None:
        while True:
            await kv.put(name, msgspec.json.encode(Lease(name, ("registration",), "1")))

    for name in names:
        await kv.put(name, msgspec.json.encode(Lease(name, ("registration",), "1")))
    renewing = [asyncio.ensure_future(renew(name)) for name in names]
    try:
        for _ in range(200):
            assert sorted(one.worker for one in await live(client)) == names
    finally:
        await cancel_and_wait(renewing)
