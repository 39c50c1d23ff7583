"""What a decision looks up beside the state and the documents: questions and answers in its step.

`functions.decision.env.Env` has a method for each.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from schemas.identity import Tai

IpVersion: TypeAlias = Literal[4, 6]


class UsableUpf(Struct, frozen=True, omit_defaults=True):
    """A UPF that is associated and reachable."""

    node_id: str
    load: int
    """Its load in per cent (TS 29.244 8.2.36)."""
    ftup: bool = True
    """Whether the UPF allocates the F-TEIDs (FTUP, TS 29.244 5.5.1). If not, the core does."""


class _Lookup(Struct, frozen=True, omit_defaults=True, tag_field="lookup"):
    """A question and its answer."""


class UpfsLookup(_Lookup, frozen=True, tag="upfs"):
    """Which UPFs can be used?"""

    upfs: tuple[UsableUpf, ...] = ()
    """In the order of the configuration."""


class FeaturesLookup(_Lookup, frozen=True, tag="upf-features"):
    """Which UP Function Features has a usable UPF (TS 29.244 8.2.25)?"""

    upf: str
    features: tuple[str, ...] = ()
    """Their names, such as ``"EMPU"``."""


class AddressLookup(_Lookup, frozen=True, tag="address"):
    """Which address of a UPF's pool for a DNN is free?"""

    dnn: str
    upf: str
    ip_version: IpVersion
    address: str = ""
    """An IPv4 address, or an IPv6 prefix of 64 bits; empty if no address is left."""


class AssociationLookup(_Lookup, frozen=True, tag="association"):
    """By which association does a gNB serve a tracking area?"""

    tai: Tai
    gnb: str
    association: str = ""
    """Empty if the gNB does not serve the tracking area."""


class CongestionLookup(_Lookup, frozen=True, tag="congestion"):
    """Is the worker behind with its events? A step has this lookup only if it is."""


Lookup: TypeAlias = (
    UpfsLookup | FeaturesLookup | AddressLookup | AssociationLookup | CongestionLookup
)
