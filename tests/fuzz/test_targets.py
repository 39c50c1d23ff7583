"""Run each target for a short time. ``make fuzz`` runs them longer, guided by coverage."""

import platform
import sys

import pytest

from tests.corpus import entries
from tests.fuzz.targets import TARGETS

HAS_ATHERIS = (
    sys.platform == "linux" and platform.machine() == "x86_64" and sys.version_info < (3, 14)
)


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus(name: str) -> None:
    target = TARGETS[name]
    for entry in entries(target.corpus):
        octets = target.before + entry.octets
        target.run(len(octets).to_bytes(2, "big") + octets if target.sized else octets)


@pytest.mark.skipif(not HAS_ATHERIS, reason="Atheris has no wheel for this machine")
@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_mutations_of_the_corpus(name: str) -> None:
    from tests.fuzz.running import fuzz

    found = fuzz(name, seconds=3)
    assert not found.failed, found.output
    assert found.runs > len(entries(TARGETS[name].corpus))
