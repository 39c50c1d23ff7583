"""`python -m tests.hostile` counts attacks, and its status says whether all were held."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests import hostile

ROOT = Path(__file__).parents[2]
HELD = """
import pytest

def test_a_stranger_is_ignored():
    pass

@pytest.mark.long
def test_a_long_flood():
    pass
"""
LOST = """
def test_a_door_is_open():
    print("seen by the attacker")
    assert "shut" == "open"
"""
ELSEWHERE = """
import pytest

def test_a_full_disk():
    pytest.skip("needs root")
"""


def run(folder: Path, **files: str) -> tuple[int, list[str]]:
    """Run the attacks of some files in a folder. Return the status and the lines."""
    package = folder / "tests" / "hostile"
    package.mkdir(parents=True)
    (folder / "tests" / "__init__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("__init__.py", "__main__.py", "conftest.py"):
        shutil.copy(Path(hostile.__path__[0]) / name, package)
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "tests.hostile"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout.splitlines()


def test_all_are_held(tmp_path: Path) -> None:
    status, lines = run(tmp_path, test_n4=HELD)
    assert status == 0, lines
    assert [re.sub(r" +[0-9.]+ s ", "", line) for line in lines[:-1]] == [
        "held n4: a stranger is ignored",
        "held n4: a long flood",
    ]
    assert re.fullmatch(r"hostile: attacks=2 held=2 seconds=\d+", lines[-1])


def test_one_is_not_held(tmp_path: Path) -> None:
    status, lines = run(tmp_path, test_n4=HELD, test_bus=LOST)
    assert status == 1
    assert lines[-1].startswith("hostile: attacks=3 held=2 ")
    assert any("bus: a door is open" in line for line in lines)
    assert "seen by the attacker" in lines


def test_a_file_that_cannot_be_read_is_not_held(tmp_path: Path) -> None:
    status, lines = run(tmp_path, test_n4=HELD, test_bus="import there_is_no_such_module")
    assert status == 1
    assert lines[-1].startswith("hostile: attacks=3 held=2 ")


def test_an_attack_that_cannot_be_made_here_is_told_and_not_counted(tmp_path: Path) -> None:
    status, lines = run(tmp_path, test_disk=ELSEWHERE, test_n4=HELD)
    assert status == 0
    assert lines[0] == "not made here    disk: a full disk: Skipped: needs root"
    assert lines[-1].startswith("hostile: attacks=2 held=2 ")
