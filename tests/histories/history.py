"""A recorded history: the logs of one scenario, octet by octet, and the inputs of its decisions.

A file has a line of JSON for each step, in the order of time. Only `octets` is used; the fields
before it are for people who read a diff.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

import wire
from schemas.aggregates import kind_of
from schemas.document import whole
from schemas.network import Network
from schemas.step import SendNgap, Step, encode
from schemas.subscriber import Subscriber
from tests.functions.world import World

HERE = Path(__file__).parent
SUFFIX = ".jsonl"


class Given(Struct, frozen=True):
    """The first line of a file."""

    network: Network
    subscribers: tuple[Subscriber, ...]


class Recorded(NamedTuple):
    """One step as it was stored."""

    aggregate: str
    octets: bytes

    def step(self) -> Step[Any]:
        return kind_of(self.aggregate).decode_step(self.octets)


class History(NamedTuple):
    """The logs of one scenario."""

    given: Given
    steps: tuple[Recorded, ...]

    def aggregates(self) -> dict[str, list[Recorded]]:
        """Return the log of each aggregate."""
        logs: dict[str, list[Recorded]] = {}
        for recorded in self.steps:
            logs.setdefault(recorded.aggregate, []).append(recorded)
        return logs


def of(world: World) -> History:
    """Return the history of a world."""
    given = Given(world.network, tuple(world.subscribers.values()))
    return History(given, tuple(Recorded(name, encode(step)) for name, step in world.order))


def text(history: History) -> str:
    """Return the text of a history's file."""
    lines = [msgspec.json.encode(whole(history.given)).decode()]
    lines += [json.dumps(_line(recorded)) for recorded in history.steps]
    return "\n".join([*lines, ""])


def _line(recorded: Recorded) -> dict[str, Any]:
    step = recorded.step()
    return {
        "aggregate": recorded.aggregate,
        "seq": step.seq,
        "procedure": step.procedure,
        "events": [type(event).__name__ for event in step.events],
        "outputs": [
            wire.ngap_peek(output.pdu).message
            if isinstance(output, SendNgap)
            else type(output).__name__
            for output in step.outputs
        ],
        "octets": base64.b64encode(recorded.octets).decode(),
    }


def read(path: Path) -> History:
    """Return the history in a file."""
    first, *rest = path.read_text().splitlines()
    lines = [json.loads(line) for line in rest]
    steps = tuple(Recorded(line["aggregate"], base64.b64decode(line["octets"])) for line in lines)
    return History(msgspec.json.decode(first, type=Given), steps)


def files() -> Iterator[Path]:
    """Yield the paths of the recorded histories that differ, those of the newest version first."""
    known: set[bytes] = set()
    versions = sorted(HERE.glob("[0-9]*"), key=lambda one: [*map(int, one.name.split("."))])
    for version in reversed(versions):
        for path in sorted(version.glob(f"*{SUFFIX}")):
            octets = path.read_bytes()
            if octets not in known:
                known.add(octets)
                yield path
