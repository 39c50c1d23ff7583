"""The lock between processes."""

import asyncio
import fcntl
import os
from pathlib import Path

import pytest

from statestore.contract import StoreError, StoreUnavailable
from statestore.filelock import WriteLock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def is_free(path: Path) -> bool:
    fd = os.open(f"{path}-turn", os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


async def test_one_at_a_time(path: Path):
    locks = [WriteLock(path, 10) for _ in range(3)]
    inside = 0
    turns: list[int] = []

    async def use(number: int) -> None:
        nonlocal inside
        for _ in range(20):
            await locks[number].acquire()
            inside += 1
            await asyncio.sleep(0)
            turns.append(number)
            assert inside == 1
            inside -= 1
            locks[number].release()

    await asyncio.gather(*(use(number) for number in (0, 1, 2, 0)))
    assert sorted(turns) == [0] * 40 + [1] * 20 + [2] * 20
    for lock in locks:
        lock.close()


async def test_who_has_had_the_turn_queues_behind_who_waits(path: Path):
    greedy, patient = WriteLock(path, 10), WriteLock(path, 10)
    await greedy.acquire()
    waiting = asyncio.create_task(patient.acquire())
    # The waiter holds the gate. Until it has the turn, no other process can take the gate.
    gate = os.open(f"{path}-gate", os.O_RDWR)
    while not waiting.done():
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            break
        fcntl.flock(gate, fcntl.LOCK_UN)
        await asyncio.sleep(0)
    os.close(gate)
    greedy.release()
    again = asyncio.create_task(greedy.acquire())
    await waiting
    assert not again.done()
    patient.release()
    await again
    greedy.release()
    greedy.close()
    patient.close()


async def test_a_wait_that_was_given_up_keeps_nothing(path: Path):
    holder, lock = WriteLock(path, 10), WriteLock(path, 0.01)
    await holder.acquire()
    with pytest.raises(StoreUnavailable, match=r"has kept .* locked for 0.01 s"):
        await lock.acquire()
    queued = lock.queued
    assert queued is not None
    holder.release()
    # The waiter is gone when the thread in the queue gets the turn. The thread releases it.
    await holder.acquire()
    holder.release()
    await asyncio.wait([queued])
    assert is_free(path)
    await lock.acquire()
    lock.release()
    holder.close()
    lock.close()


async def test_a_wait_that_was_cancelled_keeps_nothing(path: Path):
    holder, lock = WriteLock(path, 10), WriteLock(path, 10)
    await holder.acquire()
    waiting = asyncio.create_task(lock.acquire())
    await asyncio.sleep(0)
    queued = lock.queued
    assert queued is not None
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    holder.release()
    await asyncio.wait([queued])
    assert is_free(path)
    # Granted, but cancelled before the waiter resumes.
    await holder.acquire()
    waiting = asyncio.create_task(lock.acquire())
    await asyncio.sleep(0)
    queued = lock.queued
    assert queued is not None
    holder.release()
    queued.add_done_callback(lambda _: waiting.cancel())
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert is_free(path)
    holder.close()
    lock.close()


async def test_the_next_call_takes_over_a_wait_that_was_given_up(path: Path):
    holder, lock = WriteLock(path, 10), WriteLock(path, 0.01)
    await holder.acquire()
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await lock.acquire()
    lock.patience = 10
    waiting = asyncio.create_task(lock.acquire())
    await asyncio.sleep(0)
    holder.release()
    await waiting
    assert not is_free(path)
    lock.release()
    assert is_free(path)
    holder.close()
    lock.close()


async def test_closing_gives_up_the_turn_and_the_wait(path: Path):
    holder, lock = WriteLock(path, 10), WriteLock(path, 0.01)
    await holder.acquire()
    with pytest.raises(StoreUnavailable):
        await lock.acquire()
    queued = lock.queued
    assert queued is not None
    lock.close()
    lock.close()
    holder.close()
    await asyncio.wait([queued])
    assert is_free(path)
    with pytest.raises(StoreError, match="is closed"):
        await lock.acquire()


async def test_no_lock_without_its_files(tmp_path: Path):
    with pytest.raises(StoreError, match="none/lock-gate cannot be opened"):
        WriteLock(tmp_path / "none" / "lock", 1)
