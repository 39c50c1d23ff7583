"""`evcore doctor`: what this machine has, and what to do about what it has not."""

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import typer
from rich.console import Console
from rich.table import Table

import wire
from evcore.local.broker import binary
from evcore.local.process import ProcessError
from statestore.contract import StoreError
from statestore.open import foundationdb_bindings
from transport.kernel import why_no_kernel_sctp


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    has: bool
    needed: bool
    """Whether a local core cannot run without it."""
    text: str


def doctor() -> None:
    """Look at what this machine has: SCTP, Rust, NATS, FoundationDB."""
    findings = [check() for check in CHECKS]
    table = Table("", "what", "found")
    for found in findings:
        mark = "[green]yes[/green]" if found.has else "[red]no[/red]" if found.needed else "no"
        table.add_row(mark, found.name, found.text)
    Console().print(table)
    missing = [found.name for found in findings if found.needed and not found.has]
    typer.echo(f"doctor: {', '.join(missing) or 'nothing'} that is needed is missing")
    raise typer.Exit(1 if missing else 0)


def _python() -> Finding:
    version = sys.version.split()[0]
    return Finding("Python 3.11+", sys.version_info >= (3, 11), True, version)


def _wire() -> Finding:
    return Finding("wire", True, True, wire.build_info())


def _rust() -> Finding:
    cargo = shutil.which("cargo")
    if cargo is None:
        return Finding("Rust", False, False, "only needed to build: https://rustup.rs")
    return Finding("Rust", True, False, _first_line([cargo, "--version"]))


def _nats() -> Finding:
    try:
        path = binary()
    except ProcessError as err:
        return Finding("nats-server", False, True, str(err))
    return Finding("nats-server", True, True, _first_line([str(path), "--version"]))


def _kernel_sctp() -> Finding:
    why = why_no_kernel_sctp()
    text = why or "N2 uses it"
    return Finding("SCTP of the kernel", not why, False, text)


def _raw_sctp() -> Finding:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_SCTP).close()
    except OSError as err:
        return Finding("SCTP over raw IP", False, False, f"{err.strerror}: needs CAP_NET_RAW")
    return Finding("SCTP over raw IP", True, False, "transport userspace-raw works")


def _udp_sctp() -> Finding:
    return Finding("SCTP over UDP", True, True, "always: RFC 6951, port 9899")


def _foundationdb() -> Finding:
    try:
        foundationdb_bindings()
    except StoreError as err:
        return Finding("FoundationDB", False, False, f"{err}; SQLite is used without it")
    return Finding("FoundationDB", True, False, "its client library is here")


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return (done.stdout or done.stderr).strip().partition("\n")[0]


CHECKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _wire,
    _nats,
    _udp_sctp,
    _kernel_sctp,
    _raw_sctp,
    _foundationdb,
    _rust,
)
