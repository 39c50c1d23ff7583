# pyright: reportPrivateUsage=false
"""A disk that is full, fails or has become read-only: the engine names the reason, and goes on."""

import asyncio
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from statestore.contract import Outcome, StoreUnavailable
from statestore.disk import free_bytes, text_of, why_not_writable
from statestore.sqlite.engine import SqliteEngine
from tests import disks
from tests.statestore.steps import OK, UE, step

ROOT = Path(__file__).parents[2]


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path]:
    with disks.small_disk(tmp_path / "disk", 4) as folder:
        yield folder


async def test_a_full_disk_is_named_and_the_next_append_after_it_succeeds(disk: Path) -> None:
    engine = await SqliteEngine.open(disk / "store.db")
    await engine.append([step(UE, 1)])
    filler = disks.fill(disk)

    async def append_until_full() -> None:
        for seq in range(2, 100):
            await engine.append([step(UE, seq, body=bytes(100_000))])

    with pytest.raises(StoreUnavailable, match=r"store\.db cannot be written now: No space left"):
        await append_until_full()
    at_hand = [record.seq for record in await engine.read(UE)]
    assert at_hand[0] == 1
    filler.unlink()
    assert await engine.append([step(UE, at_hand[-1] + 1)]) == [OK]
    assert [record.seq for record in await engine.read(UE)] == [*at_hand, at_hand[-1] + 1]
    await engine.close()


async def test_a_store_opens_on_a_disk_with_room_again(disk: Path) -> None:
    engine = await SqliteEngine.open(disk / "store.db")
    await engine.append([step(UE, 1)])
    await engine.close()
    filler = disks.fill(disk)

    async def append() -> list[Outcome]:
        engine = await SqliteEngine.open(disk / "store.db")
        try:
            return await engine.append([step(UE, 2)])
        finally:
            await engine.close()

    with pytest.raises(StoreUnavailable, match="No space left"):
        await append()
    filler.unlink()
    assert await append() == [OK]


async def test_a_store_is_read_on_a_full_disk_and_the_reader_sees_later_steps(
    disk: Path,
) -> None:
    """SQLite itself must make a file beside the store to read it."""
    path = disk / "store.db"
    engine = await SqliteEngine.open(path)
    await engine.append([step(UE, 1)])
    await engine.close()
    filler = disks.fill(disk)
    reader = await SqliteEngine.open(path, read_only=True)
    assert [record.seq for record in await reader.read(UE)] == [1]
    filler.unlink()
    engine = await SqliteEngine.open(path)
    await engine.append([step(UE, 2)])
    assert [record.seq for record in await reader.read(UE)] == [1, 2]
    await engine.append([step(UE, 3)])
    await engine.close()
    assert [record.seq for record in await reader.read(UE)] == [1, 2, 3]
    await reader.close()


async def test_without_descriptors_the_store_is_unavailable_and_then_goes_on(
    tmp_path: Path,
) -> None:
    engine = await SqliteEngine.open(tmp_path / "store.db")
    await engine.append([step(UE, 1)])
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    last = os.open("/dev/null", os.O_RDONLY)
    os.close(last)
    engine._errors.of_the_disk = True  # so that the next call opens the file again
    resource.setrlimit(resource.RLIMIT_NOFILE, (last, limits[1]))
    try:
        with pytest.raises(StoreUnavailable, match="Too many open files"):
            await engine.append([step(UE, 2)])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert await engine.append([step(UE, 2)]) == [OK]
    await engine.close()


_WRITER = """
import asyncio, sys
from statestore.contract import StoreUnavailable
from statestore.sqlite.engine import SqliteEngine
from tests.statestore.steps import UE, step

async def main():
    engine = await SqliteEngine.open(sys.argv[1])
    seq, failed = 1, 0
    while seq < 60 or not failed:
        head = len(await engine.read(UE))
        try:
            await engine.append([step(UE, head + 1)])
            seq = head + 1
        except StoreUnavailable as err:
            failed += 1
            print(err, flush=True)
    print("stored", len(await engine.read(UE)), failed)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ("fdatasync", "EIO", "Input/output error"),
        ("pwrite64", "EDQUOT", "Disk quota exceeded"),
        ("pwrite64", "EROFS", "Read-only file system"),
    ],
)
def test_an_error_of_the_disk_is_named(tmp_path: Path, call: str, error: str, words: str) -> None:
    """The kernel's calls fail for a while, as with a quota or a disk that fails."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("there is no strace")
    inject = f"inject={call}:error={error}:when=60..64"
    command = [strace, "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace cannot trace here")
    done = subprocess.run(
        [*command, sys.executable, "-c", _WRITER, str(tmp_path / "store.db")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    *errors, end = done.stdout.splitlines()
    assert errors
    assert any(f"cannot be written now: {words}" in line for line in errors), errors
    assert end.startswith("stored "), end


def test_the_reason_is_that_of_the_kernel(disk: Path) -> None:
    assert not why_not_writable(disk)
    assert 0 < free_bytes(disk) <= 4 * disks.MIB
    disks.fill(disk)
    assert why_not_writable(disk) == "No space left on device"
    assert free_bytes(disk) == 0


def test_a_disk_without_inodes_has_no_room(tmp_path: Path) -> None:
    folder = tmp_path / "few"
    with disks.small_disk(folder, 4):
        assert not disks.mount("-o", "remount,nr_inodes=2,size=4m", str(folder)).returncode
        (folder / "one").touch()
        assert free_bytes(folder) == 0


def test_a_size_is_short() -> None:
    sizes = (0, 700, 1536, 64 << 20, 3 << 29)
    assert list(map(text_of, sizes)) == ["0 octets", "700 octets", "1.5 KiB", "64 MiB", "1.5 GiB"]


async def test_the_write_ahead_log_does_not_stay_long(tmp_path: Path) -> None:
    """A long read of another process makes it grow; a later checkpoint shortens the file."""
    path = tmp_path / "store.db"
    engine = await SqliteEngine.open(path)
    await engine.append([step(UE, 1)])
    reader = await SqliteEngine.open(path, read_only=True)
    reader._cursor.execute("BEGIN")
    reader._cursor.execute("SELECT count(*) FROM log").fetchone()
    big = os.urandom(4 * disks.MIB)
    for seq in range(2, 26):
        await engine.append([step(UE, seq, body=big)])
        await asyncio.sleep(0)
    log = path.with_name("store.db-wal")
    assert log.stat().st_size > 90 * disks.MIB
    reader._cursor.execute("COMMIT")
    for seq in range(26, 30):
        await engine.append([step(UE, seq)])
    await engine.append([step(UE, 30, body=big * 5)])
    await engine.append([step(UE, 31)])
    assert log.stat().st_size <= 70 * disks.MIB
    await reader.close()
    await engine.close()
