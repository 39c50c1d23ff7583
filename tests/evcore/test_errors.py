"""Errors become sentences: one each, no keys, no traceback unless it is requested."""

import io
import os
import subprocess
import sys

import pytest

from evcore import cli
from evcore.commands import app as commands
from evcore.commands import errors
from evcore.commands.errors import CommandError, UsageError, sentences, status_of
from evcore.local.process import ProcessError
from schemas.config.reading import ConfigError
from statestore.contract import StoreDamaged, StoreUnavailable
from statestore.importers import ImportProblem
from tests.evcore.shell import Shell
from transport import TransportError

KEY = "465b5ce8b199b49faa5f0a2ee238a6bc"


@pytest.mark.parametrize(
    "kind",
    [
        CommandError,
        ConfigError,
        ProcessError,
        StoreDamaged,
        StoreUnavailable,
        TransportError,
        UsageError,
    ],
)
def test_what_a_user_can_mend_is_its_own_sentence(kind: type[Exception]) -> None:
    error = kind("the sentence")
    assert sentences(error) == ["the sentence"]
    assert status_of(error) == (2 if kind is UsageError else 1)


def test_problems_of_an_import_are_a_line_each() -> None:
    assert sentences(ImportProblem("one", "two")) == ["one", "two"]
    many = sentences(ImportProblem(*(f"problem {n}" for n in range(25))))
    assert many[19:] == ["problem 19", "and 5 more problems"]


def test_the_machine() -> None:
    assert sentences(OSError(28, "No space left on device")) == ["No space left on device"]
    assert sentences(FileNotFoundError(2, "No such file", "/x")) == ["/x: No such file"]
    assert sentences(OSError()) == ["OSError"]
    assert sentences(MemoryError()) == ["there is not enough memory for this"]


def test_a_bug_says_where_and_not_what() -> None:
    with pytest.raises(ValueError, match=KEY) as caught:
        int(KEY)
    (sentence,) = sentences(caught.value)
    assert sentence.startswith("this is a bug: ValueError at test_errors.py:")
    assert sentence.endswith("EVCORE_TRACEBACK=1 shows the traceback")
    assert KEY not in sentence


def test_errors_of_several_tasks() -> None:
    group = ExceptionGroup("tasks", [ProcessError("one"), OSError(28, "No space left on device")])
    assert sentences(group) == ["one", "No space left on device"]


def test_keys_are_not_told_and_control_characters_are_not_sent() -> None:
    said = sentences(CommandError(f"{KEY}: {KEY.upper()}x {KEY * 2} \x1b[31m\nred"))
    assert said == [f"(secret): {KEY.upper()}x (secret) \\x1b[31m\\nred"]


def fail(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(commands, "app", lambda _: raises)


def test_a_traceback_for_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    fail(ValueError("x"), monkeypatch)
    assert cli.main([]) == 1
    monkeypatch.setenv("EVCORE_TRACEBACK", "1")
    with pytest.raises(ValueError, match="x"):
        cli.main([])


def test_ctrl_c_is_quiet(evcore: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(KeyboardInterrupt(), monkeypatch)
    assert evcore("log", "list") == (130, "", "")


def test_nobody_reads_the_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, s: str, /) -> int:
            raise OSError(5, s)

    fail(CommandError("x"), monkeypatch)
    monkeypatch.setattr("sys.stderr", Closed())
    assert cli.main([]) == 1


@pytest.mark.parametrize(
    "command", [["log", "list"], ["--help"], ["subscriber", "home-keys", "--json"]]
)
def test_a_closed_pipe_is_no_error(recorded: object, command: list[str]) -> None:
    del recorded
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "evcore", *command],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (errors.PIPE_CLOSED, b"")


def test_a_full_disk_is_told(recorded: object) -> None:
    del recorded
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "evcore", "log", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"evcore: No space left on device\n")


def test_any_locale(recorded: object) -> None:
    """With ASCII only, other characters are escaped."""
    del recorded
    done = subprocess.run(
        [sys.executable, "-m", "evcore", "log", "show", "müller"],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"evcore: 'm")
    assert done.stderr.isascii()
