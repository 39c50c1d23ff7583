"""A gNB's SCTP association as the gateway sees it. This state ends with the association."""

from collections import OrderedDict, deque
from collections.abc import Collection
from typing import Final, NamedTuple

from gateway.n2.downlink import DownlinkOrder
from gateway.n2.limits import HANDOVERS, NodeLimit, UeLimit
from gateway.n2.shares import RequestShare, WaitingRoom
from schemas.procedures import Procedure
from transport import Association

MAX_UES: Final = 1 << 17
"""UE connections with a message counter; the connection that was opened first is dropped first."""

MAX_ALL_UES: Final = 1 << 18
"""UE connections of all gNBs together with a message counter, give or take 1,024."""

MAX_DOWNLINK: Final = 4096
"""Maximum PDUs that wait for a gNB with a full association."""


class CorePdu(NamedTuple):
    """A downlink PDU as the core sent it: with its procedure and the text of its NAS COUNTs."""

    pdu: bytes
    procedure: str | None
    counted: str


class UeConnection:
    """A UE's N2 connection: its message counter, its last procedure, the order of its downlink."""

    __slots__ = ("downlink", "hint", "limit", "sequence")

    def __init__(self) -> None:
        self.sequence = 0
        self.hint: Procedure | None = None
        self.downlink = DownlinkOrder()
        self.limit = UeLimit()


class GnbPeer:
    """A gNB's association."""

    __slots__ = (
        "arrivals",
        "association",
        "connections",
        "downlink",
        "dropped",
        "early",
        "excess",
        "full_since",
        "gnb",
        "id",
        "identities",
        "named",
        "node",
        "ready",
        "reduction",
        "requests",
    )

    def __init__(self, identifier: str, association: Association, room: WaitingRoom) -> None:
        """`room` is that of all gNBs for the requests that wait in the gateway."""
        self.id = identifier
        self.association = association
        self.gnb = f"association-{identifier}"
        """The gNB's Global RAN Node ID, once its NG SETUP REQUEST has arrived."""
        self.named = False
        """Whether the NG SETUP REQUEST has arrived: from then on the core may know the gNB."""
        self.ready = False
        """Whether the NG SETUP RESPONSE was sent: before that, no message is about a UE."""
        self.reduction = 0
        """The reduction of traffic, in per cent, that the last OVERLOAD START asked for; 0 if there
        was none, or an OVERLOAD STOP after it."""
        self.connections: OrderedDict[int, UeConnection] = OrderedDict()
        self.downlink: deque[tuple[int, bytes]] = deque()
        self.early: deque[CorePdu] = deque()
        """The PDUs that wait for NG SETUP RESPONSE."""
        self.dropped = 0
        self.full_since = 0.0
        """When the send buffer of the association became full; 0 if it has room."""
        self.identities = 0
        """How many identities the association has had."""
        self.requests = RequestShare(room)
        """Its requests under way, and those that wait in the gateway."""
        self.node = NodeLimit()
        """Its messages about itself, and about UEs without a connection."""
        self.arrivals = NodeLimit(HANDOVERS)
        """Its messages that bring UEs from other gNBs, or refuse them."""
        self.excess = 0
        """Messages dropped because it, or one of its UEs, sent too many."""

    @property
    def address(self) -> str:
        """The IP address of the gNB."""
        return self.association.address

    def forget(self) -> None:
        """Be no RAN node any more, because the association claims another identity."""
        self.gnb = f"association-{self.id}"
        self.named = self.ready = False
        self.connections.clear()
        self.downlink.clear()
        self.early.clear()
        self.requests.forget()

    def claim(self, gnb: str) -> None:
        """Be the RAN node `gnb`. NG SETUP clears the overload state (TS 38.413 8.7.1.1)."""
        self.gnb = gnb
        self.named, self.ready = True, False
        self.reduction = 0
        self.requests.forget()

    @property
    def source(self) -> str:
        """The `source` attribute of its events."""
        return f"/n2/{self.gnb}/{self.id}"

    def opened(self, ran_ue_ngap_id: int) -> UeConnection:
        """Return a new UE connection, which replaces an earlier one with the same id."""
        found = self.connections[ran_ue_ngap_id] = UeConnection()
        self.connections.move_to_end(ran_ue_ngap_id)
        if len(self.connections) > MAX_UES:
            self.connections.popitem(last=False)
        return found

    def stream_for(self, amf_ue_ngap_id: int | None) -> int:
        """Return the SCTP stream of a PDU: 0 for the node, another for a UE (TS 38.412 clause 7).

        The stream of a UE follows from the AMF's ID, which HANDOVER REQUEST also has.
        """
        streams = self.association.outbound_streams
        if amf_ue_ngap_id is None or streams < 2:
            return 0
        return 1 + amf_ue_ngap_id % (streams - 1)


def bound_connections(peers: Collection[GnbPeer], most: int = MAX_ALL_UES) -> None:
    """Forget the oldest connections of the gNBs with the most, until all together are within bound.

    Their messages lose their numbers: the core then knows their order only by the stream.
    """
    total = sum(len(peer.connections) for peer in peers)
    while total > most:
        largest = max(peers, key=lambda peer: len(peer.connections))
        for _ in range((len(largest.connections) + 1) // 2):
            largest.connections.popitem(last=False)
            total -= 1
