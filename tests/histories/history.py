"""A recorded history: the logs of one scenario, octet by octet, and what they were decided with.

A file has a line of JSON for each step, in the order of time. `octets` are the truth; what
stands before them is for people who read a diff.
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
    """One step, as it was stored."""

    aggregate: str
    octets: bytes

    def step(self) -> Step[Any]:
        return kind_of(self.aggregate).decode_step(self.octets)


class History(NamedTuple):
    """All that one scenario left behind."""

    given: Given
    steps: tuple[Recorded, ...]

    def aggregates(self) -> dict[str, list[Recorded]]:
        """The log of each aggregate."""
        logs: dict[str, list[Recorded]] = {}
        for recorded in self.steps:
            logs.setdefault(recorded.aggregate, []).append(recorded)
        return logs


def of(world: World) -> History:
    """What has happened in a world."""
    given = Given(world.network, tuple(world.subscribers.values()))
    return History(given, tuple(Recorded(name, encode(step)) for name, step in world.order))


def text(history: History) -> str:
    """The file of a history."""
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
    """The history of a file."""
    first, *rest = path.read_text().splitlines()
    lines = [json.loads(line) for line in rest]
    steps = tuple(Recorded(line["aggregate"], base64.b64decode(line["octets"])) for line in lines)
    return History(msgspec.json.decode(first, type=Given), steps)


def files() -> Iterator[Path]:
    """Every recorded history, of every version."""
    return iter(sorted(HERE.glob(f"*/*{SUFFIX}")))
