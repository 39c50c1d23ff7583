"""The fold of the events of N2 connections."""

from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec.structs import replace

from schemas.connection import events as e
from schemas.connection.state import Asked, Connection, ParkedConnection
from schemas.gmm.fold import connected
from schemas.mobility.fold import without_target
from schemas.ue.state import Timer, Ue, inactive_of


def _connection_established(ue: Ue, event: e.ConnectionEstablished) -> Ue:
    return connected(replace(ue, connection=event.connection, recommended_cells=b""))


def _uplink_processed(ue: Ue, event: e.UplinkProcessed) -> Ue:
    changes: dict[str, Any] = {}
    if ue.connection is not None:
        here: dict[str, Any] = {"sequence": max(ue.connection.sequence, event.sequence)}
        if event.tai is not None:
            here["tai"] = event.tai
        if event.cell is not None:
            here["cell"] = event.cell
        if event.nas_count is not None:
            here["secured"] = True
            if not ue.connection.secured:
                here["kgnb_count"] = event.nas_count
                changes["proved_at"] = ue.connection.position or ue.proved_at
        changes["connection"] = replace(ue.connection, **here)
    if event.nas_count is not None and ue.security is not None:
        changes["security"] = replace(ue.security, uplink=event.nas_count + 1)
    return replace(ue, **changes)


def _on_connection(**changes: Any) -> Callable[[Ue, object], Ue]:
    def evolve_connection(ue: Ue, _: object) -> Ue:
        if ue.connection is None:
            return ue
        return replace(ue, connection=replace(ue.connection, **changes))

    return evolve_connection


def _context_requested(ue: Ue, event: e.ContextRequested) -> Ue:
    if ue.connection is None:
        return ue
    connection = replace(
        ue.connection,
        context="pending",
        asked={**ue.connection.asked, "context": event.at},
        kgnb_count=event.kgnb_count,
        nh=b"",
        ncc=0,
        rekeyed=False,
        restrictions=event.restrictions,
        rfsp=event.rfsp,
        inactive=inactive_of(ue),
    )
    return replace(ue, connection=connection)


def _context_answered(context: Literal["none", "set-up"]) -> Callable[[Ue, object], Ue]:
    def evolve_connection(ue: Ue, _: object) -> Ue:
        if ue.connection is None:
            return ue
        asked = without(ue.connection.asked, "context")
        return replace(ue, connection=replace(ue.connection, context=context, asked=asked))

    return evolve_connection


def without(asked: dict[Asked, int], kind: Asked) -> dict[Asked, int]:
    """Return the requests that wait for an answer of a gNB, without those of one kind."""
    return {name: at for name, at in asked.items() if name != kind}


def _context_modifying(ue: Ue, event: e.ContextModifying) -> Ue:
    if ue.connection is None:
        return ue
    ambr = event.ambr or ue.connection.ambr
    here = replace(
        ue.connection,
        ambr=ambr,
        rfsp=event.rfsp or ue.connection.rfsp,
        inactive=inactive_of(ue) if event.inactive else ue.connection.inactive,
        modifying="key" if event.key else "ambr",
    )
    return replace(ue, connection=here)


def _context_modified(ue: Ue, _: e.ContextModified) -> Ue:
    here = ue.connection
    if here is None:
        return ue
    changes: dict[str, Any] = {"modifying": ""}
    target = ue.target
    if here.modifying == "key":
        changes |= {"rekeyed": False, "nh": b"", "ncc": 0}
        target = None if target is None else replace(target, rekeyed=False)
    return replace(ue, connection=replace(here, **changes), target=target)


def _connection_releasing(ue: Ue, event: e.ConnectionReleasing) -> Ue:
    def mark(connection: Connection) -> Connection:
        if connection.amf_ue_ngap_id != event.amf_ue_ngap_id:
            return connection
        return replace(connection, releasing=event.cause)

    here = ue.connection
    return replace(
        ue,
        connection=None if here is None else mark(here),
        parked=tuple(replace(b, connection=mark(b.connection)) for b in ue.parked),
        stale=tuple(mark(connection) for connection in ue.stale),
        target=None if ue.target is None else mark(ue.target),
    )


def _connection_activated(ue: Ue, event: e.ConnectionActivated) -> Ue:
    return connected(activate(ue, event.amf_ue_ngap_id))


def _connection_abandoned(ue: Ue, event: e.ConnectionAbandoned) -> Ue:
    if ue.connection is None or ue.connection.amf_ue_ngap_id != event.amf_ue_ngap_id:
        return forget(ue, event.amf_ue_ngap_id, keep=True)
    return replace(ue, connection=None, stale=(*ue.stale, ue.connection))


def _connection_released(ue: Ue, event: e.ConnectionReleased) -> Ue:
    released = event.amf_ue_ngap_id
    if ue.target is not None and ue.target.amf_ue_ngap_id == released:
        ue = without_target(ue)
    ue = forget(ue, released)
    here = ue.connection
    stale = tuple(c for c in ue.stale if c.amf_ue_ngap_id != released)
    if here is None or here.amf_ue_ngap_id == released:
        here = next((c for c in reversed(stale) if not c.releasing), None)
        stale = tuple(c for c in stale if c is not here)
    last = ue.released
    if not event.unconfirmed and released not in last:
        last = (*last, released)[-RELEASED:]
    return replace(ue, connection=here, stale=stale, released=last)


RELEASED: Final = 4
"""Number of released connections that a UE remembers, more than it has within a redelivery."""


def _radio_capability(ue: Ue, event: e.RadioCapabilityReported) -> Ue:
    return replace(ue, radio_capability=event.capability, paging_capability=event.paging)


def _restrictions_sent(ue: Ue, event: e.RestrictionsSent) -> Ue:
    if ue.connection is None:
        return ue
    rfsp = event.rfsp or ue.connection.rfsp
    here = replace(ue.connection, restrictions=event.restrictions, rfsp=rfsp)
    return replace(ue, connection=here)


def _cells_recommended(ue: Ue, event: e.CellsRecommended) -> Ue:
    return replace(ue, recommended_cells=event.cells)


def _connection_transferred(ue: Ue, event: e.ConnectionTransferred) -> Ue:
    return replace(ue, successor=event.to)


TIMERS: Final = ("T3550", "T3560", "T3570")
"""The timers of a connection. All other timers belong to the UE."""


def parked_timer(name: str, connection: Connection) -> str:
    """Return the name of a timer of a parked connection."""
    return f"{name}/{connection.amf_ue_ngap_id:x}"


def park(ue: Ue) -> Ue:
    """Return the UE with its current connection parked; a connection that is being released becomes
    stale instead."""
    here = ue.connection
    if here is None:
        return ue
    timers: dict[str, Timer] = {}
    for name, timer in ue.timers.items():
        if name not in TIMERS:
            timers[name] = timer
        elif not here.releasing:
            timers[parked_timer(name, here)] = timer
    kept = ParkedConnection(
        here, ue.registration, ue.challenge, ue.pending, ue.deregistering, ue.successor
    )
    return replace(
        ue,
        connection=None,
        registration=None,
        challenge=None,
        pending=None,
        deregistering=False,
        successor="",
        parked=ue.parked if here.releasing else (*ue.parked, kept),
        stale=(*ue.stale, here) if here.releasing else ue.stale,
        timers=timers,
    )


def activate(ue: Ue, amf_ue_ngap_id: int) -> Ue:
    """Return the UE with a parked connection as its current one."""
    found = _find(ue, amf_ue_ngap_id)
    if found is None:
        return ue
    names = {parked_timer(name, found.connection): name for name in TIMERS}
    ue = park(ue)
    return replace(
        ue,
        connection=found.connection,
        registration=found.registration,
        challenge=found.challenge,
        pending=found.pending,
        deregistering=found.deregistering,
        successor=found.successor,
        parked=tuple(b for b in ue.parked if b is not found),
        timers={names.get(name, name): timer for name, timer in ue.timers.items()},
    )


def forget(ue: Ue, amf_ue_ngap_id: int, *, keep: bool = False) -> Ue:
    """Return the UE without a parked connection and its procedures. With `keep`, the connection
    becomes stale, because it is not released yet."""
    found = _find(ue, amf_ue_ngap_id)
    if found is None:
        return ue
    stopped = {parked_timer(name, found.connection) for name in TIMERS}
    return replace(
        ue,
        parked=tuple(b for b in ue.parked if b is not found),
        stale=(*ue.stale, found.connection) if keep else ue.stale,
        timers={name: timer for name, timer in ue.timers.items() if name not in stopped},
    )


def _find(ue: Ue, amf_ue_ngap_id: int) -> ParkedConnection | None:
    found = (b for b in ue.parked if b.connection.amf_ue_ngap_id == amf_ue_ngap_id)
    return next(found, None)


EVOLVE: Final[dict[type, Callable[[Ue, Any], Ue]]] = {
    e.ConnectionEstablished: _connection_established,
    e.UplinkProcessed: _uplink_processed,
    e.ContextRequested: _context_requested,
    e.ContextSetUp: _context_answered("set-up"),
    e.ContextSetupFailed: _context_answered("none"),
    e.ContextModifying: _context_modifying,
    e.ContextModified: _context_modified,
    e.ContextModificationFailed: _on_connection(modifying=""),
    e.ConnectionReleasing: _connection_releasing,
    e.ConnectionParked: lambda ue, _: park(ue),
    e.ConnectionActivated: _connection_activated,
    e.ConnectionAbandoned: _connection_abandoned,
    e.ConnectionReleased: _connection_released,
    e.RadioCapabilityReported: _radio_capability,
    e.CellsRecommended: _cells_recommended,
    e.RestrictionsSent: _restrictions_sent,
    e.ConnectionTransferred: _connection_transferred,
}
"""The folds of these events, by their types."""
