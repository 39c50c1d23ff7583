"""`python -m evcore.local.fork_server FD`: a process that has imported all that a function process
needs, and forks one whenever it is asked to on a socket.

It has no threads and no event loop, so that a fork is a whole process. What it forks is a child of
`evcore up` and not its own: it forks twice, and `evcore up`, which is a subreaper (prctl(2)), gets
the orphan. So a function process has the same parent, and the same end, as one that was started
the slow way, and outlives the server.

multiprocessing's fork server would not do: it keeps its children, and starts a second process to
track resources that nobody has here.
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
from schemas.procedures import MODULES

REQUEST_OCTETS: Final = 65_536

_PR_SET_PDEATHSIG: Final = 1
_prctl: Final = ctypes.CDLL(None).prctl


def serve(requests: socket.socket) -> Request | None:
    """Fork until the other end of the socket is closed.

    It returns None then; and in each process that it has forked, what that one is to be.
    """
    gc.collect()
    gc.freeze()  # a collection in a child is not to copy what is imported
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
    """Fork again, and go on in the one that is a child of `parent` then.

    As every process that `evcore up` starts, it has a session of its own and does not outlive its
    parent.
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
    """The server, and what it forks; the exit status of either."""
    for module in MODULES.values():
        import_module(module)
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    if request is None:
        return 0
    setproctitle(" ".join((sys.executable, "-m", "functions.runtime", *request.arguments)))
    return function.main(list(request.arguments))


if __name__ == "__main__":
    sys.exit(main())
