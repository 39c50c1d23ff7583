"""A fair lock between processes.

Linux does not hand over an flock(2). A process that releases the lock and asks again often wins
against waiting processes, in a measured case for half a second. Therefore two locks are used. A
process that wants the turn lock first takes the gate lock, and keeps it while it waits for the
turn. The process that holds the gate is next. A process that has just released the turn must queue
for the gate like all others.
"""

import asyncio
import fcntl
import os
import threading
from pathlib import Path

from statestore.contract import StoreError, StoreUnavailable


class WriteLock:
    """A fair lock between the processes that name the same path, and between the coroutines of this
    process that share one object.

    The kernel frees the locks of a process that dies. A free lock is taken without a thread. A
    thread is used only to wait for another process, so the event loop is not blocked.
    """

    def __init__(self, path: Path, patience: float) -> None:
        """Open the two files of the lock, ``<path>-gate`` and ``<path>-turn``.

        `patience` is the longest wait for the turn, in seconds.

        Raises:
            StoreError: the files can be neither opened nor created.
        """
        self._path = path
        self.patience = patience
        self._mine = asyncio.Lock()
        self.queued: asyncio.Future[None] | None = None
        """Done when the thread in the queue gets the turn. None if no thread is waiting."""
        self._wanted = False
        self._closed = False
        self._gate = _open(path, "gate")
        try:
            self._turn = _open(path, "turn")
        except StoreError:
            os.close(self._gate)
            raise

    async def acquire(self) -> None:
        """Wait for the turn.

        Raises:
            StoreUnavailable: the turn did not come in time because its holder is stuck.
            StoreError: the lock is closed.
        """
        await self._mine.acquire()
        try:
            if self.queued is not None or not self._take():
                await self._wait()
        except BaseException:
            self._mine.release()
            raise

    def release(self) -> None:
        """Release the turn to the next waiter."""
        fcntl.flock(self._turn, fcntl.LOCK_UN)
        self._mine.release()

    def close(self) -> None:
        """Close the files. This releases the turn."""
        if self._closed:
            return
        self._closed = True
        # A thread in the queue still needs the descriptors; `_granted` closes them.
        if self.queued is None:
            self._close_files()

    def _take(self) -> bool:
        """Take the turn if it is free and no process queues for it."""
        if self._closed:
            raise StoreError(f"{self._path} is closed")
        try:
            fcntl.flock(self._gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)
        return True

    async def _wait(self) -> None:
        """Wait for the turn in the queue. Reuse the place of an earlier waiter that timed out."""
        if self.queued is None:
            loop = asyncio.get_running_loop()
            self.queued = loop.create_future()
            threading.Thread(target=self._queue, args=(loop,), daemon=True).start()
        queued = self.queued
        self._wanted = True
        try:
            await asyncio.wait([queued], timeout=self.patience)
        except asyncio.CancelledError:
            if queued.done():
                fcntl.flock(self._turn, fcntl.LOCK_UN)
            raise
        finally:
            self._wanted = False
        if not queued.done():
            raise StoreUnavailable(
                f"another process has kept {self._path} locked for {self.patience:g} s"
            )

    def _queue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait in the queue. This is the body of the thread."""
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        try:
            loop.call_soon_threadsafe(self._granted)
        except RuntimeError:  # The loop is closed, so no coroutine waits for the turn.
            self._close_files()

    def _granted(self) -> None:
        queued, self.queued = self.queued, None
        if self._closed:
            self._close_files()
        elif not self._wanted:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
        if queued is not None:
            queued.set_result(None)

    def _close_files(self) -> None:
        os.close(self._gate)
        os.close(self._turn)


def _open(path: Path, part: str) -> int:
    name = f"{path}-{part}"
    try:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as err:
        raise StoreError(f"the lock {name} cannot be opened: {err.strerror}") from None
