"""Lookups of a decision, in addition to the state and the documents. A step contains each with its
result.

`functions.decision.env.Env` has a method for each.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from schemas.identity import SNssai, Tai

IpVersion: TypeAlias = Literal[4, 6]


class UsableUpf(Struct, frozen=True, omit_defaults=True):
    """A UPF that is associated and reachable."""

    node_id: str
    load: int
    """The load in per cent (TS 29.244 8.2.36)."""
    ftup: bool = True
    """Whether the UPF allocates the F-TEIDs (FTUP, TS 29.244 5.5.1). If not, the core does."""
    recovery_time_stamp: int = 0
    """The Recovery Time Stamp of its association, in seconds since 1900."""


class _Lookup(Struct, frozen=True, omit_defaults=True, tag_field="lookup"):
    """A lookup and its result."""


class UpfsLookup(_Lookup, frozen=True, tag="upfs"):
    """The usable UPFs."""

    upfs: tuple[UsableUpf, ...] = ()
    """In the order of the configuration."""


class FeaturesLookup(_Lookup, frozen=True, tag="upf-features"):
    """The UP Function Features of a usable UPF (TS 29.244 8.2.25)."""

    upf: str
    features: tuple[str, ...] = ()
    """The names of the features, such as ``"EMPU"``."""


class AddressLookup(_Lookup, frozen=True, tag="address"):
    """A free address in a UPF's pool for a DNN."""

    dnn: str
    upf: str
    ip_version: IpVersion
    address: str = ""
    """An IPv4 address, or an IPv6 prefix of 64 bits; empty if no address is left."""


class AssociationLookup(_Lookup, frozen=True, tag="association"):
    """The association by which a gNB serves a tracking area."""

    tai: Tai
    gnb: str
    association: str = ""
    """Empty if the gNB does not serve the tracking area."""


class SlicesLookup(_Lookup, frozen=True, tag="slices"):
    """The slices of a tracking area that a gNB does not support there. A step has this lookup only
    if there are any."""

    tai: Tai
    gnb: str
    lacking: tuple[SNssai, ...]


class CongestionLookup(_Lookup, frozen=True, tag="congestion"):
    """The worker is congested. A step has this lookup only in that case."""

    seconds: int
    """The time until this worker can serve the request, after the requests before it."""


class RoomLookup(_Lookup, frozen=True, tag="room"):
    """The disk of the event log has little room left (`[store] min_free_bytes`). A step has this
    lookup only in that case."""

    seconds: int
    """The time for which UEs that are not registered are put off."""


Lookup: TypeAlias = (
    UpfsLookup
    | FeaturesLookup
    | AddressLookup
    | AssociationLookup
    | SlicesLookup
    | CongestionLookup
    | RoomLookup
)
