"""What an emulated UPF is, and what it counts."""

import ipaddress
from collections import Counter
from typing import Literal, TypeAlias

from msgspec import Struct, field

from loadgen.upf.ies import FTeid

PORT = 8805
"""Of PFCP (TS 29.244 clause 4.2.2)."""


class UpfConfig(Struct, frozen=True, kw_only=True):
    """One emulated UPF."""

    node_id: str
    """An IPv4 or IPv6 address, or a domain name (8.2.38)."""
    host: str = "127.0.0.1"
    """Where it listens for PFCP, and the address in its F-SEIDs."""
    port: int = PORT
    """0 takes a free one."""
    cp: tuple[str, int] | None = None
    """The CP function that it sets up an association with; None waits for one that does."""
    cp_port: int | None = None
    """Where its requests go at a CP function; None for the port that the association has."""
    gtpu_ipv4: str | None = None
    """The address in its F-TEIDs; `host` where neither is given."""
    gtpu_ipv6: str | None = None
    features: tuple[str, ...] = ("BUCP", "FTUP", "MNOP")
    """UP Function Features (8.2.25)."""
    t1: float = 1.0
    """Seconds (6.4)."""
    n1: int = 4
    """How often a request is sent at most (6.4)."""
    heartbeat: float | None = None
    """Seconds between heartbeats to each peer; None sends none."""
    retry: float = 2.0
    """Seconds between attempts to set up an association."""
    buffer: int = 64
    """How many packets a FAR buffers."""
    keep_violations: int = 10_000
    """How many violations are kept; those after are counted only."""

    @property
    def n3(self) -> tuple[str | None, str | None]:
        """The IPv4 and the IPv6 address of N3."""
        if self.gtpu_ipv4 is not None or self.gtpu_ipv6 is not None:
            return self.gtpu_ipv4, self.gtpu_ipv6
        if ipaddress.ip_address(self.host).version == 4:
            return self.host, None
        return None, self.host


MisbehaviourKind: TypeAlias = Literal[
    "reject", "no-cause", "delay", "duplicate", "lose", "unknown-seid", "wrong-f-teid"
]


class Misbehaviour(Struct, frozen=True, kw_only=True):
    """How answers to requests go wrong."""

    kind: MisbehaviourKind
    """``reject``: refuse with `cause`, and do nothing; ``no-cause``: leave out the Cause;
    ``delay``: answer after `seconds`; ``duplicate``: answer twice; ``lose``: do what is asked,
    and send no answer until the request comes again; ``unknown-seid``: answer with another SEID;
    ``wrong-f-teid``: answer with F-TEIDs that only a CP function may send (8.2.3)."""
    cause: int = 64
    seconds: float = 1.0
    message: str | None = None
    """The request it is for, such as ``SessionEstablishmentRequest``; None for all sessions'."""
    times: int | None = None
    """How many answers; None for all from now on."""


class SessionView(Struct, frozen=True):
    """A session, to be compared with what the core has."""

    cp_seid: int
    up_seid: int
    who: str
    network_instance: str
    uplink: FTeid | None
    """The local F-TEID that uplink packets come to."""
    downlink: FTeid | None
    """The gNB's F-TEID that downlink packets go to; None while they are buffered or dropped."""
    buffered: int
    """How many downlink packets wait."""
    rules: int


def _counter() -> Counter[str]:
    return Counter()


class UpfCounts(Struct):
    """What a UPF counted since it started."""

    received: Counter[str] = field(default_factory=_counter)
    """By message."""
    sent: Counter[str] = field(default_factory=_counter)
    causes: Counter[str] = field(default_factory=_counter)
    """Refusals, by message and cause: ``SessionDeletionRequest 65``."""
    violations: int = 0
    duplicates: int = 0
    """Requests that came again."""
    discarded: int = 0
    """Octets that were not answered."""
    unanswered: int = 0
    """Requests of ours without an answer after N1 times."""
    delivered: int = 0
    """Downlink packets."""
    buffered: int = 0
    dropped: int = 0
    reports: int = 0
    """Session reports of downlink data."""
    restarts: int = 0
    end_markers: int = 0
    """Tunnels that were to get an End Marker (SNDEM)."""
