"""UE CONTEXT MODIFICATION (TS 38.413 8.3.4): another key, or another AMBR, of a UE at its gNB."""

from functions import handover_end, ngap, ngap_context
from functions.draft import Draft
from functions.ngap_handover_read import TRIGGERED
from functions.trees import Tree
from schemas.ue import Connection
from schemas.ue_events import ContextModificationFailed, ContextModified, ContextModifying


def settle(d: Draft) -> None:
    """Ask the gNB for what is not so yet: one request at a time, and none during a handover."""
    here = d.ue.connection
    if here is None or not _can_be_asked(d, here):
        return
    key = here.rekeyed and d.ue.security is not None and d.ue.challenge is None
    subscribed = d.env.subscriber.ambr if d.env.subscriber is not None else None
    ambr = subscribed if here.ambr is not None and subscribed != here.ambr else None
    if not key and ambr is None:
        return
    d.send(ngap_context.ue_context_modification_request(here, d.ue.security if key else None, ambr))
    d.emit(ContextModifying(key, ambr))


def _can_be_asked(d: Draft, here: Connection) -> bool:
    return (
        here.context == "set-up"
        and not here.modifying
        and not here.releasing
        and here.secured
        and d.ue.pending is None
        and d.ue.handover is None
        and d.ue.registered
    )


def answered(d: Draft, message: str, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Take the answer of the gNB.

    One that cannot take another key into use (TS 33.501 6.9.4.4) loses the connection: the UE and
    the next one begin with the new key. But where it hands the UE over, the target is given it, or
    it is asked again after that.
    """
    here = d.ue.connection
    if here is None or not d.connection_is(amf_ue_ngap_id) or not here.modifying:
        d.note(f"{message} that was not asked for")
        return
    if message == "UEContextModificationResponse":
        d.emit(ContextModified())
        return
    asked, reason = here.modifying, ngap.cause_text(ies.get("Cause", ngap.UNSPECIFIED))
    d.emit(ContextModificationFailed(reason))
    if reason in TRIGGERED and not here.releasing:
        handover_end.triggered(d)
    elif asked != "ambr":
        d.release(ngap.NAS_UNSPECIFIED)
