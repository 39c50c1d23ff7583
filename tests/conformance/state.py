"""The definition of a state of the table, and the transitions between states."""

import functools
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from schemas.cloudevents import MSGPACK_MEDIA_TYPE, CloudEvent
from schemas.identity import slot_of
from schemas.procedures import EVENTS
from schemas.step import encode
from schemas.ue.states import GmmState, SmState
from tests.conformance.answers import answers
from tests.conformance.bench import SUPI, Bench, How


class State(NamedTuple):
    """A state of the table."""

    name: str
    clause: GmmState | SmState
    """The name of the state in TS 24.501 5.1.3.2.3, or of its PDU session in 6.1.3.3."""
    text: str
    """More facts about the state; may be empty."""
    build: Callable[[], Bench]

    @property
    def title(self) -> str:
        """The title in the table."""
        return f"{self.clause}, {self.text}" if self.text else str(self.clause)


ENTERED: list[State] = []


def state(
    clause: GmmState | SmState, text: str = ""
) -> Callable[[Callable[[], Bench]], Callable[[], Bench]]:
    """Add a state to the table. The state is built once, and each caller gets a copy."""

    def enter(build: Callable[[], Bench]) -> Callable[[], Bench]:
        once = functools.cache(build)
        name = build.__name__.replace("_", "-")

        @functools.wraps(build)
        def copy() -> Bench:
            return once().fork()

        ENTERED.append(State(name, clause, text, copy))
        return copy

    return enter


def respond(bench: Bench, *names: str) -> Bench:
    """Send the pending answers with these names of `answers`, in this order."""
    for name in names:
        found = {answer.name: answer for answer in answers(bench)}
        assert name in found, (name, list(found), bench.ue)
        bench.send(found[name].make())
    bench.core.downlink.clear()
    bench.core.pages.clear()
    return bench


def say(
    bench: Bench,
    make: Callable[[Bench], bytes],
    how: How = "protected",
    *,
    initial: bool = False,
) -> Bench:
    """Send a NAS message of the UE."""
    bench.send(bench.nas(make(bench), how, initial=initial))
    bench.core.downlink.clear()
    return bench


RELEASE_REQUEST: Final = {"Cause": {"radioNetwork": "user-inactivity"}}


def go_idle(bench: Bench) -> Bench:
    """Have the gNB release the connection."""
    bench.send(bench.ngap("UEContextReleaseRequest", RELEASE_REQUEST))
    return respond(bench, "UEContextReleaseCommand")


def told(bench: Bench, kind: str, data: Any) -> Bench:
    """Deliver an event of the core about the UE."""
    bench.send(event_of(bench, kind, data))
    bench.core.downlink.clear()
    return bench


def event_of(bench: Bench, kind: str, data: Any, key: str = SUPI) -> CloudEvent:
    """Return an event of the core about the UE."""
    bench.core.count += 1
    return CloudEvent(
        f"t-{bench.core.count}",
        "/evcore/operator",
        kind,
        key,
        encode(data),
        MSGPACK_MEDIA_TYPE,
        EVENTS[kind],
        slot_of(SUPI),
    )


def report(bench: Bench) -> None:
    """Have the UPF of the first session report downlink packets, and answer the report."""
    n4 = bench.ue.sessions[0].n4
    bench.core.answer_pfcp(bench.upf.report(n4.seid), n4.upf)
    bench.serve()
