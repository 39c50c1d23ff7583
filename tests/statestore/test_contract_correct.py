"""The contract of `Engine.correct`, on every engine."""

from statestore.contract import Correction, Engine
from tests.statestore.steps import NGAP, OTHER, TMSI, UE, step, steps, stored


async def test_entries_and_the_snapshot_are_corrected_without_a_step(engine: Engine):
    await engine.append([step(UE, 1, put=[TMSI], snapshot=b"old"), *steps(UE, 2, 3)])
    correction = Correction(UE, 3, put=(NGAP,), drop=(TMSI,), snapshot=b"new" * 50_000)
    assert await engine.correct(correction)
    assert await engine.owners([TMSI, NGAP]) == [None, UE]
    (loaded,) = await engine.load([UE])
    assert loaded is not None
    assert (loaded.snapshot_seq, loaded.snapshot, loaded.tail) == (3, b"new" * 50_000, ())
    assert len(await engine.read(UE)) == 3
    assert await engine.correct(correction), "once more is no error"
    assert await engine.append(steps(UE, 4, 4))
    assert len(await engine.feed()) == 4


async def test_another_head_is_not_corrected(engine: Engine):
    await engine.append(steps(UE, 1, 2))
    for head in (0, 1, 3):
        assert not await engine.correct(Correction(UE, head, put=(NGAP,), snapshot=b"new"))
    assert not await engine.correct(Correction(OTHER, 0, put=(NGAP,)))
    assert not await engine.correct(Correction(OTHER, 1, put=(NGAP,)))
    assert await engine.owners([NGAP]) == [None]
    assert await stored(engine, UE) == [1, 2]


async def test_the_entries_of_others_are_left_alone(engine: Engine):
    await engine.append([step(OTHER, 1, put=[TMSI]), step(UE, 1)])
    assert not await engine.correct(Correction(UE, 1, put=(NGAP, TMSI), snapshot=b"new"))
    assert await engine.correct(Correction(UE, 1, drop=(TMSI,)))
    assert await engine.owners([NGAP, TMSI]) == [None, OTHER]
    (loaded,) = await engine.load([UE])
    assert loaded is not None
    assert loaded.snapshot_seq == 0
