"""Sequences of messages, faults and time, executed on a bench."""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

import wire
from schemas.cloudevents import (
    AssociationLost,
    CloudEvent,
    ConnectionLost,
    Deregister,
    EventType,
    SessionRelease,
    SubscriptionChanged,
)
from schemas.identity import index_ngap, slot_of
from schemas.procedures import Procedure
from schemas.step import encode
from schemas.subscriber import Ambr
from tests.conformance import ngap
from tests.conformance.answers import answers
from tests.conformance.bench import NODES, SUPI, Bench, Foreign, How
from tests.conformance.core import CheckedCore
from tests.conformance.messages import GMM_SAMPLES, GSM_SAMPLES
from tests.conformance.rest import again, come_to_rest
from tests.conformance.state import event_of, report
from tests.conformance.states import STATES
from tests.conformance.upf import NO_RESOURCES

Shot = tuple[str | int | float | bool, ...]


class Sequence(NamedTuple):
    """The first state, and the shots."""

    state: str
    shots: tuple[Shot, ...]


NAS: Final = {sample.name: sample for sample in (*GMM_SAMPLES, *GSM_SAMPLES)}
NGAP: Final = {sample.name: sample for sample in ngap.samples()}


class Play:
    """The execution of a sequence."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.late: list[tuple[int, CloudEvent]] = []
        """Delayed events, each with the number of shots until its arrival."""
        self.delay = 0
        """The delay of the next message, in shots."""
        self.sent: list[CloudEvent] = []

    def shoot(self, shot: Shot) -> None:
        """Execute one shot, and then deliver the delayed events that are due."""
        kind, *given = shot
        handle: Callable[..., None] = getattr(self, "_" + str(kind).replace("-", "_"))
        handle(*given)
        due = [event for left, event in self.late if left == 0]
        self.late = [(left - 1, event) for left, event in self.late if left > 0]
        for event in due:
            self.bench.send(event)
        self.bench.core.downlink.clear()
        self.bench.core.pages.clear()

    def end(self) -> None:
        """Deliver all delayed events."""
        self.bench.core.busy = False
        for _, event in self.late:
            self.bench.send(event)

    def _send(self, event: CloudEvent) -> None:
        self.sent.append(event)
        if self.delay:
            self.late.append((self.delay, event))
            self.delay = 0
        else:
            self.bench.send(event)

    # The UE and its gNB

    def _answer(self, number: int) -> None:
        found = answers(self.bench)
        if found:
            self._send(found[number % len(found)].make())

    def _nas(self, name: str, how: How, initial: bool) -> None:
        self._send(self.bench.nas(NAS[name].make(self.bench), how, initial=initial))

    def _ngap(self, name: str) -> None:
        self._send(NGAP[name].event(self.bench))

    def _wrong_ids(self, number: int) -> None:
        """Send a message with identifiers that do not belong together (TS 38.413 10.6)."""
        amf_id, ran_id = (next(iter(item.values())) for item in self.bench.ids())
        changed = (amf_id ^ (number != 1), ran_id ^ (number != 0))
        ids = [{"AMF-UE-NGAP-ID": changed[0]}, {"RAN-UE-NGAP-ID": changed[1]}]
        tree = {"message": "UEContextReleaseRequest", "ies": [*ids, _INACTIVE]}
        self._send(self.bench.pdu(wire.ngap_encode(tree)))

    def _late(self, shots: int) -> None:
        self.delay = shots

    def _copy(self, number: int) -> None:
        if self.sent:
            self.bench.send(self.sent[-1 - number % len(self.sent)])

    def _lose(self, number: int) -> None:
        node, core = NODES[number], self.bench.core
        core.count += 1
        lost = encode(AssociationLost(node.association, "test"))
        self.bench.send(
            CloudEvent(
                f"t-{core.count}",
                f"/n2/{node.gnb}/{node.association}",
                EventType.ASSOCIATION_LOST,
                f"gnb-{node.gnb}",
                lost,
                procedure=Procedure.RAN,
                slot=slot_of(node.gnb),
            )
        )

    def _set_up(self, number: int) -> None:
        self.bench.set_up(NODES[number])

    def _roam(self, number: int) -> None:
        self.bench.node = NODES[number]
        self.bench.ran_id += 1

    # UPFs

    def _silent(self, silent: bool) -> None:
        self.bench.silent = silent
        self.bench.serve()

    def _upf(self, what: str) -> None:
        bench, pfcp = self.bench, self.bench.core.pfcp
        if not pfcp:
            return
        asked = pfcp[0] if what == "twice" else pfcp.popleft()
        upf, key, number, pdu = asked
        if what == "last":
            pfcp.append(asked)
        elif what == "lose" and number is not None:
            bench.core.unanswered(upf, key, number, pdu)
        elif what != "drop" or number is None:
            bench.answer(asked, NO_RESOURCES if what == "refuse" else 0)

    def _report(self) -> None:
        if self.bench.ue.sessions and self.bench.ue.sessions[0].n4.up_seid:
            report(self.bench)

    def _restart(self, number: int) -> None:
        upf = self.bench.core.network.upfs[number].node_id
        self.bench.upf.restart(upf)
        self.bench.core.path("up", upf, self.bench.upf.recovery)
        self.bench.serve()

    # Time, and events of the core

    def _advance(self, seconds: float) -> None:
        self.bench.core.advance(seconds)
        self.bench.serve()

    def _expire(self) -> None:
        core = self.bench.core
        if core.wakes:
            core.advance(max(0, min(at for at, _ in core.wakes.values()) - core.now) / 1000)
            self.bench.serve()

    def _busy(self, busy: bool) -> None:
        self.bench.core.busy = busy

    def _event(self, kind: str) -> None:
        self.bench.send(core_event(self.bench, kind))

    def _subscription(self, change: str) -> None:
        core, first = self.bench.core, STATES["unknown"].build().core.subscribers[SUPI]
        dnn = replace(first.slices[0].dnns[0], ambr=Ambr(1_000_000, 2_000_000))
        slices = (replace(first.slices[0], dnns=(dnn,)), *first.slices[1:])
        changed = {"barred": replace(first, barred=True), "ambr": replace(first, slices=slices)}
        if change == "withdrawn":
            core.subscribers.pop(SUPI, None)
        else:
            core.subscribers[SUPI] = changed.get(change, first)


_INACTIVE: Final = {"Cause": {"radioNetwork": "user-inactivity"}}


def core_event(bench: Bench, kind: str) -> CloudEvent:
    """Return an event of the core about the UE; without data if the data are unknown here."""
    place = bench.place()
    amf_id = place.connection.amf_ue_ngap_id if place is not None else 5
    data: dict[str, Any] = {
        EventType.SESSION_RELEASE: SessionRelease(1),
        EventType.CONNECTION_LOST: ConnectionLost(amf_id, "test"),
        EventType.DEREGISTER: Deregister(reregister=bench.core.count % 2 == 0),
        EventType.SUBSCRIPTION_CHANGED: SubscriptionChanged(bench.core.count),
    }
    key = index_ngap(amf_id) if kind == EventType.CONNECTION_LOST else SUPI
    return event_of(bench, kind, data.get(kind), key)


def play(
    sequence: Sequence, *, checked: bool = False, replay: bool = False, foreign: str = ""
) -> Bench:
    """Execute a sequence. Then the UE registers and deregisters, and nothing may be left.

    Args:
        sequence: the sequence.
        checked: whether to check every step (tests/functions/checked.py), which takes longer.
        replay: whether to decide every step again at the end.
        foreign: the seed of optional IEs in all messages; empty for none.
    """
    bench = STATES[sequence.state].build()
    if foreign:
        bench.foreign = Foreign.of(foreign)
    if checked:
        bench.core = checked_copy(bench)
    one = Play(bench)
    for shot in sequence.shots:
        one.shoot(shot)
    one.end()
    come_to_rest(bench)
    bench.core.subscribers[SUPI] = STATES["unknown"].build().core.subscribers[SUPI]
    again(bench)
    if replay:
        bench.core.verify()
    return bench


def checked_copy(bench: Bench) -> CheckedCore:
    """Return a checked copy of the core of a bench. It also checks the steps so far."""
    before = bench.core
    made = CheckedCore(network=before.network)
    looked = {name: getattr(made, name) for name in ("states", "steps", "order", "taken", "owners")}
    for name, step in before.order:
        made.record(name, step)
    kept = {name: value for name, value in vars(before).items() if name not in looked}
    vars(made).update(kept)
    return made


def failure(sequence: Sequence, *, checked: bool = False, replay: bool = False) -> str:
    """Return the broken rule or the place of an exception; empty if there is no failure."""
    try:
        play(sequence, checked=checked, replay=replay)
    except Exception as err:
        last = traceback.extract_tb(err.__traceback__)[-1]
        return f"{type(err).__name__} in {Path(last.filename).name}, line {last.lineno}"
    return ""
