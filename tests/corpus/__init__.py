"""Recorded messages: our own, and those that ended other cores, from the threads that tell of it.

They are decoded by tests/wire/test_corpus.py and seed the fuzz targets of tests/fuzz. A crash that
fuzzing finds becomes a line here.
"""

from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A line of a file: what its octets are taken for, their name, and they."""

    outcome: str
    name: str
    octets: bytes


def entries(kind: str) -> list[Entry]:
    """The lines of ``<kind>.txt``; `kind` is ngap, nas, pfcp, eap, suci or sctp."""
    text = Path(__file__).with_name(f"{kind}.txt").read_text(encoding="ascii")
    found: list[Entry] = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            outcome, name, octets = line.split()
            found.append(Entry(outcome, name, bytes.fromhex(octets.removeprefix("-"))))
    return found
