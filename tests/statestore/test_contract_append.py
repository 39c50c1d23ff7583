"""The contract of `Engine.append`, on every engine."""

import pytest

from statestore.contract import Conflict, Duplicate, Engine, IndexConflict, IndexKey
from tests.statestore.steps import NGAP, OK, OTHER, TMSI, UE, step, steps, stored


async def test_steps_of_an_aggregate_follow_each_other(engine: Engine):
    assert await engine.append([step(UE, 1)]) == [OK]
    assert await engine.append([step(UE, 2), step(UE, 3)]) == [OK, OK]
    assert await stored(engine, UE) == [1, 2, 3]
    assert (await engine.read(UE))[1].body == step(UE, 2).body


async def test_nothing_is_appended_for_nothing(engine: Engine):
    assert await engine.append([]) == []
    assert await engine.feed() == []


@pytest.mark.parametrize("seq", [0, 1, 2, 4, 5])
async def test_another_number_than_the_next_is_a_conflict(engine: Engine, seq: int):
    await engine.append(steps(UE, 1, 2))
    assert await engine.append([step(UE, seq, "new")]) == [Conflict(2)]
    assert await stored(engine, UE) == [1, 2]


async def test_a_first_step_must_be_number_one(engine: Engine):
    assert await engine.append([step(UE, 2)]) == [Conflict(0)]
    assert await engine.load([UE]) == [None]
    assert await engine.data_key(UE) is None
    assert await engine.aggregates() == []


async def test_a_trigger_is_taken_once(engine: Engine):
    await engine.append([step(UE, 1, "a"), step(UE, 2, "b")])
    assert await engine.append([step(UE, 3, "a")]) == [Duplicate(1)]
    assert await engine.append([step(UE, 3, "b")]) == [Duplicate(2)]
    assert await stored(engine, UE) == [1, 2]


async def test_a_trigger_is_taken_once_in_a_batch(engine: Engine):
    assert await engine.append([step(UE, 1, "a"), step(UE, 2, "a")]) == [OK, Duplicate(1)]
    assert await stored(engine, UE) == [1]


async def test_another_aggregate_may_take_the_same_trigger(engine: Engine):
    batch = [step(UE, 1, "a"), step(OTHER, 1, "a")]
    assert await engine.append(batch) == [OK, OK]


async def test_a_duplicate_is_found_before_a_conflict(engine: Engine):
    await engine.append([step(UE, 1, "a")])
    assert await engine.append([step(UE, 1, "a")]) == [Duplicate(1)]
    assert await engine.append([step(UE, 7, "a")]) == [Duplicate(1)]


async def test_a_duplicate_is_found_before_a_taken_entry(engine: Engine):
    await engine.append([step(OTHER, 1, put=[TMSI]), step(UE, 1, "a")])
    assert await engine.append([step(UE, 2, "a", put=[TMSI])]) == [Duplicate(1)]


async def test_a_conflict_is_found_before_a_taken_entry(engine: Engine):
    await engine.append([step(OTHER, 1, put=[TMSI]), step(UE, 1)])
    assert await engine.append([step(UE, 3, put=[TMSI])]) == [Conflict(1)]


async def test_a_failed_step_stops_those_after_it_on_its_aggregate_only(engine: Engine):
    await engine.append([step(UE, 1, "a"), step(OTHER, 1)])
    outcomes = await engine.append(
        [
            step(OTHER, 2),
            step(UE, 2, "b"),
            step(UE, 3, "a"),  # processed by step 1
            step(UE, 3, "c"),  # next in order, but decided on a state that does not exist
            step(OTHER, 3),
            step(UE, 4, "b"),  # processed by step 2 of this batch
            step("ue/new", 1),
        ]
    )
    assert outcomes == [OK, OK, Duplicate(1), Conflict(2), OK, Duplicate(2), OK]
    assert await stored(engine, UE) == [1, 2]
    assert await stored(engine, OTHER) == [1, 2, 3]
    assert await stored(engine, "ue/new") == [1]


async def test_a_failed_step_leaves_no_trace(engine: Engine):
    await engine.append([step(OTHER, 1, put=[TMSI])])
    batch = [
        step(UE, 1, "a", put=[NGAP, TMSI], snapshot=b"state"),
        step(UE, 2, "b", put=[NGAP]),
        step("ue/late", 5, put=[NGAP]),
        step(OTHER, 2),
    ]
    assert await engine.append(batch) == [IndexConflict(TMSI, OTHER), Conflict(0), Conflict(0), OK]
    assert await engine.owners([NGAP, TMSI]) == [None, OTHER]
    assert await engine.load([UE, "ue/late"]) == [None, None]
    assert [name for name, _ in await engine.aggregates()] == [OTHER]
    assert await engine.processed(UE, "a") is None
    assert [entry.aggregate for entry in await engine.feed()] == [OTHER, OTHER]
    # A failed step may be tried again, because it left no trace.
    assert await engine.append([step(UE, 1, "a", put=[NGAP])]) == [OK]


async def test_the_data_key_is_that_of_the_first_step(engine: Engine):
    await engine.append([step(UE, 1), step(UE, 2)])
    assert await engine.data_key(UE) == f"key of {UE}".encode()
    assert await engine.data_key(OTHER) is None


async def test_taken_tells_the_step_of_a_trigger(engine: Engine):
    await engine.append([step(UE, 1, "a"), step(UE, 2, "b")])
    assert await engine.processed(UE, "b") == 2
    assert await engine.processed(UE, "c") is None
    assert await engine.processed(OTHER, "a") is None


async def test_an_entry_has_one_owner(engine: Engine):
    batch = [step(UE, 1, put=[TMSI]), step(OTHER, 1, put=[TMSI])]
    assert await engine.append(batch) == [OK, IndexConflict(TMSI, UE)]
    assert await engine.owners([TMSI, NGAP]) == [UE, None]
    # The owner of an entry may put it again.
    assert await engine.append([step(UE, 2, put=[TMSI])]) == [OK]


async def test_the_first_entry_that_is_taken_is_told(engine: Engine):
    await engine.append([step(OTHER, 1, put=[TMSI, NGAP])])
    assert await engine.append([step(UE, 1, put=[NGAP, TMSI])]) == [IndexConflict(NGAP, OTHER)]


async def test_an_entry_may_be_taken_over_from_one_named_owner(engine: Engine):
    await engine.append([step(OTHER, 1, put=[TMSI, NGAP])])
    taken = [step(UE, 1, "a", put=[TMSI], take_from="ue/third")]
    assert await engine.append(taken) == [IndexConflict(TMSI, OTHER)]
    assert await engine.append([step(UE, 1, "a", put=[TMSI], take_from=OTHER)]) == [OK]
    assert await engine.owners([TMSI, NGAP]) == [UE, OTHER]


async def test_take_from_does_not_hinder_a_free_entry(engine: Engine):
    assert await engine.append([step(UE, 1, put=[TMSI], take_from="ue/unknown")]) == [OK]
    assert await engine.owners([TMSI]) == [UE]


async def test_a_dropped_entry_is_free(engine: Engine):
    await engine.append([step(UE, 1, put=[TMSI, NGAP])])
    assert await engine.append([step(UE, 2, drop=[TMSI])]) == [OK]
    assert await engine.owners([TMSI, NGAP]) == [None, UE]
    assert await engine.append([step(OTHER, 1, put=[TMSI])]) == [OK]


async def test_an_entry_of_another_aggregate_is_not_dropped(engine: Engine):
    await engine.append([step(OTHER, 1, put=[TMSI])])
    assert await engine.append([step(UE, 1, drop=[TMSI, NGAP])]) == [OK]
    assert await engine.owners([TMSI]) == [OTHER]


async def test_entries_move_within_a_batch(engine: Engine):
    batch = [
        step(UE, 1, put=[TMSI]),
        step(UE, 2, drop=[TMSI]),
        step(OTHER, 1, put=[TMSI]),
        step(UE, 3, put=[TMSI], take_from=OTHER),
        step(OTHER, 2, drop=[TMSI]),  # owned by another aggregate now
    ]
    assert await engine.append(batch) == [OK] * 5
    assert await engine.owners([TMSI]) == [UE]


async def test_kinds_of_entries_are_apart(engine: Engine):
    other_kind = IndexKey("imei", TMSI.key)
    assert await engine.append([step(UE, 1, put=[TMSI]), step(OTHER, 1, put=[other_kind])]) == [
        OK,
        OK,
    ]
    assert await engine.owners([TMSI, other_kind]) == [UE, OTHER]


async def test_a_batch_of_thousands(engine: Engine):
    names = [f"ue/{number:04}" for number in range(300)]
    batch = [step(name, seq) for seq in range(1, 6) for name in names]
    batch.insert(700, step("ue/0007", 99))
    outcomes = await engine.append(batch)
    # Only the aggregate of the wrong step stops. 200 steps of its third round follow.
    assert [o for o in outcomes if o != OK] == [Conflict(3)] * 3
    loaded = dict(await engine.aggregates("ue/"))
    assert loaded.pop("ue/0007") == 3
    assert set(loaded.values()) == {5}
    assert len(loaded) == 299


@pytest.mark.parametrize("octets", [0, 1, 89_999, 90_000, 90_001, 300_000, 2_500_000])
async def test_bodies_of_any_size(engine: Engine, octets: int):
    body = bytes(range(256)) * (octets // 256 + 1)
    body = body[:octets]
    made = [
        step(UE, 1),
        step(UE, 2, body=body, snapshot=body[::-1]) if octets else step(UE, 2, body=b"\0"),
        step(UE, 3),
    ]
    assert await engine.append(made) == [OK, OK, OK]
    assert [record.body for record in await engine.read(UE)] == [s.body for s in made]
    assert [entry.body for entry in await engine.feed()] == [s.body for s in made]
    (loaded,) = await engine.load([UE])
    assert loaded is not None
    if octets:
        assert loaded.snapshot == body[::-1]
    assert loaded.tail[-1].body == made[-1].body
