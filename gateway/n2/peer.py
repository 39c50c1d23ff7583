"""One gNB's SCTP association, as the gateway sees it: nothing here outlives it."""

from collections import OrderedDict, deque
from typing import Final

from gateway.n2.downlink import InOrder
from schemas.procedures import Procedure
from transport import Association

MAX_UES: Final = 1 << 17
"""UE connections whose message counters are kept; the first opened goes first."""

MAX_DOWNLINK: Final = 4096
"""PDUs that may wait for a gNB whose association is full."""


class UeConnection:
    """The message counter of one UE's N2 connection, who spoke last on it, and in what order."""

    __slots__ = ("downlink", "hint", "sequence")

    def __init__(self) -> None:
        self.sequence = 0
        self.hint: Procedure | None = None
        self.downlink = InOrder()


class Peer:
    """A gNB's association."""

    __slots__ = (
        "association",
        "connections",
        "downlink",
        "dropped",
        "gnb",
        "id",
        "named",
        "overloaded",
        "ready",
    )

    def __init__(self, identifier: str, association: Association) -> None:
        self.id = identifier
        self.association = association
        self.gnb = f"association-{identifier}"
        """The gNB by its Global RAN Node ID, once its NG SETUP REQUEST has told it."""
        self.named = False
        """Whether it has: the core may hold it for set up from then on."""
        self.ready = False
        """Whether the NG SETUP RESPONSE has gone by: before it nothing concerns a UE."""
        self.overloaded = False
        """Whether it was sent an OVERLOAD START that has not been stopped."""
        self.connections: OrderedDict[int, UeConnection] = OrderedDict()
        self.downlink: deque[tuple[int, bytes]] = deque()
        self.dropped = 0

    @property
    def source(self) -> str:
        """The `source` attribute of its events."""
        return f"/n2/{self.gnb}/{self.id}"

    def opened(self, ran_ue_ngap_id: int) -> UeConnection:
        """A new connection of a UE; one of the same id before it is forgotten."""
        found = self.connections[ran_ue_ngap_id] = UeConnection()
        self.connections.move_to_end(ran_ue_ngap_id)
        if len(self.connections) > MAX_UES:
            self.connections.popitem(last=False)
        return found

    def stream_for(self, amf_ue_ngap_id: int | None) -> int:
        """The SCTP stream of a PDU: 0 for the node, another for each UE (TS 38.412 clause 7).

        A UE's is that of the AMF's ID, which HANDOVER REQUEST has, too.
        """
        streams = self.association.outbound_streams
        if amf_ue_ngap_id is None or streams < 2:
            return 0
        return 1 + amf_ue_ngap_id % (streams - 1)
