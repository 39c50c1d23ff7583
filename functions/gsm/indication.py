"""The PDU SESSION RESOURCE MODIFY INDICATION procedure (TS 38.413 8.2.5, TS 37.340 10.14).

The gNB moves the downlink tunnels of PDU sessions to the secondary node of dual connectivity, or
back. `functions.ue.reconcile` asks the UPFs, and the gNB gets the confirm once they have answered.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec import json

import wire
from functions.decision import connection
from functions.decision.collisions import Start, Verdict, reasons
from functions.decision.ue_decision import UeDecision
from functions.gsm import n4, user_plane
from functions.messages import ngap
from functions.messages.ngap import Cause, ue_context
from functions.messages.trees import Tree, subtree
from schemas.connection.state import Connection
from schemas.gsm.events import IndicationCompleted, IndicationReceived, UserPlaneMoved
from schemas.gsm.state import IndicatedSession, Indication, PduSession, Tunnel

UNKNOWN_SESSION: Final[Cause] = {"radioNetwork": "unknown-PDU-session-ID"}
SAME_SESSION_TWICE: Final[Cause] = {"radioNetwork": "multiple-PDU-session-ID-instances"}
UNKNOWN_FLOW: Final[Cause] = {"radioNetwork": "unkown-qos-flow-ID"}
"""Spelled as in the ASN.1."""
UPF_FAILED: Final[Cause] = {"transport": "transport-resource-unavailable"}


def indicated(d: UeDecision, ies: Tree, amf_ue_ngap_id: int) -> None:
    """Process an indication, session by session.

    An indication is refused while another one waits for its confirm, and before the answer to the
    PATH SWITCH REQUEST of the gNB.
    """
    here = connection.find(d, amf_ue_ngap_id)
    if here is None or here.releasing:
        d.note("an indication on a connection that is being released")
        return
    items: list[Tree] = ies.get("PDUSessionResourceModifyListModInd", [])
    times = Counter(item["pDUSessionID"] for item in items)
    busy = reasons(d, Start.MODIFY_INDICATION, Verdict.REJECT) != 0
    sessions: list[IndicatedSession] = []
    for item in {item["pDUSessionID"]: item for item in items}.values():
        if busy:
            sessions.append(_refused(item, ngap.WRONG_STATE))
        elif times[item["pDUSessionID"]] > 1:
            sessions.append(_refused(item, SAME_SESSION_TWICE))
        else:
            sessions.append(_wanted(d, item, amf_ue_ngap_id))
    diagnostics = json.encode(d.diagnostics) if d.diagnostics is not None else b""
    place = (here.gnb, here.association, here.ran_ue_ngap_id)
    taken = Indication(amf_ue_ngap_id, *place, tuple(sessions), diagnostics)
    if busy:
        d.note("an indication while another one, or a path switch, is pending")
        _confirm(d, here, taken)
        return
    d.emit(IndicationReceived(taken))
    for session in sessions:
        if not session.cause and session.access is not None and session.access != session.before:
            d.emit(UserPlaneMoved(session.seid, session.access))


def _refused(item: Tree, cause: Cause) -> IndicatedSession:
    return IndicatedSession(item["pDUSessionID"], cause=ngap.cause_text(cause))


def _wanted(d: UeDecision, item: Tree, amf_ue_ngap_id: int) -> IndicatedSession:
    session = user_plane.by_id(d, item["pDUSessionID"])
    if session is None:
        return _refused(item, UNKNOWN_SESSION)
    if session.user_plane != "on" or session.amf_ue_ngap_id != amf_ue_ngap_id:
        return _refused(item, ngap.WRONG_STATE)
    if session.stage not in ("active", "modifying"):
        return _refused(item, ngap.WRONG_STATE)
    access, others = None, list[int]()
    transfer = subtree(item, "pDUSessionResourceModifyIndicationTransfer")
    for tunnel, flow in _flows(transfer):
        if flow == session.qfi:
            access = access or tunnel
        else:
            others.append(flow)
    if access is None:
        return _refused(item, UNKNOWN_FLOW)
    seid, before = session.n4.seid, session.access
    return IndicatedSession(session.id, seid, access, before, tuple(others))


def _flows(transfer: Tree) -> Iterator[tuple[Tunnel, int]]:
    """Return each QoS flow of a Modify Indication Transfer (9.3.4.6), with its tunnel.

    A session can use two tunnels for different flows. The sessions of this core have one flow.
    """
    split: list[Tree] = transfer.get("additionalDLQosFlowPerTNLInformation", [])
    found = [subtree(part, "qosFlowPerTNLInformation") for part in split]
    for part in (subtree(transfer, "dLQosFlowPerTNLInformation"), *found):
        tunnel = ue_context.read_tunnel(subtree(part, "uPTransportLayerInformation"))
        for flow in part.get("associatedQosFlowList", ()):
            if tunnel is not None:
                yield tunnel, flow["qosFlowIdentifier"]


def unanswered(d: UeDecision, session: PduSession) -> None:
    """Move the session back to the tunnel that its UPF still uses: the UPF does not answer."""
    waiting = d.ue.indication.sessions if d.ue.indication is not None else ()
    for item in waiting:
        if item.seid == session.n4.seid and not item.cause and item.before is not None:
            d.emit(UserPlaneMoved(item.seid, item.before))


def reconcile(d: UeDecision) -> None:
    """Confirm an indication if all its UPFs have answered. Drop it if its connection was
    released."""
    waiting = d.ue.indication
    if waiting is None:
        return
    here = connection.find(d, waiting.amf_ue_ngap_id)
    place = (waiting.gnb, waiting.association, waiting.ran_ue_ngap_id)
    if (
        here is None
        or here.releasing
        or ((here.gnb, here.association, here.ran_ue_ngap_id) != place)
    ):
        d.emit(IndicationCompleted("the connection is released"))
    elif not any(_waits(d, item) for item in waiting.sessions):
        _confirm(d, here, waiting)
        d.emit(IndicationCompleted("confirmed"))


def _session_of(d: UeDecision, item: IndicatedSession) -> PduSession | None:
    """Return the session of an item if it has the tunnel that the gNB wants, None if not."""
    session = n4.find(d, item.seid) if not item.cause else None
    if session is None or session.stage not in ("active", "modifying"):
        return None
    return session if session.access == item.access else None


def _waits(d: UeDecision, item: IndicatedSession) -> bool:
    session = _session_of(d, item)
    return session is not None and session.n4.downlink != item.access


def _confirm(d: UeDecision, here: Connection, answered: Indication) -> None:
    """Send PDU SESSION RESOURCE MODIFY CONFIRM (9.2.1.9)."""
    modified: list[Tree] = []
    failed: list[Tree] = []
    for item in answered.sessions:
        session = _session_of(d, item)
        if session is None or session.uplink is None:
            cause = ngap.cause_of(item.cause) if item.cause else UPF_FAILED
            transfer: Tree = {"cause": dict(cause)}
            name, to = "pDUSessionResourceModifyIndicationUnsuccessfulTransfer", failed
        else:
            transfer = _confirmed(session, session.uplink, item.refused_flows)
            name, to = "pDUSessionResourceModifyConfirmTransfer", modified
        to.append({"pDUSessionID": item.psi, name: transfer})
    ies = ngap.ids(here)
    if modified:
        ies.append({"PDUSessionResourceModifyListModCfm": modified})
    if failed:
        ies.append({"PDUSessionResourceFailedToModifyListModCfm": failed})
    if answered.diagnostics:
        ies.append({"CriticalityDiagnostics": json.decode(answered.diagnostics)})
    d.send(wire.ngap_encode({"message": "PDUSessionResourceModifyConfirm", "ies": ies}), here)


def _confirmed(session: PduSession, uplink: Tunnel, others: tuple[int, ...]) -> Tree:
    transfer: Tree = {
        "qosFlowModifyConfirmList": [{"qosFlowIdentifier": session.qfi}],
        "uLNGU-UP-TNLInformation": {"gTPTunnel": ue_context.gtp_tunnel(uplink)},
    }
    if others:
        transfer["qosFlowFailedToModifyList"] = [
            {"qosFlowIdentifier": flow, "cause": dict(UNKNOWN_FLOW)} for flow in others
        ]
    return transfer
