"""UE-associated messages of the AMF to a gNB, and their answers (TS 38.413 8)."""

import wire
from loadgen.gnb import assistance, checks, messages
from loadgen.gnb.cell import USER_INACTIVITY, Cell
from loadgen.gnb.context import UeContext
from loadgen.gnb.messages import ue_context_modification_response
from loadgen.gnb.resources import IN_CONTEXT, handle
from loadgen.ue.as_security import GnbKeys
from loadgen.ue.model import CONNECTION_LOST
from loadgen.ue.ue import Ue
from loadgen.violation import Kind

UNKNOWN_LOCAL = "unknown-local-UE-NGAP-ID"
INCONSISTENT_REMOTE = "inconsistent-remote-UE-NGAP-ID"
_HANDOVER = frozenset(
    {
        "HandoverCommand",
        "HandoverPreparationFailure",
        "HandoverCancelAcknowledge",
        "DownlinkRANStatusTransfer",
        "PathSwitchRequestAcknowledge",
        "PathSwitchRequestFailure",
    }
)
UE_MESSAGES = _HANDOVER | {
    "DownlinkNASTransport",
    "InitialContextSetupRequest",
    "UEContextReleaseCommand",
    "UEContextModificationRequest",
    "PDUSessionResourceSetupRequest",
    "PDUSessionResourceModifyRequest",
    "PDUSessionResourceReleaseCommand",
}


class UeMessages:
    """The UE-associated messages of one gNB."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    def receive(self, peek: wire.NgapPeek, stream: int, payload: bytes, now: float) -> None:
        """Handle a UE-associated message.

        Raises:
            wire.WireError: an IE of the message does not decode.
        """
        message = peek.message
        context = self._context_of(message, peek.amf_ue_ngap_id, peek.ran_ue_ngap_id, stream, now)
        if context is None:
            return
        if message == "UEContextReleaseCommand":
            self._release_command(context, payload, now)
        elif message == "DownlinkNASTransport":
            self._check_downlink_nas(context, payload)
            self._downlink_nas(context, peek.nas_pdu or b"", now)
        elif message == "InitialContextSetupRequest":
            self._initial_context_setup(context, payload, peek.nas_pdu, now)
        elif message == "UEContextModificationRequest":
            self._modify_context(context, payload)
        elif message in _HANDOVER:
            self._handover_message(context, message, payload, now)
        else:
            self._resource_message(context, message, payload, now)

    def _context_of(
        self, message: str, amf: int | None, ran: int | None, stream: int, now: float
    ) -> UeContext | None:
        """Return the context of a message. If there is none, answer with ERROR INDICATION
        (10.6)."""
        cell = self._cell
        context = cell.contexts.find(amf, ran)
        if context is None:
            cell.send(0, messages.error_indication(amf, ran, {"radioNetwork": UNKNOWN_LOCAL}))
            return None
        known = context.amf_ue_ngap_id
        if known is None or message == "PathSwitchRequestAcknowledge":
            # The AMF may change its ID of the UE in the acknowledgement (8.4.4.2).
            self._name(context, message, amf)
        elif amf is not None and amf != known:
            text = f"{message} with AMF-UE-NGAP-ID {amf}; the UE has {known}"
            cell.blame(context, Kind.NGAP_IDS, text)
            cause = {"radioNetwork": INCONSISTENT_REMOTE}
            cell.send(0, messages.error_indication(amf, ran, cause))
            cell.lose(context, now, CONNECTION_LOST)
            return None
        self._check_stream(context, message, stream)
        return context

    def _name(self, context: UeContext, message: str, amf: int | None) -> None:
        """Store the AMF's ID of a connection; no other connection may have it."""
        if amf is not None and not self._cell.contexts.set_amf_id(context, amf):
            text = f"{message} gives AMF-UE-NGAP-ID {amf} to a second UE"
            self._cell.blame(context, Kind.NGAP_IDS, text)

    def _check_stream(self, context: UeContext, message: str, stream: int) -> None:
        if context.stream_down == stream or self._cell.contexts.streams < 2:
            return
        if stream == 0:
            text = f"{message} on stream 0, which is for non-UE-associated signalling"
            self._cell.blame(context, Kind.NGAP_STREAM, text)
        elif context.stream_down is not None:
            text = f"{message} on stream {stream}, after stream {context.stream_down}"
            self._cell.blame(context, Kind.NGAP_STREAM, text)
        context.stream_down = stream

    def _check_downlink_nas(self, context: UeContext, payload: bytes) -> None:
        """Store the allowed NSSAI of a DOWNLINK NAS TRANSPORT for a UE with a context (8.6.2.2)."""
        if context.camped is None or context.set_up is None:
            return
        ue, ies = context.camped.ue, messages.ies_of(payload)
        if "AllowedNSSAI" in ies:
            ue.context_nssai = checks.check_supported(ue, ies, self._cell.config.slices)

    def _downlink_nas(self, context: UeContext, nas: bytes, now: float) -> None:
        """Give a NAS message to its UE, or send NAS NON DELIVERY INDICATION (8.6.4)."""
        cell, camped = self._cell, context.camped
        if camped is None:
            pdu = messages.nas_non_delivery(cell.ids(context), nas, context.lost_cause)
            cell.send(context.stream, pdu)
            return
        camped.ue.receive(nas, now)
        cell.pump(camped, now)

    def _initial_context_setup(
        self, context: UeContext, payload: bytes, nas: bytes | None, now: float
    ) -> None:
        """Handle INITIAL CONTEXT SETUP REQUEST (8.3.1)."""
        cell, camped = self._cell, context.camped
        ids = cell.ids(context)
        if camped is None:
            cause = {"radioNetwork": context.lost_cause}
            cell.send(context.stream, messages.initial_context_setup_failure(ids, cause))
            return
        again = context.set_up is not None
        if again and context.set_up != hash(payload):
            text = "a second, different INITIAL CONTEXT SETUP REQUEST"
            cell.blame(context, Kind.CONTEXT_REPEATED, text)
        cell.repeated_contexts += again
        ies = messages.ies_of(payload)
        if not again:
            allowed, guami = checks.check_context(camped.ue, ies, cell.guamis, cell.config.slices)
            assistance.check_capability(camped.ue, ies)
            assistance.check_restrictions(camped.ue, ies, camped.ue.tai)
            assistance.check_areas(camped.ue, ies, camped.ue.tai)
            context.identity_index = assistance.identity_index(ies)
            camped.ue.set_up(allowed, guami)
            context.set_up = hash(payload)
            context.keys = GnbKeys(bytes.fromhex(str(ies.get("SecurityKey", ""))))
            if "UERadioCapability" not in ies:
                self._report_capability(context, camped.ue)
        answer = cell.resources.set_up(camped.ue, context.resources, ies, IN_CONTEXT, again=again)
        if answer.ies and "UEAggregateMaximumBitRate" not in ies:
            cell.blame(context, Kind.RESOURCE_AMBR, "PDU sessions without a UE AMBR")
        pdu = messages.encode("InitialContextSetupResponse", *ids, *answer.ies)
        cell.send(context.stream, pdu)
        self._deliver(context, [*answer.nas, *([] if nas is None else [nas])], now)

    def _report_capability(self, context: UeContext, ue: Ue) -> None:
        """Send UE RADIO CAPABILITY INFO INDICATION (8.14.1)."""
        cell = self._cell
        ies = assistance.capability_ies(ue.profile)
        pdu = messages.encode("UERadioCapabilityInfoIndication", *cell.ids(context), *ies)
        cell.send(context.stream, pdu)
        ue.capability_reported = True

    def _handover_message(
        self, context: UeContext, message: str, payload: bytes, now: float
    ) -> None:
        ies, handover = messages.ies_of(payload), context.handover
        if handover is None:
            self._cell.blame(context, Kind.NGAP_UNEXPECTED, f"{message} without a handover")
        else:
            handover.receive(message, context, ies, now)

    def _modify_context(self, context: UeContext, payload: bytes) -> None:
        """Handle UE CONTEXT MODIFICATION REQUEST (8.3.4), for example with the K_gNB of a new
        K_AMF."""
        cell, camped = self._cell, context.camped
        ies = messages.ies_of(payload)
        if context.set_up is None:
            text = "UE CONTEXT MODIFICATION REQUEST before INITIAL CONTEXT SETUP REQUEST"
            cell.blame(context, Kind.NGAP_UNEXPECTED, text)
        if "SecurityKey" in ies and camped is not None:
            checks.check_key(camped.ue, ies)
            context.keys = GnbKeys(bytes.fromhex(str(ies["SecurityKey"])))
        if "UESecurityCapabilities" in ies and camped is not None:
            checks.check_capabilities(camped.ue, ies)
        index = assistance.identity_index(ies)
        context.identity_index = context.identity_index if index is None else index
        cell.send(context.stream, ue_context_modification_response(cell.ids(context)))

    def _deliver(self, context: UeContext, nas: list[bytes], now: float) -> None:
        """Tell a UE of its resources, and give it the NAS messages of the request."""
        camped = context.camped
        if camped is None:
            return
        camped.ue.user_plane_changed(now)
        self._cell.pump(camped, now)
        for one in nas:
            if context.camped is camped:
                self._downlink_nas(context, one, now)

    def _resource_message(
        self, context: UeContext, message: str, payload: bytes, now: float
    ) -> None:
        """Handle PDU SESSION RESOURCE SETUP or MODIFY REQUEST, or RELEASE COMMAND (8.2)."""
        cell = self._cell
        ies = messages.ies_of(payload)
        if context.set_up is None:
            text = f"{message} before INITIAL CONTEXT SETUP REQUEST"
            cell.blame(context, Kind.RESOURCE_SESSION, text)
        again = hash(payload) in context.setups
        if message == "PDUSessionResourceSetupRequest":
            context.setups.add(hash(payload))
            cell.repeated_contexts += again
        name, answer = handle(message, cell.resources, context, ies, again=again)
        cell.send(context.stream, messages.encode(name, *cell.ids(context), *answer.ies))
        self._deliver(context, answer.nas, now)

    def _release_command(self, context: UeContext, payload: bytes, now: float) -> None:
        """Handle UE CONTEXT RELEASE COMMAND (8.3.3): release the UE."""
        cell, camped = self._cell, context.camped
        if context.handover is not None:
            context.handover.release_commanded(context, messages.ies_of(payload))
        elif camped is not None and context.release_cause == USER_INACTIVITY:
            assistance.check_index(camped.ue, context.identity_index, context.release_since)
        ue = camped.ue if camped is not None else None
        recommended = cell.config if cell.config.behaviour.recommends_cells else None
        if camped is not None:
            camped.recommended = recommended is not None
        pdu = messages.ue_context_release_complete(
            cell.ids(context), cell.location(ue), context.resources, recommended
        )
        cell.send(context.stream, pdu)
        cell.lose(context, now, None)
