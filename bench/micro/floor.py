"""The minimum work of a durable and secure core for one registration."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from msgspec import Struct

import wire
from bench.figures import Figure, Row, least, microseconds
from bench.micro.codec import NAS, corpus, ngap
from bench.micro.decisions import cases_of
from functions.ue.dispatch import Procedures
from tests.histories.history import of
from tests.histories.scenarios import at_a_gnb

UPLINK: Final = (
    ("InitialUEMessage", "registration-request"),
    ("UplinkNASTransport", "authentication-response"),
    ("UplinkNASTransport", "security-mode-complete"),
    ("InitialContextSetupResponse", None),
    ("UplinkNASTransport", "registration-complete"),
)
"""The NGAP messages that a core decodes for a registration, and the NAS messages in them."""
DOWNLINK: Final = (
    ("DownlinkNASTransport", "authentication-request"),
    ("DownlinkNASTransport", "security-mode-command"),
    ("InitialContextSetupRequest", "registration-accept"),
)
"""The messages that a core encodes for a registration."""
RUNS: Final = 5
TURNS: Final = 4


class Floor(Struct, frozen=True):
    """CPU seconds of one registration, measured in turns."""

    codec: float
    """Decoding and encoding its messages."""
    decisions: float
    """Deciding its steps, including codecs and security."""


def rows() -> Iterator[Row]:
    """Measure the CPU microseconds of the codecs and of the decisions of a registration."""
    floors = [registration() for _ in range(RUNS)]
    codec = Figure.of([1e6 * floor.codec for floor in floors])
    yield Row("a registration", "decoding and encoding its messages", "us", codec)
    decided = Figure.of([1e6 * floor.decisions for floor in floors])
    yield Row("a registration", "deciding its steps, codecs included", "us", decided)


def registration() -> Floor:
    """Measure the codecs and the decisions of one registration.

    They take turns: a change of the machine's speed between the two would change their ratio. A
    turn is long, because in short ones the decisions would run with cold caches.
    """
    works, decide = _codec(), {"decide": _decide()}
    turns = [(sum(least(works).values()), *least(decide).values()) for _ in range(TURNS)]
    return Floor(min(codec for codec, _ in turns), min(decisions for _, decisions in turns))


def codec_seconds() -> float:
    """Measure the CPU seconds of the codecs of one registration over about a second."""
    works = tuple(_codec().values())

    def each() -> None:
        for work in works:
            work()

    return microseconds(each, seconds=0.15).median / 1e6


def _codec() -> dict[str, Callable[[], object]]:
    pdus, nas = ngap(), corpus("nas", (*NAS, "registration-complete"))
    works: dict[str, Callable[[], object]] = {}
    for number, (outer, inner) in enumerate(UPLINK):
        works[f"uplink {number}"] = partial(wire.ngap_decode, pdus[outer])
        if inner is not None:
            works[f"uplink {number} NAS"] = partial(wire.nas_decode, nas[inner])
    for number, (outer, inner) in enumerate(DOWNLINK):
        works[f"downlink {number}"] = partial(wire.ngap_encode, wire.ngap_decode(pdus[outer]))
        works[f"downlink {number} NAS"] = partial(wire.nas_encode, wire.nas_decode(nas[inner]))
    return works


def _decide() -> Callable[[], object]:
    phone = at_a_gnb()
    phone.register()
    ue = "ue/" + phone.supi
    cases = [case for case in cases_of(of(phone.world)) if case.aggregate == ue]
    procedures = Procedures()

    def decide() -> None:
        for case in cases:
            case.decide(procedures)

    return decide
