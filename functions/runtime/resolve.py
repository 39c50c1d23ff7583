"""Which aggregate an event is for, by its partition key."""

from typing import Final

from msgspec import msgpack

from functions.decision.connection import Origin
from schemas.aggregates import (
    gnb_aggregate,
    ue_aggregate,
    unidentified_aggregate,
    upf_aggregate,
)
from schemas.cloudevents import CloudEvent, Identified
from schemas.identity import index_ngap, slot_of
from schemas.procedures import Procedure
from statestore.contract import IndexKey

_INDEXED: Final = {"ngap": "ngap", "tmsi": "tmsi", "seid": "seid"}

GIVEN_UP: Final = ("ngap-", "seid-")
"""How keys begin whose events may have been taken by what is gone since."""


def direct(event: CloudEvent) -> str | None:
    """The aggregate that the key names by itself; None for a key of an index.

    ``ue/...``, ``gnb/...`` and ``upf/...`` are aggregates as they are (a wake-up), ``imsi-...``
    is a SUPI, ``gnb-...`` a RAN node, and ``conn-...`` a connection whose UE nobody knows yet.
    """
    key = event.partitionkey
    if "/" in key:
        return key
    if key.startswith("imsi-"):
        return ue_aggregate(key)
    if event.procedure == Procedure.RAN or key.startswith("gnb-"):
        return gnb_aggregate(key.removeprefix("gnb-"))
    if key.partition("-")[0] in _INDEXED:
        return None
    return unidentified_aggregate(event.id)


def entry(event: CloudEvent) -> IndexKey:
    """The index entry that leads to the aggregate of an event without a direct key."""
    return IndexKey(_INDEXED[event.partitionkey.partition("-")[0]], event.partitionkey)


def without_owner(event: CloudEvent) -> str:
    """The aggregate of an event whose index entry nobody owns.

    A 5G-TMSI that is not known here belongs to a UE that has to be asked. An AMF-UE-NGAP-ID
    that is not known is the RAN node's error, which `ran` answers. A PFCP session that is not
    known is the UPF's: it has one too many, or reports one that is gone.
    """
    if event.partitionkey.startswith("tmsi-"):
        return unidentified_aggregate(event.id)
    if event.source.startswith("/n2/"):
        return gnb_aggregate(Origin(event.source).gnb)
    if event.source.startswith("/n4/"):
        return upf_aggregate(event.source.removeprefix("/n4/"))
    return ""


def connection_of(event: CloudEvent) -> IndexKey:
    """The index entry of the connection that an IDENTIFIED event hands over."""
    found = msgpack.decode(event.data, type=Identified)
    return IndexKey("ngap", index_ngap(found.amf_ue_ngap_id))


def moved_to(event: CloudEvent, aggregate: str) -> int | None:
    """The slot that an event of a connection belongs to, if it came by another.

    The AMF-UE-NGAP-ID of a UE that told its SUPI late carries the slot of the connection.
    """
    if not event.partitionkey.startswith("ngap-") or not aggregate.startswith("ue/imsi-"):
        return None
    slot = slot_of(aggregate.removeprefix("ue/"))
    return slot if slot != event.slot else None
