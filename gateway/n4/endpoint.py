"""The UDP endpoint of the N4 gateway (TS 29.244 4.2), and the gateway's counters."""

import asyncio
import contextlib
import ipaddress
import logging
import socket
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

from eventing.process import is_logged

log = logging.getLogger("gateway.n4")

Address: TypeAlias = tuple[Any, ...]
"""A socket address: first host and port."""

MAX_DATAGRAM: Final = 65_507
"""Maximum octets of a UDP datagram over IPv4."""
_BUFFER: Final = 4 << 20
"""Octets of the socket buffers that the gateway asks for; the kernel may give less."""


class N4Counters(Struct):
    """Counts since the start of the gateway."""

    uplink: int = 0
    """Messages from UPFs."""
    downlink: int = 0
    """Messages from the core."""
    repeated: int = 0
    """Requests that were sent again after T1."""
    unanswered: int = 0
    """Requests without an answer after N1 repetitions."""
    undeliverable: int = 0
    """Requests dropped because the queue of their UPF was full; the functions' timers repeat
    them."""
    under_way: int = 0
    """Requests dropped because the same request, or a later one of the session, was under way."""
    ended: int = 0
    """Requests about sessions that ended with a restart of their UPF, or came after it."""
    duplicates: int = 0
    """Repeated requests of UPFs, and repeated responses to requests."""
    unmatched: int = 0
    """Responses without a request: no pending request has their address, sequence number, type and
    SEID."""
    malformed: int = 0
    """Octets from either side that are not a message."""
    unknown_source: int = 0
    """Messages from addresses that no UPF may send from."""
    overloads: int = 0
    """Requests of UPFs dropped because JetStream does not keep up."""
    excess: int = 0
    """Messages dropped because more of their kind came from one UPF than a UPF sends."""


def log_seldom(count: int, text: str, *arguments: object) -> None:
    """Log a warning about the `count`-th occurrence, if that is logged (`is_logged`)."""
    if is_logged(count):
        log.warning(text + " (%d so far)", *arguments, count)


class EndpointError(Exception):
    """The endpoint cannot be opened; the text is one sentence with the reason."""


class Endpoint(asyncio.DatagramProtocol):
    """One UDP socket. A datagram that cannot be sent is lost, as in the network."""

    def __init__(self, received: Callable[[bytes, Address], None]) -> None:
        """Use `open_endpoint`."""
        self._received = received
        self._transport: asyncio.DatagramTransport | None = None
        self._errors = 0
        self.address: Address = ()
        """The local address."""
        self.family = socket.AF_INET

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the open socket."""
        self._transport = cast("asyncio.DatagramTransport", transport)
        self.address = transport.get_extra_info("sockname")
        self.family = transport.get_extra_info("socket").family

    def datagram_received(self, data: bytes, addr: Address) -> None:
        """Handle a datagram from any sender."""
        self._received(data, addr)

    def error_received(self, exc: Exception) -> None:
        """Count an error that the kernel reports about a datagram."""
        self._errors += 1
        log_seldom(self._errors, "UDP: %s", exc)

    def send(self, octets: bytes, address: Address) -> None:
        """Send a datagram."""
        if self._transport is None or self._transport.is_closing():
            return
        try:
            self._transport.sendto(octets, address)
        except (OSError, ValueError) as err:
            self.error_received(err)

    def close(self) -> None:
        """Close the socket."""
        if self._transport is not None:
            self._transport.close()

    async def resolve(self, host: str, port: int) -> Address | None:
        """Return the address of a host in the socket's family; None for an unknown host."""
        loop = asyncio.get_running_loop()
        flags = socket.AI_V4MAPPED if self.family == socket.AF_INET6 else 0
        try:
            found = await loop.getaddrinfo(
                host, port, family=self.family, type=socket.SOCK_DGRAM, flags=flags
            )
        except OSError as err:
            log.warning("the UPF's host %s is not known: %s", host, err.strerror or err)
            return None
        return found[0][4] if found else None


async def open_endpoint(
    host: str, port: int, received: Callable[[bytes, Address], None]
) -> Endpoint:
    """Open the endpoint at an address.

    Raises:
        EndpointError: the address is not local, or in use.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)
        family, kind, proto, _, address = found[0]
        listening = socket.socket(family, kind, proto)
    except OSError as err:
        raise EndpointError(f"n4.host {host} is no address: {err.strerror or err}") from None
    try:
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            with contextlib.suppress(OSError):
                listening.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
        listening.bind(address)
        listening.setblocking(False)
    except OSError as err:
        listening.close()
        raise EndpointError(
            f"cannot listen at {host}, UDP port {port}: {err.strerror or err}"
        ) from None
    _, endpoint = await loop.create_datagram_endpoint(lambda: Endpoint(received), sock=listening)
    return endpoint


def is_same_place(one: Address, other: Address) -> bool:
    """Whether two socket addresses have the same host and port."""
    if one[1] != other[1]:
        return False
    return one[0] == other[0] or one[0].partition("%")[0] == other[0].partition("%")[0]


def address_text(address: Address) -> str:
    """Return an address as text: ``host:port``, or ``[host]:port`` for IPv6."""
    host, port = address[0], address[1]
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).version == 6:
            return f"[{host}]:{port}"
    return f"{host}:{port}"
