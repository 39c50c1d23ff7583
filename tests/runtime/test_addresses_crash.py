"""An address has one UE after any crash: many workers on one store, crashes at every point."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from functions.decider import Forward, Inputs, decide
from functions.decision.env import Env
from functions.runtime import addresses
from functions.runtime.hosting import Hosted
from functions.runtime.round import Decider
from functions.ue.dispatch import Decision, Procedures
from schemas.cloudevents import CloudEvent, EventType
from schemas.event import Noted
from schemas.gsm.events import SessionDeleted, SessionRequested
from schemas.gsm.state import N4Session, PduAddress, PduSession
from schemas.identity import SNssai, slot_of
from schemas.lookups import UpfsLookup, UsableUpf
from schemas.network import UpfNode, UpfPool
from schemas.procedures import Procedure
from schemas.step import Step
from schemas.subscriber import Ambr, PduSessionType
from schemas.ue.state import Ue
from schemas.upf import UpfAssociated
from statestore.contract import QUARANTINE, Appended, StoreUnavailable
from statestore.log import EventLog
from tests.functions.world import NETWORK
from tests.runtime.deciders import decider, job
from tests.runtime.script import registrations
from tests.runtime.store import Store, opened

UPF, DNN = "10.9.0.1", "internet"
N4_NETWORK = replace(
    NETWORK, upfs=(UpfNode(UPF, (UpfPool(DNN, "10.45.0.0/29", "2001:db8:1::/61"),)),)
)
SIZE = 5
SCRIPT = registrations(1)


class Sessions(Procedures):
    """UEs that take and release an address, without messages."""

    def decide(self, ue: Ue, trigger: CloudEvent, env: Env) -> Decision:
        if trigger.data == b"release":
            events: Any = tuple(SessionDeleted(s.n4.seid, "released") for s in ue.sessions[:1])
            return Decision(Procedure.SESSION, "1", events or (Noted("none"),), ())
        assert env.usable_upfs() == (UsableUpf(UPF, 0, recovery_time_stamp=1),)
        ipv6 = env.free_address(DNN, UPF, 6)
        ipv4 = env.free_address(DNN, UPF, 4)
        if not ipv4:
            return Decision(Procedure.SESSION, "1", (Noted("exhausted"),), ())
        seid = env.random_int(60) << 4 | 1
        made = PduSession(
            id=1,
            pti=1,
            nssai=SNssai(1),
            dnn=DNN.upper(),  # as its subscription writes it
            type=PduSessionType.IPV4V6,
            address=PduAddress(ipv4, ipv6),
            ambr=Ambr(1, 1),
            qfi=1,
            five_qi=9,
            arp_priority=8,
            n4=N4Session(UPF, seid),
        )
        return Decision(Procedure.SESSION, "1", (SessionRequested(made),), ())


class Hosting(Hosted):
    """Hosts `Sessions`."""

    def decide(
        self,
        state: Any,
        seq: int,
        event: CloudEvent,
        given: Inputs,
        withdraw: Callable[[], None] | None = None,
    ) -> Step[Any] | Forward | None:
        del withdraw  # the lookups are made once
        return decide(Sessions(), state, seq, event, given)


def ask(ue: int, what: str, number: int) -> CloudEvent:
    key = f"imsi-00101{ue:010d}"
    return CloudEvent(
        f"e-{number}",
        "/test",
        EventType.TIMER,
        key,
        what.encode(),
        procedure=Procedure.SESSION,
        slot=slot_of(key),
    )


async def associate(log: EventLog) -> None:
    (aggregate,) = await log.load([f"upf/{UPF}"])
    before, trigger = aggregate.state, CloudEvent("u", "/n4/x", EventType.UPF_PATH, "upf/x")
    events = (UpfAssociated(UPF, 1, ("FTUP",)),)
    step = Step[Any](1, 0, Procedure.UPF, "1", trigger, b"", "", events, ())
    aggregate.apply(step)
    (outcome,) = await log.engine.append([EventLog.entry(aggregate, step, before)])
    assert isinstance(outcome, Appended)


async def unavailable(what: str) -> None:
    if what == "append":
        raise StoreUnavailable("the test says so")


class Site:
    """Workers on one store, each with its own engine."""

    def __init__(self, stores: list[Store], deciders: list[Decider]) -> None:
        self.stores = stores
        self.deciders = deciders
        self.left: list[CloudEvent] = []
        self.beside: set[str] = set()
        """Events of batches with several: one may reserve an address that it does not get."""
        self.exhausted = 0

    async def batch(self, worker: int, events: list[CloudEvent], fault: str) -> None:
        """Decide a batch at a worker. Events without a step are left for another worker."""
        store = self.stores[worker]
        todo = [job(event, 2) for event in events]
        taken = len(await self.held())
        store.before = unavailable if fault == "before" else _no_fault
        store.after = unavailable if fault == "after" else _no_fault
        try:
            for _ in range(10):
                done = await self.deciders[worker].run(todo)
                assert not done.failed, done.failed
                assert not done.forward
                for _, step in done.appended:
                    await self.check_exhausted(step, taken + len(events))
                todo = done.conflicts
                if not todo:
                    return
            raise AssertionError("it does not end")
        except StoreUnavailable:
            self.left += [one.event for one in todo]
        finally:
            store.before = store.after = _no_fault
        if fault == "crash":
            self.deciders[worker] = await fresh(store)

    async def check_exhausted(self, step: Step[Any], most: int) -> None:
        if any(isinstance(event, Noted) and event.text == "exhausted" for event in step.events):
            self.exhausted += 1
            assert most >= SIZE, "there were addresses left"

    async def held(self) -> list[str]:
        """Return the addresses of all UEs in their logs, and assert that the index agrees."""
        store = self.stores[0]
        names = [name for name in await store.heads() if name.startswith("ue/")]
        found: dict[str, list[str]] = {}
        for aggregate in await store.log.load(names):
            for kind, key in aggregate.kind.indexes(aggregate.state):
                if kind == "address":
                    found.setdefault(key, []).append(aggregate.name)
            sessions = aggregate.state.sessions
            every = [a for s in sessions for a in (s.address.ipv4, s.address.ipv6) if a]
            assert len(every) == len(set(every)), "one UE has it twice"
        assert [names for names in found.values() if len(names) > 1] == []
        index = dict(await store.scan("address", f"{DNN}/"))
        assert {key: [owner] for key, owner in index.items()} == found
        return [key for key in found if len(key) == len(f"{DNN}/0a2d0001")]


async def check_quarantines(store: Store, but: Collection[str]) -> None:
    """Assert that no UE got what another had given up, while the pool had something else."""
    owners: dict[str, str] = {}
    given_up: dict[str, tuple[str, int]] = {}
    held: dict[str, PduAddress] = {}
    pools = {
        4: [f"10.45.0.{n}" for n in range(2, 7)],
        6: [f"2001:db8:1:{n}::" for n in range(1, 8)],
    }
    async for name, step in sessions(store):
        for event in step.events:
            if isinstance(event, SessionRequested):
                address = event.session.address
                held[f"{name}/{event.session.n4.seid}"] = address
                for pool, text in ((pools[4], address.ipv4), (pools[6], address.ipv6)):
                    if not text:
                        continue
                    last, since = given_up.pop(text, (name, 0))
                    early = last != name and since > step.at - QUARANTINE
                    if early and step.trigger.id not in but:
                        resting = {
                            a for a, (_, at) in given_up.items() if at > step.at - QUARANTINE
                        }
                        assert set(pool) - {text} <= resting | owners.keys()
                    owners[text] = name
            elif isinstance(event, SessionDeleted):
                address = held.pop(f"{name}/{event.seid}")
                for text in filter(None, (address.ipv4, address.ipv6)):
                    del owners[text]
                    given_up[text] = name, step.at


async def sessions(store: Store) -> AsyncIterator[tuple[str, Step[Any]]]:
    """Yield the steps of all UEs in the order in which they were stored."""
    after = b""
    while entries := await store.feed(after):
        after = entries[-1].cursor
        for entry in entries:
            step = await store.log.step(entry.aggregate, entry.seq)
            if entry.aggregate.startswith("ue/") and step is not None:
                yield entry.aggregate, step


async def _no_fault(_: str) -> None:
    pass


async def fresh(store: Store) -> Decider:
    return await decider(store, SCRIPT, Hosting(), network=N4_NETWORK, draw=draw, partitions=2)


class Clock:
    """The time of the workers in milliseconds. Each decision takes one."""

    now = 1_000_000


def draw(event: CloudEvent) -> tuple[int, bytes]:
    del event
    Clock.now += 1
    return Clock.now, entropies.pop()


entropies: list[bytes] = [n.to_bytes(32, "big") for n in range(1, 100_000)]

ACTIONS = st.tuples(st.integers(1, 6), st.sampled_from(["take", "take", "take", "release"]))
_Batch = tuple[int, list[tuple[int, str]], str, int]
"""The worker, what the UEs ask for, the fault, and the milliseconds before the batch."""
BATCHES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.lists(ACTIONS, min_size=1, max_size=4),
        st.sampled_from(["", "", "before", "after", "crash"]),
        st.sampled_from([0, 0, QUARANTINE // 3, QUARANTINE]),
    ),
    min_size=4,
    max_size=12,
)


@given(BATCHES)
@settings(max_examples=60, deadline=None)
def test_never_two_owners_nor_a_second_within_the_quarantine(batches: list[_Batch]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(addresses, "EXHAUSTED_FOR", 0.0)
        patch.setattr(addresses, "EXHAUSTED_FACTOR", 0.0)
        asyncio.run(_play(Path(folder), batches))


async def _play(path: Path, batches: list[_Batch]) -> None:
    stores = [await opened(path, SCRIPT) for _ in range(3)]
    await associate(stores[0].log)
    site = Site(stores, [await fresh(store) for store in stores])
    number = 0
    try:
        for worker, actions, fault, pause in batches:
            if pause:  # what a worker knows is a second old at most: the others are new
                Clock.now += pause
                site.deciders = [await fresh(store) for store in stores]
            events, site.left = site.left, []
            for ue, what in actions:
                number += 1
                events.append(ask(ue, what, number))
            if len(events) > 1:
                site.beside.update(event.id for event in events)
            await site.batch(worker, events, fault)
            await site.held()
        await site.batch(0, site.left, "")
        # Any worker can assign a released address again, until the pool is empty.
        for ue in range(1, 7):
            events = [ask(ue, "release", number + n) for n in range(1, SIZE + 1)]
            number += SIZE
            await site.batch(ue % 3, events, "")
        assert await site.held() == []
        for ue in range(1, 7):
            number += 1
            await site.batch((ue + 1) % 3, [ask(ue, "take", number)], "")
        assert len(await site.held()) == SIZE
        assert site.exhausted
        await check_quarantines(stores[0], site.beside)
    finally:
        for store in stores:
            await store.close()


async def test_the_upfs_are_read_once_for_a_while(tmp_path: Path) -> None:
    store = await opened(tmp_path, SCRIPT)
    await associate(store.log)
    loads: list[str] = []

    async def loaded(what: str) -> None:
        loads.append(what)

    worker = await fresh(store)
    store.before = loaded
    for number in range(1, 4):
        done = await worker.run([job(ask(1, "take", number))])
        ((_, step),) = done.appended
        assert step.lookups[0] == UpfsLookup((UsableUpf(UPF, 0, recovery_time_stamp=1),))
    assert loads.count("load") == 2, "the UE's, and the UPF's"
    await store.close()


async def test_a_ue_that_missed_the_end_of_its_session_has_its_address_alone(
    tmp_path: Path,
) -> None:
    """The core has dropped the session, and the UE does not know yet."""
    stores = [await opened(tmp_path, SCRIPT) for _ in range(2)]
    await associate(stores[0].log)
    site = Site(stores, [await fresh(store) for store in stores])
    await site.batch(1, [ask(9, "take", 1)], "")
    await site.batch(1, [ask(9, "release", 2)], "")
    await site.batch(0, [ask(1, "take", 3)], "")
    (its_own,) = await site.held()
    await site.batch(0, [ask(1, "release", 4)], "")
    for ue in range(2, 2 + SIZE - 2):
        fault = "crash" if ue % 2 else ""
        await site.batch(ue % 2, [ask(ue, "take", 10 + ue)], fault)
    held = await site.held()
    assert len(held) == SIZE - 2
    assert its_own not in held
    await check_quarantines(stores[0], ())
    Clock.now += QUARANTINE
    site.deciders = [await fresh(store) for store in stores]
    await site.batch(0, [ask(8, "take", 30), ask(7, "take", 31)], "")
    assert its_own in await site.held(), "after the quarantine"
    for store in stores:
        await store.close()
