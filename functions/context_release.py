"""AN release and what else ends an N2 connection (TS 23.502 4.2.6, TS 38.413 8.3.2, 8.3.3)."""

from typing import Final

from functions import connection, ngap
from functions.authentication import RETRANSMISSIONS
from functions.draft import Draft
from functions.inputs import EventReceived, Input, NgapReceived, TimerExpired
from functions.trees import Tree
from schemas.cloudevents import ConnectionLost

VERSION: Final = "1"


def decide(d: Draft, received: Input) -> None:
    """Decide about the end of a connection."""
    match received:
        case NgapReceived(message, ies, amf_ue_ngap_id):
            _ngap(d, message, ies, amf_ue_ngap_id)
        case EventReceived(_, ConnectionLost(amf_ue_ngap_id=gone, reason=reason, order=order)):
            found = connection.find(d, gone)
            if found is None:
                d.note(f"{reason}: the connection is gone already")
            elif order and found.order > order:
                d.note(f"{reason}: the connection was opened after it")
            else:
                _released(d, gone, reason)
        case TimerExpired(_, count):
            _unanswered(d, count)
        case _:
            d.note(f"nothing to do for {received!r}")


def _ngap(d: Draft, message: str, ies: Tree, amf_ue_ngap_id: int) -> None:
    if message == "UEContextReleaseComplete":
        _released(d, amf_ue_ngap_id, "UE CONTEXT RELEASE COMPLETE")
        return
    cause = ies.get("Cause", ngap.UNSPECIFIED)
    if message == "ErrorIndication":
        d.note(f"ERROR INDICATION: {ngap.cause_text(cause)}")
        if cause.get("radioNetwork") in (
            "unknown-local-UE-NGAP-ID",
            "inconsistent-remote-UE-NGAP-ID",
        ):
            # TS 38.413 10.6: the gNB has no such connection; what is left of it here goes.
            _released(d, amf_ue_ngap_id, ngap.cause_text(cause))
        return
    here = connection.find(d, amf_ue_ngap_id)
    if here is None:
        return
    if here.releasing:
        d.note(f"{message} crosses the UE CONTEXT RELEASE COMMAND")
    d.release(cause, here)


def _released(d: Draft, amf_ue_ngap_id: int, reason: str) -> None:
    """The connection is gone; a procedure that needed it ends (TS 24.501 5.5.1.2.8 b)."""
    if d.connection_is(amf_ue_ngap_id):
        connection.abort(d, "the N2 connection is gone")
    connection.released(d, amf_ue_ngap_id, reason)


def _unanswered(d: Draft, count: int) -> None:
    """Repeat the commands that the gNB has not answered, then let the connections go."""
    waiting = connection.releasing(d)
    if count >= RETRANSMISSIONS:
        for old in waiting:
            _released(d, old.amf_ue_ngap_id, "the gNB did not answer")
        return
    for old in waiting:
        d.send(ngap.ue_context_release_command(old, ngap.cause_of(old.releasing)), old)
    if waiting:
        d.start_timer("ng-release", d.env.network.timers.ng_release, count + 1)
