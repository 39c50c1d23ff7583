"""The inputs of a decision beside the state and the trigger. The step records all of them."""

import hashlib
from collections.abc import Iterable
from typing import Protocol

from schemas.identity import SNssai, Tai
from schemas.lookups import (
    AddressLookup,
    AssociationLookup,
    CongestionLookup,
    FeaturesLookup,
    IpVersion,
    Lookup,
    RoomLookup,
    SlicesLookup,
    UpfsLookup,
    UsableUpf,
)
from schemas.network import Network, TrackingArea
from schemas.subscriber import Subscriber
from schemas.upf import Upf

ENTROPY_OCTETS = 32


class NotReadyError(LookupError):
    """A lookup has no answer yet: the runtime reads it and decides again."""


class Lookups(Protocol):
    """Answers the lookups of one decision. The runtime and replay implement it.

    Each method raises `NotReadyError` if the answer must be read first. A procedure lets it pass.
    """

    def usable_upfs(self) -> tuple[UsableUpf, ...]:
        """See `UpfsLookup`."""
        ...

    def upf_features(self, upf: str) -> tuple[str, ...]:
        """See `FeaturesLookup`."""
        ...

    def free_address(self, dnn: str, upf: str, ip_version: IpVersion) -> str:
        """See `AddressLookup`."""
        ...

    def association(self, tai: Tai, gnb: str) -> str:
        """See `AssociationLookup`."""
        ...

    def lacking_slices(self, area: TrackingArea, gnb: str, association: str) -> tuple[SNssai, ...]:
        """See `SlicesLookup`; empty if the gNB supports all slices of the tracking area."""
        ...

    def back_off(self) -> int:
        """See `CongestionLookup`; 0 without congestion."""
        ...

    def lack_of_room(self) -> int:
        """See `RoomLookup`; 0 if there is room."""
        ...


class NoLookups:
    """The lookups of a core without UPFs and gNBs."""

    def usable_upfs(self) -> tuple[UsableUpf, ...]:
        """No UPF."""
        return ()

    def upf_features(self, upf: str) -> tuple[str, ...]:
        """No feature."""
        del upf
        return ()

    def free_address(self, dnn: str, upf: str, ip_version: IpVersion) -> str:
        """No address."""
        del dnn, upf, ip_version
        return ""

    def association(self, tai: Tai, gnb: str) -> str:
        """No association."""
        del tai, gnb
        return ""

    def lacking_slices(self, area: TrackingArea, gnb: str, association: str) -> tuple[SNssai, ...]:
        """No slice."""
        del area, gnb, association
        return ()

    def back_off(self) -> int:
        """No congestion."""
        return 0

    def lack_of_room(self) -> int:
        """Enough room."""
        return 0


def usable_upfs(upfs: Iterable[Upf], now: int) -> tuple[UsableUpf, ...]:
    """Return the UPFs that can be used at a time, in milliseconds since the Unix epoch."""
    return tuple(
        UsableUpf(upf.node_id, upf.load_at(now), "FTUP" in upf.features, upf.recovery_time_stamp)
        for upf in upfs
        if upf.associated and upf.reachable
    )


class Env:
    """The inputs of one decision: the same values give the same decision, for ever.

    `now` is in milliseconds since the Unix epoch. `random` draws from `entropy` alone. `lookups`
    has each lookup with its answer, for the step. Replay gives the same answers again.
    """

    __slots__ = (
        "_drawn",
        "_lookups",
        "entropy",
        "flags",
        "lookups",
        "network",
        "now",
        "rejected",
        "subscriber",
    )

    def __init__(
        self,
        now: int,
        entropy: bytes,
        network: Network,
        subscriber: Subscriber | None = None,
        flags: tuple[int, ...] = (),
        lookups: Lookups | None = None,
    ) -> None:
        self.now = now
        self.entropy = entropy
        self.network = network
        self.subscriber = subscriber
        self.flags = flags
        self.lookups: list[Lookup] = []
        self.rejected = False
        """Whether the decision denies the UE its request. It is counted, and in no step."""
        self._drawn = 0
        self._lookups = lookups or NoLookups()

    def random(self, octets: int) -> bytes:
        """Return the next `octets` octets of the stream that the entropy of this step gives."""
        self._drawn += 1
        seed = self.entropy + self._drawn.to_bytes(4, "big")
        return hashlib.shake_256(seed).digest(octets)

    def random_int(self, bits: int) -> int:
        """Return a number of up to `bits` bits from the same stream."""
        drawn = int.from_bytes(self.random((bits + 7) // 8), "big")
        return drawn & ((1 << bits) - 1)

    def usable_upfs(self) -> tuple[UsableUpf, ...]:
        """Look up the UPFs that can be used."""
        found = self._lookups.usable_upfs()
        self.lookups.append(UpfsLookup(found))
        return found

    def upf_features(self, upf: str) -> tuple[str, ...]:
        """Look up the UP Function Features of a usable UPF."""
        found = self._lookups.upf_features(upf)
        self.lookups.append(FeaturesLookup(upf, found))
        return found

    def free_address(self, dnn: str, upf: str, ip_version: IpVersion) -> str:
        """Look up a free address, empty if no address is left."""
        found = self._lookups.free_address(dnn, upf, ip_version)
        self.lookups.append(AddressLookup(dnn, upf, ip_version, found))
        return found

    def association(self, tai: Tai, gnb: str) -> str:
        """Look up the association by which a gNB serves a tracking area, empty if it does not."""
        found = self._lookups.association(tai, gnb)
        self.lookups.append(AssociationLookup(tai, gnb, found))
        return found

    def lacking_slices(self, area: TrackingArea, gnb: str, association: str) -> tuple[SNssai, ...]:
        """Look up the slices of a tracking area that a gNB does not support there (TS 38.413
        9.3.1.17, Slice Support List in a Supported TA List)."""
        found = self._lookups.lacking_slices(area, gnb, association)
        if found:
            self.lookups.append(SlicesLookup(area.tai, gnb, found))
        return found

    def back_off(self) -> int:
        """Look up the seconds until a congested worker can serve the request; 0 to serve it now."""
        found = self._lookups.back_off()
        if found:
            self.lookups.append(CongestionLookup(found))
        return found

    def lack_of_room(self) -> int:
        """Look up the seconds for which UEs that are not registered are put off, because the disk
        of the event log has little room left; 0 to serve them."""
        found = self._lookups.lack_of_room()
        if found:
            self.lookups.append(RoomLookup(found))
        return found
