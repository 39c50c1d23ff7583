"""The operator's network as procedures see it: a pure input of every decision.

A step contains the version of the `Network` that it was decided with, so that a replay uses the
same one.
"""

from functools import lru_cache
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct, field

from schemas import document
from schemas.causes import GmmCause
from schemas.identity import Guami, Plmn, SNssai, Tai
from schemas.nitz import Nitz

Algorithms = Annotated[tuple[Annotated[int, Meta(ge=0, le=3)], ...], Meta(min_length=1)]
UpProtection = Literal["", "required", "preferred", "not-needed"]
Seconds = Annotated[int, Meta(ge=1)]
IeOrder: TypeAlias = Literal["strict", "lenient"]
"""Whether IEs in another order than in TS 38.413 9.4 are an error (10.3.6), or are accepted."""


class TrackingArea(Struct, frozen=True):
    """A tracking area that the core serves, and its slices."""

    tac: int
    plmn: Plmn
    slices: tuple[SNssai, ...]
    ims_vops: bool = True
    """Whether IMS voice over PS sessions is supported in it (TS 23.501 5.16.3.2)."""

    @property
    def tai(self) -> Tai:
        """The TAI of this area."""
        return Tai(self.plmn, self.tac)


class SecurityPolicy(Struct, frozen=True):
    """Algorithm numbers in the operator's order of priority (TS 33.501 6.7.1.1)."""

    integrity: Algorithms = (2, 1, 3)
    ciphering: Algorithms = (2, 1, 3, 0)
    reuse_context: bool = True
    """Whether a request with a valid security context is accepted without a new authentication."""
    request_imeisv: bool = True
    reauthenticate_after: Annotated[int, Meta(ge=0, lt=1 << 24)] = 0
    """Number of NAS messages in one direction under one K_AMF before the UE is authenticated again;
    0 for no limit (TS 24.501 4.4.3.5)."""


class Timers(Struct, frozen=True):
    """Timer values in seconds (TS 24.501 tables 10.2.1 and 10.2.2; `ng_release` is specific to
    evcore)."""

    t3502: Seconds = 720
    t3512: Seconds = 3600
    t3550: Seconds = 6
    t3560: Seconds = 6
    t3570: Seconds = 6
    ng_release: Seconds = 5
    """Time until a UE CONTEXT RELEASE COMMAND without a response is repeated."""
    handover_preparation: Seconds = 5
    """Time limit for the target of a handover to admit it, and for the UPFs to switch the path."""
    handover_execution: Seconds = 10
    """Time limit for a UE to arrive at the target before the handover is cancelled."""
    t3513: Seconds = 4
    """Time between repetitions of PAGING; each wait is longer by this time than the one before."""
    t3522: Seconds = 6
    t3555: Seconds = 6
    implicit_deregistration: Annotated[int, Meta(ge=0)] = 0
    """Time from the expiry of the mobile reachable timer, which is four minutes after T3512, to the
    deregistration of the UE; 0 for four minutes more than T3512 (5.3.7)."""
    t3396: Annotated[int, Meta(ge=0, le=3600)] = 8
    """Back-off timer of a PDU SESSION ESTABLISHMENT REJECT with #26 (TS 24.501 6.4.1.4.2). Each UE
    gets a value of one to two times this time; 0 to send none."""
    t3591: Seconds = 16
    t3592: Seconds = 16
    n4: Seconds = 3
    """Time limit for a response of a UPF, in addition to the gateway's own repetitions. After it
    the request is sent to the gateway again, because the gateway may have died."""


class Congestion(Struct, frozen=True):
    """When requests of UEs are rejected because of congestion (TS 24.501 5.3.9), and for how
    long."""

    after: Annotated[float, Meta(ge=0, le=15)] = 1.0
    """The time, in seconds, that a request may wait in the queue of a worker for long; 0 for any.
    A worker that needs longer for the waiting requests puts requests off. A short backlog may take
    longer (`eventing.standing_queue`)."""
    t3346_min: Seconds = 2
    t3346_max: Seconds = 600
    """The range of T3346, in seconds. In it, T3346 is the time that the backlog needs, as a GPRS
    timer 2 can encode it."""


SHARED_MCCS: Final = frozenset({"001", "999"})
"""MCCs of PLMNs that belong to no operator: test networks and private networks (ITU-T E.212)."""


class Causes(Struct, frozen=True):
    """The 5GMM causes for UEs and tracking areas that the core does not know; 0 for the default.

    The default depends on the PLMN that the UE has chosen. Many networks use the shared PLMNs, so a
    UE may belong to another one. There the default is #15: the UE tries another tracking area. The
    other causes make a UE take its USIM for invalid, or stay in a cell without service (TS 24.501
    5.5.1.2.5, annex A).
    """

    unknown_subscriber: int = 0
    """For a SUPI without a subscription; #3 by default on a PLMN of an operator."""
    undecipherable_suci: int = 0
    """For a SUCI that cannot be de-concealed; #3 by default on a PLMN of an operator."""
    unknown_tracking_area: int = 0
    """For a tracking area that is not configured, in a PLMN that is; #12 by default on a PLMN of an
    operator."""
    removed_subscriber: int = 0
    """For a registered UE with a removed subscription; #7 by default on a PLMN of an operator."""

    def of_unknown_subscriber(self, plmn: Plmn) -> GmmCause:
        """Return the cause for a SUPI without a subscription."""
        return _cause(self.unknown_subscriber, plmn, GmmCause.ILLEGAL_UE)

    def of_undecipherable_suci(self, plmn: Plmn) -> GmmCause:
        """Return the cause for a SUCI that cannot be de-concealed."""
        return _cause(self.undecipherable_suci, plmn, GmmCause.ILLEGAL_UE)

    def of_unknown_tracking_area(self, plmn: Plmn) -> GmmCause:
        """Return the cause for a tracking area that is not configured."""
        return _cause(self.unknown_tracking_area, plmn, GmmCause.TRACKING_AREA_NOT_ALLOWED)

    def of_unknown_plmn(self, plmn: Plmn) -> GmmCause:
        """Return the cause for a PLMN that is not configured. After #11, a UE stores the PLMN as
        forbidden."""
        return _cause(0, plmn, GmmCause.PLMN_NOT_ALLOWED)

    def of_removed_subscriber(self, plmn: Plmn) -> GmmCause:
        """Return the cause for a registered UE with a removed subscription."""
        return _cause(self.removed_subscriber, plmn, GmmCause.SERVICES_NOT_ALLOWED)


def _cause(configured: int, plmn: Plmn, of_operator: GmmCause) -> GmmCause:
    if configured:
        return GmmCause(configured)
    shared = plmn.partition("-")[0] in SHARED_MCCS
    return GmmCause.NO_SUITABLE_CELLS if shared else of_operator


class DataNetwork(Struct, frozen=True):
    """The configuration of a data network that UEs are sent (TS 24.008 10.5.6.3)."""

    name: str
    """The DNN."""
    dns: tuple[str, ...] = ()
    """Addresses of DNS servers, IPv4 or IPv6."""
    mtu: int = 0
    """The IPv4 link MTU; 0 to send none."""
    p_cscf: tuple[str, ...] = ()
    """Addresses of P-CSCFs, IPv4 or IPv6 (TS 23.228 5.1.1)."""
    up_integrity: UpProtection = ""
    """The policy for the integrity protection of user data (TS 23.501 5.10.3); empty for none: the
    gNB decides."""
    up_confidentiality: UpProtection = ""
    """The policy for the encryption of user data; empty for none."""


def is_same_dnn(one: str, other: str) -> bool:
    """Whether two DNNs are the same: upper and lower case are equal (TS 23.003 9.1, RFC 1035)."""
    return one.lower() == other.lower()


class UpfPool(Struct, frozen=True):
    """A data network at a UPF, and the addresses that are routed to this UPF for it."""

    dnn: str
    ipv4: str = ""
    """A network as ``"10.45.0.0/16"``, empty for no IPv4."""
    ipv6: str = ""
    """A network of /64 prefixes as ``"2001:db8::/48"``, empty for no IPv6."""


class UpfNode(Struct, frozen=True):
    """A UPF that can have PDU sessions."""

    node_id: str
    """An IP address or a domain name (TS 29.244 8.2.38)."""
    pools: tuple[UpfPool, ...] = ()
    slices: tuple[SNssai, ...] = ()
    """The slices that it serves; empty for all slices."""
    capacity: int = 100
    """Its weight for new sessions, relative to other UPFs."""
    n3: str = ""
    """Its address on N3, if the core allocates the F-TEIDs."""
    n3_instance: str = ""
    """The Network Instance of its N3 interface (TS 29.244 8.2.4); empty for the DNN."""


class GnbNode(Struct, frozen=True):
    """The settings of one RAN node that differ from those of the network."""

    id: str
    """The Global RAN Node ID as in the log: ``"001-01-gnb-24-1"``."""
    ie_order: IeOrder | None = None
    """None for that of the network."""
    weight: Annotated[float, Meta(ge=0.01, le=1000)] = 1.0
    """Its share of a congested core, in shares of another RAN node. No decision reads it."""


class EmergencyServices(Struct, frozen=True):
    """The AMF Emergency Configuration Data (TS 23.501 5.16.4.1). They do not depend on the
    subscription."""

    dnn: str
    nssai: SNssai
    five_qi: int = 5
    arp_priority: int = 1


class Network(Struct, frozen=True, cache_hash=True):
    """The network of one AMF: its identity, the areas that it serves and its policies."""

    name: str
    guami: Guami
    tracking_areas: tuple[TrackingArea, ...]
    security: SecurityPolicy = field(default_factory=SecurityPolicy)
    timers: Timers = field(default_factory=Timers)
    relative_capacity: int = 255
    tmsi_key: bytes = b""
    """The key of the 5G-TMSI encryption, 32 octets. Secret."""
    n4_address: str = ""
    """The core's own address on N4, sent in Node ID and F-SEIDs."""
    upfs: tuple[UpfNode, ...] = ()
    data_networks: tuple[DataNetwork, ...] = ()
    congestion: Congestion = field(default_factory=Congestion)
    causes: Causes = field(default_factory=Causes)
    emergency_services: EmergencyServices | None = None
    """The emergency services for authenticated UEs; None if there are none."""
    rfsp: int = 0
    """The RFSP index of UEs without a subscribed one; 0 for none."""
    nitz: Nitz | None = None
    """None if the network sends neither its name nor its time."""
    ie_order: IeOrder = "lenient"
    gnbs: tuple[GnbNode, ...] = ()
    equivalent_plmns: tuple[Plmn, ...] = ()
    """The PLMNs that are equivalent to the GUAMI's PLMN and to each other (TS 23.122 4.4.3)."""

    @property
    def plmns(self) -> tuple[Plmn, ...]:
        """The PLMNs of the core, the GUAMI's first."""
        return _plmns(self)

    @property
    def guamis(self) -> tuple[Guami, ...]:
        """The GUAMIs of the AMF: one for each PLMN, with the same region, set and pointer."""
        return tuple(map(self.guami_of, self.plmns))

    def guami_of(self, plmn: Plmn) -> Guami:
        """Return the GUAMI of the AMF in a serving PLMN."""
        own = self.guami
        return own if plmn == own.plmn else Guami(plmn, own.region, own.set, own.pointer)

    def equivalents(self, plmn: Plmn) -> tuple[Plmn, ...]:
        """Return the PLMNs that are equivalent to a serving PLMN, without that PLMN itself."""
        if not self.equivalent_plmns:
            return ()
        group = dict.fromkeys([self.guami.plmn, *self.equivalent_plmns])
        return tuple(one for one in group if one != plmn) if plmn in group else ()

    def area(self, tai: Tai) -> TrackingArea | None:
        """Return the tracking area of `tai`, or None if the core does not serve it."""
        for area in self.tracking_areas:
            if area.tac == tai.tac and area.plmn == tai.plmn:
                return area
        return None

    def upf(self, node_id: str) -> UpfNode | None:
        """Return the UPF of a Node ID, or None if it is not configured."""
        return next((upf for upf in self.upfs if upf.node_id == node_id), None)

    @property
    def weights(self) -> dict[str, float]:
        """The weights of RAN nodes for fair shares, by Global RAN Node ID; 1 for any other."""
        return {node.id: node.weight for node in self.gnbs if node.weight != 1.0}

    def ie_order_of(self, gnb: str) -> IeOrder:
        """Return the order of IEs that a RAN node must keep, by its Global RAN Node ID."""
        for node in self.gnbs:
            if node.id == gnb and node.ie_order is not None:
                return node.ie_order
        return self.ie_order

    def data_network(self, dnn: str) -> DataNetwork:
        """Return the configuration of a data network; an empty one if it is not configured."""
        found = (one for one in self.data_networks if is_same_dnn(one.name, dnn))
        # Without defaults: a default in code is never an input of a decision.
        empty = DataNetwork(dnn, dns=(), mtu=0, p_cscf=(), up_integrity="", up_confidentiality="")
        return next(found, empty)

    def slices(self, plmn: Plmn) -> tuple[SNssai, ...]:
        """Return every slice of a PLMN, in the order of the tracking areas."""
        return _slices(self, plmn)


_KEPT: Final = 64
"""Cached results. Decisions ask again and again about the same few PLMNs of one network."""


@lru_cache(_KEPT)
def _plmns(network: Network) -> tuple[Plmn, ...]:
    areas = network.tracking_areas
    return tuple(dict.fromkeys([network.guami.plmn, *(area.plmn for area in areas)]))


@lru_cache(_KEPT)
def _slices(network: Network, plmn: Plmn) -> tuple[SNssai, ...]:
    areas = (area for area in network.tracking_areas if area.plmn == plmn)
    return tuple(dict.fromkeys(one for area in areas for one in area.slices))


def version_of(network: Network) -> str:
    """Return the version of a network configuration: its digest."""
    return document.digest(network)
