"""Xn handover: the UE moves, and the target requests the path switch (TS 23.502 4.9.1.2)."""

from loadgen.gnb import assistance, checks
from loadgen.gnb.context import RADIO_LOST, UeContext
from loadgen.gnb.handover import Handover, HandoverState
from loadgen.gnb.messages import path_switch_request
from loadgen.session_model import Tunnel
from loadgen.trees import Tree, items, number, part
from loadgen.ue.as_security import physical_cell
from loadgen.violation import Kind

_TRIGGERED = "xn-handover-triggered"
_NOT_PREPARED = "xn-preparation-failure"
_FAILURE = "path-switch-failure"


class XnHandover(Handover):
    """A handover without the AMF, followed by a path switch."""

    def begin(self, now: float) -> None:
        """Prepare the target over Xn for `xn_preparation` seconds."""
        self.source.handover = self
        pause = self.camped.ue.values.xn_preparation
        if pause > 0:
            self.wait(pause, now)
        else:
            self._execute(now)

    def _execute(self, now: float) -> None:
        """Move the UE to the target and send PATH SWITCH REQUEST.

        A target that has lost its association refuses the UE, which stays in the source
        (TS 38.423 8.2.1.3).
        """
        camped, source, cell = self.camped, self.source, self.cell
        if not cell.admission.interface_up:
            self.finish(_NOT_PREPARED, now)
            return
        ue, keys = camped.ue, source.keys
        amf = source.amf_ue_ngap_id
        if keys is None or amf is None:
            return
        self.state = HandoverState.SWITCHING
        target = self.target = cell.contexts.open(camped)
        target.handover = self
        target.set_up, target.initial_sent = source.set_up, True
        place = physical_cell(cell.config.gnb_id)
        target.keys = keys.handed_over(place)
        for one in source.resources.values():
            cell.resources.take_over(ue, one, target.resources)
        source.camped, source.lost_cause = None, _TRIGGERED
        camped.context = target
        cell.take(camped)
        ue.handed_over(target.keys, place, target.resources)
        pdu = path_switch_request(
            target.ran_ue_ngap_id,
            amf,
            cell.location(ue),
            checks.capabilities_of(ue),
            target.resources.values(),
        )
        cell.send(target.stream, pdu)
        target.amf_ue_ngap_id = amf
        self.wait(ue.values.handover, now)
        cell.notify_driver()

    def receive(self, message: str, context: UeContext, ies: Tree, now: float) -> None:
        """Handle PATH SWITCH REQUEST ACKNOWLEDGE or FAILURE."""
        del context
        if not message.startswith("PathSwitch"):
            self.blame(Kind.NGAP_UNEXPECTED, f"{message} during an Xn handover")
            return
        ue, source, target = self.camped.ue, self.source, self.target
        if self.state is not HandoverState.SWITCHING or target is None:
            return
        source.handover = None
        if message == "PathSwitchRequestAcknowledge":
            pair = checks.check_pair(ue, ies)
            if pair is not None and target.keys is not None:
                target.keys.next = pair
            self._check_acknowledge(target, ies)
            target.identity_index = assistance.identity_index(ies)
            ue.user_plane_changed(now)
            # UE CONTEXT RELEASE of Xn (TS 38.423 8.2.7): the source forgets the UE silently.
            if self.source_cell.contexts.find(None, source.ran_ue_ngap_id) is source:
                self.source_cell.forget(source)
            self.finish(None, now)
        else:
            # For the AMF the UE is still at the source; the target has no NG connection.
            self.target = target.handover = None
            self.finish(_FAILURE, now)
            self.cell.lose(target, now, _FAILURE)
            self._release_source(now)

    def _check_acknowledge(self, target: UeContext, ies: Tree) -> None:
        """Check PATH SWITCH REQUEST ACKNOWLEDGE, and update the sessions of the target."""
        ue, asked = self.camped.ue, set(target.resources)
        switched = items(ies, "PDUSessionResourceSwitchedList")
        done = {number(item, "pDUSessionID") or 0 for item in switched}
        released = {
            number(item, "pDUSessionID") or 0
            for item in items(ies, "PDUSessionResourceReleasedListPSAck")
        }
        if done & released or done | released != asked:
            text = (
                f"sessions {sorted(done)} switched and {sorted(released)} not, of {sorted(asked)}"
            )
            ue.violate(Kind.HANDOVER_SESSIONS, text)
        for item in switched:
            one = target.resources.get(number(item, "pDUSessionID") or 0)
            transfer = part(item, "pathSwitchRequestAcknowledgeTransfer")
            ul = Tunnel.of_ngap(transfer.get("uL-NGU-UP-TNLInformation"))
            if one is not None and ul is not None:
                one.ul = ul
            if one is not None and "securityIndication" in transfer:
                text = f"another security policy for PDU session {one.psi} than the source sent"
                ue.violate(Kind.RESOURCE_SECURITY, text)
        for psi in asked - done:
            self.cell.resources.drop(target.resources, psi)
        if "UESecurityCapabilities" in ies:
            checks.check_capabilities(ue, ies)
        checks.check_allowed(ue, ies)

    def release_commanded(self, context: UeContext, ies: Tree) -> None:
        """Accept any UE CONTEXT RELEASE COMMAND."""

    def _release_source(self, now: float) -> None:
        """Request the release of the source, which has lost the UE."""
        source = self.source
        source.met_fault = source.met_fault or self.camped.ue.faults.active(now)
        self.source_cell.request_release(source, RADIO_LOST, now)
        self.source_cell.notify_driver()

    def _overdue(self, now: float) -> None:
        if self.state is HandoverState.PREPARING:
            self._execute(now)
            return
        # No answer to PATH SWITCH REQUEST: release the UE on both sides.
        camped, source, target = self.camped, self.source, self.target
        source.handover = None
        self._release_source(now)
        camped.cell.leave(camped, now)
        camped.ue.released(now, "path-switch-unanswered")
        if target is not None:
            self.target = target.handover = None
        self.finish("path-switch-unanswered", now)
