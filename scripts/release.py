"""Release evcore: ``make release NEXT=0.2.0`` (docs/releasing.md).

It releases the version that the tree has, and then gives the tree the next one. It changes nothing
before all checks have passed and everything is built, and pushes nothing.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import audit

ROOT = Path(__file__).resolve().parent.parent
HISTORIES = ROOT / "tests" / "histories"
SUMS = "SHA256SUMS"
VERSION = re.compile(r"\d+\.\d+\.\d+")
UNRELEASED = "## [Unreleased]\n"
SBOM_OF_CRATES = ".dist-info/sboms/wire.cyclonedx.json"
PLACES = {
    "pyproject.toml": '\nversion = "{}"\n',
    "wire/Cargo.toml": '\nversion = "{}"\n',
    "wire/Cargo.lock": 'name = "wire"\nversion = "{}"\n',
    "schemas/version.py": 'VERSION: Final = "{}"\n',
}
"""Where the version stands."""


class ReleaseError(Exception):
    """The tree cannot be released."""


def run(*command: str | Path) -> str:
    """Run a command in the tree and return its output.

    Raises:
        ReleaseError: it fails.
    """
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        line = " ".join(map(str, command))
        raise ReleaseError(f"`{line}` fails:\n{done.stdout}{done.stderr}")
    return done.stdout


def version() -> str:
    """Return the version of the tree."""
    found = re.search(r'\nversion = "([^"]+)"', (ROOT / "pyproject.toml").read_text())
    if found is None:
        raise ReleaseError("pyproject.toml has no version")
    return found[1]


def check(this: str, following: str) -> None:
    """Check that the tree can be released.

    Raises:
        ReleaseError: it says why not.
    """
    if not VERSION.fullmatch(following) or _number(following) <= _number(this):
        raise ReleaseError(f"the next version must be like 0.2.0 and above {this}: {following}")
    if run("git", "status", "--porcelain"):
        raise ReleaseError("the tree has changes that are not committed")
    if run("git", "tag", "--list", f"v{this}"):
        raise ReleaseError(f"{this} is released: there is a tag v{this}")
    if not _notes().strip():
        raise ReleaseError("CHANGELOG.md has nothing under [Unreleased]")
    recorded = run(sys.executable, "-m", "tests.histories.record")
    if recorded or run("git", "status", "--porcelain"):
        raise ReleaseError(f"the recorded histories are not current:\n{recorded}")


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _notes() -> str:
    """Return what CHANGELOG.md has under [Unreleased]."""
    _, found, rest = (ROOT / "CHANGELOG.md").read_text().partition(UNRELEASED)
    if not found:
        raise ReleaseError("CHANGELOG.md has no section [Unreleased]")
    return rest.partition("\n## [")[0]


def freeze(this: str) -> None:
    """Date the changelog, and fix the octets of the recorded histories of this version."""
    changelog = ROOT / "CHANGELOG.md"
    today = datetime.now(UTC).date().isoformat()
    dated = f"{UNRELEASED}\n## [{this}] - {today}\n"
    changelog.write_text(changelog.read_text().replace(UNRELEASED, dated, 1))
    folder = HISTORIES / this
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.glob("*.jsonl"))
    ]
    (folder / SUMS).write_text("".join(lines))


def begin(this: str, following: str) -> None:
    """Give the tree the next version, with histories of its own."""
    for name, form in PLACES.items():
        path = ROOT / name
        text = path.read_text()
        if form.format(this) not in text:
            raise ReleaseError(f"{name} does not have the version {this}")
        path.write_text(text.replace(form.format(this), form.format(following), 1))
    run(sys.executable, "-m", "schemas.generate")  # the AsyncAPI document has the version
    folder = HISTORIES / following
    folder.mkdir(exist_ok=True)
    for path in (HISTORIES / this).glob("*.jsonl"):
        shutil.copy(path, folder)


def commit(subject: str) -> None:
    """Commit all changes of the tree."""
    run("git", "add", "--all")
    run("git", "commit", "--quiet", "--message", subject)


def build() -> None:
    """Build the wheel and its SBOMs into dist/, and the image if buildah or podman is there.

    Raises:
        ReleaseError: the wheel, an SBOM or the image cannot be built.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if cache.is_dir():  # as scripts/setup.sh does, so that little is compiled again
        os.environ.setdefault("CARGO_TARGET_DIR", str(cache / "evcore" / "cargo-target"))
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(".venv/bin/maturin", "build", "--release", "--out", dist)
    (wheel,) = dist.glob("evcore-*.whl")
    write_sboms(wheel, version())
    tool = next((name for name in ("buildah", "podman", "docker") if works(name)), None)
    if tool is None:
        sys.stdout.write("release: no buildah, podman or docker works: the image is not built\n")
        return
    run(tool, "build", "--file", "Containerfile", "--tag", f"evcore:{version()}", ".")


def works(tool: str) -> bool:
    """Whether a tool that builds images is there, and its daemon runs if it has one."""
    if shutil.which(tool) is None:
        return False
    return subprocess.run((tool, "info"), capture_output=True, check=False).returncode == 0  # noqa: S603


def write_sboms(wheel: Path, this: str) -> None:
    """Write the SBOMs of a wheel beside it, as CycloneDX JSON.

    One has the Python packages of an installation, in the versions of constraints.txt. The other
    has the crates that are linked into the wheel.

    Raises:
        ReleaseError: a tool cannot be installed, or the wheel has no SBOM of its crates.
    """
    python, rust = (wheel.parent / f"evcore-{this}-{part}.cdx.json" for part in ("python", "rust"))
    with zipfile.ZipFile(wheel) as file:  # maturin has put it there (PEP 770)
        name = next((one for one in file.namelist() if one.endswith(SBOM_OF_CRATES)), None)
        if name is None:
            raise ReleaseError(f"{wheel.name} has no SBOM of its crates: is maturin too old?")
        rust.write_bytes(file.read(name))
    try:
        tool = audit.python_tool("cyclonedx-py")
    except audit.ToolError as err:
        raise ReleaseError(str(err)) from None
    with tempfile.TemporaryDirectory() as folder:
        installed = Path(folder, "bin", "python")
        run(audit.uv(), "venv", "--quiet", "--python", sys.executable, folder)
        options = ("--quiet", "--python", installed, "--constraint", "constraints.txt")
        run(audit.uv(), "pip", "install", *options, wheel)
        run(
            *(tool, "environment", "--output-reproducible", "--pyproject", "pyproject.toml"),
            *("--output-format", "JSON", "--output-file", python, installed),
        )


def main(arguments: list[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--next", dest="following", required=True, metavar="VERSION")
    parser.add_argument("--no-build", action="store_true", help="neither wheel, SBOMs nor image")
    options = parser.parse_args(arguments)
    try:
        this = version()
        check(this, options.following)
        if not options.no_build:
            build()
        freeze(this)
        commit(f"release: {this}")
        run("git", "tag", "--annotate", f"v{this}", "--message", f"evcore {this}")
        begin(this, options.following)
        commit(f"release: begin {options.following}")
    except ReleaseError as err:
        sys.stderr.write(f"release: {err}\n")
        return 1
    sys.stdout.write(f"release: {this} is tagged v{this}; push it with `git push --follow-tags`\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
