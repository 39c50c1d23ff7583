"""Errors as a user of the command line sees them: one line, and an exit status."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from evcore.local.process import ProcessError
from eventing.bus import BusError
from loadgen import ConfigError as LoadConfigError
from loadgen import LoadError
from schemas.config import ConfigError
from statestore.contract import StoreError
from transport import TransportError


class UsageError(Exception):
    """The command cannot do what it was asked; it says why in one sentence."""


EXPECTED: Final = (
    BusError,
    ConfigError,
    LoadConfigError,
    LoadError,
    ProcessError,
    StoreError,
    TransportError,
    UsageError,
)


@contextmanager
def said_in_one_line() -> Generator[None]:
    """Turn the errors that are expected into a line on standard error and status 2."""
    try:
        yield
    except EXPECTED as err:
        sys.stderr.write(f"evcore: {err}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        sys.exit(130)
