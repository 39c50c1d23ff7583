"""`python -m tests.conformance.generate`: docs/states.md and docs/conformance.md, of the code.

`--check` fails when a file there is not what would be written.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.conformance import conformance_document, states_document

DOCS: Final = Path(__file__).parents[2] / "docs"

DOCUMENTS: Final[dict[str, Callable[[], str]]] = {
    "conformance.md": conformance_document.text,
    "states.md": states_document.text,
}


def stale() -> list[str]:
    """The documents that are not what would be written."""
    found: list[str] = []
    for name, write in DOCUMENTS.items():
        path = DOCS / name
        if not path.exists() or path.read_text(encoding="utf-8") != write():
            found.append(name)
    return found


def main(arguments: list[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.generate")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    if options.check:
        found = stale()
        for name in found:
            sys.stderr.write(
                f"docs/{name} is not current: run `python -m tests.conformance.generate`\n"
            )
        return 1 if found else 0
    for name, write in DOCUMENTS.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
