"""Audit the dependencies: ``make audit``.

pip-audit compares constraints.txt with the advisories of PyPI. cargo-deny compares wire/Cargo.lock
with those of RustSec, and the licences and sources of the crates with wire/deny.toml. The first run
installs the two tools, in the versions that are pinned here. The last line has the results, each
`ok`, `failed` or `unavailable`. The exit status is 1 if a check failed, and 3 if none failed but an
advisory database or a tool cannot be had: then the dependencies are not known to be good.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
CONSTRAINTS: Final = ROOT / "constraints.txt"
PINNED: Final = ROOT / "scripts" / "audit.txt"
CARGO_DENY: Final = "0.20.2"

FAILED: Final = 1
INCOMPLETE: Final = 3

_NO_DATABASE: Final = (
    "failed to fetch advisory database",
    "failed to load advisory database",
    "failed to open advisory database",
    "unable to fetch registry index",
)
"""Words of cargo-deny if it has no advisories, or cannot say which crates are yanked."""


class Outcome(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"


class Result(NamedTuple):
    """The outcome of a check, and sentences about it."""

    outcome: Outcome
    lines: list[str]


class ToolError(Exception):
    """A tool cannot be installed. The message has its last line."""


def cache() -> Path:
    """Return the folder of the tools, which clones share."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "evcore", "audit")


def run(*command: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run a command in the tree."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603


def _must(name: str, *command: str | Path) -> None:
    try:
        done = run(*command)
    except OSError as err:
        raise ToolError(f"{name} cannot be installed: {command[0]}: {err.strerror}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ToolError(f"{name} cannot be installed: {said[-1] if said else 'no reason given'}")


def uv() -> str:
    """Return the uv of this machine, or the one that scripts/setup.sh has installed."""
    return shutil.which("uv") or str(ROOT / ".tools" / "uv" / "bin" / "uv")


def python_tool(name: str) -> Path:
    """Return a tool of scripts/audit.txt, which is installed if it is not there.

    Raises:
        ToolError: it cannot be installed.
    """
    folder = cache() / f"python{sys.version_info.major}.{sys.version_info.minor}"
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != PINNED.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _must(name, uv(), "venv", "--quiet", "--python", sys.executable, folder)
        options = ("--quiet", "--python", folder / "bin" / "python")
        _must(name, uv(), "pip", "install", *options, "--requirement", PINNED)
        stamp.write_text(PINNED.read_text())
    return folder / "bin" / name


def cargo_deny() -> Path:
    """Return cargo-deny, which is built if it is not there. That takes minutes.

    Raises:
        ToolError: it cannot be built.
    """
    folder = cache() / f"cargo-deny-{CARGO_DENY}"
    tool = folder / "bin" / "cargo-deny"
    if not tool.exists():
        _say(f"building cargo-deny {CARGO_DENY} (some minutes the first time)")
        options = ("--quiet", "--locked", "--root", folder)
        _must("cargo-deny", "cargo", "install", *options, f"cargo-deny@{CARGO_DENY}")
    return tool


def audit_python() -> Result:
    """Compare the pinned Python packages with the advisories of PyPI.

    pip-audit succeeds if an index has no advisories at all. So one package is looked up first.
    """
    tool = python_tool("pip-audit")
    wanted = [line for line in CONSTRAINTS.read_text().splitlines() if "==" in line]
    first = python_result(*_pip_audit(tool, wanted[:1]))
    return first if first.outcome is not Outcome.OK else python_result(*_pip_audit(tool, wanted))


def _pip_audit(tool: Path, lines: list[str]) -> tuple[str, str]:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        options = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json")
        done = run(tool, "--requirement", file.name, *options)
        return done.stdout, done.stderr


def python_result(report: str, errors: str) -> Result:
    """Return the result in the JSON report of pip-audit."""
    try:
        dependencies: list[dict[str, Any]] = json.loads(report)["dependencies"]
    except ValueError:
        last = errors.strip().splitlines()[-1:] or ["pip-audit printed nothing"]
        return Result(Outcome.UNAVAILABLE, [f"the advisories of PyPI cannot be had: {last[0]}"])
    vulnerable = [
        f"{one['name']} {one['version']}: {found['id']}, fixed in "
        + (", ".join(found["fix_versions"]) or "no version")
        for one in dependencies
        for found in one.get("vulns", ())
    ]
    if vulnerable:
        return Result(Outcome.FAILED, vulnerable)
    skipped = [one["skip_reason"] for one in dependencies if "skip_reason" in one]
    if skipped:
        reason = f"the advisories of PyPI cannot be had for {len(skipped)} packages: {skipped[0]}"
        return Result(Outcome.UNAVAILABLE, [reason])
    return Result(Outcome.OK, [f"{len(dependencies)} Python packages have no known vulnerability"])


def audit_rust(*checks: str) -> Result:
    """Run checks of cargo-deny on the crates of wire."""
    manifest, config = ROOT / "wire" / "Cargo.toml", ROOT / "wire" / "deny.toml"
    options = ("--manifest-path", manifest, "--config", config)
    quiet = ("--log-level", "error", "--color", "never")
    done = run(cargo_deny(), *options, *quiet, "check", *checks)
    return rust_result(done.returncode, done.stdout + done.stderr, checks)


def rust_result(status: int, said: str, checks: tuple[str, ...]) -> Result:
    """Return the result of cargo-deny."""
    lines = said.strip().splitlines()
    for line in lines:
        if any(words in line.lower() for words in _NO_DATABASE):
            return Result(Outcome.UNAVAILABLE, [f"the advisories of RustSec cannot be had: {line}"])
    if status:
        return Result(Outcome.FAILED, lines)
    return Result(Outcome.OK, [f"cargo-deny finds nothing: {', '.join(checks)}"])


CHECKS: Final = {
    "python": audit_python,
    "rust": lambda: audit_rust("advisories"),
    "licences": lambda: audit_rust("licenses", "bans", "sources"),
}


def main() -> int:
    """Run all checks, and return the exit status."""
    outcomes: dict[str, Outcome] = {}
    for name, check in CHECKS.items():
        try:
            result = check()
        except ToolError as err:
            result = Result(Outcome.UNAVAILABLE, [str(err)])
        outcomes[name] = result.outcome
        for line in result.lines:
            _say(f"{name}: {line}")
    if Outcome.UNAVAILABLE in outcomes.values():
        _say("NOT COMPLETE: what is unavailable was not checked")
    _say(" ".join(f"{name}={outcome}" for name, outcome in outcomes.items()))
    if Outcome.FAILED in outcomes.values():
        return FAILED
    return INCOMPLETE if Outcome.UNAVAILABLE in outcomes.values() else 0


def _say(text: str) -> None:
    sys.stdout.write(f"audit: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
