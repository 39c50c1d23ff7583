"""The interface of SCTP transports (RFC 9260), for servers and for clients.

A transport calls its handler from the event loop, and never from within `send`. Payloads are
whole user messages. Messages of one stream arrive in order.
"""

from enum import StrEnum
from typing import Protocol

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
