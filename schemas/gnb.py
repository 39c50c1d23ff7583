"""A RAN node in the core: its state, its events and the fold (TS 38.413 8.7)."""

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from schemas.identity import Plmn, SNssai, Tai
from schemas.ue_events import Event, Noted


class BroadcastPlmn(Struct, frozen=True):
    """A PLMN that a tracking area broadcasts, with the slices the node supports there."""

    plmn: Plmn
    slices: tuple[SNssai, ...]


class SupportedTa(Struct, frozen=True):
    """One item of the Supported TA List."""

    tac: int
    broadcast: tuple[BroadcastPlmn, ...]


class Gnb(Struct, frozen=True, omit_defaults=True):
    """A RAN node. One that was never heard of is `Gnb()`."""

    id: str = ""
    name: str = ""
    association: str = ""
    """The association that its NG-C interface is up on, empty for none."""
    supported: tuple[SupportedTa, ...] = ()
    paging_drx: str = ""


class NgSetUp(Event, frozen=True):
    """An NG SETUP REQUEST was accepted."""

    id: str
    name: str
    association: str
    supported: tuple[SupportedTa, ...]
    paging_drx: str


class NgSetupFailed(Event, frozen=True):
    """One was not."""

    association: str
    cause: str


class ConfigurationUpdated(Event, frozen=True):
    """A RAN CONFIGURATION UPDATE was acknowledged; what it left out is None."""

    name: str | None = None
    supported: tuple[SupportedTa, ...] | None = None
    paging_drx: str | None = None


class ConfigurationUpdateFailed(Event, frozen=True):
    """One was refused."""

    cause: str


class NgReset(Event, frozen=True):
    """An NG RESET was acknowledged; `connections` is None for the whole interface."""

    cause: str
    connections: int | None = None


class AssociationEnded(Event, frozen=True):
    """An association is gone."""

    association: str
    reason: str


GnbEvent: TypeAlias = (
    NgSetUp
    | NgSetupFailed
    | ConfigurationUpdated
    | ConfigurationUpdateFailed
    | NgReset
    | AssociationEnded
    | Noted
)


def indexes(gnb: Gnb) -> frozenset[tuple[str, str]]:
    """The index entries that lead to this node's association: one for each TAI, while it is up."""
    if not gnb.association:
        return frozenset()
    tais = {Tai(b.plmn, ta.tac) for ta in gnb.supported for b in ta.broadcast}
    to = f"{gnb.id}/{gnb.association}"
    return frozenset(("tai", tai_index_prefix(tai) + to) for tai in tais)


def tai_index_prefix(tai: Tai) -> str:
    """How the keys of a tracking area begin; the gNB and its association follow."""
    return f"{tai.plmn}-{tai.tac:06x}/"


def _set_up(_: Gnb, event: NgSetUp) -> Gnb:
    # TS 38.413 8.7.1.1: the setup erases all application level configuration data before.
    return Gnb(event.id, event.name, event.association, event.supported, event.paging_drx)


def _updated(gnb: Gnb, event: ConfigurationUpdated) -> Gnb:
    changes: dict[str, Any] = {}
    if event.name is not None:
        changes["name"] = event.name
    if event.supported is not None:
        changes["supported"] = event.supported
    if event.paging_drx is not None:
        changes["paging_drx"] = event.paging_drx
    return replace(gnb, **changes)


def _ended(gnb: Gnb, event: AssociationEnded) -> Gnb:
    if gnb.association != event.association:
        return gnb
    return replace(gnb, association="")


def _same(gnb: Gnb, _: object) -> Gnb:
    return gnb


_EVOLVE: dict[type, Callable[[Gnb, Any], Gnb]] = {
    NgSetUp: _set_up,
    NgSetupFailed: _same,
    ConfigurationUpdated: _updated,
    ConfigurationUpdateFailed: _same,
    NgReset: _same,
    AssociationEnded: _ended,
    Noted: _same,
}


def evolve(gnb: Gnb, event: GnbEvent) -> Gnb:
    """The state after `event`. Total and pure."""
    return _EVOLVE[type(event)](gnb, event)
