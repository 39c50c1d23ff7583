"""AN release and what else ends an N2 connection (TS 23.502 4.2.6, TS 38.413 8.3.2, 8.3.3)."""

from typing import Final

from functions import connection, ngap
from functions.authentication import RETRANSMISSIONS
from functions.draft import Draft
from functions.inputs import EventReceived, Input, NgapReceived, TimerExpired
from functions.trees import Tree
from schemas.cloudevents import ConnectionLost
from schemas.ue import Connection
from schemas.ue_events import ConnectionReleased, RegistrationAborted

VERSION: Final = "1"


def decide(d: Draft, received: Input) -> None:
    """Decide about the end of a connection."""
    match received:
        case NgapReceived(message, ies, amf_ue_ngap_id):
            _ngap(d, message, ies, amf_ue_ngap_id)
        case EventReceived(_, ConnectionLost(amf_ue_ngap_id=gone, reason=reason)):
            if connection.find(d, gone) is None:
                d.note(f"{reason}: the connection is gone already")
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
    cause = ies.get("Cause", {})
    if message == "ErrorIndication":
        d.note(f"ERROR INDICATION: {ngap.cause_text(cause)}")
        if cause.get("radioNetwork") in (
            "unknown-local-UE-NGAP-ID",
            "inconsistent-remote-UE-NGAP-ID",
        ):
            # TS 38.413 10.6: the gNB has no such connection; what is left of it here goes.
            _released(d, amf_ue_ngap_id, ngap.cause_text(cause))
        return
    here = d.ue.connection
    if here is not None and here.amf_ue_ngap_id == amf_ue_ngap_id:
        d.release(cause)
    else:
        d.note(f"{message} for a connection that the UE has left")
        _command_stale(d, amf_ue_ngap_id)


def _command_stale(d: Draft, amf_ue_ngap_id: int) -> None:
    old = connection.find(d, amf_ue_ngap_id)
    if old is not None:
        d.send(ngap.ue_context_release_command(old, ngap.RELEASED_BY_CORE), old)


def _released(d: Draft, amf_ue_ngap_id: int, reason: str) -> None:
    """The connection is gone; a procedure that needed it ends (TS 24.501 5.5.1.2.8 b)."""
    here = d.ue.connection
    if here is not None and here.amf_ue_ngap_id == amf_ue_ngap_id:
        for timer in ("T3550", "T3560", "T3570"):
            d.stop_timer(timer)
        if d.ue.registration is not None or d.ue.challenge is not None:
            d.emit(RegistrationAborted("the N2 connection is gone"))
    d.emit(ConnectionReleased(amf_ue_ngap_id, reason))
    if not _releasing(d):
        d.stop_timer("ng-release")


def _releasing(d: Draft) -> list[Connection]:
    return [c for c in (d.ue.connection, *d.ue.stale) if c is not None and c.releasing]


def _unanswered(d: Draft, count: int) -> None:
    """Repeat the commands that the gNB has not answered, then let the connections go."""
    waiting = _releasing(d)
    if count >= RETRANSMISSIONS:
        for old in waiting:
            _released(d, old.amf_ue_ngap_id, "the gNB did not answer")
        return
    for old in waiting:
        d.send(ngap.ue_context_release_command(old, ngap.RELEASED_BY_CORE), old)
    if waiting:
        d.start_timer("ng-release", d.env.network.timers.ng_release, count + 1)
