"""The configuration, the counters and the views of an emulated UPF."""

import ipaddress
from collections import Counter
from typing import Literal, TypeAlias

from msgspec import Struct, field

from loadgen.upf.ies import FTeid

PORT = 8805
"""The port of PFCP (TS 29.244 clause 4.2.2)."""


Quirk: TypeAlias = Literal[
    "ignores-strangers", "ignores-unassociated", "ignores-empty-ies", "keeps-sessions", "gives-up"
]


class UpfConfig(Struct, frozen=True, kw_only=True):
    """One emulated UPF."""

    node_id: str
    """An IPv4 or IPv6 address, or a domain name (8.2.38)."""
    host: str = "127.0.0.1"
    """The address for PFCP and in F-SEIDs."""
    port: int = PORT
    """The port for PFCP; 0 for a free one."""
    cp: tuple[str, int] | None = None
    """The CP function to set up an association with; None to wait for a CP function."""
    cp_port: int | None = None
    """The port for requests to a CP function; None for the port of the association."""
    gtpu_ipv4: str | None = None
    """The address in F-TEIDs; `host` if neither address is set."""
    gtpu_ipv6: str | None = None
    features: tuple[str, ...] = ("BUCP", "FTUP", "MNOP")
    """UP Function Features (8.2.25)."""
    t1: float = 1.0
    """Seconds (6.4)."""
    n1: int = 4
    """The largest number of transmissions of a request (6.4)."""
    heartbeat: float | None = None
    """Seconds between heartbeats to each peer; None for no heartbeats."""
    retry: float = 2.0
    """Seconds between attempts to set up an association."""
    needs_interface_type: bool = False
    """Whether packets pass only with the 3GPP Interface Types N3 and N6 in the PDR and the FAR
    (8.2.118), as in Open5GS' UPF."""
    n3_instance: str | None = None
    """The Network Instance of N3; packets pass only if the PDR and the FAR of the access side have
    it (8.2.4). None for any."""
    buffer: int = 64
    """The number of packets that a FAR buffers."""
    source: str | None = None
    """The address that its own requests come from, as behind NAT; `host` if None."""
    quirks: frozenset[Quirk] = frozenset()
    """``ignores-strangers``: leave heartbeats of nodes without association unanswered;
    ``ignores-unassociated``: leave session requests without association unanswered, instead of
    refusing them; ``ignores-empty-ies``: discard messages that have an IE of length 0, as Open5GS'
    UPF; ``keeps-sessions``: keep the sessions of a CP function that sets up another
    association, and refuse to restore one that exists; ``gives-up``: end the association with a CP
    function that does not answer heartbeats, and keep its sessions."""
    keep_violations: int = 10_000
    """The number of violations that are kept; all are counted."""

    @property
    def n3(self) -> tuple[str | None, str | None]:
        """The IPv4 and IPv6 addresses of N3."""
        if self.gtpu_ipv4 is not None or self.gtpu_ipv6 is not None:
            return self.gtpu_ipv4, self.gtpu_ipv6
        if ipaddress.ip_address(self.host).version == 4:
            return self.host, None
        return None, self.host


MisbehaviourKind: TypeAlias = Literal[
    "reject",
    "no-cause",
    "no-node-id",
    "delay",
    "duplicate",
    "lose",
    "unknown-seid",
    "wrong-f-teid",
]


class Misbehaviour(Struct, frozen=True, kw_only=True):
    """A misbehaviour in answers to requests."""

    kind: MisbehaviourKind
    """``reject``: refuse with `cause`, and do nothing; ``no-cause``: omit the Cause;
    ``no-node-id``: omit the Node ID;
    ``delay``: answer after `seconds`; ``duplicate``: answer twice; ``lose``: execute the request,
    and answer only its repetition; ``unknown-seid``: answer with another SEID; ``wrong-f-teid``:
    answer with F-TEIDs that only a CP function may send (8.2.3)."""
    cause: int = 64
    seconds: float = 1.0
    message: str | None = None
    """The request, such as ``SessionEstablishmentRequest``; None for all session requests."""
    times: int | None = None
    """The number of answers; None for no limit."""


class SessionView(Struct, frozen=True):
    """A session, for a comparison with the core."""

    cp_seid: int
    up_seid: int
    who: str
    network_instance: str
    uplink: FTeid | None
    """The local F-TEID of uplink packets."""
    downlink: FTeid | None
    """The gNB's F-TEID of downlink packets; None while they are buffered or dropped."""
    buffered: int
    """The number of buffered downlink packets."""
    rules: int


def _counter() -> Counter[str]:
    return Counter()


class UpfCounts(Struct):
    """Counters of a UPF since its start."""

    received: Counter[str] = field(default_factory=_counter)
    """By message."""
    sent: Counter[str] = field(default_factory=_counter)
    causes: Counter[str] = field(default_factory=_counter)
    """Refusals, by message and cause: ``SessionDeletionRequest 65``."""
    violations: int = 0
    duplicates: int = 0
    """Requests that were repeated."""
    discarded: int = 0
    """Datagrams that were not answered."""
    unanswered: int = 0
    """The UPF's own requests without an answer after N1 transmissions."""
    delivered: int = 0
    """Downlink packets."""
    buffered: int = 0
    dropped: int = 0
    reports: int = 0
    """Session reports of downlink data."""
    restarts: int = 0
    end_markers: int = 0
    """Tunnels for which the core requested an End Marker (SNDEM)."""
