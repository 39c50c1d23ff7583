"""The version is in three files, two of which are not Python."""

import tomllib
from pathlib import Path

import evcore
from schemas.version import VERSION

ROOT = Path(__file__).parents[2]


def test_all_places_say_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    crate = tomllib.loads((ROOT / "wire" / "Cargo.toml").read_text())["package"]
    assert (VERSION, evcore.__version__) == (project["version"], project["version"])
    assert crate["version"] == VERSION


def test_no_other_file_has_the_version() -> None:
    layers = ["evcore", "eventing", "functions", "gateway", "loadgen", "schemas", "statestore"]
    places = [
        path.relative_to(ROOT).as_posix()
        for layer in [*layers, "transport", "scripts"]
        for path in (ROOT / layer).rglob("*.py")
        if f'"{VERSION}"' in path.read_text()
    ]
    assert places == ["schemas/version.py"]
