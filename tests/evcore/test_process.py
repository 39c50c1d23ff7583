"""Child processes: readiness, end with the parent, last lines, pauses before a restart."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from evcore.local.process import FIRST, HEALTHY, MOST, Backoff, Process, ProcessError


def python(code: str) -> list[str]:
    return [sys.executable, "-c", f"import sys, signal\n{code}"]


SAYS_READY = "print('it is ready', file=sys.stderr, flush=True)\n"
WAITS = "signal.pause()\n"


async def test_ready_when_a_line_says_so(home: Path) -> None:
    log = home / "logs" / "child.log"
    child = await Process.start("child", python(SAYS_READY + WAITS), log, "is ready$")
    assert (child.alive, child.status, child.end) == (True, None, "is running")
    assert child.said == ["it is ready"]
    await child.stop()
    assert (child.alive, child.stopping) == (False, True)
    assert child.end == "was ended by SIGTERM"
    assert log.read_text() == "it is ready\n"


async def test_one_that_ends_before_it_is_ready(home: Path) -> None:
    words = "print('[12] 2026/01/01 10:00:00.00 [FTL] no room', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ProcessError, match=r"^child ended with 3: no room$"):
        await Process.start("child", python(words), home / "log", "never")


async def test_one_that_says_nothing(home: Path) -> None:
    with pytest.raises(ProcessError, match=r"^child ended with 0: it printed nothing$"):
        await Process.start("child", python(""), home / "log", "never")


async def test_one_that_never_gets_ready_is_ended(home: Path) -> None:
    with pytest.raises(ProcessError, match=r"^child is not ready after 0 s$"):
        await Process.start("child", python(WAITS), home / "log", "never", patience=0.0)


async def test_one_that_cannot_be_started(home: Path) -> None:
    with pytest.raises(ProcessError, match=r"^child cannot be started: No such file or directory"):
        await Process.start("child", [str(home / "none")], home / "log")
    (home / "file").write_text("")
    with pytest.raises(ProcessError, match=r"^child cannot be started: "):
        await Process.start("child", python(""), home / "file" / "log")


async def test_one_that_does_not_listen_is_killed(home: Path) -> None:
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SAYS_READY + "while 1: " + WAITS
    child = await Process.start("child", python(deaf), home / "log", "ready")
    await child.stop(0.0)
    assert child.end == "was ended by SIGKILL"


async def test_a_cancelled_start_leaves_none(home: Path) -> None:
    began = home / "began"
    os.mkfifo(began)
    code = f"open({str(began)!r}, 'w').write(str(__import__('os').getpid()))\n" + WAITS
    start = asyncio.create_task(Process.start("child", python(code), home / "log", "never"))
    pid = int(await asyncio.to_thread(began.read_text))
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_last_words_are_few_and_a_line_without_end_is_dropped(home: Path) -> None:
    code = (
        "sys.stderr.write('x' * (3 << 20) + '\\n')\nfor n in range(50): print(n, file=sys.stderr)"
    )
    child = await Process.start("child", python(code), home / "log")
    await child.wait()
    await child.stop()
    assert child.said == [str(n) for n in range(30, 50)]
    assert child.end == "ended with 0: 49"


async def test_octets_that_are_no_text(home: Path) -> None:
    child = await Process.start(
        "child", python("sys.stderr.buffer.write(b'\\xff\\xfe')"), home / "log"
    )
    await child.stop()
    assert child.alive is False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_child_of_a_parent_that_is_gone_gets_a_signal(
    home: Path, number: signal.Signals
) -> None:
    """The grandchild is the last holder of the pipe: its end closes the pipe."""
    script = f"""
import asyncio, signal, sys
from pathlib import Path
from evcore.local.process import Process

async def main():
    code = "import signal, sys; print('up', file=sys.stderr, flush=True); signal.pause()"
    command = [sys.executable, "-c", code]
    child = await Process.start(
        "child", command, Path("log"), "up", orphaned=signal.{number.name}, keep=(1,)
    )
    print(child.pid, flush=True)
    await child.wait()

asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script), stdout=asyncio.subprocess.PIPE, cwd=home
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    os.kill(pid, 0)
    parent.kill()
    await parent.wait()
    ended = os.pidfd_open(pid) if Path(f"/proc/{pid}").exists() else None
    if ended is not None:
        loop, gone = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(ended, gone.set)
        await gone.wait()
        loop.remove_reader(ended)
        os.close(ended)


def test_one_that_has_worked_is_started_at_once() -> None:
    backoff = Backoff()
    assert [backoff.after(HEALTHY) for _ in range(5)] == [0.0] * 5


def test_one_that_does_not_work_is_given_time() -> None:
    backoff = Backoff()
    pauses = [backoff.after(0.1) for _ in range(12)]
    assert pauses[:4] == [0.0, FIRST, FIRST * 2, FIRST * 4]
    assert pauses[-1] == MOST
    assert pauses == sorted(pauses)


def test_one_that_works_again_is_forgiven() -> None:
    backoff = Backoff()
    for _ in range(6):
        backoff.after(0.0)
    assert backoff.after(HEALTHY) == 0.0
    assert backoff.after(0.0) == FIRST


def test_other_measures() -> None:
    backoff = Backoff(first=1, most=3, healthy=0.5)
    assert [backoff.after(0.4) for _ in range(4)] == [0.0, 1, 2, 3]
