"""Errors as users of the command line see them: one sentence each, and an exit status."""

import os
import re
import sys
import traceback
from pathlib import Path
from typing import Final, cast

import typer

from schemas.redact import HIDDEN


class UsageError(Exception):
    """The command line is wrong. Exit status 2."""


class CommandError(Exception):
    """The command cannot do its work; the message is one sentence. Exit status 1."""


FAILED: Final = 1
USAGE: Final = 2
PIPE_CLOSED: Final = 141
"""Exit status that a shell reports for a program that SIGPIPE has ended."""

_EXPECTED: Final = (
    ("eventing.jetstream.connection", "BusError"),
    ("evcore.local.process", "ProcessError"),
    ("loadgen", "ConfigError"),
    ("loadgen", "LoadError"),
    ("schemas.config.reading", "ConfigError"),
    ("statestore.contract", "StoreError"),
    ("transport", "TransportError"),
)
"""Errors with messages for users: module and class. A module that is not imported is skipped, so
that a starting function imports only the modules that it needs."""
_SHOWN_PROBLEMS: Final = 20
_KEY: Final = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{32,}(?![0-9A-Za-z])")
"""A possible key in an error message, typed in the wrong place."""


def clean(text: str) -> str:
    """Return `text` with unprintable characters escaped, such as those in the name of a gNB."""
    return text if text.isprintable() else ascii(text)[1:-1]


def status_of(error: BaseException) -> int:
    """Return the exit status for an error."""
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, typer.TyperException):
        return error.exit_code
    return FAILED


def sentences(error: BaseException) -> list[str]:
    """Return the lines to print for an error: usually one sentence, without keys."""
    return [clean(without_keys(sentence)) for sentence in _sentences(error)]


def without_keys(text: str) -> str:
    """Return a text from an unknown source with possible keys hidden."""
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
    """Whether an error is an instance of a class, if the module of the class is imported."""
    found = sys.modules.get(module)
    return found is not None and isinstance(error, getattr(found, name))


def _of_the_machine(error: BaseException) -> str:
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return f"{error.filename}: {reason}" if error.filename else reason
    return "there is not enough memory for this" if isinstance(error, MemoryError) else ""


def _about_usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".").partition("\n")[0].replace("Value error, ", "")
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    return f"{message[:1].lower()}{message[1:]}; see `{context.command_path} --help`"


def _bug(error: BaseException) -> str:
    """Return the place of an unexpected error, without its text: the text may hold a secret."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"this is a bug: {type(error).__name__}{where}; EVCORE_TRACEBACK=1 shows the traceback"


def wants_traceback() -> bool:
    """Whether EVCORE_TRACEBACK requests a traceback."""
    return os.environ.get("EVCORE_TRACEBACK", "") not in ("", "0")


def help_of(error: BaseException) -> str | None:
    """Return the help text to print instead of an error, if the command has no arguments."""
    if isinstance(error, typer.TyperException):
        message = error.format_message()
        return message if message.startswith("Usage: ") else None
    return None
