"""Batches of events on the real store: order, copies, other workers, faults, warm and cold."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from functions.decision.env import ENTROPY_OCTETS
from functions.runtime.hosting import Hosted
from functions.runtime.round import Decider
from functions.runtime.variants import load
from schemas.cloudevents import CloudEvent, EventType
from schemas.event import Noted
from schemas.identity import slot_of
from schemas.procedures import Procedure
from statestore.contract import IndexKey, StoreUnavailable
from tests.runtime.deciders import Bench, decider, first_in_the_stream, ids, job, jobs
from tests.runtime.script import Script, lives, registrations
from tests.runtime.store import Store, no_fault, opened
from tests.variants import folder, wrapped

LIVES = lives()
FOUR = registrations(4)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    made = await opened(tmp_path, LIVES)
    yield made
    await made.close()


@pytest.fixture
async def one(store: Store) -> Decider:
    return await decider(store, FOUR)


@pytest.fixture
async def other(store: Store) -> Decider:
    """Another worker on the same store."""
    return await decider(store, FOUR)


def first(script: Script, lane: int) -> list[CloudEvent]:
    """Return the message of a UE that opens its first connection."""
    return script.lanes[lane][0].events


def then(script: Script, lane: int) -> list[CloudEvent]:
    """Return the following messages."""
    return script.lanes[lane][1].events


def wake_up_of(aggregate: str, slot: int) -> CloudEvent:
    return CloudEvent(
        id=f"{aggregate}/99/0",
        source=f"/{aggregate}",
        type=EventType.TIMER,
        partitionkey=aggregate,
        procedure=Procedure.REGISTRATION,
        slot=slot,
    )


# In a batch


async def test_many_ues_share_one_transaction_each_in_its_order(store: Store, one: Decider) -> None:
    initial = [event for lane in range(1, 5) for event in first(FOUR, lane)]
    result = await one.run(jobs(initial))
    assert ids(result.appended) == [event.id for event in initial]
    columns = zip(*(then(FOUR, lane) for lane in range(1, 5)), strict=True)
    mixed = [event for column in columns for event in column]
    result = await one.run(jobs(mixed))
    assert ids(result.appended) == [event.id for event in mixed]
    assert [len(triggers) for triggers in store.appended] == [4, len(mixed)]
    await one.run(jobs(FOUR.lanes[0][0].events))
    await store.holds(FOUR)


async def test_what_comes_before_its_turn_waits_with_all_behind_it(
    store: Store, one: Decider
) -> None:
    await one.run(jobs([*first(FOUR, 1), *first(FOUR, 2)]))
    early = then(FOUR, 1)
    result = await one.run(jobs([*early[1:], *then(FOUR, 2)]))
    assert ids(result.early) == [event.id for event in early[1:]]
    assert ids(result.appended) == [event.id for event in then(FOUR, 2)]
    result = await one.run(jobs(early))
    assert ids(result.appended) == [event.id for event in early]
    assert (await store.heads())["ue/imsi-001010000000001"] == len(early) + 1


async def test_the_first_in_the_stream_goes_on_and_the_step_says_so(
    store: Store, one: Decider
) -> None:
    await one.run(jobs(first(FOUR, 1)))
    late = then(FOUR, 1)[2:]
    result = await one.run(first_in_the_stream(jobs(late)))
    assert ids(result.appended) == [event.id for event in late]
    steps = await store.steps("ue/imsi-001010000000001")
    assert Noted("gap: message 3 of the connection after 0") in steps[1].events


async def test_a_copy_in_the_same_batch_is_taken_once(store: Store, one: Decider) -> None:
    initial = first(FOUR, 1)
    result = await one.run(first_in_the_stream(jobs([*initial, *initial])))
    assert ids(result.appended) == [initial[0].id]
    assert [(job.event.id, seq) for job, seq in result.duplicate] == [(initial[0].id, 1)]
    result = await one.run(jobs(then(FOUR, 1) * 2))
    again = await one.run([*result.conflicts, *result.early])
    assert {seq for _, seq in [*result.duplicate, *again.duplicate]} == {2, 3, 4, 5}
    assert again.appended == []
    assert (await store.heads())["ue/imsi-001010000000001"] == 5


# Copies


@pytest.mark.parametrize("warm", [True, False])
async def test_a_copy_that_comes_later_is_told_from_the_log(
    store: Store, one: Decider, other: Decider, warm: bool
) -> None:
    bench = Bench(store)
    for event in (*first(FOUR, 1), *then(FOUR, 1)):
        await bench.take(one, event)
    story, knows = await store.story(), one if warm else other
    for seq, event in enumerate((*first(FOUR, 1), *then(FOUR, 1)), 1):
        result = await knows.run(first_in_the_stream([job(event, deliveries=2)]))
        assert [found for _, found in result.duplicate] == [seq]
        assert not result.appended
    assert await store.story() == story


async def test_a_copy_of_a_message_of_a_connection_that_is_gone_is_not_the_gnbs_error(
    store: Store, one: Decider
) -> None:
    bench, script = Bench(store), LIVES
    worker = await decider(store, script)
    for event in script.outside[:8]:
        await bench.take(worker, event)
    last = script.outside[7]
    (owner,) = await store.owners([IndexKey("ngap", last.partitionkey)])
    assert owner is not None
    for deliveries in (2, 1):  # JetStream that dies forgets how often it has delivered
        result = await one.run([job(last, deliveries=deliveries)])
        assert ids(result.duplicate) == [last.id]
    result = await one.run([job(replace(last, id="new"))])
    assert ids(result.without_step) == ["new"], "it was overtaken"
    never = replace(last, id="never", partitionkey="ngap-0000000001")
    assert ids((await one.run([job(never, deliveries=2)])).without_step) == ["never"]
    result = await one.run([job(never)])
    assert [job.aggregate for job, _ in result.appended] == ["gnb/001-01-gnb-24-1"]


async def test_a_copy_by_a_5g_tmsi_that_has_been_replaced_is_of_the_ue_that_took_it(
    store: Store, other: Decider
) -> None:
    """It is one of the last two: the UE is not identified on an established connection."""
    bench, script = Bench(store), LIVES
    worker = await decider(store, script)
    stretches = [*script.lanes[0], *script.lanes[1]]
    events = [event for stretch in stretches for event in stretch.events]
    for event in events:
        await bench.take(worker, event)
    (initial,) = (event for event in events if event.partitionkey.startswith("tmsi-"))
    story = await store.story()
    result = await other.run([job(initial, deliveries=2)])
    assert ids(result.duplicate) == [initial.id]
    assert await store.story() == story


async def test_a_copy_behind_the_end_of_its_connection_in_the_same_batch(
    store: Store, one: Decider
) -> None:
    bench, script = Bench(store), LIVES
    worker = await decider(store, script)
    lane = [event for stretch in script.lanes[5][:2] for event in stretch.events]
    for event in lane[:-1]:
        await bench.take(worker, event)
    slot = slot_of("imsi-001010000000005")
    last, copy = (replace(event, slot=slot) for event in (lane[-1], lane[1]))
    copies = [job(copy, deliveries=2), job(last, deliveries=2)]
    result = await one.run([*jobs([last]), *copies, *jobs([replace(copy, id="new")])])
    assert ids(result.appended) == [last.id]
    assert ids(result.duplicate) == [last.id]
    assert ids(result.without_step) == [copy.id, "new"], "the UE's aggregate before had the first"


# Other workers


async def test_a_copy_is_recognised_if_its_connection_goes_while_its_owner_is_read(
    store: Store, one: Decider
) -> None:
    """Another worker releases it between the reading of the index and of the log."""
    bench, script = Bench(store), LIVES
    worker = await decider(store, script)
    lane = [event for stretch in script.lanes[5][:2] for event in stretch.events]
    for event in lane[:-1]:
        await bench.take(worker, event)
    copy = replace(lane[1], slot=slot_of("imsi-001010000000005"))

    async def released(method: str) -> None:
        if method == "load":
            store.before = no_fault
            await bench.take(worker, lane[-1])

    store.before = released
    result = await one.run([job(copy, deliveries=2)])
    assert (ids(result.without_step), result.appended) == ([copy.id], [])


async def test_who_was_second_decides_again_on_what_the_first_left(
    store: Store, one: Decider, other: Decider
) -> None:
    """Two workers own a UE, and both have its old state."""
    bench = Bench(store)
    await bench.take(one, first(FOUR, 1)[0])
    authentication, security_mode, *rest = then(FOUR, 1)
    name = "ue/imsi-001010000000001"
    (before,) = await store.log.load([name])
    other.cache.put(before)
    await bench.take(one, authentication)
    result = await other.run(first_in_the_stream(jobs([security_mode])))
    assert (ids(result.conflicts), result.appended) == ([security_mode.id], [])
    result = await other.run(result.conflicts)
    assert ids(result.appended) == [security_mode.id]
    for event in rest:
        await bench.take(one, event)
    assert (await store.story())[name] == FOUR.story()[name]


@settings(max_examples=5, deadline=None)
@given(picks=st.lists(st.integers(0, 2), min_size=20, max_size=20))
async def test_any_worker_may_take_any_event(
    tmp_path_factory: pytest.TempPathFactory, picks: list[int]
) -> None:
    """Each worker has its own cache, and does not see the steps of the others."""
    made = await opened(tmp_path_factory.mktemp("store"), LIVES)
    bench, workers = Bench(made), [await decider(made, LIVES) for _ in range(3)]
    for number, event in enumerate(LIVES.outside):
        await bench.take(workers[picks[number % len(picks)]], event)
    await made.holds(LIVES)
    await made.close()


@pytest.mark.parametrize("warm", [True, False])
async def test_a_worker_that_knows_all_and_one_that_knows_nothing_decide_the_same(
    tmp_path: Path, warm: bool
) -> None:
    made = await opened(tmp_path, LIVES)
    bench, worker = Bench(made), await decider(made, LIVES)
    for event in LIVES.outside:
        await bench.take(worker if warm else await decider(made, LIVES), event)
    await made.holds(LIVES)
    await made.close()


async def test_nothing_to_do_is_believed_only_of_a_state_that_is_fresh(
    store: Store,
) -> None:
    """A wake-up arrives at a worker that had the UE before another worker started its timer."""
    bench = Bench(store)
    script = LIVES
    worker = await decider(store, script)
    for event in script.outside[:6]:
        await bench.take(worker, event)
    name = "ue/imsi-001010000000001"
    wake_up = wake_up_of(name, slot_of("imsi-001010000000001"))

    def in_an_hour(_: CloudEvent) -> tuple[int, bytes]:
        return script.now + 3_600_000, bytes(ENTROPY_OCTETS)

    expired = await decider(store, script, draw=in_an_hour)
    assert ids((await expired.run([job(wake_up)])).without_step) == [wake_up.id]
    for event in script.outside[6:7]:
        await bench.take(worker, event)
    state = (await store.log.load([name]))[0].state
    assert state.timers
    result = await expired.run([job(wake_up)])
    assert (ids(result.conflicts), result.without_step) == ([wake_up.id], [])
    result = await expired.run(result.conflicts)
    assert ids(result.appended) == [wake_up.id]


async def test_an_id_that_another_ue_has_is_drawn_again(store: Store) -> None:
    """Two unknown UEs, on connections of one slot, with the same randomness."""
    drawn = [bytes(ENTROPY_OCTETS), bytes(ENTROPY_OCTETS), b"\x01" * ENTROPY_OCTETS]

    def draw(_: CloudEvent) -> tuple[int, bytes]:
        return LIVES.now, drawn.pop(0)

    worker = await decider(store, LIVES, draw=draw)
    initial = LIVES.lanes[4][0].events[0]
    assert initial.partitionkey.startswith("conn-")
    copies = [replace(initial, id="a"), replace(initial, id="b")]
    result = await worker.run(jobs(copies))
    assert (ids(result.appended), ids(result.conflicts)) == (["a"], ["b"])
    result = await worker.run(result.conflicts)
    assert ids(result.appended) == ["b"]
    entries = await store.scan("ngap", "")
    assert sorted(owner for _, owner in entries) == ["ue/unidentified-a", "ue/unidentified-b"]


# Hand-overs


async def test_a_connection_that_was_handed_over_leads_to_its_new_aggregate(store: Store) -> None:
    """A late wake-up loads the old aggregate into the cache. Its state still has the connection."""
    lane = LIVES.lanes[4]
    bench, worker = Bench(store), await decider(store, LIVES)
    initial, connected = lane[0].events, lane[1].events
    for event in [*initial, *connected[:2]]:
        await bench.take(worker, event)
    cold = await decider(store, LIVES)
    old = f"ue/unidentified-{initial[0].id}"
    wake_up = wake_up_of(old, initial[0].slot or 0)
    assert ids((await cold.run([job(wake_up)])).without_step) == [wake_up.id]
    moved = await cold.run([job(connected[2])])
    assert [slot for _, slot in moved.moved] == [slot_of("imsi-001010000000004")]
    for event in connected[2:]:
        await bench.take(cold, event)
    assert (await store.heads())["ue/imsi-001010000000004"] == lane[1].heads[
        "ue/imsi-001010000000004"
    ]


async def test_what_comes_between_a_hand_off_and_its_arrival_waits(store: Store) -> None:
    lane = LIVES.lanes[4]
    worker = await decider(store, LIVES)
    initial, (identity, authentication, *_) = lane[0].events, lane[1].events
    await worker.run(jobs(initial))
    handed = await worker.run(jobs([identity, authentication]))
    assert ids(handed.appended) == [identity.id]
    assert ids(handed.early) == [authentication.id]


async def test_a_procedure_that_is_hosted_elsewhere_has_the_event(store: Store) -> None:
    without = {Procedure.REGISTRATION, Procedure.RAN}
    worker = await decider(store, FOUR, Hosted(frozenset(Procedure) - without))
    result = await worker.run(jobs([*first(FOUR, 0), *first(FOUR, 1)]))
    assert [to for _, to in result.forward] == [Procedure.RAN, Procedure.REGISTRATION]
    assert await store.heads() == {}


# Faults


def failing(tmp_path: Path, supi: str) -> Hosted:
    """A registration that fails for one UE."""
    module = "gmm/registration/procedure"
    text = f"""
        def before(d, received):
            if {supi!r} in (d.ue.supi, d.key):
                raise RuntimeError("wrong on purpose")
    """
    wrong = load(folder(tmp_path, {module: wrapped(module, text)}))
    return Hosted(variants={Procedure.REGISTRATION: wrong})


async def test_a_decision_that_fails_is_that_ues_alone(store: Store, tmp_path: Path) -> None:
    wrong = failing(tmp_path, "imsi-001010000000002")
    worker = await decider(store, FOUR, wrong)
    initial = [event for lane in range(1, 5) for event in first(FOUR, lane)]
    result = await worker.run(jobs(initial))
    assert ids(result.failed) == [initial[1].id]
    assert ids(result.appended) == [initial[n].id for n in (0, 2, 3)]


async def test_what_follows_a_failed_decision_is_decided_on_what_is_stored(
    store: Store, one: Decider, tmp_path: Path
) -> None:
    await one.run(jobs(first(FOUR, 1)))
    wrong = failing(tmp_path, "imsi-001010000000001")
    worker = await decider(store, FOUR, wrong)
    result = await worker.run(jobs(then(FOUR, 1)))
    assert ids(result.failed) == [then(FOUR, 1)[0].id]
    assert ids(result.conflicts) == [event.id for event in then(FOUR, 1)[1:]]
    assert await store.heads() == {"ue/imsi-001010000000001": 1}


@pytest.mark.parametrize(
    ("method", "done"), [("append", False), ("append", True), ("load", False), ("owners", False)]
)
async def test_after_a_fault_of_the_store_nothing_is_lost_and_nothing_twice(
    store: Store, method: str, done: bool
) -> None:
    calls = 0

    async def unavailable(name: str) -> None:
        nonlocal calls
        calls += name == method
        if name == method and calls % 3 == 1:  # a decision loads a UE, and then its gNB
            raise StoreUnavailable("on purpose")

    if done:
        store.after = unavailable
    else:
        store.before = unavailable
    worker, bench = await decider(store, LIVES), Bench(store)
    for event in LIVES.outside:
        await bench.take(worker, event)
    assert calls
    store.before = store.after = no_fault
    await store.holds(LIVES)
