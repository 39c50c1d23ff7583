"""`make audit` reports its findings, and never `ok` for a check that it could not make."""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def load() -> Any:
    """Import scripts/audit.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("audit", ROOT / "scripts" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["audit"] = module
    spec.loader.exec_module(module)
    return module


audit = load()
Outcome = audit.Outcome

GOOD = {"name": "idna", "version": "3.20", "vulns": []}
VULNERABLE = {
    "name": "requests",
    "version": "2.19.0",
    "vulns": [{"id": "PYSEC-2018-28", "fix_versions": ["2.20.0"], "aliases": []}],
}
# The report of pip-audit, with the status 0, for a package index that has no advisories.
UNKNOWN = {
    "name": "idna",
    "skip_reason": "Dependency not found on PyPI and could not be audited: idna (3.20)",
}


@pytest.mark.parametrize(
    ("dependencies", "outcome", "line"),
    [
        ([GOOD, GOOD], "ok", "2 Python packages have no known vulnerability"),
        ([GOOD, VULNERABLE], "failed", "requests 2.19.0: PYSEC-2018-28, fixed in 2.20.0"),
        ([GOOD, UNKNOWN], "unavailable", "the advisories of PyPI cannot be had for 1 packages: "),
        ([UNKNOWN, VULNERABLE], "failed", "requests 2.19.0: PYSEC-2018-28, fixed in 2.20.0"),
    ],
)
def test_python(dependencies: list[Any], outcome: str, line: str) -> None:
    report = json.dumps({"dependencies": dependencies, "fixes": []})
    result = audit.python_result(report, "")
    assert result.outcome == outcome
    assert result.lines[0].startswith(line)


def test_python_without_a_network() -> None:
    error = "Traceback\nrequests.exceptions.ConnectionError: Failed to resolve 'pypi.org'"
    result = audit.python_result("", error)
    assert result.outcome is Outcome.UNAVAILABLE
    assert "Failed to resolve" in result.lines[0]


@pytest.mark.parametrize(
    ("status", "said", "outcome"),
    [
        (0, "", "ok"),
        (1, "error[vulnerability]: a crate has a flaw\nRUSTSEC-2026-0001", "failed"),
        (
            1,
            "[ERROR] failed to fetch advisory database https://github.com/RustSec/advisory-db",
            "unavailable",
        ),
    ],
)
def test_rust(status: int, said: str, outcome: str) -> None:
    result = audit.rust_result(status, said, ("advisories",))
    assert result.outcome == outcome
    assert result.lines


@pytest.mark.parametrize(
    ("python", "rust", "status", "last"),
    [
        ("ok", "ok", 0, "audit: python=ok rust=ok licences=ok"),
        ("ok", "failed", 1, "audit: python=ok rust=failed licences=ok"),
        ("unavailable", "ok", 3, "audit: python=unavailable rust=ok licences=ok"),
        ("unavailable", "failed", 1, "audit: python=unavailable rust=failed licences=ok"),
    ],
)
def test_the_status_and_the_last_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    python: str,
    rust: str,
    status: int,
    last: str,
) -> None:
    def check(outcome: str) -> Callable[[], Any]:
        return lambda: audit.Result(Outcome(outcome), ["a sentence"])

    checks = {"python": check(python), "rust": check(rust), "licences": check("ok")}
    monkeypatch.setattr(audit, "CHECKS", checks)
    assert audit.main() == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == last
    assert ("NOT COMPLETE" in lines[-2]) == ("unavailable" in last)


def test_a_tool_that_cannot_be_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a network, nothing is called good."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(audit, "PINNED", tmp_path / "audit.txt")
    (tmp_path / "audit.txt").write_text("evcore-has-no-such-package==0.0.0\n")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setattr(audit, "CHECKS", {"python": audit.audit_python})
    assert audit.main() == audit.INCOMPLETE
    said = capsys.readouterr().out
    assert "audit: python: pip-audit cannot be installed: " in said
    assert said.endswith("audit: python=unavailable\n")


def test_every_tool_is_pinned() -> None:
    lines = [line for line in audit.PINNED.read_text().splitlines() if not line.startswith("#")]
    assert all("==" in line for line in lines)
    assert {"pip-audit", "cyclonedx-bom"} <= {line.partition("==")[0] for line in lines}
