"""Two hash seeds decide the same, and so does a process without files and entropy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.histories import history
from tests.purity import seccomp
from tests.purity.redecide import digest
from tests.variants import folder, wrapped

ROOT = Path(__file__).parent.parent.parent
SEEDS = ("1", "2")

DEREGISTRATION = "gmm/deregistration/procedure"
IN_THE_ORDER_OF_A_SET = """
def before(d, received):
    for name in {"T3502", "T3512", "T3550", "T3560", "T3570", "T3513", "T3522", "T3555"}:
        d.note(name)
"""


def digests(*arguments: str | Path, **environment: str) -> dict[str, str]:
    """Return the digests that another process prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.purity.redecide", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def recorded() -> dict[str, str]:
    """Return the digests of the histories as they were recorded."""
    found: dict[str, str] = {}
    for path in history.files():
        logs = history.read(path).aggregates()
        found[path.stem] = digest(r.step() for log in logs.values() for r in log)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_every_history_is_decided_the_same_with_any_hash_seed(seed: str) -> None:
    assert digests(PYTHONHASHSEED=seed) == recorded()


def test_the_order_of_a_set_is_found(tmp_path: Path) -> None:
    path = folder(tmp_path, {DEREGISTRATION: wrapped(DEREGISTRATION, IN_THE_ORDER_OF_A_SET)})
    one, other = (digests(path, "deregistration", PYTHONHASHSEED=seed) for seed in SEEDS)
    assert one.keys() == other.keys() == {"deregistration"}
    assert one != other


@pytest.mark.skipif(not seccomp.is_possible(), reason="system calls of this machine are unknown")
def test_every_history_is_decided_without_files_and_without_entropy() -> None:
    """The kernel refuses both to the process, and so to wire as well."""
    assert digests(SEALED="1") == recorded()
