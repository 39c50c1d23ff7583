"""The minimum work of a durable and secure core for one registration."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import wire
from bench.figures import Figure, Row, least
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


def rows() -> Iterator[Row]:
    """Measure the CPU microseconds of the codecs and of the decisions of a registration."""
    codec = [1e6 * registration_codec() for _ in range(RUNS)]
    yield Row("a registration", "decoding and encoding its messages", "us", Figure.of(codec))
    decided = [1e6 * registration_decisions() for _ in range(RUNS)]
    yield Row("a registration", "deciding its steps, codecs included", "us", Figure.of(decided))


def registration_codec() -> float:
    """Return the CPU seconds of decoding and encoding the messages of one registration."""
    pdus, nas = ngap(), corpus("nas", (*NAS, "registration-complete"))
    works: dict[str, Callable[[], object]] = {}
    for number, (outer, inner) in enumerate(UPLINK):
        works[f"uplink {number}"] = partial(wire.ngap_decode, pdus[outer])
        if inner is not None:
            works[f"uplink {number} NAS"] = partial(wire.nas_decode, nas[inner])
    for number, (outer, inner) in enumerate(DOWNLINK):
        works[f"downlink {number}"] = partial(wire.ngap_encode, wire.ngap_decode(pdus[outer]))
        works[f"downlink {number} NAS"] = partial(wire.nas_encode, wire.nas_decode(nas[inner]))
    return sum(least(works).values())


def registration_decisions() -> float:
    """Return the CPU seconds of deciding the steps of one registration, including codecs and
    security."""
    phone = at_a_gnb()
    phone.register()
    ue = "ue/" + phone.supi
    cases = [case for case in cases_of(of(phone.world)) if case.aggregate == ue]
    procedures = Procedures()

    def decide() -> None:
        for case in cases:
            case.decide(procedures)

    return least({"decide": decide})["decide"]
