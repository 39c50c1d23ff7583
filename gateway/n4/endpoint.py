"""The UDP endpoint that a gateway speaks PFCP at (TS 29.244 4.2)."""

import asyncio
import contextlib
import ipaddress
import logging
import socket
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

Address: TypeAlias = tuple[Any, ...]
"""A socket address: host and port first."""

MAX_DATAGRAM: Final = 65_507
"""Octets that UDP over IPv4 carries."""
_BUFFER: Final = 4 << 20
"""Octets that the kernel is asked to keep for us; it may give fewer."""


class EndpointError(Exception):
    """The endpoint cannot be opened; it says why in one sentence."""


class Endpoint(asyncio.DatagramProtocol):
    """One UDP socket. What cannot be sent is lost, as what the network loses."""

    def __init__(self, received: Callable[[bytes, Address], None]) -> None:
        """Use `open_endpoint`."""
        self._received = received
        self._transport: asyncio.DatagramTransport | None = None
        self._errors = 0
        self.address: Address = ()
        """Where it listens."""
        self.family = socket.AF_INET

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        self._transport = cast("asyncio.DatagramTransport", transport)
        self.address = transport.get_extra_info("sockname")
        self.family = transport.get_extra_info("socket").family

    def datagram_received(self, data: bytes, addr: Address) -> None:
        """A datagram, of anybody."""
        self._received(data, addr)

    def error_received(self, exc: Exception) -> None:
        """The kernel tells what has become of a datagram."""
        self._errors += 1
        rarely(self._errors, "UDP: %s", exc)

    def send(self, octets: bytes, address: Address) -> None:
        """Send a datagram."""
        if self._transport is None or self._transport.is_closing():
            return
        try:
            self._transport.sendto(octets, address)
        except (OSError, ValueError) as err:
            self.error_received(err)

    def close(self) -> None:
        """Listen no more."""
        if self._transport is not None:
            self._transport.close()

    async def resolve(self, host: str, port: int) -> Address | None:
        """The address of a host, of the socket's family; None, and a log line, for no such host."""
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
    """Listen at an address.

    Raises:
        EndpointError: it is not ours, or taken.
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


def written(address: Address) -> str:
    """An address as people write it."""
    host, port = address[0], address[1]
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).version == 6:
            return f"[{host}]:{port}"
    return f"{host}:{port}"


log = logging.getLogger("gateway.n4")


class Counters(Struct):
    """What the gateway has done since it started."""

    uplink: int = 0
    """Messages from UPFs."""
    downlink: int = 0
    """Messages from the core."""
    repeated: int = 0
    """Requests that were sent again after T1."""
    unanswered: int = 0
    """Requests that were not answered after N1 repetitions."""
    undeliverable: int = 0
    """Requests that found no room in the queue of their UPF; the functions' timers repeat them."""
    under_way: int = 0
    """Requests that were under way already."""
    duplicates: int = 0
    """Requests that a UPF had sent before, and answers to requests that were answered."""
    unmatched: int = 0
    """Answers to nothing that was asked."""
    malformed: int = 0
    """What was no message, from either side."""
    unknown_source: int = 0
    """Messages from addresses of no UPF."""
    overloads: int = 0
    """Requests of UPFs that were not taken, because JetStream does not keep up."""


def rarely(count: int, text: str, *arguments: object) -> None:
    """Log a warning about the `count`-th of something, at powers of two."""
    if count & (count - 1) == 0:
        log.warning(text + " (%d so far)", *arguments, count)
