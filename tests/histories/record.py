"""Record the histories of this version anew: ``python -m tests.histories.record [NAME ...]``.

Each is what one of `tests.histories.scenarios` leaves behind. Only those that differ are
written, into the folder of the version in pyproject.toml. Folders of versions before are never
touched: logs like theirs are in the hands of operators, and what they hold must be decided the
same for ever. CONTRIBUTING.md says when to run this.
"""

import sys
import tomllib
from pathlib import Path

from tests.histories import history
from tests.histories.scenarios import SCENARIOS

PYPROJECT = history.HERE.parents[1] / "pyproject.toml"


def folder() -> Path:
    """Where the histories of the version that is being worked on are."""
    version: str = tomllib.loads(PYPROJECT.read_text())["project"]["version"]
    return history.HERE / version


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - SCENARIOS.keys())
    if unknown:
        sys.stderr.write(f"there is no scenario {', '.join(unknown)}\n")
        return 2
    folder().mkdir(exist_ok=True)
    for name in names or SCENARIOS:
        path = folder() / f"{name}{history.SUFFIX}"
        made = history.text(history.of(SCENARIOS[name]()))
        if not path.exists() or path.read_text() != made:
            path.write_text(made)
            sys.stdout.write(f"recorded {path.relative_to(history.HERE)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
