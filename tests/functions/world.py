"""A core in memory: aggregates, hand-offs, timers and a clock that tests advance.

It replaces JetStream and the store by dicts, and calls the same `decide` as the runtime. It keeps
every step, so that tests can decide it again.
"""

import hashlib
from collections import defaultdict, deque
from typing import Any

from msgspec import msgpack
from msgspec.structs import replace

import wire
from functions.decider import Inputs, decide
from functions.decision.connection import source
from functions.gmm import identification
from functions.gmm.identification import HomeNetworkKey
from functions.runtime import resolve
from functions.runtime.due import due, is_due
from functions.runtime.pure import pure
from functions.runtime.replay import recorded_inputs
from functions.ue.dispatch import Procedures
from gateway.n2.routing import Router
from schemas.aggregates import kind_of, ue_aggregate
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    NGAP_MEDIA_TYPE,
    AssociationLost,
    CloudEvent,
    ConnectionLost,
    EventType,
)
from schemas.flags import DEFAULT_FLAGS
from schemas.gmm.fold import unwatched
from schemas.identity import Guami, SNssai, index_ngap, slot_of
from schemas.network import Congestion, EmergencyServices, Network, TrackingArea
from schemas.procedures import OPENING, Procedure
from schemas.step import (
    FanOut,
    FanOutSessions,
    HandOff,
    Page,
    SendNgap,
    SendPfcp,
    Step,
    Wake,
    encode,
)
from schemas.subscriber import SubscribedSlice, Subscriber
from schemas.ue.state import Ue
from tests.functions import world_n4
from tests.functions.world_n4 import UPF_NODES, N4Side

UPF, OTHER_UPF = world_n4.UPF, world_n4.OTHER_UPF
SLICE = SNssai(1, "010203")
OTHER_SLICE = SNssai(2)
TMSI_KEY = bytes(range(32))
NETWORK = Network(
    name="test",
    guami=Guami("001-01", 1, 1, 0),
    tracking_areas=(
        TrackingArea(1, "001-01", (SLICE,)),
        TrackingArea(2, "001-01", (SLICE, OTHER_SLICE)),
    ),
    tmsi_key=TMSI_KEY,
    congestion=Congestion(after=0.0),
)
"""A slow machine is no overload of this network."""
N4_NETWORK = replace(NETWORK, n4_address="10.9.0.254", upfs=UPF_NODES)
"""A network with two UPFs; `World.associate` associates them."""
EMERGENCY = EmergencyServices("sos", SLICE)
K, OPC = bytes(range(16)), bytes(range(16, 32))
HOME_KEYS = {
    1: HomeNetworkKey("A", bytes(range(1, 33))),
    2: HomeNetworkKey("B", bytes(range(2, 34))),
}
GNB, ASSOCIATION = "001-01-gnb-24-1", "a1"


def subscriber(number: int = 1, **changes: Any) -> Subscriber:
    slices = (SubscribedSlice(SLICE, default=True), SubscribedSlice(OTHER_SLICE))
    return replace(Subscriber(f"imsi-00101{number:010d}", K, OPC, slices), **changes)


class World(N4Side):
    """A core with one gNB by default; downlink PDUs are collected in `downlink`."""

    def __init__(self, *subscribers: Subscriber, network: Network = NETWORK) -> None:
        self.network = network
        self.networks = {"test": network}
        """Every configuration by its version."""
        self.subscribers = {s.supi: s for s in subscribers or (subscriber(),)}
        N4Side.__init__(self)
        self.now = 1_700_000_000_000
        self.states: dict[str, Any] = {}
        self.steps: dict[str, list[Step[Any]]] = defaultdict(list)
        self.order: list[tuple[str, Step[Any]]] = []
        self.owners: dict[tuple[str, str], str] = {}
        self.taken: dict[tuple[str, str], int] = {}
        self.delivered: dict[str, CloudEvent] = {}
        self.downlink: deque[tuple[str, str, bytes]] = deque()
        self.sent_ids: set[str] = set()
        """The ids of the messages that the gateway has sent."""
        self.wakes: dict[str, tuple[int, CloudEvent]] = {}
        self.events: deque[CloudEvent] = deque()
        self.procedures = Procedures()
        self.router = Router(network.guamis, wire.TmsiCipher(network.tmsi_key))
        self.count = 0
        self.sequences: dict[tuple[str, int], int] = {}

    # From the gNB

    def uplink(self, tree: dict[str, Any], gnb: str = GNB, association: str = ASSOCIATION) -> None:
        """Route a PDU as a gateway does, and process all events."""
        self.uplink_pdu(wire.ngap_encode(tree), gnb, association)

    def uplink_pdu(self, pdu: bytes, gnb: str = GNB, association: str = ASSOCIATION) -> None:
        self.deliver(self.route(pdu, gnb, association))

    def route(self, pdu: bytes, gnb: str = GNB, association: str = ASSOCIATION) -> CloudEvent:
        self.count += 1
        event = CloudEvent(
            id=f"t-{self.count}",
            source=source(gnb, association),
            type=EventType.NGAP_UPLINK,
            partitionkey=f"gnb-{gnb}",
            data=pdu,
            datacontenttype=NGAP_MEDIA_TYPE,
            procedure=Procedure.RAN,
            slot=slot_of(gnb),
        )
        try:
            peek = wire.ngap_peek(pdu)
        except wire.WireError:
            return event
        ran_id = peek.ran_ue_ngap_id
        if ran_id is None and peek.amf_ue_ngap_id is None:
            return event
        key = (association, ran_id or 0)
        if peek.message == "InitialUEMessage":
            self.sequences[key] = 0
            route = self.router.initial(peek, f"{association}-{ran_id or 0:x}")
        elif peek.amf_ue_ngap_id is None:
            return event
        elif peek.message in OPENING:
            self.sequences[key] = 0
            route = self.router.connected(peek, None)
        else:
            self.sequences[key] = self.sequences.get(key, 0) + 1
            route = self.router.connected(peek, None)
        return replace(event, **route._asdict(), sequence=self.sequences[key])

    def lose(self, association: str = ASSOCIATION, gnb: str = GNB) -> None:
        self.count += 1
        self.deliver(
            CloudEvent(
                id=f"t-{self.count}",
                source=source(gnb, association),
                type=EventType.ASSOCIATION_LOST,
                partitionkey=f"gnb-{gnb}",
                data=encode(AssociationLost(association, "test")),
                procedure=Procedure.RAN,
                slot=slot_of(gnb),
            )
        )

    # A minimal runtime

    def deliver(self, event: CloudEvent) -> None:
        self.events.append(event)
        while self.events:
            self._processed(self.events.popleft())

    def _processed(self, event: CloudEvent) -> None:
        if event.procedure == Procedure.IDENTIFICATION:
            self.events.append(identification.decide(event, HOME_KEYS))
            return
        repeated = event.id in self.delivered
        self.delivered[event.id] = event
        name = resolve.direct(event)
        if name is None:
            name = self.owners.get(resolve.entry(event))
        if name is None:
            # As in the runtime: a copy for a released connection was processed then.
            gone = repeated and event.partitionkey.startswith(resolve.DELETABLE)
            name = "" if gone else resolve.without_owner(event)
        if not name:
            return
        if (name, event.id) in self.taken:
            seq = self.taken[name, event.id]
            later = self.steps[name][seq:]
            self._effects(name, due(self.steps[name][seq - 1], later, self.states[name]))
            return
        state = self.states.get(name, kind_of(name).new())
        step = decide(self.procedures, state, len(self.steps[name]) + 1, event, self.inputs(name))
        if step is None:
            return
        assert isinstance(step, Step)
        self.record(name, step)
        for output in step.outputs:
            if isinstance(output, SendNgap | Page):
                assert is_due(output, step, (), self.states[name]), (name, step.seq, output)
        self._effects(name, step)

    def inputs(self, name: str) -> Inputs:
        number = sum(map(len, self.steps.values()))
        entropy = hashlib.sha256(f"{name}/{number}".encode()).digest()
        found = self.subscribers.get(name.removeprefix("ue/"))
        return Inputs(
            now=self.now,
            entropy=entropy,
            network=self.network,
            network_version=next(reversed(self.networks)),
            subscriber=found,
            subscription=1 if found else 0,
            flags=DEFAULT_FLAGS,
            lookups=self,
        )

    def record(self, name: str, step: Step[Any]) -> None:
        kind = kind_of(name)
        before = self.states.get(name, kind.new())
        state = before
        for happened in step.events:
            state = kind.evolve(state, happened)
        self.states[name] = state
        self.steps[name].append(step)
        self.order.append((name, step))
        self.taken[name, step.trigger.id] = step.seq
        put, drop = kind.index_changes(before, state)
        assert put == kind.indexes(state) - kind.indexes(before)
        assert drop == kind.indexes(before) - kind.indexes(state)
        for entry in drop:
            if self.owners.get(entry) == name:
                del self.owners[entry]
        for entry in put:
            owner = self.owners.get(entry)
            assert owner in (None, name) or step.trigger.type == EventType.IDENTIFIED
            self.owners[entry] = name

    def _effects(self, name: str, step: Step[Any]) -> None:
        for index, output in enumerate(step.outputs):
            number = f"{name}/{step.seq}/{index}"
            match output:
                case SendNgap() | Page() if number in self.sent_ids:
                    pass  # the gateway drops what it has sent before
                case SendNgap(gnb, association, pdu):
                    self.sent_ids.add(number)
                    self.downlink.append((gnb, association, pdu))
                case SendPfcp():
                    sent = (output.upf, output.partitionkey, output.number, output.pdu)
                    self.pfcp.append(sent)
                    self.incarnations[output.partitionkey, output.number] = output.incarnation
                case Page():
                    self.sent_ids.add(number)
                    self.page(output)
                case FanOutSessions():
                    self.fan_out_sessions(number, name, output)
                case Wake(at, procedure):
                    event = CloudEvent(
                        number, f"/{name}", EventType.TIMER, name, procedure=procedure, slot=0
                    )
                    self.wakes[name] = (at, event)
                case HandOff():
                    self.events.append(
                        CloudEvent(
                            number,
                            f"/{name}",
                            output.type,
                            output.partitionkey,
                            output.data,
                            MSGPACK_MEDIA_TYPE,
                            output.procedure,
                            output.slot,
                        )
                    )
                case FanOut():
                    self._fan_out(number, name, output)

    def _fan_out(self, number: str, name: str, output: FanOut) -> None:
        prefix = f"{output.gnb}/{output.association}/"
        for kind, key in sorted(self.owners):
            if kind != "gnb" or not key.startswith(prefix):
                continue
            amf_id, ran_id = (int(part, 16) for part in key.removeprefix(prefix).split("/"))
            narrowed = output.amf_ue_ngap_ids or output.ran_ue_ngap_ids
            if (
                narrowed
                and amf_id not in output.amf_ue_ngap_ids
                and ran_id not in output.ran_ue_ngap_ids
            ):
                continue
            lost = ConnectionLost(amf_id, output.reason, output.order, output.association)
            self.events.append(
                CloudEvent(
                    f"{number}/{amf_id:x}",
                    f"/{name}",
                    EventType.CONNECTION_LOST,
                    index_ngap(amf_id),
                    encode(lost),
                    procedure=output.procedure,
                    slot=0,
                )
            )

    def reconfigure(self, network: Network) -> None:
        """Change the workers' configuration, and notify each gNB."""
        self.network = network
        self.router.serve(network.guamis)
        self.networks[f"test-{len(self.networks)}"] = network
        for name in [name for name in self.states if name.startswith("gnb/")]:
            self.count += 1
            event = CloudEvent(
                f"network-{self.count}",
                "/evcore/operator",
                EventType.NETWORK_CHANGED,
                name,
                procedure=Procedure.RAN,
                slot=slot_of(name.removeprefix("gnb/")),
            )
            self.deliver(event)

    # The clock

    def advance(self, seconds: float) -> None:
        """Advance the clock, and deliver the wake-ups that are due, in order."""
        until = self.now + int(seconds * 1000)
        while due := sorted((at, name) for name, (at, _) in self.wakes.items() if at <= until):
            at, name = due[0]
            self.now = max(self.now, at)
            self.deliver(self.wakes.pop(name)[1])
        self.now = until

    # State

    def ue(self, number: int = 1) -> Ue:
        return self.states[ue_aggregate(f"imsi-00101{number:010d}")]

    def timers(self, number: int = 1) -> set[str]:
        """Return the running timers of a UE, without those of CM-IDLE."""
        return set(unwatched(self.ue(number).timers))

    def sent(self) -> list[dict[str, Any]]:
        """Return the downlink PDUs since the last call, decoded."""
        found = [wire.ngap_decode(pdu) for _, _, pdu in self.downlink]
        self.downlink.clear()
        return found

    def names(self) -> list[str]:
        """Return their message names; the NAS type for NAS messages that can be read."""
        return [tree["message"] for tree in self.sent()]

    def verify(self) -> int:
        """Decide every step again, compare octet by octet, and return the number of steps."""
        procedures = Procedures()
        procedures.load()
        with pure():
            return sum(self._verified(procedures, name) for name in self.steps)

    def subscriber_of(self, name: str, version: int) -> Subscriber | None:
        """Return the version of a subscription that a step names."""
        return self.subscribers.get(name.removeprefix("ue/")) if version else None

    def _verified(self, procedures: Procedures, name: str) -> int:
        kind = kind_of(name)
        state = kind.new()
        for step in self.steps[name]:
            subscriber = self.subscriber_of(name, step.subscription)
            given = recorded_inputs(step, self.networks[step.network], subscriber)
            again = decide(procedures, state, step.seq, step.trigger, given)
            stored = encode(step)
            assert encode(again) == stored, (name, step.seq)
            read = kind.decode_step(stored)
            assert encode(read) == stored
            for happened in read.events:
                state = kind.evolve(state, happened)
        assert msgpack.encode(state) == msgpack.encode(self.states[name]), name
        assert kind.decode_state(encode(state)) == state
        return len(self.steps[name])
