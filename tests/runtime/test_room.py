"""The room on the disk of the log, as a worker sees it."""

import logging
from pathlib import Path

import pytest

from functions.runtime.room import PUT_OFF, Room


class Disk:
    def __init__(self) -> None:
        self.free, self.now, self.reads = 1000, 0.0, 0

    def read(self, directory: Path) -> int:
        assert directory == Path("/data")
        self.reads += 1
        return self.free

    def room(self, min_free: int = 100) -> Room:
        return Room(Path("/data"), min_free, lambda: self.now, self.read)


def test_below_the_limit_ues_are_put_off_until_there_is_some_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = Disk()
    room = disk.room()
    found: list[int] = []
    with caplog.at_level(logging.WARNING):
        for disk.free in (100, 99, 50, 100, 105, 111, 105, 99):
            found.append(room.put_off())
            disk.now += 2
    assert found == [0, PUT_OFF, PUT_OFF, PUT_OFF, PUT_OFF, 0, 0, PUT_OFF]
    assert [r.getMessage().partition(": ")[2] for r in caplog.records] == [
        "UEs that are not registered are put off",
        "UEs that are not registered are served again",
        "UEs that are not registered are put off",
    ]
    assert "99 octets left on the disk of /data" in caplog.text


def test_the_share_is_that_of_the_limit() -> None:
    disk = Disk()
    room = disk.room()
    found: list[float] = []
    for disk.free in (1000, 50, 0, 105):
        found.append(room.share)
        disk.now += 2
    assert found == [1.0, 0.5, 0.0, 0.99]


def test_the_disk_is_read_once_a_second() -> None:
    disk = Disk()
    room = disk.room()
    for _ in range(100):
        disk.now += 0.01
        room.put_off()
    assert disk.reads == 1


def test_without_a_limit_the_disk_is_not_read() -> None:
    disk = Disk()
    disk.free = 0
    assert disk.room(0).put_off() == 0
    assert Room(None, 100, lambda: 0.0, disk.read).put_off() == 0
    assert not disk.reads


def test_a_directory_that_is_gone_changes_nothing() -> None:
    room = Room(Path("/nonexistent"), 100)
    assert room.put_off() == 0
