"""A decision about a RAN node while it is being made."""

from functions.decision import connection
from functions.decision.connection import Origin
from functions.decision.env import Env
from functions.messages.ngap import Cause, node
from functions.messages.trees import Tree
from schemas import ran as fold
from schemas.aggregates import gnb_aggregate
from schemas.cloudevents import CloudEvent, order_of
from schemas.event import Noted
from schemas.procedures import Procedure
from schemas.ran import Gnb, GnbEvent
from schemas.step import FanOut, Output, SendNgap, Wake

_FROM_N2 = "/n2/"


class GnbDecision:
    """The RAN node as it will be, the events so far and the outputs so far."""

    __slots__ = ("diagnostics", "env", "events", "gnb", "order", "origin", "outputs")

    def __init__(self, gnb: Gnb, env: Env, trigger: CloudEvent) -> None:
        self.gnb = gnb
        self.env = env
        self.origin = _origin(gnb, trigger)
        """The association that the message came by; for an event of the core itself, the one
        that the interface is up on."""
        self.order = order_of(trigger.id)
        self.diagnostics: Tree | None = None
        """What was wrong with the message and ignored: its response says it (10.3.4.2)."""
        self.events: list[GnbEvent] = []
        self.outputs: list[Output] = []

    def emit(self, event: GnbEvent) -> None:
        """Let a fact be."""
        self.events.append(event)
        self.gnb = fold.evolve(self.gnb, event)

    def note(self, text: str) -> None:
        """Record why something was not done."""
        self.emit(Noted(text))

    def send_pdu(self, pdu: bytes) -> None:
        """Send a PDU on the association of `origin`."""
        self.outputs.append(SendNgap(self.origin.gnb, self.origin.association, pdu))

    def fail(self, request: str, cause: Cause, time_to_wait: str = "") -> None:
        """Answer a request with its failure message."""
        self.send_pdu(node.failure(request, cause, time_to_wait, self.diagnostics))

    def release_ues(self, association: str, reason: str, **ids: tuple[int, ...]) -> None:
        """Tell the UEs of an association, or those of the ids, that their connection is gone."""
        to = Procedure.AN_RELEASE
        # Another association had another gateway, perhaps, which numbered its events by itself.
        order = self.order if association == self.origin.association else 0
        self.outputs.append(FanOut(self.origin.gnb, association, reason, to, **ids, order=order))

    def wake(self, at: int) -> None:
        """Ask for a wake-up, in the place of one that was asked for before."""
        self.outputs.append(Wake(at, Procedure.RAN))


def _origin(gnb: Gnb, trigger: CloudEvent) -> Origin:
    if trigger.source.startswith(_FROM_N2):
        return Origin(trigger.source)
    name = trigger.partitionkey.removeprefix(gnb_aggregate("")).removeprefix("gnb-")
    return Origin(connection.source(name, gnb.association))
