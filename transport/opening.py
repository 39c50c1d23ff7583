"""Open transports: `listen` and `connect`, for every mode."""

import asyncio
import itertools
import random
import socket

from transport.contract import (
    DEFAULT_LIMITS,
    UDP_ENCAPSULATION_PORT,
    Handler,
    Limits,
    Mode,
    Transport,
    TransportError,
)
from transport.datagrams import open_datagrams
from transport.kernel import KernelTransport, why_no_kernel_sctp
from transport.userspace import UserspaceTransport

_EPHEMERAL = range(49152, 65536)
# Ports are used in sequence from a random start. Over raw IP only one transport of the host can use
# a port.
_next_port = itertools.count(random.randrange(len(_EPHEMERAL)))  # noqa: S311


async def listen(
    mode: Mode,
    host: str,
    port: int,
    handler: Handler,
    *,
    udp_port: int = UDP_ENCAPSULATION_PORT,
    limits: Limits = DEFAULT_LIMITS,
) -> Transport:
    """Accept associations on an SCTP port of one local address; 0 picks a free port.

    Only one address is used: an association then leaves through the interface on which it arrived,
    which a multi-homed kernel socket does not guarantee. "0.0.0.0" and "::" mean all addresses.
    Over UDP and raw IP the answers then leave from the address that routing selects. On a machine
    with several addresses, prefer the address that the peers know.

    Args:
        mode: The SCTP implementation.
        host: A name or an IPv4 or IPv6 address.
        port: The SCTP port; 38412 for N2.
        handler: Receives the events.
        udp_port: For mode userspace-udp, the local UDP port; 0 picks a free one.
        limits: Limits and timers.

    Raises:
        TransportError: the mode, the address or the port is not available.
    """
    mode = _chosen(mode)
    family, ip = await _resolve(host)
    if mode is Mode.KERNEL:
        return KernelTransport.listening(family, ip, port, handler, limits)
    datagrams = open_datagrams(mode, family, ip, udp_port)
    try:
        return UserspaceTransport(datagrams, port or _any_port(), handler, limits, accept=True)
    except TransportError:
        datagrams.close()
        raise


async def connect(
    mode: Mode,
    host: str,
    port: int,
    handler: Handler,
    *,
    udp_port: int = UDP_ENCAPSULATION_PORT,
    local_host: str | None = None,
    local_port: int = 0,
    local_udp_port: int = 0,
    limits: Limits = DEFAULT_LIMITS,
) -> Transport:
    """Open a transport with one association, and return when it is established.

    `Handler.up` has been called by then with the association. When it ends, `Handler.down` is
    called and the transport can only be closed. Call this function again to reconnect.

    Args:
        mode: The SCTP implementation.
        host: The peer's name or address.
        port: The peer's SCTP port.
        handler: Receives the events. It is not called for an association that is not established.
        udp_port: For mode userspace-udp, the peer's UDP port.
        local_host: The local address.
        local_port: The local SCTP port; 0 picks one.
        local_udp_port: For mode userspace-udp, the local UDP port; 0 picks a free one.
        limits: Limits and timers; `Limits.connect_timeout` applies to the whole call.

    Raises:
        TransportError: the mode is not available, or the peer does not answer or rejects.
    """
    mode = _chosen(mode)
    family, ip = await _resolve(host)
    local = "::" if family == socket.AF_INET6 else "0.0.0.0"  # noqa: S104
    if local_host is not None:
        _, local = await _resolve(local_host, family)
    if mode is Mode.KERNEL:
        transport = KernelTransport.to_connect(family, local, local_port, handler, limits)
    else:
        datagrams = open_datagrams(mode, family, local, local_udp_port)
        try:
            datagrams.connect(ip, udp_port if mode is Mode.USERSPACE_UDP else 0)
            transport = UserspaceTransport(
                datagrams, local_port or _any_port(), handler, limits, accept=False
            )
        except TransportError:
            datagrams.close()
            raise
    try:
        await transport.connect(ip, udp_port if transport.udp_port else 0, port)
    except BaseException:
        await transport.close()
        raise
    return transport


def _chosen(mode: Mode) -> Mode:
    if mode is not Mode.AUTO:
        return mode
    return Mode.USERSPACE_UDP if why_no_kernel_sctp() else Mode.KERNEL


def _any_port() -> int:
    return _EPHEMERAL[next(_next_port) % len(_EPHEMERAL)]


async def _resolve(host: str, family: int = socket.AF_UNSPEC) -> tuple[int, str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, family=family, type=socket.SOCK_DGRAM)
    except OSError as err:
        raise TransportError(f"no address of {host!r}: {err.strerror}") from err
    return int(found[0][0]), str(found[0][4][0])
