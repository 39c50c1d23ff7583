"""Rules for a UE's handover that hold after any step in any state."""

from typing import Any

import wire
from schemas.connection.state import NO_RAN_UE_NGAP_ID
from schemas.step import SendNgap, Step
from schemas.ue.state import Ue

WITH_TARGET = ("preparing", "executing")


def check_handover(ue: Ue) -> None:
    """A handover has a timer and two ends. Without a handover there is no target."""
    ongoing, target = ue.handover, ue.target
    assert (ongoing is not None) == ("handover" in ue.timers), (ongoing, ue.timers)
    if ongoing is None:
        assert target is None, "a target without a handover"
        return
    assert ue.connection is not None, "a handover without a connection"
    assert ue.connection.amf_ue_ngap_id == ongoing.source
    assert not ue.connection.releasing
    assert ue.connection.context == "set-up"
    assert (target is not None) == (ongoing.stage in WITH_TARGET)
    if target is not None:
        assert not target.releasing
        waits = target.ran_ue_ngap_id == NO_RAN_UE_NGAP_ID
        assert waits == (ongoing.stage == "preparing")
    for session in ue.sessions:
        # The resources were requested from the gNB before the handover.
        known = target.amf_ue_ngap_id if target is not None else 0
        assert not known or session.amf_ue_ngap_id != known


def check_next_hops(step: Step[Any], seen: set[str]) -> None:
    """Each NH is for one target only (TS 33.501 6.9.2.1.1).

    The K_gNB that starts the chain of a new K_AMF may be sent again until a handover with it
    completes or the gNB has it (6.9.2.3.3).
    """
    for output in step.outputs:
        if not isinstance(output, SendNgap):
            continue
        ies = wire.ngap_decode(output.pdu)["ies"]
        begins = {"NewSecurityContextInd": "true"} in ies
        for item in ies:
            if "SecurityContext" in item and not begins:
                nh = item["SecurityContext"]["nextHopNH"]
                assert nh not in seen, "an NH goes to two targets"
                seen.add(nh)
