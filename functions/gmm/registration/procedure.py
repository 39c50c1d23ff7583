"""The registration procedure (TS 24.501 5.5.1, TS 23.502 4.2.2.2): routes its messages and timers.

`request` processes the REGISTRATION REQUEST and starts the common procedures. `identity` and
`answers` process their answers. `accept` ends the procedure. A mobility or periodic update takes
the same steps.
"""

from functions.decision import connection, protocol_errors
from functions.decision.inputs import (
    EventReceived,
    Input,
    Nas,
    NasReceived,
    NgapReceived,
    TimerExpired,
)
from functions.decision.ue_decision import RETRANSMISSIONS, UeDecision
from functions.gmm import configuration_update, ue_context
from functions.gmm.authentication import aka, security_mode
from functions.gmm.registration import accept, answers, identity
from functions.gmm.registration import request as registration_request
from functions.gsm import release, user_plane
from functions.messages import ngap
from functions.messages.ngap import assistance
from functions.messages.trees import Tree
from schemas.cloudevents import EventType, Identified, Unidentified
from schemas.connection.events import (
    ConnectionTransferred,
    ContextSetUp,
    RadioCapabilityReported,
)
from schemas.gmm.events import GutiConfirmed, RegistrationCompleted, SubscriberIdentified
from schemas.identity import index_ngap
from schemas.ue.state import connections

REQUEST, COMPLETE = 0x41, 0x43
AUTHENTICATION_RESPONSE, AUTHENTICATION_FAILURE = 0x57, 0x59
IDENTITY_RESPONSE = 0x5C
SECURITY_MODE_COMPLETE, SECURITY_MODE_REJECT = 0x5E, 0x5F


def decide(d: UeDecision, received: Input) -> None:
    """Decide about one input of the procedure."""
    match received:
        case NasReceived():
            _NAS[received.nas.type](d, received)
        case NgapReceived(message, ies, amf_ue_ngap_id):
            _ngap(d, message, ies, amf_ue_ngap_id)
        case TimerExpired(name, count):
            _expired(d, name, count)
        case EventReceived(_, Identified() as found):
            _identified(d, found)
        case EventReceived(_, Unidentified() as lost):
            _unidentified(d, lost)
        case _:
            d.note(f"nothing to do for {received!r}")


# A connection that comes from another aggregate, or back from `identification`


def _identified(d: UeDecision, found: Identified) -> None:
    """The connection of a UE that has told its SUPI comes to the aggregate of that SUPI."""
    known = connection.find(d, found.amf_ue_ngap_id)
    if known is not None and known.releasing:
        d.note("the transferred connection is being released")
        return
    connection.adopt(d, found)
    if not d.ue.supi:
        d.emit(SubscriberIdentified(d.key))
    nas = Nas(REQUEST, found.request, 0)
    request = registration_request.again(found.request)
    registration_request.begin(d, nas, request, suci_told=True)


def _unidentified(d: UeDecision, lost: Unidentified) -> None:
    """The SUCI could not be de-concealed: the network cannot know this UE."""
    if lost.type != EventType.NGAP_UPLINK:
        for found in connections(d.ue):
            if index_ngap(found.amf_ue_ngap_id) == d.key:
                connection.activate(d, found.amf_ue_ngap_id)
        if d.ue.connection is None or index_ngap(d.connection.amf_ue_ngap_id) != d.key:
            d.note(f"{lost.reason}; the connection is released")
            return
    elif d.ue.connection is None:
        origin = connection.Origin(lost.source)
        received = protocol_errors.read(d, origin, lost.data)
        if received is None or protocol_errors.rejected_faults(d, origin, received, lost.data):
            return
        ies = received.ies()
        connection.establish(d, origin, ies["RAN-UE-NGAP-ID"], ies, lost.sequence)
    d.note(lost.reason)
    if d.ue.successor:
        d.emit(ConnectionTransferred(""))  # `identification` gives the connection back
    if not d.connection.releasing:
        plmn = d.connection.tai.plmn
        accept.reject(d, d.env.network.causes.of_undecipherable_suci(plmn))


# The end of it


def _complete(d: UeDecision, _: NasReceived) -> None:
    registration = d.ue.registration
    if registration is None or registration.stage != "accepted":
        d.note("a REGISTRATION COMPLETE without a pending registration")
        update = d.ue.update
        if d.ue.tmsi_pending and not (update is not None and update.allocated):
            d.emit(GutiConfirmed())  # late, after T3550 was given up
        return
    d.stop_timer("T3550")
    d.emit(GutiConfirmed())
    d.emit(RegistrationCompleted())
    configuration_update.registered(d)


def _ngap(d: UeDecision, message: str, ies: Tree, amf_ue_ngap_id: int) -> None:
    if message == "InitialContextSetupFailure":
        ue_context.setup_failed(d, ies.get("Cause", ngap.UNSPECIFIED), amf_ue_ngap_id)
        return
    if not d.connection_is(amf_ue_ngap_id):
        d.note(f"{message} on a connection that the UE left")
        return
    match message:
        case "InitialContextSetupResponse" if d.connection.context == "pending":
            d.emit(ContextSetUp())
            insecure = user_plane.answered(d, ies, amf_ue_ngap_id)
            user_plane.unanswered(d, amf_ue_ngap_id)
            release.insecure(d, insecure)
        case "InitialContextSetupResponse":
            d.note(f"{message} without a pending request")
        case "UERadioCapabilityInfoIndication":
            # Its IEs may be left out by their criticality (TS 38.413 9.2.13.1). A sender that has
            # not proved to be this UE reports nothing about it.
            if "UERadioCapability" in ies and d.connection.secured:
                capability = bytes.fromhex(ies["UERadioCapability"])
                paging = assistance.paging_capability_of(ies)
                d.emit(RadioCapabilityReported(capability, paging))
        case _:
            d.note(f"{message}: {ngap.cause_text(ies.get('Cause', ngap.UNSPECIFIED))}")


def _expired(d: UeDecision, name: str, count: int) -> None:
    """Repeat what was not answered, four times; then give up (10.2 of TS 24.501)."""
    name, _, beside = name.partition("/")
    if beside:
        connection.activate(d, int(beside, 16))
    here = d.ue.connection
    if here is None or here.releasing:
        d.note(f"{name} expired without a connection")
        return
    again = count + 1
    if again <= RETRANSMISSIONS:
        if name == "T3550":
            accept.send_accept(d, again)
        elif name == "T3570":
            identity.request(d, again)
        elif d.ue.pending is not None:
            security_mode.send(d, again)
        elif d.ue.challenge is not None:
            aka.send(d, d.ue.challenge, again)
        return
    # After T3550 the UE is registered, with both 5G-GUTIs valid (5.5.1.2.8 c). The connection
    # goes: who does not answer on it may have lost it, and nothing else would say so.
    connection.abort(d, f"{name} expired for the fifth time")
    d.release(ngap.NAS_UNSPECIFIED)


_NAS = {
    REQUEST: registration_request.take,
    COMPLETE: _complete,
    AUTHENTICATION_RESPONSE: answers.authentication_response,
    AUTHENTICATION_FAILURE: answers.authentication_failure,
    IDENTITY_RESPONSE: identity.response,
    SECURITY_MODE_COMPLETE: answers.security_mode_complete,
    SECURITY_MODE_REJECT: answers.security_mode_reject,
}
