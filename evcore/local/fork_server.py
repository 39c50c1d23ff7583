"""`python -m evcore.local.fork_server FD`: fork function processes on requests from a socket.

The server imports all modules of a function process once, so that a forked process starts fast. It
has no threads and no event loop, because a fork copies only the calling thread. It forks twice, and
`evcore up`, which is a subreaper (prctl(2)), adopts the orphan. So a function process has the same
parent and the same end as a process that was started without the server, and outlives the server.

multiprocessing's fork server does not fit: it keeps its children, and starts a second process to
track resources that do not exist here.
"""

import ctypes
import gc
import os
import signal
import socket
import sys
from importlib import import_module
from typing import Final

import msgspec
from setproctitle import setproctitle

from evcore.local.forking import Request
from functions.runtime import __main__ as function
from functions.runtime.code import this_code
from schemas.procedures import MODULES

REQUEST_OCTETS: Final = 65_536

_PR_SET_PDEATHSIG: Final = 1
_prctl: Final = ctypes.CDLL(None).prctl


def serve(requests: socket.socket) -> Request | None:
    """Fork until the other end of the socket is closed.

    Return None in the server then. In a forked process, return its request.
    """
    gc.collect()
    gc.freeze()  # so that garbage collection in a child does not copy the imported modules
    while (found := _receive(requests)) is not None:
        request, stderr = found
        middle = os.fork()
        if middle == 0:
            _leave_to(request.parent)
            requests.send(str(os.getpid()).encode())
            requests.close()
            os.dup2(stderr, sys.stderr.fileno())
            os.close(stderr)
            return request
        os.close(stderr)
        os.waitpid(middle, 0)
    return None


def _receive(requests: socket.socket) -> tuple[Request, int] | None:
    data, descriptors, _, _ = socket.recv_fds(requests, REQUEST_OCTETS, 1)
    return (msgspec.json.decode(data, type=Request), descriptors[0]) if data else None


def _leave_to(parent: int) -> None:
    """Fork again, and continue in the process that `parent` adopts.

    Like every process of `evcore up`, it has its own session and ends with its parent.
    """
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    os.setsid()
    while os.getppid() == middle:
        os.sched_yield()
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    """Run the server, or the function in a forked process. Return the exit status."""
    for module in MODULES.values():
        import_module(module)
    this_code()  # of the sources that are imported here; they may change on disk later
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    if request is None:
        return 0
    setproctitle(" ".join((sys.executable, "-m", "functions.runtime", *request.arguments)))
    return function.main(list(request.arguments))


if __name__ == "__main__":
    sys.exit(main())
