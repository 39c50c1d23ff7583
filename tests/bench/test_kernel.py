"""Counting the calls in the output of strace."""

from pathlib import Path

from bench.kernel import calls_between

TRACE = """\
100 1700000000.100000 epoll_pwait(5, [], 1024, 10, NULL, 8) = 0
100 1700000001.000000 pwrite64(7, ""..., 4096, 0) = 4096
101 1700000001.500000 futex(0x7f, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>
100 1700000001.600000 pwrite64(7, ""..., 4096, 4096) = 4096
101 1700000001.700000 <... futex resumed>) = 0
101 1700000001.800000 --- SIGURG {si_signo=SIGURG, si_code=SI_TKILL, si_pid=1} ---
101 1700000001.900000 +++ exited with 0 +++
100 1700000002.000000 close(7) = 0
"""


def test_calls_are_counted_once_by_when_they_began(tmp_path: Path) -> None:
    file = tmp_path / "strace"
    file.write_text(TRACE)
    assert calls_between(file, 1700000001.0, 1700000002.0) == {"pwrite64": 2, "futex": 1}
