"""The interface of SCTP transports (RFC 9260), for servers and for clients.

A transport calls its handler from the event loop, and never from within `send`. Payloads are
whole user messages. Messages of one stream arrive in order.
"""

from enum import StrEnum
from typing import Protocol

import msgspec

NGAP_PPID = 60
"""The SCTP payload protocol identifier of NGAP (TS 38.412 clause 7)."""

UDP_ENCAPSULATION_PORT = 9899
"""The UDP port of SCTP encapsulation (RFC 6951)."""


class Mode(StrEnum):
    """Which SCTP."""

    AUTO = "auto"
    """The kernel's where it has one, else over UDP."""
    KERNEL = "kernel"
    USERSPACE_UDP = "userspace-udp"
    USERSPACE_RAW = "userspace-raw"


class TransportError(Exception):
    """A transport cannot be had or used; it says why in one sentence."""


class BufferFull(TransportError):
    """The peer does not take messages as fast as they come; `Handler.writable` follows."""


class Association(Protocol):
    """One SCTP association that is up."""

    @property
    def peer(self) -> str:
        """The peer's addresses and port, for people."""
        ...

    @property
    def outbound_streams(self) -> int:
        """How many streams may be sent on: 0 to one less."""
        ...

    def send(self, stream: int, payload: bytes, ppid: int = NGAP_PPID) -> None:
        """Queue a message.

        Raises:
            BufferFull: nothing was queued.
            TransportError: the association is gone, or the stream or the payload is invalid.
        """
        ...

    def shutdown(self) -> None:
        """End it once all that is queued has arrived; `Handler.down` follows."""
        ...

    def abort(self) -> None:
        """End it now; `Handler.down` follows."""
        ...


class Handler(Protocol):
    """Who a transport reports to."""

    def up(self, association: Association) -> None:
        """An association is up, in either direction."""
        ...

    def down(self, association: Association, reason: str) -> None:
        """It is gone, for whatever reason; called once for each that was up, after its last
        message."""
        ...

    def received(self, association: Association, stream: int, ppid: int, payload: bytes) -> None:
        """A message arrived."""
        ...

    def writable(self, association: Association) -> None:
        """A send buffer that was full has room again."""
        ...


class Transport(Protocol):
    """A socket with associations on it."""

    @property
    def mode(self) -> Mode:
        """The one in use, never AUTO."""
        ...

    @property
    def address(self) -> str:
        """Where it listens, for people."""
        ...

    @property
    def port(self) -> int:
        """Our SCTP port, for whoever asked for any."""
        ...

    @property
    def udp_port(self) -> int | None:
        """Our UDP port of mode userspace-udp."""
        ...

    def pause(self) -> None:
        """Deliver no messages until `resume`: receive windows fill, and peers wait."""
        ...

    def resume(self) -> None:
        """Deliver messages again."""
        ...

    async def close(self) -> None:
        """Shut all associations down, for at most a second, then close the socket."""
        ...


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


def check_message(stream: int, streams: int, payload: bytes, ppid: int, max_message: int) -> None:
    """Look at a message before it is queued.

    Raises:
        TransportError: a stream that there is not, a PPID of more than 32 bits, or a payload
            that is empty or too large.
    """
    if not 0 <= stream < streams:
        raise TransportError(f"stream {stream} is not one of {streams}")
    if not 1 <= len(payload) <= max_message:
        raise TransportError(f"a message has 1 to {max_message} octets, not {len(payload)}")
    if not 0 <= ppid <= 0xFFFFFFFF:
        raise TransportError(f"a payload protocol identifier has 32 bits, not {ppid}")
