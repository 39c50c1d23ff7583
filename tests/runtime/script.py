"""A run of the core in memory: the messages of gNBs and UEs, and the expected log.

The times of the run are in the future, so that no timer expires during a test. A worker with the
same times and entropy must decide the same steps.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from msgspec import msgpack

import wire
from functions.decision.env import ENTROPY_OCTETS
from functions.runtime.wakes import wake_up
from schemas.aggregates import gnb_aggregate, ue_aggregate
from schemas.cloudevents import CloudEvent, EventType
from schemas.identity import slot_of
from schemas.procedures import Procedure
from schemas.step import Step, encode
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.world import GNB, World, subscriber

FUTURE_MS = 4_000_000_000_000
FOREIGN_GUTI = {
    "plmn": "999-99",
    "amf-region-id": 9,
    "amf-set-id": 9,
    "amf-pointer": 9,
    "tmsi": 1,
}
MESSAGE = "message-type"
GNB_AGGREGATE = gnb_aggregate(GNB)

Story = dict[str, list[bytes]]
"""The contents of each aggregate's steps, independent of their decider."""


class Stretch(NamedTuple):
    """Events that may be in flight at the same time, and the heads after them.

    The next stretch is sent after the last of them is answered.
    """

    events: list[CloudEvent]
    heads: dict[str, int]


Lane = list[Stretch]
"""The events of one UE or one RAN node."""


class Script(World):
    """A core in memory that records its external events."""

    def __init__(self, ues: int) -> None:
        super().__init__(*(subscriber(number) for number in range(1, ues + 1)))
        self.now = FUTURE_MS
        self.lanes: list[Lane] = []
        self._connection = ""

    @contextmanager
    def lane(self) -> Generator[None]:
        """Record the events of a block as a lane. Lanes can be played concurrently."""
        self.lanes.append([])
        yield
        self._connection = ""

    def deliver(self, event: CloudEvent) -> None:
        before = self.heads
        super().deliver(event)
        if not event.source.startswith("/n2/"):
            return
        key = event.partitionkey
        connection = key if key.startswith("ngap-") else event.id
        lane = self.lanes[-1]
        if connection != self._connection:
            self._connection = connection
            lane.append(Stretch([], {}))
        lane[-1].events.append(event)
        lane[-1].heads.update({k: v for k, v in self.heads.items() if v != before.get(k)})

    @property
    def outside(self) -> list[CloudEvent]:
        return [event for lane in self.lanes for stretch in lane for event in stretch.events]

    def phones(self) -> list[Phone]:
        return [Phone(self, number) for number in range(1, len(self.subscribers) + 1)]

    def draw(self, event: CloudEvent) -> tuple[int, bytes]:
        """Return the recorded time and entropy for an event; default values if it has no step."""
        drawn = {step.trigger.id: step for steps in self.steps.values() for step in steps}
        step = drawn.get(event.id) or drawn.get(_fanned_out(event.id))
        return (step.at, step.entropy) if step else (self.now, bytes(ENTROPY_OCTETS))

    def story(self) -> Story:
        return {name: told(steps) for name, steps in self.steps.items()}

    @property
    def heads(self) -> dict[str, int]:
        return {name: len(steps) for name, steps in self.steps.items()}


def _fanned_out(event_id: str) -> str:
    """Return the id that the core in memory gives to an event of a fan-out."""
    base, _, number = event_id.rpartition("/")
    try:
        return f"{base}/{int(number, 16):x}"
    except ValueError:
        return event_id


def told(steps: Iterable[Step[Any]]) -> list[bytes]:
    """Return steps without the fields that depend on the transport of their triggers."""
    return [
        unplaced((s.seq, s.at, s.entropy, s.procedure, s.events, s.outputs, s.poisoned))
        for s in steps
    ]


def unplaced(value: object) -> bytes:
    """Return a value without the positions in it: a script is not in a stream."""
    return encode(_without_positions(msgpack.decode(encode(value))))


def _without_positions(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_positions(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: one for key, one in value.items() if key not in ("position", "proved_at")}
    if found.get("type") == EventType.IDENTIFIED:
        found["data"] = msgpack.decode(found["data"])
    return {key: _without_positions(one) for key, one in found.items()}


def foreign(phone: Phone, scheme: str) -> None:
    """Register with an unknown 5G-GUTI, and send the SUCI on request."""
    phone.guti = dict(FOREIGN_GUTI)
    request = phone.request()
    phone.initial(wire.nas_encode(request))
    assert phone.hear()[-1][MESSAGE] == "identity-request"
    response = {MESSAGE: "identity-response", "mobile-identity": phone.identity(scheme)}
    phone.say(response, header=0)
    phone.authenticate()
    phone.secure(request)


def woken(supi: str, number: int) -> CloudEvent:
    """Return a wake-up of a UE for its registration."""
    name = ue_aggregate(supi)
    return wake_up(f"wake-{number}", f"/{name}", name, Procedure.REGISTRATION, slot_of(supi))


def deregister(phone: Phone) -> None:
    phone.say(phone.deregistration())
    assert phone.hear()[-1][MESSAGE] == "UEContextReleaseCommand"
    phone.ngap("UEContextReleaseComplete")


def register_again(phone: Phone) -> None:
    """Register from CM-IDLE with the current 5G-GUTI and security context."""
    phone.open_again(phone.request(), phone.ran_id + 100)
    phone.finish()


def whole_life(phone: Phone, scheme: str | None) -> None:
    """Register, go idle, register again, deregister."""
    if scheme is not None and scheme.startswith("foreign "):
        foreign(phone, scheme.removeprefix("foreign "))
    else:
        phone.register(scheme)
    phone.idle()
    register_again(phone)
    deregister(phone)


SCHEMES: Sequence[str | None] = (None, "A", "B", "foreign null", "foreign A")


def lives(ues: int = len(SCHEMES)) -> Script:
    """A gNB and the complete scenarios of some UEs in turn."""
    script = Script(ues)
    with script.lane():
        ng_setup(script)
    for number, phone in enumerate(script.phones()):
        with script.lane():
            whole_life(phone, SCHEMES[number % len(SCHEMES)])
    script.verify()
    return script


def association_lost(ues: int) -> Script:
    """A gNB with registered UEs that is lost, in the last lane."""
    script = registrations(ues)
    with script.lane():
        script.lose()
    return script


def registrations(ues: int) -> Script:
    """A gNB with registered UEs."""
    script = Script(ues)
    with script.lane():
        ng_setup(script)
    for phone in script.phones():
        with script.lane():
            phone.register()
    return script
