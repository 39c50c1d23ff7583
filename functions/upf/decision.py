"""A decision about a UPF while it is being made."""

from typing import Final

from functions.decision.env import Env
from functions.messages import pfcp
from functions.messages.trees import Tree
from schemas import upf as fold
from schemas.aggregates import upf_aggregate
from schemas.cloudevents import CloudEvent
from schemas.event import Noted
from schemas.identity import slot_of
from schemas.step import FanOutSessions, Output, SendPfcp
from schemas.upf import Upf, UpfAsked, UpfEvent

_SOURCE: Final = "/n4/"


def upf_of(trigger: CloudEvent) -> str:
    """The Node ID of the UPF that an event is of: that of its key, or else of its source."""
    own = upf_aggregate("")
    if trigger.partitionkey.startswith(own):
        return trigger.partitionkey.removeprefix(own)
    return trigger.source.removeprefix(_SOURCE)


class UpfDecision:
    """A decision about a UPF while it is being made."""

    __slots__ = ("env", "events", "node_id", "outputs", "upf")

    def __init__(self, upf: Upf, env: Env, trigger: CloudEvent) -> None:
        self.upf = upf
        self.env = env
        self.node_id = upf_of(trigger)
        self.events: list[UpfEvent] = []
        self.outputs: list[Output] = []

    @property
    def configured(self) -> bool:
        """Whether the UPF may be used."""
        return self.env.network.upf(self.node_id) is not None

    @property
    def since(self) -> int:
        """The core's Recovery Time Stamp for this UPF."""
        return self.upf.since or pfcp.time_stamp(self.env.now)

    def emit(self, event: UpfEvent) -> None:
        """Let a fact be."""
        self.events.append(event)
        self.upf = fold.evolve(self.upf, event)

    def note(self, text: str) -> None:
        """Record why something was not done."""
        self.emit(Noted(text))

    def answer(self, request: str, sequence: int, ies: list[Tree]) -> None:
        """Answer a request of the UPF."""
        self.answer_with(pfcp.answer(request, sequence, self.env.network.n4_address, ies))

    def answer_with(self, pdu: bytes) -> None:
        """Answer a request of the UPF with a message that is made."""
        self._send(pdu, None)

    def ask(self, message: str, pdu: bytes, number: int = 0) -> None:
        """Send a request to the UPF, anew without the `number` it had before."""
        number = number or self.upf.requests + 1
        self.emit(UpfAsked(self.node_id, message, number, self.since))
        self._send(pdu, number)

    def delete(self, up_seid: int, number: int) -> None:
        """Have the UPF delete a session that nobody has."""
        self._send(pfcp.session_message("SessionDeletionRequest", up_seid, []), number)

    def _send(self, pdu: bytes, number: int | None) -> None:
        key = upf_aggregate(self.node_id)
        self.outputs.append(SendPfcp(self.node_id, key, slot_of(self.node_id), pdu, number))

    def sessions_lost(self, recovery_time_stamp: int, known: int = 0) -> None:
        """Tell the sessions of the UPF that it has them no more. `known` is the Recovery Time Stamp
        that it had before: with the same one it has not restarted, and may have kept them."""
        kept = recovery_time_stamp == known
        lost = FanOutSessions(self.node_id, recovery_time_stamp, self.env.now, kept)
        self.outputs.append(lost)
