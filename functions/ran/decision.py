"""The context of a decision about a RAN node."""

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
    """The new state of the RAN node, and the events and outputs of the decision so far."""

    __slots__ = ("diagnostics", "env", "events", "gnb", "order", "origin", "outputs")

    def __init__(self, gnb: Gnb, env: Env, trigger: CloudEvent) -> None:
        self.gnb = gnb
        self.env = env
        self.origin = _origin(gnb, trigger)
        """The association of the message; for an event of the core, the association of the
        interface."""
        self.order = order_of(trigger.id)
        self.diagnostics: Tree | None = None
        """Ignored errors in the message, which its response reports (10.3.4.2)."""
        self.events: list[GnbEvent] = []
        self.outputs: list[Output] = []

    def emit(self, event: GnbEvent) -> None:
        """Append an event to this decision and apply it to the state."""
        self.events.append(event)
        self.gnb = fold.evolve(self.gnb, event)

    def note(self, text: str) -> None:
        """Record why an action was not done."""
        self.emit(Noted(text))

    def send_pdu(self, pdu: bytes) -> None:
        """Send a PDU on the association of `origin`."""
        self.outputs.append(SendNgap(self.origin.gnb, self.origin.association, pdu))

    def fail(self, request: str, cause: Cause, time_to_wait: str = "") -> None:
        """Send the failure message of a request."""
        self.send_pdu(node.failure(request, cause, time_to_wait, self.diagnostics))

    def release_ues(self, association: str, reason: str, **ids: tuple[int, ...]) -> None:
        """Release the connections of the UEs of an association, or of those with the given ids."""
        to = Procedure.AN_RELEASE
        # Another association may belong to another gateway, which numbers its events independently.
        order = self.order if association == self.origin.association else 0
        self.outputs.append(FanOut(self.origin.gnb, association, reason, to, **ids, order=order))

    def wake(self, at: int) -> None:
        """Schedule a wake-up, which replaces an earlier one."""
        self.outputs.append(Wake(at, Procedure.RAN))


def _origin(gnb: Gnb, trigger: CloudEvent) -> Origin:
    if trigger.source.startswith(_FROM_N2):
        return Origin(trigger.source)
    name = trigger.partitionkey.removeprefix(gnb_aggregate("")).removeprefix("gnb-")
    return Origin(connection.source(name, gnb.association))
