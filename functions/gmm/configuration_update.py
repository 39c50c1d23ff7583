"""The generic UE configuration update procedure (TS 24.501 5.4.4, TS 23.502 4.2.4.2).

The reasons for it are in `schemas.gmm.state.ConfigurationUpdate`, or in the subscription: an
allowed NSSAI or a configured NSSAI that is outdated. `reconcile` sends the command once the gNB has
set up the UE context. Earlier it would overtake the NAS message in INITIAL CONTEXT SETUP REQUEST,
which the UE would then take for a replay.
"""

from typing import Final

import wire
from functions.decision import ran_parameters, slices
from functions.decision.collisions import Start, Verdict, check, ended_by
from functions.decision.inputs import Input, NasReceived, TimerExpired
from functions.decision.slices import Nssai
from functions.decision.ue_decision import RETRANSMISSIONS, UeDecision
from functions.gmm import admission, configured_nssai, guti
from functions.gsm import emergency, release, user_plane
from functions.messages import ngap
from functions.messages.nas import gmm
from functions.messages.trees import Tree
from schemas.causes import GsmCause
from schemas.gmm.events import (
    ConfigurationUpdated,
    ConfigurationUpdatePending,
    ConfigurationUpdateSent,
    ConfigurationUpdateStopped,
    GutiAllocated,
)
from schemas.gmm.state import ConfigurationUpdate, ConfiguredNssai
from schemas.identity import SNssai, Tai
from schemas.ue.states import Condition

TIMER: Final = "T3555"

_SILENT: Final = "T3555 was stopped"


def decide(d: UeDecision, received: Input) -> None:
    """Decide about a CONFIGURATION UPDATE COMPLETE, or T3555."""
    match received:
        case NasReceived(_, _, initial):
            _complete(d, initial=initial)
        case TimerExpired(_, count):
            _expired(d, count)
        case _:
            d.note(f"nothing to do for {received!r}")


# The reasons


def paged(d: UeDecision) -> None:
    """Allocate a new 5G-GUTI before the connection is released (TS 33.501 6.12.3).

    The UE has answered a paging, which made its 5G-GUTI public. The gNB gets the UE identity index
    of the new one in the INITIAL CONTEXT SETUP REQUEST.
    """
    d.emit(GutiAllocated(guti.new_tmsi(d)))
    d.emit(ConfigurationUpdatePending(guti=True, allocated=True))


def registered(d: UeDecision) -> None:
    """Tell the UE the name of the network and the time after a registration, if they are
    configured."""
    if d.env.network.nitz is not None:
        d.emit(ConfigurationUpdatePending(nitz=True))


def reconcile(d: UeDecision) -> None:
    """Send the command when there is a reason and the procedure may start. Stop it when it is
    ended."""
    update = d.ue.update
    if update is not None and update.command:
        reason = _interrupted(d, update)
        if not reason:
            return
        d.emit(ConfigurationUpdateStopped(reason))
        update = d.ue.update
    d.stop_timer(TIMER)
    if d.ue.connection is not None and check(d, Start.CONFIGURATION_UPDATE) is Verdict.START:
        changed, configured = _outdated(d), configured_nssai.changed(d)
        due = update is not None or bool(changed) or configured is not None
        if due or _is_area_outdated(d):
            _start(d, changed, configured)


def _interrupted(d: UeDecision, update: ConfigurationUpdate) -> str:
    """Return the reason that a sent command waits no more (5.4.4.6 b to d), empty if it waits."""
    if not d.connection_is(update.amf_ue_ngap_id):
        return _ENDED_BY[Start.AN_RELEASE]
    ender = ended_by(d, Condition.CONFIGURATION_UPDATE)
    if ender is not None:
        return _ENDED_BY[ender]
    if not update.given_up and TIMER not in d.ue.timers:
        return _SILENT
    return ""


_ENDED_BY: Final = {
    Start.AN_RELEASE: "the connection is released",
    Start.INITIAL_REGISTRATION: "a REGISTRATION REQUEST",
    Start.DEREGISTRATION_BY_NETWORK: "the network deregisters the UE",
}
"""The reasons of `ConfigurationUpdateStopped`."""


def _outdated(d: UeDecision) -> tuple[SNssai, ...]:
    """Return the slices of the allowed NSSAI that are not subscribed, or not in the tracking area.

    The allowed NSSAI of an emergency registration does not depend on the subscription.
    """
    ue, subscriber = d.ue, d.env.subscriber
    here = ue.connection
    if here is None or not ue.allowed_nssai or subscriber is None or ue.emergency:
        return ()
    subscribed = [one.nssai for one in subscriber.slices]
    area = d.env.network.area(here.tai) if here.tai in ue.registration_area else None
    return tuple(
        nssai
        for nssai in ue.allowed_nssai
        if nssai not in subscribed or (area is not None and nssai not in area.slices)
    )


def _is_area_outdated(d: UeDecision) -> bool:
    """Whether the gNB has outdated forbidden areas or equivalent PLMNs, or the UE may not be in its
    tracking area any more. A UE outside its registration area registers."""
    here = d.connection
    known = here.tai in d.ue.registration_area
    return (known and ran_parameters.outdated(d, here)) or _is_barred(d)


def _is_barred(d: UeDecision) -> bool:
    """Whether a registration of the UE would be rejected now by its subscription.

    A UE with emergency services stays. If its subscription was barred meanwhile, it is told to
    register after the end of its emergency PDU session (TS 23.501 5.16.4.3).
    """
    here, subscriber = d.connection.tai, d.env.subscriber
    if subscriber is None or d.ue.emergency:
        return False
    return admission.barred(subscriber, here) is not None and emergency.session_of(d) is None


# The command


def _start(d: UeDecision, changed: tuple[SNssai, ...], configured: ConfiguredNssai | None) -> None:
    """Send CONFIGURATION UPDATE COMMAND (5.4.4.2).

    Without an allowed slice, or in a tracking area that is forbidden now, the command requests a
    registration. It has no other values than the configured NSSAI then. The UE starts the
    registration after the release of the connection (5.4.4.3). A changed list of forbidden areas
    comes with the TAI list (TS 23.502 4.2.4.2).
    """
    owed = d.ue.update or ConfigurationUpdate()
    allowed = tuple(nssai for nssai in d.ue.allowed_nssai if nssai not in changed)
    register = (bool(changed) and not allowed) or _is_barred(d)
    nssai = slices.with_rejected(d.env.network, d.plmn, d.env.subscriber, allowed, changed)
    tais = () if register else _area(d, nssai)
    message: Tree = {"message-type": "configuration-update-command"}
    if register or changed or owed.guti or configured is not None or tais:
        message["configuration-update-indication"] = {"ack": True, "red": register}
    if owed.guti and not register:
        message["5g-guti"] = guti.mobile_identity(d, _new_tmsi(d, owed))
    if tais:
        message["tai-list"] = slices.tai_list(tais)
    if changed and not register:
        message |= _slices(nssai)
    message |= configured_nssai.ies(d, configured)
    if owed.nitz and not register and d.env.network.nitz is not None:
        message |= gmm.network_name_and_time(d.env.network.nitz, d.env.now)
    plain = wire.nas_encode(message)
    if "configuration-update-indication" not in message:
        d.send(ngap.downlink_nas_transport(d.connection, d.protect(plain)))
        d.emit(ConfigurationUpdated())  # it needs no acknowledgement (5.4.4.2)
        return
    told = allowed if changed and not register else ()
    here = d.connection.amf_ue_ngap_id
    d.emit(ConfigurationUpdateSent(plain, here, told, register, configured, tais))
    _send(d, plain, told)


def _new_tmsi(d: UeDecision, owed: ConfigurationUpdate) -> int:
    """Return the new 5G-TMSI, which may be allocated by now."""
    if owed.allocated and d.ue.tmsi is not None:
        return d.ue.tmsi
    tmsi = guti.new_tmsi(d)
    d.emit(GutiAllocated(tmsi))
    return tmsi


def _area(d: UeDecision, nssai: Nssai) -> tuple[Tai, ...]:
    """Return the registration area for the command; empty if the UE needs no other.

    It is without the tracking areas that are forbidden, or have a slice which is rejected for it
    (TS 23.501 5.15.4.1.1). If the gNB needs other restrictions, the command has the area in any
    case: it must have a value.
    """
    network, subscriber, here = d.env.network, d.env.subscriber, d.connection
    before, needed = d.ue.registration_area, ran_parameters.outdated(d, here)
    if subscriber is None or here.tai not in before or not (needed or nssai.rejected_in_area):
        return ()
    found = slices.registration_area(network, subscriber, here.tai, nssai)
    area = tuple(tai for tai in found if tai in before)
    return area if needed or set(area) != set(before) else ()


def _slices(nssai: Nssai) -> Tree:
    return {
        "allowed-nssai": [gmm.s_nssai(one) for one in nssai.allowed],
        **slices.rejected_nssai(nssai),
    }


def _send(d: UeDecision, plain: bytes, allowed: tuple[SNssai, ...], count: int = 0) -> None:
    ran_parameters.send_nas(d, d.protect(plain), allowed)
    d.start_timer(TIMER, d.env.network.timers.t3555, count)


def _expired(d: UeDecision, count: int) -> None:
    """T3555: send the command again, four times (5.4.4.6 a). Both 5G-GUTIs then stay valid."""
    update = d.ue.update
    if update is None or not update.command or _interrupted(d, update) not in ("", _SILENT):
        d.note("T3555 expired without a pending command")
    elif count < RETRANSMISSIONS and user_plane.reachable(d):
        _send(d, update.command, update.allowed_nssai, count + 1)
    else:
        d.emit(ConfigurationUpdateStopped("T3555 expired for the fifth time", given_up=True))


def _complete(d: UeDecision, *, initial: bool) -> None:
    """Process CONFIGURATION UPDATE COMPLETE (5.4.4.4). A late one is valid."""
    update = d.ue.update
    if initial or update is None or not update.command:
        d.note("a CONFIGURATION UPDATE COMPLETE without a pending command")
        if initial:
            d.release(ngap.NORMAL_RELEASE)
        return
    d.stop_timer(TIMER)
    d.emit(ConfigurationUpdated())
    for session in user_plane.live(d) if update.allowed_nssai else ():
        if session.nssai not in update.allowed_nssai and not session.emergency:
            release.by_network(d, session, GsmCause.REGULAR_DEACTIVATION)
    if update.register:
        d.release(ngap.NORMAL_RELEASE)
