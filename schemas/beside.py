"""Connections beside the current one of a UE, in its fold: set aside, attended, forgotten.

What goes on there, and the timers of it, go with the connection.
"""

from typing import Final

from msgspec.structs import replace

from schemas.ue import Beside, Connection, Timer, Ue

TIMERS: Final = ("T3550", "T3560", "T3570")
"""The timers that are of a connection; all others are of the UE."""


def timer_beside(name: str, connection: Connection) -> str:
    """The name of a timer while its connection is beside the current one."""
    return f"{name}/{connection.amf_ue_ngap_id:x}"


def set_aside(ue: Ue) -> Ue:
    """The UE without a current connection: that is kept beside, or only left if it is being
    released."""
    here = ue.connection
    if here is None:
        return ue
    timers: dict[str, Timer] = {}
    for name, timer in ue.timers.items():
        if name not in TIMERS:
            timers[name] = timer
        elif not here.releasing:
            timers[timer_beside(name, here)] = timer
    kept = Beside(here, ue.registration, ue.challenge, ue.pending, ue.deregistering, ue.successor)
    return replace(
        ue,
        connection=None,
        registration=None,
        challenge=None,
        pending=None,
        deregistering=False,
        successor="",
        beside=ue.beside if here.releasing else (*ue.beside, kept),
        stale=(*ue.stale, here) if here.releasing else ue.stale,
        timers=timers,
    )


def attend(ue: Ue, amf_ue_ngap_id: int) -> Ue:
    """The UE with a connection that was beside for its current one."""
    found = _find(ue, amf_ue_ngap_id)
    if found is None:
        return ue
    names = {timer_beside(name, found.connection): name for name in TIMERS}
    ue = set_aside(ue)
    return replace(
        ue,
        connection=found.connection,
        registration=found.registration,
        challenge=found.challenge,
        pending=found.pending,
        deregistering=found.deregistering,
        successor=found.successor,
        beside=tuple(b for b in ue.beside if b is not found),
        timers={names.get(name, name): timer for name, timer in ue.timers.items()},
    )


def forget(ue: Ue, amf_ue_ngap_id: int, *, keep: bool = False) -> Ue:
    """The UE without what goes on on a connection beside; `keep` is whether it is yet to be
    released."""
    found = _find(ue, amf_ue_ngap_id)
    if found is None:
        return ue
    gone = {timer_beside(name, found.connection) for name in TIMERS}
    return replace(
        ue,
        beside=tuple(b for b in ue.beside if b is not found),
        stale=(*ue.stale, found.connection) if keep else ue.stale,
        timers={name: timer for name, timer in ue.timers.items() if name not in gone},
    )


def _find(ue: Ue, amf_ue_ngap_id: int) -> Beside | None:
    found = (b for b in ue.beside if b.connection.amf_ue_ngap_id == amf_ue_ngap_id)
    return next(found, None)
