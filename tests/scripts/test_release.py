"""`make release`, in a copy of the tree."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from schemas.version import VERSION

ROOT = Path(__file__).parents[2]
NEXT, AFTER = (f"{int(VERSION.split('.')[0]) + n}.0.0" for n in (1, 2))
CURRENT = f"tests/histories/{VERSION}"
"""The histories of the version of the tree."""
WITHOUT = shutil.ignore_patterns("__pycache__", "*.svg")
FOLDERS = (
    "scripts",
    "schemas",
    "functions",
    "statestore",
    "eventing",
    *(f"tests/{name}" for name in ("functions", "wire", "corpus")),
)
FILES = (
    "pyproject.toml",
    "CHANGELOG.md",
    "constraints.txt",
    "wire/Cargo.toml",
    "wire/Cargo.lock",
    "tests/__init__.py",
    "tests/histories/__init__.py",
    "tests/histories/history.py",
    "tests/histories/record.py",
    *(
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests/histories").glob("scenarios*.py"))
    ),
)


class Tree:
    """A git repository with the part of the tree that a release reads and writes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in FOLDERS:
            shutil.copytree(ROOT / name, root / name, ignore=WITHOUT)
        shutil.copytree(ROOT / CURRENT, root / CURRENT)
        for name in FILES:
            if (ROOT / name).exists():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, root / name)
        changelog = root / "CHANGELOG.md"
        text = changelog.read_text().replace("[Unreleased]\n", "[Unreleased]\n\n- A note.\n", 1)
        changelog.write_text(text)
        self.git("init", "--quiet", "--initial-branch", "main")
        self.git("config", "user.name", "test")
        self.git("config", "user.email", "test@example.org")
        (root / ".tools").symlink_to(ROOT / ".tools")  # uv, if it is not on the PATH
        (root / ".gitignore").write_text("__pycache__/\n/.tools\n")
        self.commit()

    def git(self, *arguments: str) -> str:
        command = ("git", *arguments)
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "test")

    def release(self, following: str) -> tuple[int, str]:
        script = self.root / "scripts" / "release.py"
        done = subprocess.run(
            (sys.executable, script, "--next", following, "--no-build"),
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def sboms(self, wheel: Path) -> tuple[int, str]:
        code = (
            "import pathlib, sys; sys.path.insert(0, 'scripts'); import release; "
            f"release.write_sboms(pathlib.Path(sys.argv[1]), '{VERSION}')"
        )
        done = subprocess.run(
            (sys.executable, "-c", code, wheel),
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    def read(self, name: str) -> str:
        return (self.root / name).read_text()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


@pytest.mark.slow
def test_a_release(tree: Tree) -> None:
    notes = tree.read("CHANGELOG.md").partition("## [Unreleased]\n")[2]
    status, said = tree.release(NEXT)
    assert (status, said.count("\n")) == (0, 1), said
    assert tree.git("log", "--format=%s", "-2") == f"release: begin {NEXT}\nrelease: {VERSION}\n"
    assert tree.git("tag", "--points-at", "HEAD~1") == f"v{VERSION}\n"
    assert tree.git("status", "--porcelain") == ""
    head = rf"## \[Unreleased\]\n\n## \[{re.escape(VERSION)}\] - 20\d\d-\d\d-\d\d\n"
    assert re.search(head, tree.read("CHANGELOG.md"))
    assert tree.read("CHANGELOG.md").endswith(notes)
    for name in (
        *("pyproject.toml", "wire/Cargo.toml", "wire/Cargo.lock", "schemas/version.py"),
        "schemas/generated/asyncapi.json",
    ):
        assert f'"{NEXT}"' in tree.read(name)
    for line in tree.read(f"{CURRENT}/SHA256SUMS").splitlines():
        digest, name = line.split("  ")
        for version in (VERSION, NEXT):
            octets = (tree.root / "tests/histories" / version / name).read_bytes()
            assert hashlib.sha256(octets).hexdigest() == digest
    status, said = tree.release(AFTER)
    assert (status, said) == (1, "release: CHANGELOG.md has nothing under [Unreleased]\n")


@pytest.mark.parametrize("following", [VERSION, "0.0.9", "next", "0.2", "1.0.0rc1"])
def test_a_version_that_cannot_be_the_next(tree: Tree, following: str) -> None:
    status, said = tree.release(following)
    assert (status, said.startswith("release: the next version must be like")) == (1, True)
    assert tree.git("log", "--format=%s") == "test\n"


def test_uncommitted_changes(tree: Tree) -> None:
    (tree.root / "more.txt").write_text("more")
    assert tree.release(NEXT) == (1, "release: the tree has changes that are not committed\n")


@pytest.mark.slow
def test_histories_that_are_not_current(tree: Tree) -> None:
    history = tree.root / CURRENT / "suci-null.jsonl"
    history.write_text(history.read_text() + "\n")
    tree.commit()
    status, said = tree.release(NEXT)
    assert status == 1
    assert f"the recorded histories are not current:\nrecorded {VERSION}/suci-null.jsonl" in said


CRATES = {"bomFormat": "CycloneDX", "components": [{"name": "pyo3", "version": "0.29.3"}]}


def wheel_of(folder: Path, *files: tuple[str, str]) -> Path:
    """Return a wheel of evcore that needs msgspec, with more files in its .dist-info."""
    made = folder / f"evcore-{VERSION}-py3-none-any.whl"
    info = f"evcore-{VERSION}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: evcore\nVersion: {VERSION}\nRequires-Dist: msgspec>=0.20\n"
    )
    wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(made, "w") as file:
        for name, text in (("METADATA", metadata), ("WHEEL", wheel), *files, ("RECORD", "")):
            file.writestr(f"{info}/{name}", text)
    return made


@pytest.mark.slow
def test_the_sboms_of_a_wheel(tree: Tree, tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, ("sboms/wire.cyclonedx.json", json.dumps(CRATES)))
    status, said = tree.sboms(wheel)
    if "cannot be installed" in said:
        pytest.skip(said)
    assert status == 0, said
    python = json.loads((tmp_path / f"evcore-{VERSION}-python.cdx.json").read_text())
    assert (python["bomFormat"], python["specVersion"]) == ("CycloneDX", "1.6")
    root = python["metadata"]["component"]
    assert (root["name"], root["version"]) == ("evcore", VERSION)
    (pinned,) = re.findall(r"(?m)^msgspec==(.*)$", tree.read("constraints.txt"))
    found = {one["name"]: one["version"] for one in python["components"]}
    assert found["msgspec"] == pinned
    assert json.loads((tmp_path / f"evcore-{VERSION}-rust.cdx.json").read_text()) == CRATES


def test_a_wheel_without_an_sbom_of_its_crates(tree: Tree, tmp_path: Path) -> None:
    status, said = tree.sboms(wheel_of(tmp_path))
    assert status == 1
    assert "has no SBOM of its crates" in said
