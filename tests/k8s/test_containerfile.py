"""The Containerfile copies existing paths, and all sources of the wheel."""

import io
import tomllib
from pathlib import Path

from dockerfile_parse import DockerfileParser

ROOT = Path(__file__).resolve().parents[2]
FILE = DockerfileParser(
    fileobj=io.BytesIO((ROOT / "Containerfile").read_bytes())  # pyright: ignore[reportArgumentType]
)
"""The function reads octets, although its types do not say so."""


def copied() -> list[str]:
    lines = [line["value"] for line in FILE.structure if line["instruction"] == "COPY"]
    return [source for value in lines if "--from=" not in value for source in value.split()[:-1]]


def test_what_it_copies_is_there() -> None:
    for source in copied():
        assert (ROOT / source).exists(), source


def test_it_copies_every_package_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["maturin"]["python-packages"]
    assert {*packages, "wire"} == {source for source in copied() if (ROOT / source).is_dir()}


def test_the_context_lets_through_what_it_copies() -> None:
    lines = (ROOT / ".containerignore").read_text().splitlines()
    passed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert passed == set(copied())


def test_it_runs_as_nobody_in_particular() -> None:
    users = [line["value"] for line in FILE.structure if line["instruction"] == "USER"]
    assert users == ["10001:10001"]


def test_images_are_pinned() -> None:
    images = {
        line["value"].partition("=")[0]: line["value"].partition("=")[2]
        for line in FILE.structure
        if line["instruction"] == "ARG"
    }
    assert all("@sha256:" in images[name] for name in ("RUST", "PYTHON"))
    assert images["FOUNDATIONDB"].rpartition(":")[2].startswith("7.3.")
