"""Which code decides: every source that can take part in a decision, and no other."""

import subprocess
import sys
from pathlib import Path

import pytest

import functions
import wire
from functions.runtime import code
from functions.runtime.code import digest, this_code
from schemas.version import VERSION

PURE = ("decider.py", "decision/", "gmm/", "gsm/", "messages/", "mobility/", "ran/", "ue/", "upf/")


def test_the_code_of_this_process() -> None:
    found = this_code()
    assert (found.release, found.wire, found.variant) == (VERSION, wire.SOURCE_DIGEST, "")
    assert {len(part) for part in (found.functions, found.schemas, found.wire)} == {64}


def test_it_is_the_same_in_every_process() -> None:
    command = (
        sys.executable,
        "-c",
        "from functions.runtime.code import this_code; print(this_code())",
    )
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{this_code()}\n"


def test_every_module_that_decides_is_a_part_of_it() -> None:
    root = Path(functions.__path__[0])
    hosts = {
        path.relative_to(root).as_posix()
        for name in code.HOSTS
        for path in (root / name).rglob("*.py")
    }
    every = {path.relative_to(root).as_posix() for path in root.rglob("*.py")}
    assert code.decision_sources().keys() == every - hosts
    for part in PURE:
        assert any(name.startswith(part) for name in code.decision_sources())


@pytest.mark.parametrize(
    "changed",
    [
        {"a.py": b"1", "b.py": b"3"},
        {"a.py": b"1"},
        {"a.py": b"1", "c.py": b"2"},
        {"a.py": b"12", "b.py": b""},
        {"a.py": b"1", "b.py": b"2", "c.py": b""},
    ],
)
def test_the_digest_is_of_names_and_texts(changed: dict[str, bytes]) -> None:
    one = {"a.py": b"1", "b.py": b"2"}
    assert digest(one) == digest(dict(reversed(one.items())))
    assert digest(one) != digest(changed)
