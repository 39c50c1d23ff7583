"""A REGISTRATION REQUEST and the first reaction of the network (TS 24.501 5.5.1.2, 5.5.1.3)."""

from typing import Final

import wire
from functions.decision import connection
from functions.decision.collisions import Start, Verdict, reasons
from functions.decision.inputs import Nas, NasReceived
from functions.decision.ue_decision import UeDecision
from functions.gmm import admission
from functions.gmm.authentication import aka, reauthentication
from functions.gmm.deregistration import by_network
from functions.gmm.registration import accept, identity
from functions.messages.nas.gmm import DISASTER, EMERGENCY, ONBOARDING, PERIODIC, UPDATES, kind_of
from functions.messages.trees import Tree, subtree
from schemas.causes import GmmCause
from schemas.gmm.events import RegistrationStarted, SubscriberIdentified
from schemas.gmm.state import Registration, SecurityContext


def take(d: UeDecision, received: NasReceived) -> None:
    """Begin a registration, unless the request repeats that of the ongoing one."""
    if by_network.goes_before(d, received):
        return
    ongoing = d.ue.registration
    if ongoing is not None and received.nas.plain in (ongoing.request, ongoing.complete_request):
        # TS 24.501 5.5.1.2.8 d, e. No registration is ongoing on a new connection.
        if ongoing.stage == "accepted":
            timer = d.ue.timers.get("T3550")
            accept.send_accept(d, timer.count if timer is not None else 0)
        else:
            d.note("the same REGISTRATION REQUEST again")
        return
    kind = kind_of(received.tree)
    back_off = None
    if received.initial and kind != EMERGENCY:
        back_off = admission.without_room(d) or admission.back_off(d)
    if back_off is not None:
        accept.reject(d, GmmCause.CONGESTION, back_off)
        d.env.rejected = False  # it shows load, and no fault of this version
        return
    connection.abort(d, "another REGISTRATION REQUEST")
    begin(d, received.nas, received.tree)


def again(request: bytes) -> Tree:
    """Decode a REGISTRATION REQUEST that was decoded before and stored.

    Raises:
        ValueError: it cannot be decoded now.
    """
    read = wire.nas_read(request)
    if read.tree is None:
        raise ValueError(f"the stored REGISTRATION REQUEST cannot be decoded: {read.fault}")
    return read.tree


def begin(d: UeDecision, nas: Nas, request: Tree, *, suci_told: bool = False) -> None:
    """Begin the procedure of a REGISTRATION REQUEST.

    `suci_told` is whether the UE has sent its SUCI since, whatever identity the request has.
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
    cause = refused(d, request, registration.capability, known_before=not suci_told)
    if cause is not None:
        accept.reject(d, cause)
    elif not d.ue.supi:
        identity.request(d)
    elif d.env.subscriber is None:
        plmn = d.connection.tai.plmn
        accept.reject(d, d.env.network.causes.of_unknown_subscriber(plmn))
    elif nas.verified and nas.count is not None and _may_reuse(d, registration):
        accept.conclude(d, registration, request, nas.count)
    else:
        aka.start(d, d.env.subscriber)


_PEIS: Final = frozenset({"imei", "imeisv", "mac-address", "eui-64"})
"""The permanent equipment identifiers among the 5GS mobile identities (9.11.3.4)."""


def refused(
    d: UeDecision, request: Tree, capability: bytes, *, known_before: bool
) -> GmmCause | None:
    """Return the cause to reject a request for its contents (5.5.1.2.5, 5.5.1.3.5), None for none.

    `capability` is the UE security capability in it, or a stored one; empty for none.
    `known_before` is whether the identity in the request is that of the UE.
    """
    kind = kind_of(request)
    identities = subtree(request, "5gs-mobile-identity")
    emergency = kind == EMERGENCY and d.env.network.emergency_services is None
    cause = None
    if kind in DISASTER:
        cause = GmmCause.DISASTER_ROAMING_NOT_ALLOWED
    elif not capability and kind in UPDATES:
        # A periodic update has no algorithms of the UE (8.2.6.4), and none are stored. With this
        # cause the UE starts an initial registration at once.
        cause = GmmCause.IDENTITY_CANNOT_BE_DERIVED
    elif not capability:
        # An initial registration has them (8.2.6.4, 5.5.1.2.8 b).
        cause = GmmCause.INVALID_MANDATORY_INFORMATION
    elif not _PEIS.isdisjoint(identities):
        # An emergency registration without authentication.
        cause = GmmCause.PEI_NOT_ACCEPTED
    elif "suci" not in identities and "guti" not in identities:
        cause = GmmCause.INVALID_MANDATORY_INFORMATION
    elif emergency or kind == ONBOARDING:
        # With this cause the USIM stays valid, and the UE tries another network.
        cause = GmmCause.PROTOCOL_ERROR
    elif kind == PERIODIC and not (d.ue.supi and known_before):
        cause = GmmCause.IDENTITY_CANNOT_BE_DERIVED
    elif (
        kind in UPDATES
        and known_before
        and d.ue.supi
        and reasons(d, Start.REGISTRATION_UPDATE, Verdict.REJECT)
    ):
        cause = GmmCause.IMPLICITLY_DEREGISTERED
    return cause


def _may_reuse(d: UeDecision, registration: Registration) -> bool:
    """Whether the context that verified the request may stay in use (TS 33.501 6.4.6)."""
    security, policy = d.ue.security, d.env.network.security
    return (
        security is not None
        and policy.reuse_context
        and registration.ngksi == security.ngksi
        and registration.capability == security.capability
        and security.nia in policy.integrity
        and security.nea in policy.ciphering
        and _is_of_this_network(d, security)
        and not reauthentication.due(d, security)
    )


def _is_of_this_network(d: UeDecision, security: SecurityContext) -> bool:
    """Whether the K_AMF of a context is bound to the PLMN that the UE has chosen, or to an
    equivalent PLMN (TS 33.501 6.1.1.4.1)."""
    plmn = security.plmn
    return plmn in ("", d.plmn) or d.plmn in d.env.network.equivalents(plmn)
