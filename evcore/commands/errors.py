"""Errors as a user of the command line sees them: a sentence each, and an exit status."""

import os
import re
import sys
import traceback
from pathlib import Path
from typing import Final, cast

import typer

from schemas.redact import HIDDEN


class UsageError(Exception):
    """The command line is wrong, whatever this machine has. Exit status 2."""


class CommandError(Exception):
    """The command cannot do what it was asked; it says why in one sentence. Exit status 1."""


FAILED: Final = 1
USAGE: Final = 2
PIPE_CLOSED: Final = 141
"""What a shell says of a program that SIGPIPE has ended."""

_EXPECTED: Final = (
    ("eventing.jetstream.connection", "BusError"),
    ("evcore.local.process", "ProcessError"),
    ("loadgen", "ConfigError"),
    ("loadgen", "LoadError"),
    ("schemas.config.reading", "ConfigError"),
    ("statestore.contract", "StoreError"),
    ("transport", "TransportError"),
)
"""Errors that tell a user what to mend. Where a module has not been imported, none is of it: a
function that starts has no time for modules that it does not need."""
_SHOWN_PROBLEMS: Final = 20
_KEY: Final = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{32,}(?![0-9A-Za-z])")
"""What may be a key, and stands in an error because somebody typed it in the wrong place."""


def clean(text: str) -> str:
    """`text` as it may go to a terminal: what a gNB calls itself may hold anything."""
    return text if text.isprintable() else ascii(text)[1:-1]


def status_of(error: BaseException) -> int:
    """The exit status that goes with an error."""
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, typer.TyperException):
        return error.exit_code
    return FAILED


def sentences(error: BaseException) -> list[str]:
    """What to tell a user about an error: as a rule one sentence, a line each, and no keys."""
    return [clean(without_keys(sentence)) for sentence in _sentences(error)]


def without_keys(text: str) -> str:
    """A text of which nobody knows where it came from, and nothing that may be a key in it."""
    return _KEY.sub(HIDDEN, text)


def _sentences(error: BaseException) -> list[str]:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return [sentence for one in group.exceptions for sentence in _sentences(one)]
    if _is(error, "statestore.importers", "ImportProblem"):
        problems = cast("list[str]", [*getattr(error, "problems", ())])
        left = len(problems) - _SHOWN_PROBLEMS
        return [*problems[:_SHOWN_PROBLEMS], f"and {left} more problems"] if left > 0 else problems
    if isinstance(error, UsageError | CommandError) or any(_is(error, *one) for one in _EXPECTED):
        return [str(error)]
    if isinstance(error, typer.TyperException):
        return [_about_usage(error)]
    return [_of_the_machine(error) or _bug(error)]


def _is(error: BaseException, module: str, name: str) -> bool:
    """Whether an error is of a class, if there is anything of that class."""
    found = sys.modules.get(module)
    return found is not None and isinstance(error, getattr(found, name))


def _of_the_machine(error: BaseException) -> str:
    if isinstance(error, OSError):
        what = error.strerror or type(error).__name__
        return f"{error.filename}: {what}" if error.filename else what
    return "there is not enough memory for this" if isinstance(error, MemoryError) else ""


def _about_usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".").partition("\n")[0].replace("Value error, ", "")
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    return f"{message[:1].lower()}{message[1:]}; see `{context.command_path} --help`"


def _bug(error: BaseException) -> str:
    """An error that nobody thought of: where it came from. What it says may hold a secret."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"this is a bug: {type(error).__name__}{where}; EVCORE_TRACEBACK=1 shows all of it"


def wants_traceback() -> bool:
    """Whether whoever looks for a bug has asked for all of it."""
    return os.environ.get("EVCORE_TRACEBACK", "") not in ("", "0")


def help_of(error: BaseException) -> str | None:
    """The help text to print instead, where a command was given without what it needs."""
    if isinstance(error, typer.TyperException):
        message = error.format_message()
        return message if message.startswith("Usage: ") else None
    return None
