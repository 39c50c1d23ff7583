"""The context of a decision about a UPF."""

from functions.decision.env import Env
from functions.messages import pfcp
from functions.messages.trees import Tree
from schemas import upf as fold
from schemas.aggregates import upf_aggregate, upfs_of_source
from schemas.cloudevents import CloudEvent
from schemas.event import Noted
from schemas.identity import slot_of
from schemas.step import FanOutSessions, Output, SendPfcp
from schemas.upf import Upf, UpfAsked, UpfEvent


def upf_of(trigger: CloudEvent) -> str:
    """Return the Node ID of the UPF of an event: from its key, or from its source."""
    own = upf_aggregate("")
    if trigger.partitionkey.startswith(own):
        return trigger.partitionkey.removeprefix(own)
    return upfs_of_source(trigger.source)[0]


class UpfDecision:
    """The new state of the UPF, and the events and outputs of the decision so far."""

    __slots__ = ("_key", "env", "events", "node_id", "outputs", "upf")

    def __init__(self, upf: Upf, env: Env, trigger: CloudEvent) -> None:
        self.upf = upf
        self.env = env
        self.node_id = upf_of(trigger)
        self._key = trigger.partitionkey
        self.events: list[UpfEvent] = []
        self.outputs: list[Output] = []

    @property
    def configured(self) -> bool:
        """Whether the UPF is in the configuration."""
        return self.env.network.upf(self.node_id) is not None

    @property
    def since(self) -> int:
        """The core's Recovery Time Stamp for this UPF."""
        return self.upf.since or pfcp.time_stamp(self.env.now)

    def known_since(self) -> int:
        """Return the core's Recovery Time Stamp, and record it when it is first sent."""
        if not self.upf.since and self.configured:
            self.emit(UpfAsked(self.node_id, "", self.upf.requests, self.since))
        return self.since

    def emit(self, event: UpfEvent) -> None:
        """Append an event to this decision and apply it to the state."""
        self.events.append(event)
        self.upf = fold.evolve(self.upf, event)

    def note(self, text: str) -> None:
        """Record why an action was not done."""
        self.emit(Noted(text))

    def respond(self, request: str, sequence: int, ies: list[Tree]) -> None:
        """Send the response to a request of the UPF."""
        self.send_response(pfcp.response(request, sequence, self.env.network.n4_address, ies))

    def send_response(self, pdu: bytes) -> None:
        """Send an encoded response to a request of the UPF. It has the key of the request, by which
        the gateway finds the address that the request came from."""
        slot = slot_of(self.node_id)
        self.outputs.append(SendPfcp(self.node_id, self._key, slot, pdu))

    def request(self, message: str, pdu: bytes, number: int = 0) -> None:
        """Send a request to the UPF. A repetition has the `number` of the first request."""
        number = number or self.upf.requests + 1
        self.emit(UpfAsked(self.node_id, message, number, self.since))
        self._send(pdu, number)

    def delete(self, up_seid: int, number: int) -> None:
        """Delete a session of the UPF that belongs to no UE."""
        pdu = pfcp.session_message("SessionDeletionRequest", up_seid, [])
        self._send(pdu, number, self.upf.recovery_time_stamp)

    def _send(self, pdu: bytes, number: int, incarnation: int = 0) -> None:
        key, slot = upf_aggregate(self.node_id), slot_of(self.node_id)
        self.outputs.append(SendPfcp(self.node_id, key, slot, pdu, number, incarnation))

    def sessions_lost(self, recovery_time_stamp: int, known: int = 0) -> None:
        """Report the loss of the UPF's sessions to their UEs.

        `known` is the previous Recovery Time Stamp. If it is unchanged, the UPF has not restarted
        and may have kept the sessions.
        """
        kept = recovery_time_stamp == known
        restarted = known not in (0, recovery_time_stamp)
        lost = FanOutSessions(self.node_id, recovery_time_stamp, self.env.now, kept, restarted)
        self.outputs.append(lost)
