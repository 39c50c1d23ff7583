"""Entries in quarantine, on every engine: no other aggregate gets one while it lasts."""

import asyncio
from pathlib import Path

import pytest

from statestore.contract import QUARANTINE, Engine, IndexConflict, IndexKey, Quarantined
from tests.statestore import backends
from tests.statestore.steps import NGAP, OK, OTHER, TMSI, UE, step

LEFT = 1_000_000
"""The time at which `UE` gives up its entry."""


async def given_up(engine: Engine) -> None:
    made = [step(UE, 1, put=[TMSI]), step(UE, 2, at=LEFT, give_up=[TMSI])]
    assert await engine.append(made) == [OK, OK]


async def test_an_entry_in_quarantine_leads_nowhere(engine: Engine):
    await given_up(engine)
    assert await engine.owners([TMSI]) == [None]
    assert await engine.scan("tmsi", "") == []
    assert await engine.quarantined("tmsi", "tmsi-") == [Quarantined(TMSI, LEFT)]
    assert await engine.quarantined("tmsi", "", TMSI.key) == []
    assert await engine.quarantined("address", "") == []


@pytest.mark.parametrize("late", [0, 1, QUARANTINE - 1])
async def test_another_aggregate_does_not_get_it(engine: Engine, late: int):
    await given_up(engine)
    taken = step(OTHER, 1, at=LEFT + late, put=[NGAP, TMSI])
    assert await engine.append([taken]) == [IndexConflict(TMSI, UE)]
    assert await engine.owners([NGAP, TMSI]) == [None, None]


async def test_another_aggregate_gets_it_after_the_quarantine(engine: Engine):
    await given_up(engine)
    assert await engine.append([step(OTHER, 1, at=LEFT + QUARANTINE, put=[TMSI])]) == [OK]
    assert await engine.owners([TMSI]) == [OTHER]
    assert await engine.quarantined("tmsi", "") == []


async def test_the_last_owner_may_have_it_back(engine: Engine):
    await given_up(engine)
    assert await engine.append([step(UE, 3, at=LEFT, put=[TMSI])]) == [OK]
    assert await engine.quarantined("tmsi", "") == []
    assert await engine.append([step(UE, 4, at=LEFT + 9, give_up=[TMSI])]) == [OK]
    assert await engine.quarantined("tmsi", "") == [Quarantined(TMSI, LEFT + 9)]


async def test_a_quarantine_is_cut_short_only_as_the_writer_knows_it(engine: Engine):
    await given_up(engine)
    old = [Quarantined(TMSI, LEFT - 1), Quarantined(NGAP, LEFT)]
    taken = step(OTHER, 1, at=LEFT + 5, put=[TMSI], end_quarantines=old)
    assert await engine.append([taken]) == [IndexConflict(TMSI, UE)]
    known = [Quarantined(TMSI, LEFT)]
    taken = step(OTHER, 1, at=LEFT + 5, put=[TMSI], end_quarantines=known)
    assert await engine.append([taken]) == [OK]


async def test_what_another_aggregate_has_is_not_given_up(engine: Engine):
    assert await engine.append([step(OTHER, 1, put=[TMSI])]) == [OK]
    assert await engine.append([step(UE, 1, give_up=[TMSI])]) == [OK]
    assert await engine.owners([TMSI]) == [OTHER]
    assert await engine.quarantined("tmsi", "") == []


async def test_it_holds_within_a_batch(engine: Engine):
    batch = [
        step(UE, 1, put=[TMSI], at=LEFT),
        step(UE, 2, give_up=[TMSI], at=LEFT),
        step(OTHER, 1, put=[TMSI], at=LEFT),
        step("ue/third", 1, put=[TMSI], at=LEFT + QUARANTINE),
    ]
    assert await engine.append(batch) == [OK, OK, IndexConflict(TMSI, UE), OK]


async def test_it_holds_for_other_engines_and_after_a_restart(tmp_path: Path):
    for name in ("sqlite", "fdb-double"):
        backend = backends.make(name, tmp_path)
        first, second = await backend.open(), await backend.open()
        await given_up(first)
        taken = step(OTHER, 1, at=LEFT + 1, put=[TMSI])
        assert await second.append([taken]) == [IndexConflict(TMSI, UE)]
        await first.close()
        await second.close()
        third = await backend.open()
        assert await third.append([taken]) == [IndexConflict(TMSI, UE)]
        await third.close()
        await backend.close()


async def test_expired_quarantines_do_not_pile_up(engine: Engine):
    """UEs that come and go for hours: the store keeps those of the last two minutes."""
    pause, most = 6_000, 0
    for number in range(200):
        now, name = LEFT + number * pause, f"ue/{number:04}"
        keys = [IndexKey("seid", f"seid-{number:04}-{n}") for n in range(2)]
        made = [step(name, 1, put=keys, at=now), step(name, 2, give_up=keys, at=now)]
        assert await engine.append(made) == [OK, OK]
        most = max(most, len(await engine.quarantined("seid", "")))
    assert most <= 2 * (QUARANTINE // pause + 1)


async def test_workers_that_remove_the_same_ones_do_not_hinder_each_other():
    """On FoundationDB their transactions must not conflict."""
    backend = backends.DoubleBackend()
    engines = [await backend.open() for _ in range(4)]
    await given_up(engines[0])
    names = [f"ue/{number}" for number in range(4)]
    key = {name: IndexKey("seid", name) for name in names}
    await engines[0].append([step(name, 1, put=[key[name]]) for name in names])
    before = backend.cluster.conflicts
    batches = [[step(name, 2, give_up=[key[name]], at=LEFT + QUARANTINE)] for name in names]
    done = await asyncio.gather(
        *(engine.append(batch) for engine, batch in zip(engines, batches, strict=True))
    )
    assert done == [[OK]] * 4
    assert backend.cluster.conflicts == before
    assert await engines[0].quarantined("tmsi", "") == []
    for engine in engines:
        await engine.close()
    await backend.close()
