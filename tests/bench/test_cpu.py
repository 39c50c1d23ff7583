"""CPU time of other processes."""

import os
import subprocess
import sys

from bench.cpu import busy_seconds, cpu_seconds

BUSY = """
import threading, time
def work():
    while time.thread_time() < 0.2: pass
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(time.process_time(), flush=True)
input()
"""


def test_the_time_of_a_process_has_that_of_threads_that_have_ended() -> None:
    command = [sys.executable, "-c", BUSY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        told = float(child.stdout.readline())
        busy, ticks = busy_seconds(child.pid), cpu_seconds(child.pid)
        child.communicate(b"\n")
    assert told >= 0.2
    assert busy is not None
    assert told <= busy < told + 0.1
    assert ticks is not None
    assert abs(ticks - busy) < 0.1


def test_a_process_that_is_gone_has_none() -> None:
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(child, 0)
    assert busy_seconds(child) is None
    assert cpu_seconds(child) is None
