"""Print results on standard output and notices on standard error.

A result is plain text, independent of the width of the terminal, so that it can be piped. On a
terminal it has colours, unless NO_COLOR is set.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from evcore.commands.errors import clean


class _Console(Console):
    """A console that raises BrokenPipeError to its caller."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 - rich calls this while it handles the BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Return a console that neither wraps lines nor reads markup."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


class Notices:
    """Progress messages for people, on standard error."""

    def __init__(self) -> None:
        self._console = console(stderr=True)

    @property
    def watched(self) -> bool:
        """Whether standard error is a terminal."""
        return self._console.is_terminal

    def say(self, text: str, style: str = "") -> None:
        """Print a line."""
        with contextlib.suppress(OSError):
            self._console.print(Text(text, style=style))

    @contextlib.contextmanager
    def below(self, shown: RenderableType) -> Generator[Callable[[RenderableType], None]]:
        """Show `shown` below all lines for the duration of a block.

        Yield a function that replaces it.
        """

        def draw(found: RenderableType) -> None:
            with contextlib.suppress(OSError):
                live.update(found, refresh=True)

        with Live(shown, console=self._console, auto_refresh=False, transient=True) as live:
            yield draw


def print_json(document: Any, *, indent: int | None = None) -> None:
    """Print a JSON document, on one line unless `indent` is given."""
    sys.stdout.write(json.dumps(document, indent=indent) + "\n")


def print_columns(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of plain text. The last column is not padded."""
    kept = [[clean(cell) for cell in row] for row in rows]
    count = len(headings) - 1
    widths = [max(len(row[i]) for row in (headings, *kept)) for i in range(count)]
    out = console()

    def line(row: Sequence[str]) -> str:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        return "  ".join([*cells, row[-1]]).rstrip()

    out.print(Text(line(headings), style="bold"))
    for row in kept:
        out.print(Text(line(row)))
