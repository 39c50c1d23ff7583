"""Messages that say that a UPF has no association any more, and the question that decides.

PFCP runs over UDP: anyone on the network of the UPF can send a message with its address. Such a
message ends nothing. The UPF is sent a request, and its response decides: it has a sequence number
that a stranger does not know.
"""

from typing import Final

from functions.messages import pfcp
from functions.upf.decision import UpfDecision
from schemas.procedures import Procedure
from schemas.step import Wake
from schemas.upf import UpfConfirmed, UpfDoubted

ANSWERS_WITHIN: Final = 1
"""Seconds for the UPF to answer. Some UPFs ignore everything while they have no association."""

UNDECIDED: Final = "it does not say whether it still has the association"

QUESTION: Final = "SessionModificationRequest"
"""The question to a UPF that has not restarted: a request about no session. A UPF with an
association has no such session (#65), one without an association refuses it (#72)."""

ANSWER: Final = "SessionModificationResponse"


def has_restarted(d: UpfDecision, reason: str) -> None:
    """Ask the UPF for its Recovery Time Stamp: a message has another one."""
    pdu = pfcp.heartbeat_request(d.since)
    _ask(d, "HeartbeatRequest", pdu, reason)


def has_association(
    d: UpfDecision, reason: str, *, released: bool = False, setup: int | None = None
) -> None:
    """Ask the UPF whether it still has its association.

    Args:
        d: the decision.
        reason: what a message with the UPF's address says.
        released: whether it says that the UPF has released the association.
        setup: the sequence number of an association setup request, which waits for its response.
    """
    ies = [{"PFCPSMReq-Flags": ["QAURR"]}]  # changes nothing, even if there were such a session
    pdu = pfcp.session_message(QUESTION, 1 << 63 | d.env.random_int(63), ies)
    _ask(d, QUESTION, pdu, reason, released=released, setup=setup)


def _ask(
    d: UpfDecision,
    message: str,
    pdu: bytes,
    reason: str,
    *,
    released: bool = False,
    setup: int | None = None,
) -> None:
    """Send a question, unless one was just sent."""
    if d.upf.doubt is not None:
        d.note(f"{reason}: the UPF was asked already")
        return
    number = d.upf.requests + 1
    d.request(message, pdu)
    wake_at = d.env.now + ANSWERS_WITHIN * 1000
    d.emit(UpfDoubted(number, reason, wake_at, released, setup))
    d.outputs.append(Wake(wake_at, Procedure.UPF))


def is_question(d: UpfDecision, number: int | None) -> bool:
    """Whether a request with this number is the question."""
    return d.upf.doubt is not None and d.upf.doubt.number == number


def denied(d: UpfDecision) -> None:
    """Record that the UPF still has the association: the message was not its own, or has no
    effect."""
    found = d.upf.doubt
    if found is not None:
        d.note(f"{found.reason}: the UPF says that it has the association")
        d.emit(UpfConfirmed())


def accept_setup(d: UpfDecision) -> None:
    """Answer the association setup request of the UPF that waits for its response, if any."""
    if d.upf.doubt is not None and d.upf.doubt.setup is not None:
        accept(d, d.upf.doubt.setup)


def accept(d: UpfDecision, sequence: int) -> None:
    """Accept an association setup request of the UPF. The gateway sends one response to each."""
    stamp = {"Recovery Time Stamp": d.known_since()}
    ies = [{"Cause": pfcp.ACCEPTED}, stamp, pfcp.FEATURES]
    d.respond("AssociationSetupRequest", sequence, ies)
