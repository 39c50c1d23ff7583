"""The aggregate of an event, by its partition key."""

from typing import Final

from msgspec import msgpack

from functions.decision.connection import Origin
from schemas.aggregates import (
    gnb_aggregate,
    ue_aggregate,
    unidentified_aggregate,
    upf_aggregate,
    upfs_of_source,
)
from schemas.cloudevents import CloudEvent, Identified
from schemas.identity import index_ngap, slot_of
from schemas.procedures import Procedure
from statestore.contract import IndexKey

_INDEXED: Final = {"ngap": "ngap", "tmsi": "tmsi", "seid": "seid"}

DELETABLE: Final = ("ngap-", "seid-")
"""Prefixes of keys that may belong to an aggregate or a session that was deleted since."""


def direct(event: CloudEvent) -> str | None:
    """Return the aggregate in the key itself; None for a key of an index.

    ``ue/...``, ``gnb/...`` and ``upf/...`` are names of aggregates (a wake-up), ``imsi-...`` is a
    SUPI, ``gnb-...`` a RAN node, and ``conn-...`` a connection of an unidentified UE.
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
    """Return the index entry for an event without a direct key."""
    return IndexKey(_INDEXED[event.partitionkey.partition("-")[0]], event.partitionkey)


def without_owner(event: CloudEvent) -> str:
    """Return the aggregate of an event with an unknown index entry.

    An unknown 5G-TMSI belongs to a UE that must be identified. An AMF-UE-NGAP-ID that no UE has or
    remembers is an error of the RAN node, and `ran` responds. An unknown PFCP session is processed
    by the UPF's aggregate: the UPF has a leftover session, or reports a deleted one.
    """
    if event.partitionkey.startswith("tmsi-"):
        return unidentified_aggregate(event.id)
    if event.source.startswith("/n2/"):
        return gnb_aggregate(Origin(event.source).gnb)
    if event.source.startswith("/n4/"):
        return upf_aggregate(upfs_of_source(event.source)[0])
    return ""


def connection_of(event: CloudEvent) -> IndexKey:
    """Return the index entry of the connection that an IDENTIFIED event transfers."""
    found = msgpack.decode(event.data, type=Identified)
    return IndexKey("ngap", index_ngap(found.amf_ue_ngap_id))


def moved_to(event: CloudEvent, aggregate: str) -> int | None:
    """Return the slot that processes an event of a connection, if it is not the event's slot.

    If a UE was identified after its connection was opened, its AMF-UE-NGAP-ID has the slot of the
    connection.
    """
    if not event.partitionkey.startswith("ngap-") or not aggregate.startswith("ue/imsi-"):
        return None
    slot = slot_of(aggregate.removeprefix("ue/"))
    return slot if slot != event.slot else None
