"""A UPF in the core: its state, its events and the fold (TS 29.244 6.2)."""

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from schemas.event import Event, Noted
from schemas.index import Lead

LEFTOVERS = 1024
"""Sessions that a UPF has and the core has not, which are remembered until they are deleted."""


class Leftover(Struct, frozen=True):
    """A session of the UPF that nobody has: the UPF's SEID, and the request to delete it."""

    up_seid: int
    number: int


class Upf(Struct, frozen=True, omit_defaults=True):
    """A UPF. One that was never heard of is `Upf()`."""

    node_id: str = ""
    associated: bool = False
    reachable: bool = False
    """Whether it answers heartbeats, as far as its gateway has told."""
    recovery_time_stamp: int = 0
    """Of the UPF that the sessions were put on, in seconds since 1900; 0 before any."""
    features: tuple[str, ...] = ()
    """UP Function Features (8.2.25)."""
    load: int = 0
    """In per cent (8.2.34): what the UPF has told last, 0 if it never has."""
    reduction: int = 0
    """By how much it wants its traffic reduced, in per cent (6.2.4)."""
    reduced_until: int = 0
    """Until when, in milliseconds since the Unix epoch."""
    since: int = 0
    """The core's own Recovery Time Stamp for this UPF, in seconds since 1900. Constant: the core
    loses no state, so no restart of a process is one of the CP function (TS 23.007 19A)."""
    requests: int = 0
    """How many requests were sent: the number of the last."""
    asked: int = 0
    """The number of the association setup request without an answer, 0 for none."""
    refused: int = 0
    """How often in a row an association setup had no answer or a refusal."""
    wake_at: int = 0
    """When the association is tried again, or of a UPF that has one, what is left over asked for
    again; in milliseconds since the Unix epoch, 0 for never."""
    leftovers: tuple[Leftover, ...] = ()
    tries: int = 0
    """How often in a row a wake-up was set for what is left over."""

    def load_at(self, now: int) -> int:
        """The load that counts at a time in milliseconds, in per cent: what is left of the UPF is
        less by what it wants to be spared."""
        reduction = self.reduction if now < self.reduced_until else 0
        return 100 - max(0, 100 - self.load) * (100 - reduction) // 100


class UpfAsked(Event, frozen=True):
    """A request was sent, or an association is set up from the other side; `since` is the
    core's Recovery Time Stamp from now on, if it has none yet."""

    node_id: str
    request: str
    """The name of the message."""
    number: int
    since: int


class UpfAssociated(Event, frozen=True):
    """An association is set up; what there was before is overwritten."""

    node_id: str
    recovery_time_stamp: int
    features: tuple[str, ...]


class UpfUpdated(Event, frozen=True):
    """The UPF has told of other features."""

    features: tuple[str, ...]


class UpfNotAssociated(Event, frozen=True):
    """An association setup came to nothing; it is tried again at `wake_at`, 0 for never."""

    cause: str
    wake_at: int = 0


class UpfReleased(Event, frozen=True):
    """There is no association any more; it is asked for at `wake_at`, 0 for never."""

    reason: str
    wake_at: int = 0


class UpfRestarted(Event, frozen=True):
    """The UPF has restarted: there is no association with what it is now."""

    recovery_time_stamp: int


class UpfReachable(Event, frozen=True):
    """Its gateway has an answer to its heartbeats again, or none any more."""

    reachable: bool


class UpfLoad(Event, frozen=True):
    """Load Control Information, in per cent."""

    load: int


class UpfOverloaded(Event, frozen=True):
    """Overload Control Information: the UPF wants its traffic reduced, in per cent."""

    reduction: int
    until: int


class LeftoverFound(Event, frozen=True):
    """The UPF has a session that nobody here has: it is to delete it."""

    up_seid: int
    number: int


class LeftoversAwaited(Event, frozen=True):
    """What is left over then is asked for at `wake_at`."""

    wake_at: int


class LeftoverDeleted(Event, frozen=True):
    """It has."""

    number: int


UpfEvent: TypeAlias = (
    UpfAsked
    | UpfAssociated
    | UpfUpdated
    | UpfNotAssociated
    | UpfReleased
    | UpfRestarted
    | UpfReachable
    | UpfLoad
    | UpfOverloaded
    | LeftoverFound
    | LeftoversAwaited
    | LeftoverDeleted
    | Noted
)


def leads(_: Upf) -> list[Lead]:
    """What leads to this UPF: nothing, its Node ID names it."""
    return []


def _asked(upf: Upf, event: UpfAsked) -> Upf:
    return replace(
        upf,
        node_id=event.node_id,
        since=upf.since or event.since,
        requests=max(upf.requests, event.number),
        asked=event.number if event.request == "AssociationSetupRequest" else upf.asked,
        wake_at=0 if event.request == "AssociationSetupRequest" else upf.wake_at,
    )


def _associated(upf: Upf, event: UpfAssociated) -> Upf:
    restarted = event.recovery_time_stamp != upf.recovery_time_stamp
    return replace(
        upf,
        node_id=event.node_id,
        associated=True,
        reachable=True,
        recovery_time_stamp=event.recovery_time_stamp,
        features=event.features,
        asked=0,
        refused=0,
        wake_at=0,
        load=0 if restarted else upf.load,
        reduced_until=0 if restarted else upf.reduced_until,
        leftovers=() if restarted else upf.leftovers,
        tries=0,
    )


def _not_associated(upf: Upf, event: UpfNotAssociated) -> Upf:
    return replace(upf, asked=0, refused=upf.refused + 1, wake_at=event.wake_at)


def _released(upf: Upf, event: UpfReleased) -> Upf:
    ended = replace(upf, associated=False, asked=0, load=0, leftovers=(), tries=0)
    return replace(ended, wake_at=event.wake_at)


def _restarted(upf: Upf, _: UpfRestarted) -> Upf:
    # What it had is known by the time stamp that stays: it is told once it is associated again.
    ended = replace(upf, associated=False, reachable=True, asked=0, load=0)
    return replace(ended, leftovers=(), tries=0, wake_at=0)


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
    UpfReachable: lambda upf, event: replace(upf, reachable=event.reachable),
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
    """The state after `event`. Total and pure."""
    return _EVOLVE[type(event)](upf, event)
