"""``python -m tests.conformance.generate`` writes states.json and docs/conformance.md.

Both come from the code. ``--check`` fails if one is not current.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.conformance import conformance_document, states_page

ROOT: Final = Path(__file__).parents[2]

FILES: Final[dict[Path, Callable[[], str]]] = {
    ROOT / "docs/conformance.md": conformance_document.text,
    states_page.FILE: lambda: states_page.text(states_page.data()),
}


def stale() -> list[Path]:
    """Return the files that differ from the code."""
    return [
        path
        for path, made in FILES.items()
        if not path.exists() or path.read_text(encoding="utf-8") != made()
    ]


def main(arguments: list[str] | None = None) -> int:
    """Write or check the files. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.generate")
    parser.add_argument("--check", action="store_true")
    if parser.parse_args(arguments).check:
        found = stale()
        for path in found:
            sys.stderr.write(
                f"{path.relative_to(ROOT)} is not current: "
                "run `python -m tests.conformance.generate`\n"
            )
        return 1 if found else 0
    for path, made in FILES.items():
        path.write_text(made(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
