"""The sockets of SCTP in user space: UDP (RFC 6951), or raw IP with protocol 132."""

import contextlib
import socket
from collections.abc import Callable
from pathlib import Path

from transport.contract import Mode, TransportError

Where = tuple[str, int]
"""An IP address and a UDP port; 0 over raw IP."""
Packet = tuple[bytes, Where]
"""An SCTP packet with its source or destination."""

SCTP_PROTOCOL = 132
_LARGEST = 65_535
_SOCKET_BUFFER = 4 << 20
# SO_RCVBUFFORCE and SO_SNDBUFFORCE of <asm-generic/socket.h> exceed net.core.[rw]mem_max. They need
# CAP_NET_ADMIN.
_BUFFERS = ((socket.SO_RCVBUF, 33), (socket.SO_SNDBUF, 32))
# From <linux/in.h> and <linux/in6.h>; the socket module does not define them.
_IP_MTU_DISCOVER, _IPV6_MTU_DISCOVER, _PMTUDISC_DONT = 10, 23, 0


class Datagrams:
    """A non-blocking datagram socket that carries SCTP packets, over IPv4 or IPv6."""

    def __init__(self, sock: socket.socket, mode: Mode) -> None:
        self.sock = sock
        self.mode = mode
        local = sock.getsockname()
        self.host: str = local[0]
        self.udp_port: int = 0 if mode is Mode.USERSPACE_RAW else local[1]
        # A link-local peer is reached through the interface to which the socket is bound.
        self._suffix: tuple[int, ...] = (0, local[3]) if sock.family == socket.AF_INET6 else ()
        raw4 = mode is Mode.USERSPACE_RAW and sock.family == socket.AF_INET
        self.receive: Callable[[], Packet] = self._receive_raw4 if raw4 else self._receive
        if sock.family == socket.AF_INET6:
            self.receive = self._receive6

    def _receive(self) -> Packet:
        return self.sock.recvfrom(_LARGEST)

    def _receive6(self) -> Packet:
        data, address = self.sock.recvfrom(_LARGEST)
        # A raw socket returns its protocol number where a UDP socket returns the port.
        return data, (address[0].partition("%")[0], address[1] if self.udp_port else 0)

    def _receive_raw4(self) -> Packet:
        data, address = self.sock.recvfrom(_LARGEST)
        # The kernel keeps the IPv4 header. The low half octet is its length in words.
        return data[(data[0] & 15) << 2 :], (address[0], 0)

    def send(self, packet: bytes, to: Where) -> None:
        """Send without waiting.

        Raises:
            BlockingIOError: the socket's buffer is full.
            OSError: the packet cannot be sent.
        """
        self.sock.sendto(packet, (*to, *self._suffix))

    def connect(self, ip: str, udp_port: int) -> None:
        """Exchange packets with this peer only. The system then reports an unreachable peer.

        Raises:
            TransportError: there is no route to the peer.
        """
        try:
            self.sock.connect((ip, udp_port, *self._suffix))
        except OSError as err:
            raise TransportError(f"cannot reach {ip}: {err.strerror}") from err
        self.host = self.sock.getsockname()[0]

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()


def open_datagrams(mode: Mode, family: int, local: str, udp_port: int) -> Datagrams:
    """Bind a socket of the mode to a local address and, for UDP, to a port (0: any).

    Raises:
        TransportError: the system rejects the socket or the address.
    """
    raw = mode is Mode.USERSPACE_RAW
    if raw and Path("/proc/net/sctp").exists():
        raise TransportError(
            "this kernel speaks SCTP itself and would abort associations of mode userspace-raw;"
            " use mode kernel or userspace-udp"
        )
    try:
        if raw:
            sock = socket.socket(family, socket.SOCK_RAW, SCTP_PROTOCOL)
        else:
            sock = socket.socket(family, socket.SOCK_DGRAM)
    except PermissionError as err:
        raise TransportError(f"mode {mode} needs the capability CAP_NET_RAW") from err
    except OSError as err:
        raise TransportError(f"no socket for mode {mode}: {err.strerror}") from err
    try:
        sock.setblocking(False)
        for plain, forced in _BUFFERS:
            sock.setsockopt(socket.SOL_SOCKET, plain, _SOCKET_BUFFER)
            with contextlib.suppress(PermissionError):
                sock.setsockopt(socket.SOL_SOCKET, forced, _SOCKET_BUFFER)
        # dcsctp does not discover the path MTU. IP fragments packets that are too large.
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, _PMTUDISC_DONT)
        else:
            sock.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _PMTUDISC_DONT)
        sock.bind((local, 0 if raw else udp_port))
    except OSError as err:
        sock.close()
        where = local if raw else f"{local} UDP port {udp_port}"
        raise TransportError(f"cannot bind {where}: {err.strerror}") from err
    return Datagrams(sock, mode)
