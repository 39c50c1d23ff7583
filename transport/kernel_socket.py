"""One-to-one style SCTP sockets of the Linux kernel (RFC 6458 clause 4).

pysctp configures them. Messages use the standard library's sendmsg and recvmsg with the ancillary
data of RFC 6458 clause 5.3. sctp_send of pysctp 0.7 rejects payload protocol identifiers with a
last octet above 127, because it swaps them into a signed integer. Its sctp_recv leaks memory at
each call that finds no data, which happens all the time in a non-blocking reader.
"""

import contextlib
import importlib
import socket
import struct
from typing import Any

from transport.contract import Limits, TransportError

_LEVEL = socket.IPPROTO_SCTP
# From <linux/sctp.h>: the socket option and the types of ancillary data.
_RECVRCVINFO = 32
_SNDINFO = 2
_RCVINFO = 3
_SNDINFO_FORMAT = struct.Struct("=HH4sIi")
_RCVINFO_FORMAT = struct.Struct("=HHHxx4sIIIi")
_PPID = struct.Struct(">I")
"""The kernel does not convert the PPID; the application sets the order of its octets."""

_MSG_NOTIFICATION = 0x8000
_NOTIFICATION = struct.Struct("=HHI")
_ASSOC_CHANGE_FORMAT = struct.Struct("=HHIHHHHi")
_ASSOC_CHANGE = 0x8001
_PARTIAL_DELIVERY = 0x8006
# From <asm-generic/socket.h>: exceed net.core.[rw]mem_max, with CAP_NET_ADMIN.
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33

_READ = 1 << 16
_ANCILLARY = 128

COMM_UP, COMM_LOST, RESTART, SHUTDOWN_COMPLETE, CANNOT_START = range(5)
"""Kinds of association changes (RFC 6458 clause 6.1.1)."""
DELIVERY_ABORTED = 5
"""The rest of a partly received message will not arrive (RFC 6458 clause 6.1.7)."""


class Piece:
    """The result of one read: a message, a part of a message, or a notification."""

    __slots__ = ("data", "last", "notice", "ppid", "stream")

    def __init__(self, data: bytes, flags: int, ancillary: list[tuple[int, int, bytes]]) -> None:
        self.data = data
        self.last = bool(flags & socket.MSG_EOR)
        self.notice = _notice(data) if flags & _MSG_NOTIFICATION else None
        """The association change or `DELIVERY_ABORTED`; None for a message."""
        self.stream = self.ppid = 0
        for level, kind, content in ancillary:
            if level == _LEVEL and kind == _RCVINFO and len(content) >= _RCVINFO_FORMAT.size:
                self.stream, _, _, ppid, *_ = _RCVINFO_FORMAT.unpack_from(content)
                (self.ppid,) = _PPID.unpack(ppid)


def _notice(data: bytes) -> int:
    """Return the kind of a notification; COMM_UP also for notifications without effect."""
    if len(data) < _NOTIFICATION.size:
        return COMM_UP
    kind = _NOTIFICATION.unpack_from(data)[0]
    if kind == _ASSOC_CHANGE and len(data) >= _ASSOC_CHANGE_FORMAT.size:
        return _ASSOC_CHANGE_FORMAT.unpack_from(data)[3]
    return DELIVERY_ABORTED if kind == _PARTIAL_DELIVERY else COMM_UP


def why_no_kernel_sctp() -> str | None:
    """Return why the kernel's SCTP cannot be used; None if it can.

    The check makes a kernel load SCTP if it is a module.
    """
    try:
        _pysctp()
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, _LEVEL).close()
    except TransportError as err:
        return str(err)
    except OSError as err:
        return f"this kernel has no SCTP: {err.strerror}"
    return None


def _pysctp() -> Any:
    try:
        return importlib.import_module("sctp")
    except ImportError as err:
        raise TransportError(
            f"mode kernel needs pysctp, which `make kernel-sctp` installs: {err}"
        ) from err


def open_socket(family: int, limits: Limits) -> Any:
    """Return a non-blocking pysctp socket. Accepted associations inherit its settings.

    Raises:
        TransportError: pysctp is not installed, the kernel has no SCTP, or it rejects a limit.
    """
    sctp = _pysctp()
    try:
        sock = sctp.sctpsocket_tcp(family)
    except OSError as err:
        raise TransportError(f"this kernel has no SCTP: {err.strerror}") from err
    try:
        _configure(sctp, sock, limits)
    except (OSError, OverflowError, ValueError) as err:
        sock.close()
        raise TransportError(f"limits: {err}") from err
    return sock


def _configure(sctp: Any, sock: Any, limits: Limits) -> None:
    if not 1 <= limits.streams <= 0xFFFF or limits.heartbeat < 0:
        raise ValueError("streams are 1 to 65535, heartbeat is not negative")
    sock.setblocking(False)
    sock.nodelay = True
    sock.initparams.num_ostreams = limits.streams
    sock.initparams.max_instreams = limits.streams

    retransmission = sctp.rtoinfo()
    retransmission.max = max(1, round(limits.rto_max * 1000))
    retransmission.initial = min(500, retransmission.max)
    retransmission.min = min(400, retransmission.max)
    sock.set_rtoinfo(retransmission)

    association = sock.get_assocparams()
    # Each association has one path, so a failed path must end the association. The kernel counts
    # one more failure before it does.
    association.assocmaxrxt = limits.max_retransmissions + 1
    sock.set_assocparams(association)

    path = sctp.paddrparams()
    path.pathmaxrxt = limits.max_retransmissions
    path.hbinterval = round(limits.heartbeat * 1000)
    path.flags = path.flags_HB_ENABLE if limits.heartbeat else path.flags_HB_DISABLE
    if limits.mtu is not None:
        path.pathmtu = limits.mtu
        path.flags |= path.flags_PMTUD_DISABLE
    # Without an address of the right family the kernel reads it as the address of a peer.
    path.sockaddr = ("::" if sock.family == socket.AF_INET6 else "0.0.0.0", 0)  # noqa: S104
    sock.set_paddrparams(path)

    sock.events.clear()
    sock.events.association = True
    sock.events.partial_delivery = True
    sock.setsockopt(_LEVEL, _RECVRCVINFO, 1)
    # The kernel doubles both, to account for its overhead per message.
    for forced, plain, size in (
        (_SO_SNDBUFFORCE, socket.SO_SNDBUF, limits.send_buffer),
        (_SO_RCVBUFFORCE, socket.SO_RCVBUF, limits.receive_window),
    ):
        sock.setsockopt(socket.SOL_SOCKET, plain, size)
        with contextlib.suppress(PermissionError):
            sock.setsockopt(socket.SOL_SOCKET, forced, size)


def send_message(sock: socket.socket, stream: int, ppid: int, payload: bytes) -> None:
    """Queue a message.

    Raises:
        BlockingIOError: the buffer is full; the message was not queued.
        OSError: the association has ended, or the message is too large.
    """
    info = _SNDINFO_FORMAT.pack(stream, 0, _PPID.pack(ppid), 0, 0)
    sock.sendmsg([payload], [(_LEVEL, _SNDINFO, info)], socket.MSG_NOSIGNAL)


def receive_piece(sock: socket.socket) -> Piece:
    """Read once.

    Raises:
        BlockingIOError: there is no data.
        OSError: the association has ended.
    """
    data, ancillary, flags, _ = sock.recvmsg(_READ, _ANCILLARY)
    return Piece(data, flags, ancillary)


def outbound_streams(sock: Any) -> int:
    """Return the number of streams negotiated for sending."""
    return int(sock.get_status().outstrms)


def peer_text(sock: Any) -> str:
    """Return the peer's addresses and port.

    Raises:
        OSError: the association has already ended.
    """
    host, port = sock.getpeername()[:2]
    others = sorted({address for address, _ in sock.getpaddrs()} - {host})
    return f"{'/'.join([host, *others])} port {port}"


def abort(sock: socket.socket) -> None:
    """Close with an ABORT and discard queued data (RFC 6458 clause 4.1.4)."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
