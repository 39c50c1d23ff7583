"""Run the command line in this process, and search its whole output for keys."""

import base64
import json
from typing import Any, NamedTuple

import pytest

from evcore.cli import main


class Said(NamedTuple):
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The JSON documents on standard output, one a line."""
        return [json.loads(line) for line in self.lines]


class Shell:
    """Runs commands. None of them may print one of `keys` or a traceback."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.keys: set[bytes] = set()

    def __call__(self, *arguments: object) -> Said:
        self._capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        said = Said(status, out, err)
        text = said.out + said.err
        assert "Traceback" not in text, text
        assert not leaked(text, self.keys), leaked(text, self.keys)
        return said

    def ok(self, *arguments: object) -> Said:
        """Run a command that must succeed."""
        said = self(*arguments)
        assert said.status == 0, said
        return said

    def refused(self, *arguments: object, status: int = 1) -> str:
        """Run a command that must fail. Return the sentence that it prints."""
        said = self(*arguments)
        assert (said.status, said.out) == (status, ""), said
        (sentence,) = said.err.splitlines()
        assert sentence.startswith("evcore: "), sentence
        assert "this is a bug" not in sentence, sentence
        return sentence.removeprefix("evcore: ")


def leaked(text: str, keys: set[bytes]) -> list[str]:
    """Return the keys in a text: in hexadecimal digits, in base64, or as Python prints bytes."""
    folded = text.lower()
    return [
        key.hex()
        for key in keys
        if key.hex() in folded
        or base64.b64encode(key).decode().rstrip("=") in text
        or repr(key)[2:-1] in text
    ]
