"""The fold of the events of 5GMM procedures."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from schemas.gmm import events as e
from schemas.gmm.state import (
    ConfigurationUpdate,
    ConfiguredNssai,
    NetworkDeregistration,
    Paging,
)
from schemas.ue.state import Timer, Ue
from schemas.ue.waking import IMPLICIT_DEREGISTRATION, MOBILE_REACHABLE


def _downlink_counted(ue: Ue, event: e.DownlinkCounted) -> Ue:
    moved = event.nas_count + 1
    if event.pending:
        return (
            ue if ue.pending is None else replace(ue, pending=replace(ue.pending, downlink=moved))
        )
    return ue if ue.security is None else replace(ue, security=replace(ue.security, downlink=moved))


def _identified(ue: Ue, event: e.SubscriberIdentified) -> Ue:
    return replace(ue, supi=event.supi)


def _identity_requested(ue: Ue, _: e.IdentityRequested) -> Ue:
    if ue.registration is None:
        return ue
    return replace(ue, registration=replace(ue.registration, stage="identifying"))


def _authentication_started(ue: Ue, event: e.AuthenticationStarted) -> Ue:
    registration = ue.registration
    if registration is not None:
        registration = replace(registration, stage="authenticating")
    return replace(ue, challenge=event.challenge, sqn=event.sqn, registration=registration)


def _authentication_ended(ue: Ue, _: object) -> Ue:
    return replace(ue, challenge=None)


def _authentication_succeeded(ue: Ue, _: e.AuthenticationSucceeded) -> Ue:
    return replace(ue, challenge=None, authenticated=True, stranger=None)


def _sqn(ue: Ue, event: e.SqnResynchronised) -> Ue:
    """Only the USIM can make an AUTS."""
    return replace(ue, sqn=event.sqn, authenticated=True, stranger=None)


def _security_mode_started(ue: Ue, event: e.SecurityModeStarted) -> Ue:
    registration = ue.registration
    if registration is not None:
        registration = replace(registration, stage="securing")
    return replace(ue, pending=event.context, registration=registration)


def _security_mode_completed(ue: Ue, event: e.SecurityModeCompleted) -> Ue:
    if ue.pending is None:
        return ue
    connection = ue.connection
    if connection is not None:
        connection = replace(
            connection,
            secured=True,
            kgnb_count=event.uplink - 1,
            nh=b"",
            ncc=0,
            rekeyed=connection.context != "none",
            modifying="old-key" if connection.modifying == "key" else connection.modifying,
        )
    security = replace(ue.pending, uplink=event.uplink, eap_success=b"")
    return replace(ue, security=security, pending=None, connection=connection)


def _security_mode_rejected(ue: Ue, _: e.SecurityModeRejected) -> Ue:
    return replace(ue, pending=None)


def _security_deleted(ue: Ue, _: e.SecurityContextDeleted) -> Ue:
    return replace(ue, security=None)


def _pei(ue: Ue, event: e.PeiLearned) -> Ue:
    """Another device has another radio capability (TS 23.501 5.4.4.1), and no configured NSSAI
    (annex C)."""
    if event.pei == ue.pei:
        return ue
    if ue.pei:
        ue = replace(ue, radio_capability=b"", paging_capability=None)
    return replace(ue, pei=event.pei, configured_nssai=())


def _registration_started(ue: Ue, event: e.RegistrationStarted) -> Ue:
    return replace(ue, registration=event.registration)


def _request_completed(ue: Ue, event: e.RequestCompleted) -> Ue:
    if ue.registration is None:
        return ue
    registration = replace(ue.registration, complete_request=event.request)
    if not event.capability:
        return replace(ue, registration=registration)
    registration = replace(registration, capability=event.capability)
    security = ue.security and replace(ue.security, capability=event.capability)
    return replace(ue, registration=registration, security=security)


def _guti_allocated(ue: Ue, event: e.GutiAllocated) -> Ue:
    # After two re-allocations in a row without a confirmation, the UE has the oldest or the newest.
    kept = ue.old_tmsi if ue.tmsi_pending else ue.tmsi
    return replace(ue, tmsi=event.tmsi, old_tmsi=kept, tmsi_pending=True)


def _guti_confirmed(ue: Ue, _: e.GutiConfirmed) -> Ue:
    return guti_known(replace(ue, tmsi_pending=False))


def _registration_accepted(ue: Ue, event: e.RegistrationAccepted) -> Ue:
    registration = ue.registration
    if registration is not None:
        registration = replace(
            registration,
            stage="accepted",
            accept=event.accept,
            configured_nssai=event.configured_nssai,
        )
    return replace(
        ue,
        registered=True,
        registration=registration,
        update=None,
        emergency=event.emergency,
        allowed_nssai=event.allowed_nssai,
        registration_area=event.registration_area,
        t3512=event.t3512,
        drx=event.drx,
    )


def _registration_completed(ue: Ue, _: e.RegistrationCompleted) -> Ue:
    told = ue.registration.configured_nssai if ue.registration is not None else None
    return replace(_configured(ue, told), registration=None)


def _configured(ue: Ue, told: ConfiguredNssai | None) -> Ue:
    """Store a configured NSSAI that the UE has acknowledged.

    If the subscription has changed, the UE has deleted those of other PLMNs (4.6.2.2).
    """
    if told is None:
        return ue
    others = tuple(
        one
        for one in ue.configured_nssai
        if one.plmn != told.plmn and one.subscribed == told.subscribed
    )
    return replace(ue, configured_nssai=(*others, told))


def _registration_ended(ue: Ue, _: object) -> Ue:
    return replace(ue, registration=None, challenge=None, pending=None, deregistering=False)


def _deregistration_pending(ue: Ue, _: e.DeregistrationPending) -> Ue:
    return replace(ue, deregistering=True)


def _deregistered(ue: Ue, _: e.Deregistered) -> Ue:
    # The identities and the native security context remain after a deregistration. The radio
    # capability does not (TS 24.501 5.5.2.1).
    return replace(
        ue,
        registered=False,
        emergency=False,
        registration=None,
        challenge=None,
        pending=None,
        deregistering=False,
        allowed_nssai=(),
        registration_area=(),
        drx=0,
        radio_capability=b"",
        paging_capability=None,
        update=None,
        network_deregistration=None,
        timers=unwatched(ue.timers),
    )


def _paging_started(ue: Ue, event: e.PagingStarted) -> Ue:
    return replace(ue, paging=Paging(event.seids, waits=event.waits))


def _paging_ended(ue: Ue, _: e.PagingEnded) -> Ue:
    return replace(ue, paging=None)


def _paging_failed(ue: Ue, _: e.PagingFailed) -> Ue:
    return ue if ue.paging is None else replace(ue, paging=replace(ue.paging, failed=True))


def unwatched(timers: dict[str, Timer]) -> dict[str, Timer]:
    """Return timers without those of a UE in CM-IDLE.

    They end with the first connection, without an event.
    """
    if MOBILE_REACHABLE not in timers and IMPLICIT_DEREGISTRATION not in timers:
        return timers
    watching = (MOBILE_REACHABLE, IMPLICIT_DEREGISTRATION)
    return {name: timer for name, timer in timers.items() if name not in watching}


def connected(ue: Ue) -> Ue:
    """Return the UE without the timers of CM-IDLE, because it has a connection."""
    timers = unwatched(ue.timers)
    return ue if timers is ue.timers else replace(ue, timers=timers)


def guti_known(ue: Ue) -> Ue:
    """Return the UE without a pending 5G-GUTI: the UE confirmed it by using it."""
    if ue.update is None or not ue.update.guti:
        return ue
    return replace(ue, update=_pending(replace(ue.update, guti=False, allocated=False)))


def _pending(update: ConfigurationUpdate) -> ConfigurationUpdate | None:
    """Return an update, or None if it is empty."""
    return None if update == ConfigurationUpdate() else update


def _reachable_until(ue: Ue, event: e.ReachableUntil) -> Ue:
    timers = {**ue.timers, MOBILE_REACHABLE: Timer(event.at)}
    return replace(ue, timers=timers, wake_at=event.at, wake_for=MOBILE_REACHABLE)


def _network_deregistration_pending(ue: Ue, event: e.NetworkDeregistrationPending) -> Ue:
    pending = NetworkDeregistration(event.reason, event.reregister, event.cause)
    return replace(ue, network_deregistration=pending)


def _deregistration_sent(ue: Ue, event: e.NetworkDeregistrationSent) -> Ue:
    if ue.network_deregistration is None:
        return ue
    sent = replace(ue.network_deregistration, amf_ue_ngap_id=event.amf_ue_ngap_id)
    return replace(ue, network_deregistration=sent)


def _deregistration_aborted(ue: Ue, _: e.NetworkDeregistrationAborted) -> Ue:
    return replace(ue, network_deregistration=None)


def _update_pending(ue: Ue, event: e.ConfigurationUpdatePending) -> Ue:
    update = ue.update or ConfigurationUpdate()
    pending = replace(
        update,
        guti=update.guti or event.guti,
        nitz=update.nitz or event.nitz,
        allocated=update.allocated or event.allocated,
    )
    return replace(ue, update=pending)


def _update_sent(ue: Ue, event: e.ConfigurationUpdateSent) -> Ue:
    sent = replace(
        ue.update or ConfigurationUpdate(),
        command=event.command,
        amf_ue_ngap_id=event.amf_ue_ngap_id,
        allowed_nssai=event.allowed_nssai,
        register=event.register,
        configured_nssai=event.configured_nssai,
        registration_area=event.registration_area,
        allocated=False,
        given_up=False,
    )
    return replace(ue, update=sent)


def _update_stopped(ue: Ue, event: e.ConfigurationUpdateStopped) -> Ue:
    """Values that need no acknowledgement are not sent again (5.4.4.6 b)."""
    if ue.update is None:
        return ue
    if event.given_up:
        return replace(ue, update=replace(ue.update, given_up=True))
    return replace(ue, update=_pending(ConfigurationUpdate(guti=ue.update.guti)))


def _updated(ue: Ue, _: e.ConfigurationUpdated) -> Ue:
    """The values of the command are in force. A command that requests a registration has no values
    but a configured NSSAI."""
    update = ue.update
    if update is None:
        return ue
    ue = _configured(ue, update.configured_nssai)
    if update.register:
        return replace(ue, update=_pending(ConfigurationUpdate(update.guti, update.nitz)))
    return replace(
        ue,
        update=None,
        tmsi_pending=ue.tmsi_pending and not (update.guti and update.command),
        allowed_nssai=update.allowed_nssai or ue.allowed_nssai,
        registration_area=update.registration_area or ue.registration_area,
    )


EVOLVE: Final[dict[type, Callable[[Ue, Any], Ue]]] = {
    e.DownlinkCounted: _downlink_counted,
    e.SubscriberIdentified: _identified,
    e.IdentityRequested: _identity_requested,
    e.AuthenticationStarted: _authentication_started,
    e.AuthenticationSucceeded: _authentication_succeeded,
    e.AuthenticationFailed: _authentication_ended,
    e.SqnResynchronised: _sqn,
    e.SecurityModeStarted: _security_mode_started,
    e.SecurityModeCompleted: _security_mode_completed,
    e.SecurityModeRejected: _security_mode_rejected,
    e.SecurityContextDeleted: _security_deleted,
    e.PeiLearned: _pei,
    e.RegistrationStarted: _registration_started,
    e.RequestCompleted: _request_completed,
    e.GutiAllocated: _guti_allocated,
    e.GutiConfirmed: _guti_confirmed,
    e.RegistrationAccepted: _registration_accepted,
    e.RegistrationCompleted: _registration_completed,
    e.RegistrationRejected: _registration_ended,
    e.RegistrationAborted: _registration_ended,
    e.DeregistrationPending: _deregistration_pending,
    e.Deregistered: _deregistered,
    e.PagingStarted: _paging_started,
    e.PagingEnded: _paging_ended,
    e.PagingFailed: _paging_failed,
    e.ReachableUntil: _reachable_until,
    e.NetworkDeregistrationPending: _network_deregistration_pending,
    e.NetworkDeregistrationSent: _deregistration_sent,
    e.NetworkDeregistrationAborted: _deregistration_aborted,
    e.ConfigurationUpdatePending: _update_pending,
    e.ConfigurationUpdateSent: _update_sent,
    e.ConfigurationUpdateStopped: _update_stopped,
    e.ConfigurationUpdated: _updated,
}
