"""Record the histories of this version again: ``python -m tests.histories.record [NAME ...]``.

Each history is the log of one of `tests.histories.scenarios`. Only histories that differ are
written, into the folder of the version in pyproject.toml. Folders of released versions are never
changed: operators have such logs, and they must always be decided in the same way. CONTRIBUTING.md
says when to run this.
"""

import sys
import tomllib
from pathlib import Path

from tests.histories import history
from tests.histories.scenarios import SCENARIOS

PYPROJECT = history.HERE.parents[1] / "pyproject.toml"


def folder() -> Path:
    """Return the folder of the version under development."""
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
