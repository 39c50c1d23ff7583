"""The answer to an event whose decision fails each time (TS 24.501 7.8, 5GMM cause #111)."""

from functions.decision import connection
from functions.decision.ue_decision import UeDecision
from functions.messages import ngap
from functions.mobility import end
from schemas.causes import GmmCause
from schemas.cloudevents import CloudEvent, EventType
from schemas.connection.events import UplinkProcessed
from schemas.identity import index_ngap


def answer(d: UeDecision, trigger: CloudEvent) -> None:
    """An event whose decision fails each time: 5GMM cause #111, and no connection is left."""
    d.note(f"the event {trigger.id} of type {trigger.type} could not be decided")
    for found in d.ue.parked:
        if trigger.partitionkey == index_ngap(found.connection.amf_ue_ngap_id):
            connection.activate(d, found.connection.amf_ue_ngap_id)
    connection.abort(d, "protocol error")
    if trigger.type == EventType.TIMER:
        # Its timers would come due again, and fail again.
        for old in connection.releasing(d):
            connection.released(d, old.amf_ue_ngap_id, "its release could not be decided")
        for timer in tuple(d.ue.timers):
            d.stop_timer(timer)
        for found in d.ue.parked:
            connection.drop(d, found)
    here = d.ue.connection
    if here is None:
        return
    if trigger.partitionkey == index_ngap(here.amf_ue_ngap_id) and trigger.sequence is not None:
        # What came after it on the connection does not wait for it.
        d.emit(UplinkProcessed(max(trigger.sequence, here.sequence), None))
    if not here.releasing:
        cause = int(GmmCause.PROTOCOL_ERROR)
        d.send_nas_best({"message-type": "5gmm-status", "5gmm-cause": cause})
    d.release(ngap.NAS_UNSPECIFIED)
    end.reconcile(d)
    connection.resume(d)
