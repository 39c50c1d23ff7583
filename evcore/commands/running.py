"""Run the coroutine of a command, and stop it in order on a signal."""

import asyncio
import logging
import os
import signal
from collections.abc import Coroutine
from types import FrameType
from typing import Any, NoReturn, TypeVar

import uvloop

T = TypeVar("T")


class Interrupted(Exception):
    """A signal has ended the command and everything that it had started."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


def log_to_stderr() -> None:
    """Log to standard error, which is the log of a container."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logging.getLogger().addHandler(handler)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that has processes or connections to close.

    The first SIGINT or SIGTERM cancels the coroutine. The second ends this process at once, and
    the kernel ends its children.

    Raises:
        Interrupted: a signal has ended the coroutine.
    """
    return uvloop.run(_supervised(main))


async def _supervised(main: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.get_running_loop()
    task = loop.create_task(main)
    caught: list[int] = []

    def interrupt(number: int) -> None:
        if caught:
            os._exit(128 + number)
        caught.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt, number)
    try:
        return await task
    except asyncio.CancelledError:
        if caught:
            raise Interrupted(caught[0]) from None
        raise


def run_tool(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that only reads and computes. SIGINT interrupts it anywhere.

    Raises:
        KeyboardInterrupt: at SIGINT.
    """
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        return asyncio.run(main)
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    raise KeyboardInterrupt
