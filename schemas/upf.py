"""A UPF in the core: state, events and fold (TS 29.244 6.2)."""

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from schemas.event import Event, Noted
from schemas.identity import Lead
from schemas.procedures import Procedure
from schemas.stranger import Stranger
from schemas.ue.waking import WAKE, node_wake_key

LEFTOVERS = 1024
"""Maximum number of remembered sessions that a UPF has and the core does not have."""


class Leftover(Struct, frozen=True):
    """A session of the UPF that belongs to no UE: the UPF's SEID, and the number of the delete
    request."""

    up_seid: int
    number: int


class UpfDoubt(Struct, frozen=True, omit_defaults=True):
    """A message of the UPF says that it has no association any more, and the UPF was asked.

    Anyone can send such a message with the UPF's address, so it has no effect by itself.
    """

    number: int
    """The number of the request that the UPF was sent. The response decides."""
    reason: str = ""
    released: bool = False
    """Whether the message says that the UPF has released the association."""
    setup: int | None = None
    """The sequence number of an association setup request that waits for its response."""


class Upf(Struct, frozen=True, omit_defaults=True):
    """A UPF. An unknown UPF is `Upf()`."""

    node_id: str = ""
    associated: bool = False
    reachable: bool = False
    """Whether the UPF answers heartbeats and requests about sessions, according to its gateway."""
    trouble: str = ""
    """Why the UPF is not usable; empty if it is usable, or before the first association setup."""
    recovery_time_stamp: int = 0
    """The Recovery Time Stamp of the UPF when its sessions were established, in seconds since 1900;
    0 for none."""
    features: tuple[str, ...] = ()
    """UP Function Features (8.2.25)."""
    load: int = 0
    """The load that the UPF reported last, in per cent (8.2.34); 0 if it never reported one."""
    reduction: int = 0
    """The traffic reduction that the UPF requests, in per cent (6.2.4)."""
    reduced_until: int = 0
    """The end of the reduction, in milliseconds since the Unix epoch."""
    since: int = 0
    """The core's own Recovery Time Stamp for this UPF, in seconds since 1900. It is constant: the
    core loses no state, so the restart of a process is not a restart of the CP function (TS 23.007
    19A)."""
    requests: int = 0
    """The number of requests sent, which is the number of the last one."""
    asked: int = 0
    """The number of the pending association setup request; 0 for none."""
    refused: int = 0
    """How often in a row an association setup was refused or got no response."""
    wake_at: int = 0
    """When the next association setup request is sent; if the UPF is associated and reachable, when
    its leftover sessions are deleted again; if it is in doubt, when it is asked for an association.
    In milliseconds since the Unix epoch, 0 for never."""
    leftovers: tuple[Leftover, ...] = ()
    tries: int = 0
    """How often in a row a wake-up was scheduled for the leftover sessions."""
    doubt: UpfDoubt | None = None
    releases: int = 0
    """How often in a row the association was released soon after the release before."""
    paused_until: int = 0
    """The end of the pause after the last release, in milliseconds since the Unix epoch."""

    def load_at(self, now: int) -> int:
        """Return the effective load at a time in milliseconds, in per cent.

        The reduction that the UPF requests lowers its remaining capacity.
        """
        reduction = self.reduction if now < self.reduced_until else 0
        return 100 - max(0, 100 - self.load) * (100 - reduction) // 100


class UpfAsked(Event, frozen=True):
    """A request was sent, or the UPF sets up an association. `since` is the core's Recovery Time
    Stamp, if it has none yet."""

    node_id: str
    request: str
    """The name of the message."""
    number: int
    since: int


class UpfAssociated(Event, frozen=True):
    """An association is set up; it replaces an earlier one."""

    node_id: str
    recovery_time_stamp: int
    features: tuple[str, ...]


class UpfUpdated(Event, frozen=True):
    """The UPF reported changed features."""

    features: tuple[str, ...]


class UpfNotAssociated(Event, frozen=True):
    """An association setup failed. The next one is at `wake_at`, 0 for never."""

    cause: str
    wake_at: int = 0


class UpfReleased(Event, frozen=True):
    """The association is released. The next association setup is at `wake_at`, 0 for never."""

    reason: str
    wake_at: int = 0
    count: int = 0
    """How often in a row it was released soon after the release before."""


class UpfRestarted(Event, frozen=True):
    """The UPF restarted, and its association is released."""

    recovery_time_stamp: int


class UpfDoubted(Event, frozen=True):
    """A message says that the UPF has no association any more, and the UPF was asked.

    Without its response, an association is requested at `wake_at`. The other values are those of a
    `UpfDoubt`.
    """

    number: int
    reason: str
    wake_at: int
    released: bool = False
    setup: int | None = None


class UpfConfirmed(Event, frozen=True):
    """The response of the UPF shows that it still has the association."""


class UpfReachable(Event, frozen=True):
    """The UPF answers its gateway again, or does not answer any more.

    `trouble` is what it does not answer. It may have lost the association without a restart, so
    the core requests another one at `wake_at`.
    """

    reachable: bool
    trouble: str = ""
    wake_at: int = 0


class UpfLoad(Event, frozen=True):
    """Load Control Information, in per cent."""

    load: int


class UpfOverloaded(Event, frozen=True):
    """Overload Control Information: the UPF requests a traffic reduction, in per cent."""

    reduction: int
    until: int


class LeftoverFound(Event, frozen=True):
    """The UPF has a session that belongs to no UE. A delete request was sent."""

    up_seid: int
    number: int


class LeftoversAwaited(Event, frozen=True):
    """At `wake_at`, the leftover sessions that still exist are deleted again."""

    wake_at: int


class LeftoverDeleted(Event, frozen=True):
    """The UPF deleted a leftover session."""

    number: int


UpfEvent: TypeAlias = (
    UpfAsked
    | UpfAssociated
    | UpfUpdated
    | UpfNotAssociated
    | UpfReleased
    | UpfRestarted
    | UpfDoubted
    | UpfConfirmed
    | UpfReachable
    | UpfLoad
    | UpfOverloaded
    | LeftoverFound
    | LeftoversAwaited
    | LeftoverDeleted
    | Noted
)


def removable(_: Upf) -> Stranger | None:
    """Return None: a UPF is configured, so its log is never removed."""
    return None


def leads(upf: Upf) -> list[Lead]:
    """Return the lead for the timer of this UPF. Other events have the name of the aggregate."""
    if not upf.wake_at:
        return []
    return [(WAKE, node_wake_key, upf.wake_at, Procedure.UPF, upf.node_id)]


def _asked(upf: Upf, event: UpfAsked) -> Upf:
    return replace(
        upf,
        node_id=event.node_id,
        since=upf.since or event.since,
        requests=max(upf.requests, event.number),
        asked=event.number if event.request == "AssociationSetupRequest" else upf.asked,
        wake_at=0 if event.request == "AssociationSetupRequest" else upf.wake_at,
    )


def _reachable(upf: Upf, event: UpfReachable) -> Upf:
    found = replace(upf, reachable=event.reachable, trouble=event.trouble)
    if event.reachable:
        # The association stays; `association.await_leftovers` schedules the leftover sessions.
        return replace(found, refused=0, wake_at=0) if upf.associated else found
    return replace(found, wake_at=event.wake_at) if event.wake_at else found


def _associated(upf: Upf, event: UpfAssociated) -> Upf:
    restarted = event.recovery_time_stamp != upf.recovery_time_stamp
    return replace(
        upf,
        node_id=event.node_id,
        associated=True,
        reachable=True,
        trouble="",
        recovery_time_stamp=event.recovery_time_stamp,
        features=event.features,
        asked=0,
        refused=0,
        wake_at=0,
        load=0 if restarted else upf.load,
        reduced_until=0 if restarted else upf.reduced_until,
        leftovers=() if restarted else upf.leftovers,
        tries=0,
        doubt=None,
    )


def _not_associated(upf: Upf, event: UpfNotAssociated) -> Upf:
    trouble = upf.trouble if upf.associated else f"no association: {event.cause}"
    ended = replace(upf, asked=0, refused=upf.refused + 1, wake_at=event.wake_at)
    return replace(ended, trouble=trouble)


def _released(upf: Upf, event: UpfReleased) -> Upf:
    ended = replace(upf, associated=False, asked=0, load=0, leftovers=(), tries=0, doubt=None)
    return replace(
        ended,
        trouble=f"no association: {event.reason}",
        wake_at=event.wake_at,
        paused_until=event.wake_at,
        releases=event.count,
    )


def _doubted(upf: Upf, event: UpfDoubted) -> Upf:
    doubt = UpfDoubt(event.number, event.reason, event.released, event.setup)
    return replace(upf, doubt=doubt, wake_at=event.wake_at)


def _restarted(upf: Upf, _: UpfRestarted) -> Upf:
    # The old time stamp identifies the lost sessions. They are reported when the UPF is associated
    # again.
    ended = replace(upf, associated=False, reachable=True, asked=0, load=0)
    return replace(ended, trouble="", leftovers=(), tries=0, wake_at=0, doubt=None)


def _leftover_found(upf: Upf, event: LeftoverFound) -> Upf:
    found = (*upf.leftovers, Leftover(event.up_seid, event.number))[-LEFTOVERS:]
    return replace(upf, leftovers=found)


def _leftovers_awaited(upf: Upf, event: LeftoversAwaited) -> Upf:
    return replace(upf, wake_at=event.wake_at, tries=upf.tries + 1)


def _leftover_deleted(upf: Upf, event: LeftoverDeleted) -> Upf:
    kept = tuple(found for found in upf.leftovers if found.number != event.number)
    if kept:
        return replace(upf, leftovers=kept)
    return replace(upf, leftovers=(), tries=0, wake_at=0)


_EVOLVE: dict[type, Callable[[Upf, Any], Upf]] = {
    UpfAsked: _asked,
    UpfAssociated: _associated,
    UpfUpdated: lambda upf, event: replace(upf, features=event.features),
    UpfNotAssociated: _not_associated,
    UpfReleased: _released,
    UpfRestarted: _restarted,
    UpfDoubted: _doubted,
    UpfConfirmed: lambda upf, _: replace(upf, doubt=None, wake_at=0),
    UpfReachable: _reachable,
    UpfOverloaded: lambda upf, event: replace(
        upf, reduction=event.reduction, reduced_until=event.until
    ),
    UpfLoad: lambda upf, event: replace(upf, load=event.load),
    LeftoverFound: _leftover_found,
    LeftoversAwaited: _leftovers_awaited,
    LeftoverDeleted: _leftover_deleted,
    Noted: lambda upf, _: upf,
}


def evolve(upf: Upf, event: UpfEvent) -> Upf:
    """Return the state after `event`. Total and pure."""
    return _EVOLVE[type(event)](upf, event)
