"""The end of a handover, however it comes, and what has waited for it."""

from typing import Final

from functions.decision import connection
from functions.decision.ue_decision import UeDecision
from functions.messages import ngap
from functions.messages.ngap import Cause
from functions.messages.ngap import handover as messages
from schemas.mobility.events import HandoverEnded

AT_ONCE: Final = 0.001
"""Seconds: a wake-up has to be later than what asks for it."""

UNKNOWN_TO_TARGET: Final = ngap.cause_text(ngap.UNKNOWN_LOCAL_ID)
"""What a target is being released for that has said that it does not know of the handover."""

NAS_TIMERS: Final = ("T3522", "T3550", "T3555", "T3560", "T3570")
"""Timers that guard a 5GMM message (TS 24.501 table 10.2.2)."""
SESSION_TIMERS: Final = ("T3591", "T3592")
"""Timers that guard a 5GSM message, each with the number of its session (table 10.3.2)."""


def end(d: UeDecision, reason: str, cause: Cause) -> None:
    """Let go of the target, if there is one, and send again what was not delivered."""
    ongoing, target = d.ue.handover, d.ue.target
    if ongoing is None:
        return
    d.stop_timer(connection.HANDOVER_TIMER)
    d.emit(HandoverEnded(reason))
    if target is not None:
        d.release(cause, target)
        connection.bound_releasing(d)
    if ongoing.undelivered:
        repeat(d)


def fail(d: UeDecision, reason: str, cause: Cause, container: str | None = None) -> None:
    """End the preparation of a handover without success (TS 38.413 8.4.1.3)."""
    d.send(messages.handover_preparation_failure(d.connection, cause, container))
    end(d, reason, cause)


def repeat(d: UeDecision) -> None:
    """Let the timers of NAS messages expire at once: the messages are sent again (TS 24.501
    5.4.1.3.7, 5.4.2.7, 5.5.1.2.8, 6.3.3.5)."""
    for name, timer in sorted(d.ue.timers.items()):
        if name in NAS_TIMERS or name.partition("/")[0] in SESSION_TIMERS:
            d.start_timer(name, AT_ONCE, timer.count)


def reconcile(d: UeDecision) -> None:
    """End a handover that has lost one of its ends, whichever procedure has changed that."""
    ongoing = d.ue.handover
    if ongoing is None:
        return
    here, target = d.ue.connection, d.ue.target
    if here is None or here.amf_ue_ngap_id != ongoing.source or here.releasing:
        end(d, "the connection is released", ngap.RELEASED_BY_CORE)
    elif ongoing.stage == "preparing" and (target is None or target.releasing):
        fail(d, "the target is released", messages.FAILED_IN_TARGET)
    elif ongoing.stage == "executing" and (target is None or target.releasing):
        end(d, "the target is released", messages.FAILED_IN_TARGET)
