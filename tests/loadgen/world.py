"""gNBs, UEs and the test AMF on links without a network, with a clock that the test controls."""

from collections import deque
from math import inf

import wire
from loadgen.gnb.context import CampedUe
from loadgen.gnb.gnb import Gnb, PduHook
from loadgen.gnb.messages import GnbConfig
from loadgen.gnb.neighbours import Neighbours
from loadgen.identity import SNssai
from loadgen.load.subscribers import Population
from loadgen.session_model import SessionRequest
from loadgen.timers import Deadlines, TimerValues
from loadgen.ue.model import Ended, Procedure
from loadgen.ue.profile import Algorithms, HomeKey
from loadgen.ue.sessions import AddressRegistry
from loadgen.ue.ue import Ue
from loadgen.violation import Kind, Violation
from tests.loadgen.amf import PRIVATE_KEYS, Amf

HOME_KEYS = (
    HomeKey("A", 1, wire.suci_public_key("A", PRIVATE_KEYS["A"]).hex()),
    HomeKey("B", 2, wire.suci_public_key("B", PRIVATE_KEYS["B"]).hex()),
)
SLICE = SNssai(1, "010203")


def population(count: int = 4, **changes: object) -> Population:
    given: dict[str, object] = {
        "count": count,
        "home_keys": HOME_KEYS,
        "algorithms": (Algorithms((0, 1, 2), (1, 2)),),
        "slices": (SLICE,),
    }
    return Population(**{**given, **changes})  # pyright: ignore[reportArgumentType]


class World:
    """One AMF and some gNBs in this thread."""

    def __init__(
        self,
        subscribers: Population | None = None,
        *,
        gnbs: int = 1,
        timers: TimerValues | None = None,
        pdu_hook: PduHook | None = None,
        strict: bool = False,
        streams: int = 8,
        up: bool = True,
        tacs: tuple[int, ...] = (1,),
    ) -> None:
        self.population = population() if subscribers is None else subscribers
        self.amf = Amf(self.population)
        self.deadlines = Deadlines()
        self.registry = AddressRegistry()
        self.now = 100.0
        self.violations: list[Violation] = []
        self.links: deque[tuple[bool, str, int, bytes]] = deque()
        self.sent: list[bytes] = []
        """Every PDU of the gNBs."""
        self.heard: list[bytes] = []
        """Every PDU of the AMF."""
        self.streams = streams
        timers = timers or TimerValues(xn_preparation=0.0)
        self.timers = timers
        self.strict = strict
        self.neighbours = Neighbours()
        configs = [
            GnbConfig(
                f"gnb-{n}",
                n,
                tac=tacs[(n - 1) % len(tacs)],
                slices=(SLICE,),
                n3_address=f"127.8.0.{n}",
            )
            for n in range(1, gnbs + 1)
        ]
        self.gnbs = {
            config.name: Gnb(
                config,
                self.deadlines,
                timers=timers,
                on_violation=self.violations.append,
                pdu_hook=pdu_hook,
                neighbours=self.neighbours,
            )
            for config in configs
        }
        self.gnb = self.gnbs["gnb-1"]
        if up:
            for gnb in self.gnbs.values():
                gnb.association_up(streams, self.now)
            self.settle()

    def ue(
        self, index: int = 0, gnb: str = "gnb-1", session_request: SessionRequest | None = None
    ) -> CampedUe:
        asked = SessionRequest(s_nssai=SLICE) if session_request is None else session_request
        ue = Ue(
            self.population.profile(index),
            (self.gnbs[gnb].config.plmn, self.gnbs[gnb].config.tac),
            timers=self.timers,
            on_violation=self.violations.append,
            strict=self.strict,
            session_request=asked,
            registry=self.registry,
            downlink_data=self.amf.smf.downlink,
            downlink_tunnel=self.amf.smf.downlink_tunnel,
        )
        return self.gnbs[gnb].cell.camp(ue)

    def begin(self, camped: CampedUe, procedure: Procedure) -> None:
        camped.cell.begin(camped, procedure, self.now)

    def run(self, camped: CampedUe, *procedures: Procedure) -> Ended:
        """Run procedures to their end without passing time. Return the end of the last one."""
        ended: list[Ended] = []
        for procedure in procedures:
            self.begin(camped, procedure)
            self.settle()
            ended = self.ended(camped)
            assert ended, f"{procedure} did not end: waits for {camped.ue.waits_for}"
        return ended[-1]

    def register(self, camped: CampedUe) -> Ended:
        return self.run(camped, Procedure.REGISTER)

    def ended(self, camped: CampedUe) -> list[Ended]:
        """Remove and return the ended procedures of a UE, from all gNBs."""
        found: list[Ended] = []
        for gnb in self.gnbs.values():
            found += [end for who, end in gnb.cell.ended if who is camped]
            gnb.cell.ended = [(who, end) for who, end in gnb.cell.ended if who is not camped]
        return found

    def settle(self) -> None:
        """Carry messages until none is left."""
        while True:
            self._collect()
            if not self.links:
                return
            uplink, name, stream, pdu = self.links.popleft()
            if uplink:
                self.sent.append(pdu)
                self.amf.receive(name, stream, pdu)
            else:
                self.heard.append(pdu)
                self.gnbs[name].receive(stream, pdu, self.now)

    def _collect(self) -> None:
        for name, gnb in self.gnbs.items():
            out, gnb.out = gnb.out, []
            self.links.extend((True, name, stream, pdu) for stream, pdu in out)
        down, self.amf.out = self.amf.out, []
        self.links.extend((False, name, stream, pdu) for name, stream, pdu in down)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and run every timer at its time."""
        self.settle()
        end = self.now + seconds
        while self.deadlines.next() <= end and self.deadlines.next() != inf:
            self.now = max(self.now, self.deadlines.next())
            self.deadlines.run(self.now)
            self.settle()
        self.now = end
        self.deadlines.run(self.now)
        self.settle()

    def down(self, camped: CampedUe, nas: bytes) -> None:
        """Give a UE a NAS message as if the AMF had sent it."""
        camped.ue.receive(nas, self.now)
        camped.cell.pump(camped, self.now)
        self.settle()

    def kinds(self) -> list[Kind]:
        return [v.kind for v in self.violations]
