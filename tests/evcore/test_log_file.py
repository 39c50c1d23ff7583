"""Log files: bounded, and of no harm on a full disk."""

import logging
import sys
from pathlib import Path

import pytest

from evcore.local.log_file import LogFile, LogFileHandler
from evcore.local.process import Process
from tests import disks


def test_lines_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path / "disk", 2) as disk:
        log = LogFile(disk / "a.log")
        log.write("before")
        filler = disks.fill(disk)
        for number in range(5000):
            log.write(f"{number} is lost at some point")
        filler.unlink()
        log.write("after")
        lines = (disk / "a.log").read_text().splitlines()
        log.close()
    assert lines[0] == "before"
    assert lines[-1] == "after"
    kept = [line for line in lines[1:-2] if line.endswith("at some point")]
    lost = 5000 - len(kept)
    assert lines[-2] == f"{lost} line(s) could not be written: No space left on device"


def test_a_file_begins_again_at_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    one, other = LogFile(path, 1000), LogFile(path, 1000)
    for number in range(100):
        one.write(f"one {number:5}")
        other.write(f"other {number:3}")
    assert {file.name for file in tmp_path.iterdir()} == {"a.log", "a.log.1"}
    assert all(file.stat().st_size <= 1000 for file in tmp_path.iterdir())
    last = path.read_text().splitlines()[-1]
    assert last == "other  99"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_path_that_is_no_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        LogFile(tmp_path)


def test_log_records_on_a_full_disk_are_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with disks.small_disk(tmp_path / "disk", 2) as disk:
        disks.fill(disk)
        handler = LogFileHandler(disk / "logs" / "a.log")
        record = logging.LogRecord("a", logging.ERROR, "", 0, "words", None, None)
        for _ in range(100):
            handler.handle(record)
        handler.close()
    assert capsys.readouterr().err == ""


async def test_a_process_that_writes_lines_on_a_full_disk_goes_on(tmp_path: Path) -> None:
    code = """
import sys
for number in range(20000):
    print(number, "x" * 100, file=sys.stderr)
print("ready", file=sys.stderr, flush=True)
sys.stdin.read()
import signal; signal.pause()
"""
    with disks.small_disk(tmp_path / "disk", 2) as disk:
        disks.fill(disk, 100_000)
        command = [sys.executable, "-c", code]
        child = await Process.start("child", command, disk / "logs" / "child.log", "ready")
        assert child.alive
        await child.stop()
        assert child.end == "was ended by SIGTERM"
        disks.fill(disk)
        # It can be started without room for a log file.
        again = await Process.start("again", command, disk / "logs" / "again.log", "ready")
        assert again.said[-1] == "ready"
        await again.stop()
