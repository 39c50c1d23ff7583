"""Domain events of UEs, from the events and states of their logs."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from schemas import domain
from schemas.connection.state import Connection
from schemas.domain import DomainType, Location
from schemas.gsm.state import PduSession
from schemas.ue import events as e
from schemas.ue.state import Ue

Fact = tuple[DomainType, domain.Data]

_EPOCH: Final = datetime(1900, 1, 1, tzinfo=UTC)
"""The epoch of the times in reports of gNBs, which are NTP seconds."""


def facts(supi: str, before: Ue, event: Any, after: Ue, rest: Sequence[Any]) -> Iterator[Fact]:
    """Yield the domain events for an event, from the states before and after it.

    `supi` is empty for an unidentified UE; `rest` are the later events of the step.
    """
    match event:
        case e.RegistrationRejected(cause):
            failed = domain.UeFailedData(cause, supi, _location(before.connection))
            yield DomainType.UE_REGISTRATION_REJECTED, failed
        case e.AuthenticationFailed(cause):
            # After a synch failure or an ngKSI collision, the UE is challenged again immediately.
            if not any(isinstance(later, e.AuthenticationStarted) for later in rest):
                failed = domain.UeFailedData(cause, supi, _location(before.connection))
                yield DomainType.UE_AUTHENTICATION_FAILED, failed
        case e.RegistrationAccepted():
            kind = (
                DomainType.UE_REGISTRATION_UPDATED
                if before.registered
                else DomainType.UE_REGISTERED
            )
            yield kind, _registered(supi, after)
        case e.Deregistered(reason) if before.registered:
            yield DomainType.UE_DEREGISTERED, domain.UeDeregisteredData(supi, reason)
        case e.PagingFailed() if before.paging is not None and not before.paging.failed:
            waiting = tuple(map(_name, before.paging.seids))
            yield DomainType.UE_UNREACHABLE, domain.UeUnreachableData(supi, waiting)
        case e.SecondaryRatUsed():
            yield DomainType.SESSION_USAGE, _usage(supi, before, event)
        case _:
            pass
    if before.connection is not after.connection or before.parked is not after.parked:
        yield from _connection(supi, authenticated(before), event, authenticated(after))
    if before.sessions is not after.sessions:
        yield from _sessions(supi, before, event, after)


def authenticated(ue: Ue) -> Connection | None:
    """Return the connection that the UE is authenticated on; None in CM-IDLE."""
    here = ue.connection
    if here is not None and here.secured:
        return here
    parked = (b.connection for b in reversed(ue.parked) if b.connection.secured)
    return next(parked, None)


def _connection(
    supi: str, before: Connection | None, event: Any, after: Connection | None
) -> Iterator[Fact]:
    if before is None and after is not None:
        yield DomainType.UE_CONNECTED, domain.UeConnectedData(supi, _at(after))
    elif before is not None and after is None:
        reason = getattr(event, "reason", "") or "the UE left its connection"
        yield DomainType.UE_IDLE, domain.UeIdleData(supi, reason, _at(before))
    elif before is not None and after is not None and before.gnb != after.gnb:
        handover = {"HandoverCompleted": "n2", "PathSwitched": "xn"}.get(type(event).__name__, "")
        moved = domain.UeMovedData(supi, _at(before), _at(after), handover)
        yield DomainType.UE_MOVED, moved


def _sessions(supi: str, before: Ue, event: Any, after: Ue) -> Iterator[Fact]:
    now = {session.n4.seid: session for session in after.sessions}
    for old in before.sessions:
        new = now.get(old.n4.seid)
        if old.stage != "released" and (new is None or new.stage == "released"):
            reason = getattr(event, "reason", "")
            about = domain.SessionReleasedData(**_about(supi, old), reason=reason)
            yield DomainType.SESSION_RELEASED, about
        elif new is None or old.stage == new.stage or new.stage != "active":
            continue
        elif old.stage == "establishing":
            yield DomainType.SESSION_ESTABLISHED, domain.SessionData(**_about(supi, new))
        elif old.stage == "modifying":
            yield DomainType.SESSION_MODIFIED, domain.SessionData(**_about(supi, new))


def _about(supi: str, session: PduSession) -> dict[str, Any]:
    return {
        "supi": supi,
        "session": _name(session.n4.seid),
        "psi": session.id,
        "nssai": session.nssai,
        "dnn": session.dnn,
        "type": session.type,
        "five_qi": session.five_qi,
        "ambr": session.ambr,
        "upf": session.n4.upf,
        "ipv4": session.address.ipv4,
        "ipv6": session.address.ipv6,
    }


def _registered(supi: str, ue: Ue) -> domain.UeRegisteredData:
    return domain.UeRegisteredData(
        supi,
        ue.allowed_nssai,
        ue.registration_area,
        ue.pei,
        ue.emergency,
        _location(ue.connection),
    )


def _usage(supi: str, ue: Ue, event: e.SecondaryRatUsed) -> domain.SessionUsageData:
    found = (s for s in ue.sessions if s.id == event.psi and s.stage != "released")
    session = next(found, None)
    return domain.SessionUsageData(
        supi,
        event.psi,
        event.rat,
        _EPOCH + timedelta(seconds=event.start),
        _EPOCH + timedelta(seconds=event.end),
        event.uplink,
        event.downlink,
        "" if session is None else _name(session.n4.seid),
        event.qfi,
    )


def _location(connection: Connection | None) -> Location | None:
    return None if connection is None else _at(connection)


def _at(connection: Connection) -> Location:
    return Location(connection.gnb, connection.tai, connection.cell)


def _name(seid: int) -> str:
    return f"{seid:016x}"
