"""The interface of SCTP transports (RFC 9260), for servers and for clients.

A transport calls its handler from the event loop, and never from within `send`. Payloads are whole
user messages. Messages of one stream arrive in order.
"""

from enum import StrEnum
from typing import Protocol

import msgspec

NGAP_PPID = 60
"""The SCTP payload protocol identifier of NGAP (TS 38.412 clause 7)."""

UDP_ENCAPSULATION_PORT = 9899
"""The UDP port of SCTP encapsulation (RFC 6951)."""


class Mode(StrEnum):
    """The SCTP implementation."""

    AUTO = "auto"
    """The kernel's SCTP if it has one, else SCTP over UDP."""
    KERNEL = "kernel"
    USERSPACE_UDP = "userspace-udp"
    USERSPACE_RAW = "userspace-raw"


class TransportError(Exception):
    """A transport cannot be opened or used. The message names the reason in one sentence."""


class BufferFull(TransportError):
    """The peer does not accept messages fast enough. `Handler.writable` follows."""


class Association(Protocol):
    """An established SCTP association."""

    @property
    def peer(self) -> str:
        """The peer's addresses and port, as text for users."""
        ...

    @property
    def address(self) -> str:
        """The peer's IP address, at which it proved to receive. A multi-homed peer has others."""
        ...

    @property
    def outbound_streams(self) -> int:
        """The number of outbound streams. Stream numbers start at 0."""
        ...

    def send(self, stream: int, payload: bytes, ppid: int = NGAP_PPID) -> None:
        """Queue a message.

        Raises:
            BufferFull: the message was not queued.
            TransportError: the association has ended, or the stream or the payload is invalid.
        """
        ...

    def shutdown(self) -> None:
        """Close the association after all queued data has arrived. `Handler.down` follows."""
        ...

    def abort(self) -> None:
        """Close the association now. `Handler.down` follows."""
        ...


class Handler(Protocol):
    """Receives the events of a transport."""

    def up(self, association: Association) -> None:
        """An association was established, in either direction."""
        ...

    def down(self, association: Association, reason: str) -> None:
        """An association ended, for any reason. Called once for each established association, after
        its last message."""
        ...

    def received(self, association: Association, stream: int, ppid: int, payload: bytes) -> None:
        """A message arrived."""
        ...

    def writable(self, association: Association) -> None:
        """A send buffer that was full has free space again."""
        ...


class Transport(Protocol):
    """A socket and its associations."""

    @property
    def mode(self) -> Mode:
        """The mode in use; never AUTO."""
        ...

    @property
    def address(self) -> str:
        """The local address, as text for users."""
        ...

    @property
    def port(self) -> int:
        """The local SCTP port. It differs from the requested port if that was 0."""
        ...

    @property
    def udp_port(self) -> int | None:
        """The local UDP port in mode userspace-udp."""
        ...

    def pause(self) -> None:
        """Deliver no messages until `resume`. Receive windows fill up, and peers wait."""
        ...

    def resume(self) -> None:
        """Deliver messages again."""
        ...

    async def close(self) -> None:
        """Shut all associations down, which takes at most a second, then close the socket."""
        ...


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits and timers of a transport's associations. Sizes are in octets, times in seconds.

    A silent peer is given up after about `heartbeat` x (`max_retransmissions` + 1). A peer that
    acknowledges nothing is given up after the same number of retransmissions, at intervals that
    double up to `rto_max` (RFC 9260 clauses 8.1 and 6.3).
    """

    max_associations: int = 1024
    """Maximum number of associations. A further INIT is answered with ABORT. In the kernel, a
    further association is aborted."""
    streams: int = 64
    """Streams offered in each direction. The smaller offer of the two sides applies."""
    receive_window: int = 1 << 20
    """Data of one association that may wait for the handler. A message cannot be larger."""
    send_buffer: int = 1 << 20
    """Data of one association that may wait for the peer. Above it, `send` raises `BufferFull`."""
    heartbeat: float = 5.0
    """Idle time of a path before a heartbeat is sent; 0 for never."""
    rto_max: float = 5.0
    max_retransmissions: int = 5
    """Retransmissions of a chunk or a heartbeat in a row before the peer counts as lost."""
    max_message: int = 1 << 18
    """The largest message that may be sent."""
    max_waiting: int = 64 << 20
    """Data of all associations together that may wait for the handler. From half of it, each
    association has an equal part of the rest. Not in the kernel, which bounds it by
    `net.sctp.sctp_mem`."""
    max_unfinished: int = 32 << 20
    """Data of partly received messages of all associations together. Beyond it, the association
    with the oldest of them is aborted."""
    unfinished_within: float = 30.0
    """Longest time for which an association may have more than 16 KiB of partly received messages
    without a break. In the kernel, longest time for which a message may arrive."""
    max_unsent: int = 64 << 20
    """Data of all associations together that may wait for the peers. Beyond it, the association
    with the most is aborted. Not in the kernel."""
    connect_timeout: float = 15.0
    """Longest duration of `connect`."""
    mtu: int | None = None
    """The largest SCTP packet; None for the default of the mode. The kernel discovers its own."""


DEFAULT_LIMITS = Limits()


def check_message(stream: int, streams: int, payload: bytes, ppid: int, max_message: int) -> None:
    """Check a message before it is queued.

    Raises:
        TransportError: the stream does not exist, the PPID has more than 32 bits, or the payload is
            empty or too large.
    """
    if not 0 <= stream < streams:
        raise TransportError(f"stream {stream} is not one of {streams}")
    if not 1 <= len(payload) <= max_message:
        raise TransportError(f"a message has 1 to {max_message} octets, not {len(payload)}")
    if not 0 <= ppid <= 0xFFFFFFFF:
        raise TransportError(f"a payload protocol identifier has 32 bits, not {ppid}")
