"""Recorded messages: our own, those that ended other cores, and those of other equipment.

tests/wire/test_corpus.py decodes them, and they seed the fuzz targets of tests/fuzz. A crash that
fuzzing finds becomes a line here. ``peers/`` has a file for each gNB, UE and UPF of another project
that was run with evcore: tests/functions/test_peers.py runs decisions on these messages, and
they do not seed the fuzzer.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

PEERS: Final = Path(__file__).with_name("peers")


class Entry(NamedTuple):
    """A line of a file: what its octets are taken for, their name, and they."""

    outcome: str
    name: str
    octets: bytes


class Recorded(NamedTuple):
    """A message of a peer, from a run with evcore."""

    entry: Entry
    section: str
    """The heading of its part of the file."""
    message: str
    """The name of the message; of an NGAP message with NAS, that of the NAS message in brackets."""
    place: str
    """The run, the aggregate and the step in the log of evcore; empty for a captured packet."""
    answers: tuple[str, ...]
    """The messages that evcore sent in this step, as `message`."""


def entries(kind: str) -> list[Entry]:
    """The lines of ``<kind>.txt``; `kind` is ngap, nas, pfcp, eap, suci or sctp."""
    return [one for one, _, _ in _lines(Path(__file__).with_name(f"{kind}.txt"))]


def recorded(peer: str) -> list[Recorded]:
    """The messages of ``peers/<peer>.txt``.

    The comment before a line has the name of the message, its place, the events that evcore
    decided, and its answers: ``# Message [nas]; run aggregate step 7 session; log: Event, Event;
    answers: Message, Message [nas]``, or ``answers: none``.
    """
    return [_recorded(*line) for line in _lines(PEERS / f"{peer}.txt")]


def peers() -> list[str]:
    """The names of the peers."""
    return sorted(path.stem for path in PEERS.glob("*.txt"))


_PLACE: Final = re.compile(r"\S+ \S+ step \d+")
_ANSWERS: Final = re.compile(r"; answers: (.*)")


def _recorded(entry: Entry, comment: str, section: str) -> Recorded:
    place, answers = _PLACE.search(comment), _ANSWERS.search(comment)
    return Recorded(
        entry,
        section,
        message=re.split("[;,]", comment)[0].removesuffix(" []"),
        place="" if place is None else place[0],
        answers=tuple(answers[1].split(", ")) if answers and answers[1] != "none" else (),
    )


def _lines(path: Path) -> list[tuple[Entry, str, str]]:
    """Return each line of a file with the comment before it and its section."""
    found: list[tuple[Entry, str, str]] = []
    comment = section = ""
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith("# =="):
            section = line.removeprefix("# ==").strip()
        elif line.startswith("#"):
            comment = line.removeprefix("#").strip()
        elif line:
            outcome, name, octets = line.split()
            entry = Entry(outcome, name, bytes.fromhex(octets.removeprefix("-")))
            found.append((entry, comment, section))
    return found
