"""The cells of the table: every message in every state, with every useful protection."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from schemas.cloudevents import CloudEvent
from tests.conformance import ngap, outcomes
from tests.conformance.bench import Bench, How
from tests.conformance.messages import GMM_SAMPLES, GSM_SAMPLES, Sample
from tests.conformance.outcomes import Outcome
from tests.conformance.states import STATES

SECURITY_MODE_COMPLETE: Final = 0x5E


class Way(NamedTuple):
    """The protection and the transport of a NAS message."""

    letter: str
    how: How
    initial: bool


WAYS: Final = (
    Way("U", "protected", False),
    Way("u", "plain", False),
    Way("I", "protected", True),
    Way("i", "plain", True),
)
TRANSPORTED: Final = WAYS[:2]


class Cell(NamedTuple):
    """One message in one state."""

    state: str
    message: str
    way: str
    """A letter of `WAYS`; empty for an NGAP message."""


_NAS: Final = {sample.name: sample for sample in (*GMM_SAMPLES, *GSM_SAMPLES)}
_NGAP: Final = {sample.name: sample for sample in ngap.samples()}
_WAYS: Final = {way.letter: way for way in WAYS}


def cells_of(state: str) -> Iterator[Cell]:
    """Return the cells of a state. A state without a connection has no UPLINK NAS TRANSPORT."""
    connected = STATES[state].build().place() is not None
    for samples, ways in ((GMM_SAMPLES, WAYS), (GSM_SAMPLES, TRANSPORTED)):
        for sample in samples:
            for way in ways:
                if connected or way.initial:
                    yield Cell(state, sample.name, way.letter)
    for name in _NGAP:
        yield Cell(state, name, "")


def event(bench: Bench, cell: Cell) -> CloudEvent:
    """Return the message of a cell."""
    if not cell.way:
        return _NGAP[cell.message].event(bench)
    sample: Sample = _NAS[cell.message]
    _, how, initial = _WAYS[cell.way]
    if how == "protected" and sample.type == SECURITY_MODE_COMPLETE:
        how = "new"
    return bench.nas(sample.make(bench), how, initial=initial)


def drive(cell: Cell) -> tuple[Bench, Outcome]:
    """Send the message of a cell. Return the bench and the outcome."""
    bench = STATES[cell.state].build()
    return bench, outcomes.of(bench, event(bench, cell))
