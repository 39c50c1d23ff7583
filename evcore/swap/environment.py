"""Whole releases as variants: environments with another evcore, run as processes of their own."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from functions.runtime.variants import VariantError
from schemas.code import Code

START: Final = 30.0
"""Seconds that an environment has to say which code it has."""


def python_of(path: Path) -> Path | None:
    """Return the Python of a virtual environment; None if `path` is no environment."""
    python = path / "bin" / "python"
    # Not resolved: the link leads to the Python that the environment was made with.
    return python.absolute() if python.is_file() else None


def command(python: Path, module: str, *arguments: str) -> list[str]:
    """Return a command that runs a module of an environment, whatever the current directory has."""
    return [str(python), "-P", "-m", module, *arguments]


def code_of(python: Path) -> Code:
    """Return the code of the evcore in an environment.

    Raises:
        VariantError: there is none, or it does not start.
    """
    asked = command(python, "functions.runtime.code")
    try:
        done = subprocess.run(asked, capture_output=True, check=True, timeout=START)  # noqa: S603
        return msgspec.json.decode(done.stdout, type=Code)
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError) as err:
        said = getattr(err, "stderr", None) or b""
        *_, why = [str(err), *said.decode(errors="replace").strip().splitlines()]
        raise VariantError(f"{python} runs no evcore that can be a variant: {why}") from None


def run(python: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command of the evcore in an environment, and return its output and exit status."""
    return subprocess.run(  # noqa: S603
        command(python, "evcore", *arguments), capture_output=True, text=True, check=False
    )
