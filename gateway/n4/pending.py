"""A request of the core that waits for its response, and the responses that match it."""

import wire
from gateway.n4.endpoint import Address
from gateway.n4.pfcp import FIRST_OF_SESSIONS, FIRST_REFUSAL, VERSION_NOT_SUPPORTED
from schemas.cloudevents import CloudEvent
from schemas.identity import seid_of_index


class PendingRequest:
    """A request without a response; `event` is None for a heartbeat of the gateway."""

    __slots__ = (
        "began",
        "deadlines",
        "doubtful",
        "event",
        "guesses",
        "message_type",
        "octets",
        "proofs",
        "seid",
        "sent",
        "sequence",
        "shown",
        "to",
    )

    def __init__(self, event: CloudEvent | None, octets: bytes, message_type: int) -> None:
        self.event = event
        self.octets = octets
        self.message_type = message_type
        self.seid = 0 if event is None else seid_of_index(event.partitionkey)
        """The core's SEID, which the response must have; 0 if the request is not about a session of
        a UE."""
        self.to: Address | None = None
        """Where it was sent last."""
        self.deadlines = 0
        """Number of running deadlines."""
        self.doubtful = False
        """Whether a response of the UPF with this number was not the one to this request. The
        number may be that of an earlier request, so the next repetition has another one."""
        self.guesses = 0
        """The responses without a request before this number was sent."""
        self.shown = b""
        """The last response that needs proof."""
        self.proofs = 0
        """How often in a row it came."""
        self.began = 0.0
        """Time of the first transmission, in seconds of the event loop."""
        self.sequence = -1
        self.sent = 0
        """Number of transmissions."""

    @property
    def is_of_session(self) -> bool:
        """Whether it is a session message."""
        return self.message_type >= FIRST_OF_SESSIONS

    def is_answered_by(self, peek: wire.PfcpPeek) -> bool:
        """Whether a response has the type and the SEID for it.

        A UPF that refuses a request may not know the core's SEID, which is 0 then (7.2.2.4.2).
        """
        if peek.message_type == VERSION_NOT_SUPPORTED:
            return True
        if peek.message_type != self.message_type + 1:
            return False
        if not self.is_of_session or self.seid in (0, peek.seid):
            return True
        return not peek.seid and peek.cause is not None and peek.cause >= FIRST_REFUSAL
