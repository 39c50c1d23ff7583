"""AN release and what else ends an N2 connection (TS 23.502 4.2.6, TS 38.413 8.3.2, 8.3.3)."""

from typing import Any, Final, Literal

from functions.decision import connection
from functions.decision.inputs import EventReceived, Input, NgapReceived, TimerExpired
from functions.decision.ue_decision import RETRANSMISSIONS, UeDecision
from functions.gmm import ue_context
from functions.gsm import usage, user_plane
from functions.messages import ngap
from functions.messages.ngap import recommended_cells
from functions.messages.trees import Tree, subtree
from functions.mobility import end
from schemas.cloudevents import ConnectionLost
from schemas.connection.events import CellsRecommended, ConnectionReleasing
from schemas.connection.state import NO_RAN_UE_NGAP_ID


def decide(d: UeDecision, received: Input) -> None:
    """Decide about the end of a connection."""
    match received:
        case NgapReceived(message, ies, amf_ue_ngap_id):
            _ngap(d, message, ies, amf_ue_ngap_id)
        case EventReceived(_, ConnectionLost() as lost):
            _lost(d, lost)
        case TimerExpired(_, count):
            _unanswered(d, count)
        case _:
            d.note(f"nothing to do for {received!r}")


def _lost(d: UeDecision, lost: ConnectionLost) -> None:
    found, reason = connection.find(d, lost.amf_ue_ngap_id), lost.reason
    if found is None:
        d.note(f"{reason}: the connection is already released")
    elif lost.order and found.order > lost.order:
        d.note(f"{reason}: the connection was opened after it")
    elif lost.association not in ("", found.association):
        d.note(f"{reason}: the connection is at another gNB")
    else:
        _released(d, lost.amf_ue_ngap_id, reason)


def _ngap(d: UeDecision, message: str, ies: Tree, amf_ue_ngap_id: int) -> None:
    if message == "UEContextReleaseComplete":
        usage.record(d, ies)
        cells = recommended_cells.read(ies)
        if cells and d.ue.registered and d.connection_is(amf_ue_ngap_id):
            d.emit(CellsRecommended(cells))
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
            _unknown(d, amf_ue_ngap_id, ngap.cause_text(cause))
        elif _is_asked_target(d, amf_ue_ngap_id):
            _released(d, amf_ue_ngap_id, "the target refused the HANDOVER REQUEST")
        else:
            _unsuccessful(d, ies, amf_ue_ngap_id)
        return
    here = connection.find(d, amf_ue_ngap_id)
    if here is None:
        return
    if here.releasing:
        d.note(f"{message} crosses the UE CONTEXT RELEASE COMMAND")
    d.release(cause, here)


def _unsuccessful(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """End the request that the gNB could not process, if the message names one (10.3.4.1A)."""
    code = subtree(ies, "CriticalityDiagnostics").get("procedureCode")
    kind = _OF_RESOURCES.get(code)
    here = connection.find(d, amf_ue_ngap_id)
    if here is None:
        return
    if kind is not None and kind in here.asked:
        user_plane.ended(d, kind, amf_ue_ngap_id)
    elif code == INITIAL_CONTEXT_SETUP and here.context == "pending":
        ue_context.setup_failed(d, ies.get("Cause", ngap.UNSPECIFIED), amf_ue_ngap_id)
    elif code == UE_CONTEXT_MODIFICATION and here.modifying:
        ue_context.answered(d, "UEContextModificationFailure", ies, amf_ue_ngap_id)


INITIAL_CONTEXT_SETUP: Final = 14
UE_CONTEXT_MODIFICATION: Final = 40
"""Procedure codes (TS 38.413 9.4.7)."""
_OF_RESOURCES: Final[dict[Any, Literal["setup", "modify", "release"]]] = {
    26: "modify",
    28: "release",
    29: "setup",
}
"""The procedure codes of requests about PDU session resources (TS 38.413 9.4.7)."""


def _unknown(d: UeDecision, amf_ue_ngap_id: int, cause: str) -> None:
    """The gNB does not know a connection. The target of a handover that is over may get to know
    it yet: by a HANDOVER REQUEST that its UE CONTEXT RELEASE COMMAND has overtaken."""
    found = connection.find(d, amf_ue_ngap_id)
    waits = found is not None and found.ran_ue_ngap_id == NO_RAN_UE_NGAP_ID
    if found is not None and waits and found.releasing not in ("", end.UNKNOWN_TO_TARGET):
        d.emit(ConnectionReleasing(amf_ue_ngap_id, end.UNKNOWN_TO_TARGET))
    else:
        _released(d, amf_ue_ngap_id, cause)


def _is_asked_target(d: UeDecision, amf_ue_ngap_id: int) -> bool:
    """Whether an id is that of the target of a handover, which has not answered yet."""
    target = d.ue.target
    waits = target is not None and target.ran_ue_ngap_id == NO_RAN_UE_NGAP_ID
    return waits and target is not None and target.amf_ue_ngap_id == amf_ue_ngap_id


def _released(
    d: UeDecision, amf_ue_ngap_id: int, reason: str, *, unconfirmed: bool = False
) -> None:
    """The connection is gone; a procedure that needed it ends (TS 24.501 5.5.1.2.8 b)."""
    if d.connection_is(amf_ue_ngap_id):
        connection.abort(d, "the N2 connection is released")
    connection.released(d, amf_ue_ngap_id, reason, unconfirmed=unconfirmed)


def _unanswered(d: UeDecision, count: int) -> None:
    """Repeat the commands that the gNB has not answered, then let the connections go."""
    for old in connection.releasing(d):
        if old.releasing == end.UNKNOWN_TO_TARGET:
            _released(d, old.amf_ue_ngap_id, old.releasing, unconfirmed=True)
    waiting = connection.releasing(d)
    if count >= RETRANSMISSIONS:
        for old in waiting:
            _released(d, old.amf_ue_ngap_id, "the gNB did not respond", unconfirmed=True)
        return
    for old in waiting:
        d.send(ngap.ue_context_release_command(old, ngap.cause_of(old.releasing)), old)
    if waiting:
        d.start_timer("ng-release", d.env.network.timers.ng_release, count + 1)
