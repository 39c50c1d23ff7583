"""How a state is entered in the table, and what leads from one to the next."""

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
    """Its name in TS 24.501 5.1.3.2.3, or that of its PDU session in 6.1.3.3."""
    text: str
    """The other facts about it, empty for none."""
    build: Callable[[], Bench]

    @property
    def title(self) -> str:
        """The line of the table."""
        return f"{self.clause}, {self.text}" if self.text else str(self.clause)


ENTERED: list[State] = []


def state(
    clause: GmmState | SmState, text: str = ""
) -> Callable[[Callable[[], Bench]], Callable[[], Bench]]:
    """Enter a state in the table. It is built once, and each caller gets a copy."""

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
    """Have what is waited for answered, in this order, by the names of `answers`."""
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
    """Have the UE say something."""
    bench.send(bench.nas(make(bench), how, initial=initial))
    bench.core.downlink.clear()
    return bench


RELEASE_REQUEST: Final = {"Cause": {"radioNetwork": "user-inactivity"}}


def go_idle(bench: Bench) -> Bench:
    """Have the gNB release the connection."""
    bench.send(bench.ngap("UEContextReleaseRequest", RELEASE_REQUEST))
    return respond(bench, "UEContextReleaseCommand")


def told(bench: Bench, kind: str, data: Any) -> Bench:
    """Have an event of the core itself happen to the UE."""
    bench.send(event_of(bench, kind, data))
    bench.core.downlink.clear()
    return bench


def event_of(bench: Bench, kind: str, data: Any, key: str = SUPI) -> CloudEvent:
    """An event of the core itself about the UE."""
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
    """The UPF of the first session reports downlink packets, and is answered."""
    n4 = bench.ue.sessions[0].n4
    bench.core.answer_pfcp(bench.upf.report(n4.seid), n4.upf)
    bench.serve()
