"""How transports are opened: `listen` and `connect`, for every mode."""

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
# One after the other from a random start: over raw IP, a port is for one transport of the host.
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
    """Accept associations on an SCTP port of one address of ours; 0 picks a free port.

    One address only: an association then leaves by the interface it came in by, which a
    multi-homed kernel socket does not promise. "0.0.0.0" and "::" mean all of them; over UDP
    and raw IP, answers then leave from the address that routing picks, so a machine with
    several is better given the one its peers know.

    Args:
        mode: Which SCTP.
        host: A name or an address of IPv4 or IPv6.
        port: The SCTP port, as 38412 for N2.
        handler: Who is told.
        udp_port: For mode userspace-udp, the UDP port to be reached at; 0 picks a free one.
        limits: Bounds and timers.

    Raises:
        TransportError: the mode, the address or the port is not to be had.
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
    """Open a transport with one association on it, and return once that is up.

    `Handler.up` has been called by then and has the association; when it ends, `Handler.down`
    is called and the transport is only good for `close`. To connect again, call this again.

    Args:
        mode: Which SCTP.
        host: The peer's name or address.
        port: The peer's SCTP port.
        handler: Who is told. It is not called for an association that does not come up.
        udp_port: For mode userspace-udp, the UDP port the peer is reached at.
        local_host: An address of ours to come from.
        local_port: The SCTP port to come from; 0 picks one.
        local_udp_port: For mode userspace-udp, the UDP port to come from; 0 picks a free one.
        limits: Bounds and timers; `Limits.connect_timeout` is for the whole call.

    Raises:
        TransportError: the mode is not to be had, or the peer does not answer or refuses.
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
