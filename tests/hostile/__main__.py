"""``python -m tests.hostile [TEST ...]``: make every attack, also the long ones, in turn.

Each attack is printed with its result. The last line has the figures. The exit status is 1 if an
attack succeeded, or could not be made because of an error.
"""

import sys
import time
from pathlib import Path
from typing import Final

import pytest

FOLDER: Final = Path(__file__).parent


class Attacks:
    """A pytest plugin that prints each attack with its result, and counts the results."""

    def __init__(self) -> None:
        self.made = 0
        self.held = 0
        self._failed: dict[str, str] = {}
        """The failure of each test that has one, by node id."""
        self._skipped: dict[str, str] = {}
        self._seconds: dict[str, float] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be imported as one attack that was not held."""
        if report.failed:
            self.made += 1
            _say(f"ERROR           {report.nodeid}\n{report.longreprtext}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the set-up, the call or the end of a test."""
        name = report.nodeid
        self._seconds[name] = self._seconds.get(name, 0.0) + report.duration
        if report.failed:
            sections = [f"--- {title}\n{text}" for title, text in report.sections if text]
            self._failed[name] = "\n".join([report.longreprtext, *sections])
        elif report.skipped:
            reason = report.longrepr
            self._skipped[name] = reason[2] if isinstance(reason, tuple) else str(reason)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Print the result of a test."""
        seconds = f"{self._seconds.pop(nodeid, 0.0):7.1f} s"
        if nodeid in self._failed:
            self.made += 1
            _say(f"FAILED {seconds}  {title(nodeid)}\n{self._failed[nodeid]}")
        elif nodeid in self._skipped:
            _say(f"not made here    {title(nodeid)}: {self._skipped[nodeid]}")
        else:
            self.made += 1
            self.held += 1
            _say(f"held   {seconds}  {title(nodeid)}")


def title(nodeid: str) -> str:
    """Return the subject and the sentence of a test: `a_b/test_n4.py::test_x_y` is `n4: x y`."""
    path, _, test = nodeid.partition("::")
    subject = Path(path).stem.removeprefix("test_")
    return f"{subject}: {test.removeprefix('test_').replace('_', ' ')}"


def main(arguments: list[str]) -> int:
    """Run the attacks, and return the exit status."""
    began = time.monotonic()
    attacks = Attacks()
    options = [
        *("--long", "--continue-on-collection-errors", "--rootdir", str(FOLDER.parents[1])),
        # `Attacks` takes the place of the terminal plugin, which has the -q of pyproject.toml.
        *("-o", "addopts=", "--strict-markers", "-p", "no:cacheprovider", "-p", "no:terminal"),
    ]
    status = pytest.main([*options, *(arguments or [str(FOLDER)])], plugins=[attacks])
    seconds = time.monotonic() - began
    _say(f"hostile: attacks={attacks.made} held={attacks.held} seconds={seconds:.0f}")
    return int(status != pytest.ExitCode.OK or attacks.made != attacks.held)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
