"""How much a transport takes, keeps and waits."""

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds and timers of a transport's associations; sizes in octets, times in seconds.

    A peer that says nothing is given up after about `heartbeat` x (`max_retransmissions` + 1);
    one that acknowledges nothing after as many retransmissions, which double their distance
    up to `rto_max` (RFC 9260 clauses 8.1 and 6.3).
    """

    max_associations: int = 1024
    """How many at a time, half-open ones included; a further INIT is answered with ABORT."""
    streams: int = 64
    """Offered in each direction; the smaller offer of the two sides holds."""
    receive_window: int = 1 << 20
    """What may wait for the handler, of one association. A message cannot be larger."""
    send_buffer: int = 1 << 20
    """What may wait for the peer, of one association, before `BufferFull`."""
    heartbeat: float = 5.0
    """How long a path is idle before it is probed; 0 for never."""
    rto_max: float = 5.0
    max_retransmissions: int = 5
    """Of a chunk or a heartbeat in a row, before the peer counts as gone."""
    max_message: int = 1 << 18
    """The largest message that is sent."""
    connect_timeout: float = 15.0
    """How long `connect` tries."""
    mtu: int | None = None
    """The largest SCTP packet; None for what suits the mode. The kernel finds its own."""


DEFAULT_LIMITS = Limits()
