"""The kinds of aggregate, by the first part of an aggregate's name, and how each is folded and
read."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from schemas import ran, upf
from schemas.evolution import UPCASTERS, Snapshots, StepReader
from schemas.identity import Lead, entry_of, slot_of
from schemas.ran import Gnb, GnbEvent
from schemas.step import Step
from schemas.stranger import Stranger
from schemas.ue import fold as ue_fold
from schemas.ue import index
from schemas.ue.events import UeEvent
from schemas.ue.state import Ue, removable
from schemas.upf import Upf, UpfEvent

Entries: TypeAlias = frozenset[tuple[str, str]]
"""Index entries: kind and key of each."""
_NONE: Final[Entries] = frozenset()


class Kind(NamedTuple):
    """The types and functions of one kind of aggregate, for the log, the runtime and the tools."""

    new: Callable[[], Any]
    """The state of an aggregate without steps."""
    evolve: Callable[[Any, Any], Any]
    leads: Callable[[Any], list[Lead]]
    decode_step: Callable[[bytes], Step[Any]]
    """Decodes a step of any version; raises `msgspec.DecodeError` if it cannot be read."""
    decode_state: Callable[[bytes], Any]
    snapshots: Snapshots
    removable: Callable[[Any], Stranger | None]
    """Returns the record of a stranger that may be removed; None for any other state."""

    def indexes(self, state: Any) -> Entries:
        """Return the index entries that lead to an aggregate."""
        return frozenset(map(entry_of, self.leads(state)))

    def index_changes(self, before: Any, after: Any) -> tuple[Entries, Entries]:
        """Return the index entries that a step adds, and those that it removes; for most steps, no
        entries.

        Different leads can have the same entry: those of two wake-ups at nearly the same time.
        """
        had, has = self.leads(before), self.leads(after)
        if had == has:
            return _NONE, _NONE
        put = frozenset(map(entry_of, set(has).difference(had)))
        drop = frozenset(map(entry_of, set(had).difference(has)))
        return put - drop, drop - put


KINDS: dict[str, Kind] = {
    "ue": Kind(
        Ue,
        ue_fold.evolve,
        index.leads,
        StepReader[UeEvent](Step[UeEvent], UeEvent, UPCASTERS["ue"]).decode,
        msgspec.msgpack.Decoder(Ue).decode,
        Snapshots(Ue, UeEvent, fold=5),
        removable,
    ),
    "gnb": Kind(
        Gnb,
        ran.evolve,
        ran.leads,
        StepReader[GnbEvent](Step[GnbEvent], GnbEvent, UPCASTERS["gnb"]).decode,
        msgspec.msgpack.Decoder(Gnb).decode,
        Snapshots(Gnb, GnbEvent, fold=1),
        ran.removable,
    ),
    "upf": Kind(
        Upf,
        upf.evolve,
        upf.leads,
        StepReader[UpfEvent](Step[UpfEvent], UpfEvent, UPCASTERS["upf"]).decode,
        msgspec.msgpack.Decoder(Upf).decode,
        Snapshots(Upf, UpfEvent, fold=1),
        upf.removable,
    ),
}

UNIDENTIFIED = "ue/unidentified-"
"""Prefix of the aggregate name of a UE without a known SUPI."""


def kind_of(aggregate: str) -> Kind:
    """Return the kind of an aggregate name.

    Raises:
        KeyError: the name has no known kind.
    """
    return KINDS[aggregate.partition("/")[0]]


def slot_of_aggregate(name: str, fallback: int) -> int:
    """Return the slot of an aggregate: of its key, or for an unidentified UE, of its connection."""
    return fallback if name.startswith(UNIDENTIFIED) else slot_of(name.partition("/")[2])


def ue_aggregate(supi: str) -> str:
    """Return the name of the aggregate of a SUPI."""
    return f"ue/{supi}"


def gnb_aggregate(gnb_id: str) -> str:
    """Return the name of the aggregate of a RAN node."""
    return f"gnb/{gnb_id}"


def upf_aggregate(node_id: str) -> str:
    """Return the name of the aggregate of a UPF."""
    return f"upf/{node_id}"


def upfs_of_source(source: str) -> tuple[str, ...]:
    """Return the Node IDs of the UPFs that may have sent the message of an event of an N4 gateway.

    ``/n4/<Node ID>`` has one. UPFs that share an address cannot be told apart by a report: the
    source is ``/n4/<Node ID>,<Node ID>`` then.
    """
    return tuple(source.removeprefix("/n4/").split(","))


def unidentified_aggregate(trigger_id: str) -> str:
    """Return the name of the aggregate of the connection that an event opened."""
    return f"{UNIDENTIFIED}{trigger_id}"
