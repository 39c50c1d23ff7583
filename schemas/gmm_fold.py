"""The fold of what the network has begun by itself (schemas/gmm.py), and of a UE's silence."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from schemas import ue_events as e
from schemas.gmm import ConfigurationUpdate, NetworkDeregistration
from schemas.ue import Timer, Ue
from schemas.waking import IMPLICIT_DEREGISTRATION, MOBILE_REACHABLE


def unwatched(timers: dict[str, Timer]) -> dict[str, Timer]:
    """Timers without those that watch over a UE in CM-IDLE. They end with the first connection,
    which needs no event of its own."""
    if MOBILE_REACHABLE not in timers and IMPLICIT_DEREGISTRATION not in timers:
        return timers
    watching = (MOBILE_REACHABLE, IMPLICIT_DEREGISTRATION)
    return {name: timer for name, timer in timers.items() if name not in watching}


def connected(ue: Ue) -> Ue:
    """The UE has a connection."""
    timers = unwatched(ue.timers)
    return ue if timers is ue.timers else replace(ue, timers=timers)


def guti_known(ue: Ue) -> Ue:
    """The UE has confirmed its 5G-GUTI by its use: it is not told it again."""
    if ue.update is None or not ue.update.guti:
        return ue
    return replace(ue, update=_owed(replace(ue.update, guti=False)))


def _owed(update: ConfigurationUpdate) -> ConfigurationUpdate | None:
    """What is left of an update, None for nothing."""
    return None if update == ConfigurationUpdate() else update


def _reachable_until(ue: Ue, event: e.ReachableUntil) -> Ue:
    timers = {**ue.timers, MOBILE_REACHABLE: Timer(event.at)}
    return replace(ue, timers=timers, wake_at=event.at, wake_for=MOBILE_REACHABLE)


def _deregistration_wanted(ue: Ue, event: e.NetworkDeregistrationWanted) -> Ue:
    wanted = NetworkDeregistration(event.reason, event.reregister, event.cause)
    return replace(ue, network_deregistration=wanted)


def _deregistration_sent(ue: Ue, event: e.NetworkDeregistrationSent) -> Ue:
    if ue.network_deregistration is None:
        return ue
    sent = replace(ue.network_deregistration, amf_ue_ngap_id=event.amf_ue_ngap_id)
    return replace(ue, network_deregistration=sent)


def _deregistration_aborted(ue: Ue, _: e.NetworkDeregistrationAborted) -> Ue:
    return replace(ue, network_deregistration=None)


def _update_owed(ue: Ue, event: e.ConfigurationUpdateOwed) -> Ue:
    update = ue.update or ConfigurationUpdate()
    owed = replace(update, guti=update.guti or event.guti, nitz=update.nitz or event.nitz)
    return replace(ue, update=owed)


def _update_sent(ue: Ue, event: e.ConfigurationUpdateSent) -> Ue:
    sent = replace(
        ue.update or ConfigurationUpdate(),
        command=event.command,
        amf_ue_ngap_id=event.amf_ue_ngap_id,
        allowed_nssai=event.allowed_nssai,
        register=event.register,
        given_up=False,
    )
    return replace(ue, update=sent)


def _update_stopped(ue: Ue, event: e.ConfigurationUpdateStopped) -> Ue:
    """What was only by the way, and needs no acknowledgement, is not told again (5.4.4.6 b)."""
    if ue.update is None:
        return ue
    if event.given_up:
        return replace(ue, update=replace(ue.update, given_up=True))
    return replace(ue, update=_owed(ConfigurationUpdate(guti=ue.update.guti)))


def _updated(ue: Ue, _: e.ConfigurationUpdated) -> Ue:
    """What was in the command is so now; one that has the UE register has nothing else."""
    update = ue.update
    if update is None:
        return ue
    if update.register:
        return replace(ue, update=_owed(ConfigurationUpdate(update.guti, update.nitz)))
    return replace(
        ue,
        update=None,
        tmsi_pending=ue.tmsi_pending and not (update.guti and update.command),
        allowed_nssai=update.allowed_nssai or ue.allowed_nssai,
    )


EVOLVE: Final[dict[type, Callable[[Ue, Any], Ue]]] = {
    e.ReachableUntil: _reachable_until,
    e.NetworkDeregistrationWanted: _deregistration_wanted,
    e.NetworkDeregistrationSent: _deregistration_sent,
    e.NetworkDeregistrationAborted: _deregistration_aborted,
    e.ConfigurationUpdateOwed: _update_owed,
    e.ConfigurationUpdateSent: _update_sent,
    e.ConfigurationUpdateStopped: _update_stopped,
    e.ConfigurationUpdated: _updated,
}
