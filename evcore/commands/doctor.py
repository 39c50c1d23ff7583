"""`evcore doctor`: check the requirements on this machine."""

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import typer

import wire
from evcore.commands.errors import FAILED
from evcore.commands.output import print_columns
from evcore.local.broker import binary
from evcore.local.data import DEFAULT, DataDirectory
from evcore.local.disk import LEAST, needed
from evcore.local.process import ProcessError
from schemas.config.reading import Config
from statestore.contract import StoreError
from statestore.disk import free_bytes, text_of
from statestore.open import foundationdb_bindings
from transport.kernel import why_no_kernel_sctp

PATIENCE: Final = 10.0
"""Seconds to wait for a program to print its version."""


class Finding(NamedTuple):
    """The result of one check."""

    name: str
    has: bool
    needed: bool
    """Whether a local core requires it."""
    text: str


def doctor() -> None:
    """Check this machine for SCTP, Rust, NATS and FoundationDB.

    The exit status is 1 if a requirement of a core is missing.
    """
    findings = [check() for check in CHECKS]
    rows = [(found.name, _answer(found), found.text) for found in findings]
    print_columns(("component", "found", "details"), rows)
    missing = [found.name for found in findings if found.needed and not found.has]
    typer.echo(f"doctor: missing requirements: {', '.join(missing) or 'none'}")
    raise typer.Exit(FAILED if missing else 0)


def _answer(found: Finding) -> str:
    return "yes" if found.has else "MISSING" if found.needed else "no"


def _python() -> Finding:
    version = sys.version.split()[0]
    return Finding("Python 3.11+", sys.version_info >= (3, 11), True, version)


def _wire() -> Finding:
    return Finding("wire", True, True, wire.build_info())


def _rust() -> Finding:
    cargo = shutil.which("cargo")
    if cargo is None:
        return Finding("Rust", False, False, "only needed to build: https://rustup.rs")
    return Finding("Rust", *_version(cargo, needed=False))


def _nats() -> Finding:
    try:
        path = binary()
    except ProcessError as err:
        return Finding("nats-server", False, True, str(err))
    return Finding("nats-server", *_version(str(path), needed=True))


def _nkeys() -> Finding:
    found = find_spec("nkeys") is not None and find_spec("nacl") is not None
    how = "the keys of processes on the bus" if found else "pip install nkeys"
    return Finding("nkeys", found, True, how)


def _kernel_sctp() -> Finding:
    why = why_no_kernel_sctp()
    return Finding("SCTP of the kernel", not why, False, why or "N2 uses it")


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


def _disk() -> Finding:
    root = DEFAULT if DEFAULT.is_dir() else Path()
    free, wanted = free_bytes(root), needed(Config())
    has = free >= (LEAST if DataDirectory(DEFAULT).broker.exists() else wanted)
    text = f"{text_of(free)} free; a new core in {DEFAULT} needs {text_of(wanted)}"
    return Finding("room on the disk", has, True, text)


def _version(program: str, *, needed: bool) -> tuple[bool, bool, str]:
    """Return whether a program runs, whether it is needed, and its version or the error."""
    try:
        done = subprocess.run(  # noqa: S603
            [program, "--version"], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        return False, needed, f"{program} does not run: {err}"
    said = (done.stdout or done.stderr).strip().partition("\n")[0]
    return not done.returncode, needed, said


CHECKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _disk,
    _wire,
    _nats,
    _nkeys,
    _udp_sctp,
    _kernel_sctp,
    _raw_sctp,
    _foundationdb,
    _rust,
)
