"""The operator's network, as procedures see it: a pure input of every decision.

A step names the version of the `Network` it was decided with, so that it can be decided again.
"""

from typing import Annotated

from msgspec import Meta, Struct, field

from schemas import document
from schemas.identity import Guami, Plmn, SNssai, Tai
from schemas.nitz import Nitz

Algorithms = Annotated[tuple[Annotated[int, Meta(ge=0, le=3)], ...], Meta(min_length=1)]
Seconds = Annotated[int, Meta(ge=1)]


class TrackingArea(Struct, frozen=True):
    """A tracking area that is served, and the slices in it."""

    tac: int
    plmn: Plmn
    slices: tuple[SNssai, ...]

    @property
    def tai(self) -> Tai:
        """The TAI of this area."""
        return Tai(self.plmn, self.tac)


class SecurityPolicy(Struct, frozen=True):
    """Algorithm numbers in the operator's order of priority (TS 33.501 6.7.1.1)."""

    integrity: Algorithms = (2, 1, 3)
    ciphering: Algorithms = (2, 1, 3, 0)
    reuse_context: bool = True
    """Whether a request that a current context protects goes on without a new authentication."""
    request_imeisv: bool = True
    reauthenticate_after: Annotated[int, Meta(ge=0, lt=1 << 24)] = 0
    """NAS messages of one direction under one K_AMF, after which a UE is authenticated again;
    0 for as many as there are (TS 24.501 4.4.3.5)."""


class Timers(Struct, frozen=True):
    """Timer values in seconds (TS 24.501 tables 10.2.1 and 10.2.2; `ng_release` is our own)."""

    t3502: Seconds = 720
    t3512: Seconds = 3600
    t3550: Seconds = 6
    t3560: Seconds = 6
    t3570: Seconds = 6
    ng_release: Seconds = 5
    """How long a UE CONTEXT RELEASE COMMAND may go unanswered before it is repeated."""
    handover_preparation: Seconds = 5
    """How long the target of a handover may take to admit it, or the UPFs to switch the path."""
    handover_execution: Seconds = 10
    """How long a UE may be on its way to the target, before the handover is given up."""
    t3513: Seconds = 4
    """Between repetitions of PAGING; each waits longer by as much."""
    t3522: Seconds = 6
    t3555: Seconds = 6
    implicit_deregistration: Annotated[int, Meta(ge=0)] = 0
    """From when a UE should have come by itself, which is four minutes after T3512, until it is
    deregistered; 0 for four minutes more than T3512 (5.3.7)."""
    t3591: Seconds = 16
    t3592: Seconds = 16
    n4: Seconds = 4
    """How long the answer of a UPF may take, its gateway's own repetitions aside, before the
    request is handed to the gateway again: it may have died with it."""


class Congestion(Struct, frozen=True):
    """When requests of UEs are put off (TS 24.501 5.3.9), and for how long."""

    after: Annotated[int, Meta(ge=0)] = 0
    """Seconds that an event has waited for its worker, from which the worker is behind; 0 for
    never. An outage makes events old too, and what waits after one is soon done with."""
    t3346_min: Seconds = 60
    t3346_max: Seconds = 300
    """Seconds, of which each UE gets a number by chance (as a GPRS timer 2 can say it)."""


class DataNetwork(Struct, frozen=True):
    """What UEs are told about a data network (TS 24.008 10.5.6.3)."""

    name: str
    """The DNN."""
    dns: tuple[str, ...] = ()
    """Addresses of DNS servers, of either version."""
    mtu: int = 0
    """The IPv4 link MTU, 0 for none to tell."""


class UpfPool(Struct, frozen=True):
    """A data network at a UPF, and the addresses that are routed to this UPF for it."""

    dnn: str
    ipv4: str = ""
    """A network as ``"10.45.0.0/16"``, empty for no IPv4."""
    ipv6: str = ""
    """A network of /64 prefixes as ``"2001:db8::/48"``, empty for no IPv6."""


class UpfNode(Struct, frozen=True):
    """A UPF that sessions may be put on."""

    node_id: str
    """An IP address or a domain name (TS 29.244 8.2.38)."""
    pools: tuple[UpfPool, ...] = ()
    slices: tuple[SNssai, ...] = ()
    """The slices that it serves; empty for all."""
    capacity: int = 100
    """Its share of new sessions, beside those of other UPFs."""
    n3: str = ""
    """Its address on N3, where it leaves F-TEIDs to the core."""


class Network(Struct, frozen=True):
    """One AMF's worth of network: who it is, what it serves and its policies."""

    name: str
    guami: Guami
    tracking_areas: tuple[TrackingArea, ...]
    security: SecurityPolicy = field(default_factory=SecurityPolicy)
    timers: Timers = field(default_factory=Timers)
    relative_capacity: int = 255
    tmsi_key: bytes = b""
    """The key of the 5G-TMSI's encryption, 32 octets. Secret."""
    n4_address: str = ""
    """The core's own address on N4, in the Node ID and the F-SEIDs that it sends."""
    upfs: tuple[UpfNode, ...] = ()
    data_networks: tuple[DataNetwork, ...] = ()
    congestion: Congestion = field(default_factory=Congestion)
    emergency: bool = False
    """Whether UEs that are authenticated may register for emergency services."""
    nitz: Nitz | None = None
    """None for a network that tells neither its name nor its time."""

    @property
    def plmns(self) -> tuple[Plmn, ...]:
        """The PLMNs served, the GUAMI's first."""
        served = dict.fromkeys([self.guami.plmn, *(area.plmn for area in self.tracking_areas)])
        return tuple(served)

    def area(self, tai: Tai) -> TrackingArea | None:
        """The tracking area of `tai`, if it is served."""
        for area in self.tracking_areas:
            if area.tac == tai.tac and area.plmn == tai.plmn:
                return area
        return None

    def upf(self, node_id: str) -> UpfNode | None:
        """The UPF of a Node ID, if it is known."""
        return next((upf for upf in self.upfs if upf.node_id == node_id), None)

    def data_network(self, dnn: str) -> DataNetwork:
        """What UEs are told about a data network; nothing of one that is not described."""
        found = (network for network in self.data_networks if network.name == dnn)
        return next(found, DataNetwork(dnn, (), 0))

    def slices(self, plmn: Plmn) -> tuple[SNssai, ...]:
        """Every slice of a PLMN, in the order of its first tracking area that has it."""
        found = (s for area in self.tracking_areas if area.plmn == plmn for s in area.slices)
        return tuple(dict.fromkeys(found))


def version_of(network: Network) -> str:
    """Return the name of exactly this configuration."""
    return document.digest(network)
