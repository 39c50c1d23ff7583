"""The registration procedure for initial registration (TS 24.501 5.5.1.2, TS 23.502 4.2.2.2).

It runs the common procedures it needs (identification, authentication, security mode) and
ends in `registration_accept`. A mobility or periodic update takes the same way.
"""

from typing import Final

import wire
from functions import (
    authentication,
    connection,
    deregistration,
    ngap,
    security_mode,
    unsupported,
    user_plane,
)
from functions import registration_accept as accept
from functions.draft import Draft
from functions.ingress import Nas
from functions.inputs import EventReceived, Input, NasReceived, NgapReceived, TimerExpired
from functions.trees import Tree, subtree
from schemas.aggregates import ue_aggregate
from schemas.causes import GmmCause
from schemas.cloudevents import EventType, Identified, Unidentified
from schemas.identity import index_ngap, slot_of, slot_of_amf_ue_ngap_id
from schemas.procedures import Procedure
from schemas.step import HandOff, encode
from schemas.ue import Registration
from schemas.ue_events import (
    ContextSetUp,
    ContextSetupFailed,
    GutiConfirmed,
    HandedOver,
    IdentityRequested,
    PeiLearned,
    RadioCapabilityReported,
    RegistrationCompleted,
    RegistrationStarted,
    RequestCompleted,
    SecurityModeCompleted,
    SecurityModeRejected,
    SubscriberIdentified,
)

VERSION: Final = "1"

REQUEST, COMPLETE = 0x41, 0x43
AUTHENTICATION_RESPONSE, AUTHENTICATION_FAILURE = 0x57, 0x59
IDENTITY_RESPONSE = 0x5C
SECURITY_MODE_COMPLETE, SECURITY_MODE_REJECT = 0x5E, 0x5F


def decide(d: Draft, received: Input) -> None:
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


# The request


def _request(d: Draft, received: NasReceived) -> None:
    ongoing = d.ue.registration
    if ongoing is not None and received.nas.plain in (ongoing.request, ongoing.complete_request):
        # TS 24.501 5.5.1.2.8 d) and e). On a connection that is new, none is ongoing.
        if ongoing.stage == "accepted":
            timer = d.ue.timers.get("T3550")
            accept.send_accept(d, timer.count if timer is not None else 0)
        else:
            d.note("the same REGISTRATION REQUEST again")
        return
    connection.abort(d, "another REGISTRATION REQUEST")
    begin(d, received.nas, received.tree)


def begin(d: Draft, nas: Nas, request: Tree, *, suci_told: bool = False) -> None:
    """Begin the procedure of a REGISTRATION REQUEST.

    `suci_told` is whether the UE has told its SUCI since, whatever identity the request has.
    """
    peek = wire.nas_peek(nas.plain)
    known = d.ue.security
    capability = wire.ue_security_capability(nas.plain)
    if capability is None and known is not None:
        capability = known.capability
    registration = Registration(
        request=nas.plain,
        capability=capability or b"",
        ngksi=subtree(request, "ngksi").get("native"),
        identified_by="suci" if suci_told or peek.suci is not None else "guti",
        retransmit=not nas.verified,
    )
    d.emit(RegistrationStarted(registration))
    if not d.ue.supi and d.key.startswith("imsi-"):
        d.emit(SubscriberIdentified(d.key))
    if not capability:
        # An initial registration names its algorithms (5.5.1.2.2); nothing can be selected.
        accept.reject(d, GmmCause.INVALID_MANDATORY_INFORMATION)
    elif peek.guti is None and peek.suci is None:
        # By IMEI: a registration for emergency services, which this network does not have.
        # Anything else but a SUCI or a 5G-GUTI is no identity to register with (5.5.1.2.2).
        by_pei = not _PEIS.isdisjoint(subtree(request, "5gs-mobile-identity"))
        invalid = GmmCause.INVALID_MANDATORY_INFORMATION
        accept.reject(d, GmmCause.PEI_NOT_ACCEPTED if by_pei else invalid)
    elif not d.ue.supi:
        _request_identity(d)
    elif d.env.subscriber is None:
        accept.reject(d, GmmCause.ILLEGAL_UE)
    elif nas.verified and nas.count is not None and _may_reuse(d, registration):
        accept.conclude(d, registration, nas.count)
    else:
        authentication.start(d, d.env.subscriber)


_PEIS: Final = frozenset({"imei", "imeisv", "mac-address", "eui-64"})
"""The permanent equipment identifiers among the 5GS mobile identities (9.11.3.4)."""

_COUNT_MARGIN: Final = 1 << 16
"""NAS COUNTs that must be left for a context to stay in use (4.4.3.5)."""


def _may_reuse(d: Draft, registration: Registration) -> bool:
    """Whether the context that verified the request may stay in use (TS 33.501 6.4.6)."""
    security, policy = d.ue.security, d.env.network.security
    return (
        security is not None
        and policy.reuse_context
        and registration.ngksi == security.ngksi
        and registration.capability == security.capability
        and security.nia in policy.integrity
        and security.nea in policy.ciphering
        and max(security.uplink, security.downlink) < (1 << 24) - _COUNT_MARGIN
    )


# Identification (5.4.3)


def _request_identity(d: Draft, count: int = 0) -> None:
    d.send_nas_best({"message-type": "identity-request", "identity-type": "suci"})
    if count == 0:
        d.emit(IdentityRequested())
    d.start_timer("T3570", d.env.network.timers.t3570, count)


def _identity_response(d: Draft, received: NasReceived) -> None:
    registration = d.ue.registration
    if registration is None or registration.stage != "identifying":
        d.note("an IDENTITY RESPONSE that was not asked for")
        return
    peek = wire.nas_peek(received.nas.plain)
    if peek.suci is None:
        d.note("an IDENTITY RESPONSE without a SUCI")
        return
    d.stop_timer("T3570")
    if d.ue.supi:
        _identity_confirmed(d, peek)
    else:
        _hand_over(d, registration, peek)


def _identity_confirmed(d: Draft, peek: wire.NasPeek) -> None:
    """A UE known by its 5G-GUTI that failed to authenticate has told its SUCI (5.4.1.3.5).

    If it is the subscriber that the 5G-GUTI stands for, it had its chance; if not, the
    connection belongs to another.
    """
    registration = d.ue.registration
    if registration is None:
        return
    if peek.supi == d.ue.supi:
        _reject_authentication(d)
    else:
        _hand_over(d, registration, peek)


def _hand_over(d: Draft, registration: Registration, peek: wire.NasPeek) -> None:
    """Give the connection to the aggregate of the SUPI, by `identification` if concealed."""
    here = d.connection
    identified = Identified(
        gnb=here.gnb,
        association=here.association,
        ran_ue_ngap_id=here.ran_ue_ngap_id,
        amf_ue_ngap_id=here.amf_ue_ngap_id,
        sequence=here.sequence,
        tai=here.tai,
        cell=here.cell,
        establishment_cause=here.establishment_cause,
        context_requested=here.context_requested,
        order=here.order,
        request=registration.request,
        suci=peek.suci or b"",
    )
    data = encode(identified)
    if peek.supi is None:
        key, to = index_ngap(here.amf_ue_ngap_id), Procedure.IDENTIFICATION
        slot = slot_of_amf_ue_ngap_id(here.amf_ue_ngap_id)
    else:
        key, to = peek.supi, Procedure.REGISTRATION
        slot = slot_of(peek.supi)
    d.emit(HandedOver(ue_aggregate(peek.supi) if peek.supi else to))
    d.hand_off(HandOff(EventType.IDENTIFIED, to, key, data, slot))


def _identified(d: Draft, found: Identified) -> None:
    """The connection of a UE that has told its SUPI comes to the aggregate of that SUPI."""
    known = connection.find(d, found.amf_ue_ngap_id)
    if known is not None and known.releasing:
        d.note("the connection that was handed over is being released")
        return
    connection.abort(d, "another REGISTRATION REQUEST")
    connection.adopt(d, found)
    if not d.ue.supi:
        d.emit(SubscriberIdentified(d.key))
    begin(d, Nas(REQUEST, found.request, 0), wire.nas_decode(found.request), suci_told=True)


def _unidentified(d: Draft, lost: Unidentified) -> None:
    """The SUCI could not be de-concealed: the network cannot know this UE."""
    if d.ue.connection is None:
        if lost.type != EventType.NGAP_UPLINK:
            d.note(f"{lost.reason}; the connection is gone")
            return
        origin = connection.Origin(lost.source)
        if unsupported.rejected_faults(d, origin, lost.data):
            return
        ies = ngap.ies_of(wire.ngap_decode(lost.data))
        connection.establish(d, origin, ies["RAN-UE-NGAP-ID"], ies, lost.sequence)
    d.note(lost.reason)
    if d.ue.successor:
        d.emit(HandedOver(""))  # `identification` gives the connection back
    if not d.connection.releasing:
        accept.reject(d, GmmCause.ILLEGAL_UE)


# Authentication (5.4.1)


def _authentication_response(d: Draft, received: NasReceived) -> None:
    challenge = d.ue.challenge
    if challenge is None:
        d.note("an AUTHENTICATION RESPONSE without a challenge")
        return
    if not authentication.response_is_right(d, received.tree, challenge):
        _authentication_failed(d)
        return
    registration = d.ue.registration
    capability = registration.capability if registration else b""
    if not capability and d.ue.security is not None:
        capability = d.ue.security.capability
    if security_mode.start(d, challenge.ngksi, challenge.kamf, capability):
        return
    if d.ue.deregistering:
        deregistration.refuse(d)
    else:
        accept.reject(d, GmmCause.SECURITY_CAPABILITIES_MISMATCH)


def _authentication_failure(d: Draft, received: NasReceived) -> None:
    challenge, subscriber = d.ue.challenge, d.env.subscriber
    if challenge is None or subscriber is None:
        d.note("an AUTHENTICATION FAILURE without a challenge")
    elif not authentication.failure_retried(d, received.tree, challenge, subscriber):
        _authentication_failed(d)


def _authentication_failed(d: Draft) -> None:
    """5.4.1.3.5 and 5.4.1.3.7: a UE known by its 5G-GUTI may be another one; ask who it is."""
    registration = d.ue.registration
    if d.ue.deregistering:
        deregistration.refuse(d)
    elif registration is not None and registration.identified_by == "guti":
        _request_identity(d)
    else:
        _reject_authentication(d)


def _reject_authentication(d: Draft) -> None:
    authentication.reject(d)
    connection.abort(d, "authentication failed")


# Security mode (5.4.2)


def _security_mode_complete(d: Draft, received: NasReceived) -> None:
    nas, tree = received.nas, received.tree
    if not nas.pending or nas.count is None:
        d.note("a SECURITY MODE COMPLETE that is not of the context offered")
        return
    d.stop_timer("T3560")
    d.emit(SecurityModeCompleted(nas.count + 1))
    imeisv = subtree(tree, "imeisv").get("imeisv")
    if imeisv is not None:
        d.emit(PeiLearned(f"imeisv-{imeisv}"))
    container = subtree(tree, "nas-message-container")
    if d.ue.deregistering:
        connection.proved(d)
        deregistration.complete(d, switch_off=deregistration.is_switch_off(container))
        return
    registration = d.ue.registration
    if registration is None:
        d.note("a SECURITY MODE COMPLETE outside of a procedure")
        return
    if container.get("message-type") == "registration-request":
        d.emit(RequestCompleted(wire.nas_encode(container)))
    elif registration.retransmit:
        d.note("the UE did not send its whole REGISTRATION REQUEST again")
    accept.conclude(d, d.ue.registration or registration, nas.count)


def _security_mode_reject(d: Draft, received: NasReceived) -> None:
    """5.4.2.5: the network aborts the procedure that ran the security mode control."""
    if d.ue.pending is None:
        d.note("a SECURITY MODE REJECT that was not asked for")
        return
    d.stop_timer("T3560")
    d.emit(SecurityModeRejected(str(received.tree["5gmm-cause"])))
    connection.abort(d, "security mode rejected")
    d.release(ngap.NAS_UNSPECIFIED)


# The end of it


def _complete(d: Draft, _: NasReceived) -> None:
    registration = d.ue.registration
    if registration is None or registration.stage != "accepted":
        d.note("a REGISTRATION COMPLETE that was not asked for")
        if d.ue.tmsi_pending:
            d.emit(GutiConfirmed())  # late, after T3550 was given up
        return
    d.stop_timer("T3550")
    d.emit(GutiConfirmed())
    d.emit(RegistrationCompleted())
    if d.connection.context == "pending" and not d.connection.releasing:
        # The gNB answers a context setup before it brings what the UE says next: it was lost.
        user_plane.request_context(d)


def _ngap(d: Draft, message: str, ies: Tree, amf_ue_ngap_id: int) -> None:
    if not d.connection_is(amf_ue_ngap_id):
        d.note(f"{message} on a connection that the UE has left")
        return
    asked = d.connection.context == "pending"
    match message:
        case "InitialContextSetupResponse" if asked:
            d.emit(ContextSetUp())
            user_plane.answered(d, ies)
            user_plane.unanswered(d)
        case "InitialContextSetupFailure" if asked:
            d.emit(ContextSetupFailed(ngap.cause_text(ies.get("Cause", ngap.UNSPECIFIED))))
            connection.abort(d, "the gNB could not set up the UE context")
            d.release(ngap.NAS_UNSPECIFIED)
        case "InitialContextSetupResponse" | "InitialContextSetupFailure":
            d.note(f"{message} that was not asked for")
        case "UERadioCapabilityInfoIndication":
            # Its IEs may be left out by their criticality (TS 38.413 9.2.13.1).
            if "UERadioCapability" in ies:
                d.emit(RadioCapabilityReported(bytes.fromhex(ies["UERadioCapability"])))
        case _:
            d.note(f"{message}: {ngap.cause_text(ies.get('Cause', ngap.UNSPECIFIED))}")


def _expired(d: Draft, name: str, count: int) -> None:
    """Repeat what was not answered, four times; then give up (10.2 of TS 24.501)."""
    here = d.ue.connection
    if here is None or here.releasing:
        d.note(f"{name} expired without a connection")
        return
    again = count + 1
    if again <= authentication.RETRANSMISSIONS:
        if name == "T3550":
            accept.send_accept(d, again)
        elif name == "T3570":
            _request_identity(d, again)
        elif d.ue.pending is not None:
            security_mode.send(d, again)
        elif d.ue.challenge is not None:
            authentication.send(d, d.ue.challenge, again)
        return
    # After T3550 the UE is registered, with both 5G-GUTIs valid (5.5.1.2.8 c). The connection
    # goes: who does not answer on it may have lost it, and nothing else would say so.
    connection.abort(d, f"{name} expired for the fifth time")
    d.release(ngap.NAS_UNSPECIFIED)


_NAS = {
    REQUEST: _request,
    COMPLETE: _complete,
    AUTHENTICATION_RESPONSE: _authentication_response,
    AUTHENTICATION_FAILURE: _authentication_failure,
    IDENTITY_RESPONSE: _identity_response,
    SECURITY_MODE_COMPLETE: _security_mode_complete,
    SECURITY_MODE_REJECT: _security_mode_reject,
}
