"""A RAN node in the core: state, events and fold (TS 38.413 8.7)."""

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from schemas.event import Event, Noted
from schemas.identity import Guami, Lead, Plmn, SNssai, Tai
from schemas.procedures import Procedure
from schemas.stranger import (
    STRANGER,
    Stranger,
    StrangerRecorded,
    stranger_key,
    stranger_of,
)
from schemas.ue.waking import WAKE, node_wake_key


class BroadcastPlmn(Struct, frozen=True):
    """A PLMN that a tracking area broadcasts, with the slices that the node supports in it."""

    plmn: Plmn
    slices: tuple[SNssai, ...]


class SupportedTa(Struct, frozen=True):
    """One item of the Supported TA List."""

    tac: int
    broadcast: tuple[BroadcastPlmn, ...]


class PlmnSupport(Struct, frozen=True):
    """A PLMN that the core serves, with its slices."""

    plmn: Plmn
    slices: tuple[SNssai, ...]


class AmfConfiguration(Struct, frozen=True):
    """The core's configuration as a RAN node is sent it (TS 38.413 9.2.6.2, 9.2.6.7)."""

    name: str
    guamis: tuple[Guami, ...]
    capacity: int
    """The Relative AMF Capacity, 0 to 255."""
    plmns: tuple[PlmnSupport, ...]


class AmfUpdate(Struct, frozen=True, omit_defaults=True):
    """An AMF CONFIGURATION UPDATE that the node has not acknowledged."""

    configuration: AmfConfiguration
    attempt: int = 0
    """How often it was sent before."""
    refused: bool = False
    """Whether the node refused it and it waits to be sent again."""


class Gnb(Struct, frozen=True, omit_defaults=True):
    """A RAN node. An unknown node is `Gnb()`."""

    id: str = ""
    name: str = ""
    association: str = ""
    """The association of its NG-C interface; empty if the interface is down."""
    supported: tuple[SupportedTa, ...] = ()
    paging_drx: str = ""
    told: AmfConfiguration | None = None
    """The configuration of the core that the node has acknowledged."""
    updating: AmfUpdate | None = None
    wake_at: int = 0
    """When `updating` is sent again, in milliseconds since the Unix epoch; 0 for never."""
    stranger: Stranger | None = None
    """Since when the log of a node without an accepted NG SETUP may be removed."""


class NgSetUp(Event, frozen=True):
    """An NG SETUP REQUEST was accepted."""

    id: str
    name: str
    association: str
    supported: tuple[SupportedTa, ...]
    paging_drx: str
    told: AmfConfiguration | None = None


class NgSetupFailed(Event, frozen=True):
    """An NG SETUP REQUEST was refused."""

    association: str
    cause: str


class RanConfigurationUpdated(Event, frozen=True):
    """A RAN CONFIGURATION UPDATE was acknowledged. A value that it did not contain is None."""

    name: str | None = None
    supported: tuple[SupportedTa, ...] | None = None
    paging_drx: str | None = None


class RanConfigurationUpdateFailed(Event, frozen=True):
    """A RAN CONFIGURATION UPDATE was refused."""

    cause: str


class AmfConfigurationSent(Event, frozen=True):
    """An AMF CONFIGURATION UPDATE was sent, the first time or again."""

    configuration: AmfConfiguration
    wake_at: int
    attempt: int = 0


class AmfConfigurationAcknowledged(Event, frozen=True):
    """The node acknowledged this configuration of the core."""

    configuration: AmfConfiguration


class AmfConfigurationPostponed(Event, frozen=True):
    """The node refused an AMF CONFIGURATION UPDATE for now; it is sent again at `wake_at`."""

    cause: str
    wake_at: int


class AmfConfigurationRefused(Event, frozen=True):
    """The node refused an AMF CONFIGURATION UPDATE for good."""

    reason: str


class NgReset(Event, frozen=True):
    """An NG RESET was acknowledged; `connections` is None for the whole interface."""

    cause: str
    connections: int | None = None


class AssociationEnded(Event, frozen=True):
    """An association is released."""

    association: str
    reason: str


GnbEvent: TypeAlias = (
    NgSetUp
    | NgSetupFailed
    | RanConfigurationUpdated
    | RanConfigurationUpdateFailed
    | AmfConfigurationSent
    | AmfConfigurationAcknowledged
    | AmfConfigurationPostponed
    | AmfConfigurationRefused
    | NgReset
    | AssociationEnded
    | StrangerRecorded
    | Noted
)


def leads(gnb: Gnb) -> list[Lead]:
    """Return the leads to this node: one for each TAI while NG is up, and one for its timer."""
    if gnb.stranger is not None:
        at = gnb.stranger
        return [(STRANGER, stranger_key, at.since, at.slot, at.number)]
    if not gnb.association:
        return []
    tais = {Tai(b.plmn, ta.tac) for ta in gnb.supported for b in ta.broadcast}
    found: list[Lead] = [("tai", _of_area, tai, gnb.id, gnb.association) for tai in tais]
    if gnb.wake_at:
        found.append((WAKE, node_wake_key, gnb.wake_at, Procedure.RAN, gnb.id))
    return found


def removable(gnb: Gnb) -> Stranger | None:
    """Return the record of a node without an accepted NG SETUP; None for any other node."""
    return gnb.stranger


def _of_area(tai: Tai, gnb: str, association: str) -> str:
    return f"{tai_index_prefix(tai)}{gnb}/{association}"


def tai_index_prefix(tai: Tai) -> str:
    """Return the key prefix of a tracking area; the gNB and its association follow."""
    return f"{tai.plmn}-{tai.tac:06x}/"


def _set_up(_: Gnb, event: NgSetUp) -> Gnb:
    # TS 38.413 8.7.1.1: NG setup erases all previous application level configuration data.
    return Gnb(
        event.id,
        event.name,
        event.association,
        event.supported,
        event.paging_drx,
        told=event.told,
    )


def _updated(gnb: Gnb, event: RanConfigurationUpdated) -> Gnb:
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
    return replace(gnb, association="", told=None, updating=None, wake_at=0)


def _amf_sent(gnb: Gnb, event: AmfConfigurationSent) -> Gnb:
    sent = AmfUpdate(event.configuration, event.attempt)
    return replace(gnb, updating=sent, wake_at=event.wake_at)


def _amf_acknowledged(gnb: Gnb, event: AmfConfigurationAcknowledged) -> Gnb:
    return replace(gnb, told=event.configuration, updating=None, wake_at=0)


def _amf_postponed(gnb: Gnb, event: AmfConfigurationPostponed) -> Gnb:
    if gnb.updating is None:
        return gnb
    return replace(gnb, updating=replace(gnb.updating, refused=True), wake_at=event.wake_at)


def _amf_refused(gnb: Gnb, _: AmfConfigurationRefused) -> Gnb:
    return replace(gnb, updating=None, wake_at=0)


def _stranger_recorded(gnb: Gnb, event: StrangerRecorded) -> Gnb:
    return gnb if gnb.id else replace(gnb, stranger=stranger_of(event))


def _same(gnb: Gnb, _: object) -> Gnb:
    return gnb


_EVOLVE: dict[type, Callable[[Gnb, Any], Gnb]] = {
    NgSetUp: _set_up,
    NgSetupFailed: _same,
    RanConfigurationUpdated: _updated,
    RanConfigurationUpdateFailed: _same,
    AmfConfigurationSent: _amf_sent,
    AmfConfigurationAcknowledged: _amf_acknowledged,
    AmfConfigurationPostponed: _amf_postponed,
    AmfConfigurationRefused: _amf_refused,
    NgReset: _same,
    AssociationEnded: _ended,
    StrangerRecorded: _stranger_recorded,
    Noted: _same,
}


def evolve(gnb: Gnb, event: GnbEvent) -> Gnb:
    """Return the state after `event`. Total and pure."""
    return _EVOLVE[type(event)](gnb, event)
