"""The implementations under test, with one interface to open them."""

import socket
from pathlib import Path

import transport
from tests.transport.recorder import Recorder
from transport import Association, Handler, Limits, Mode, Transport
from transport.kernel import why_no_kernel_sctp
from transport.memory import MemoryNetwork

MEMORY = "memory"
WORLDS = [MEMORY, *(mode.value for mode in Mode if mode is not Mode.AUTO)]
USERSPACE = [Mode.USERSPACE_UDP.value, Mode.USERSPACE_RAW.value]

QUICK = Limits(heartbeat=0.3, max_retransmissions=1, rto_max=0.5, connect_timeout=10)
"""Notices a dead peer within a second or so."""


def why_not(world: str) -> str | None:
    """Return why a world is not available on this machine; None if it is."""
    if world == Mode.KERNEL:
        return why_no_kernel_sctp()
    if world == Mode.USERSPACE_RAW:
        if Path("/proc/net/sctp").exists():
            return "the kernel's own SCTP would answer too"
        try:
            socket.socket(socket.AF_INET, socket.SOCK_RAW, 132).close()
        except PermissionError:
            return "no CAP_NET_RAW"
    return None


class World:
    """Opens transports of one implementation, and closes them after the test."""

    def __init__(self, name: str, host: str = "127.0.0.1") -> None:
        self.name = name
        self.host = host
        self._network = MemoryNetwork()
        self._open: list[Transport] = []

    @property
    def mode(self) -> Mode:
        return Mode(self.name)

    async def listen(
        self, handler: Handler, *, limits: Limits | None = None, port: int = 0, udp_port: int = 0
    ) -> Transport:
        limits = limits or Limits()
        if self.name == MEMORY:
            opened = await self._network.listen(self.host, port, handler, limits=limits)
        else:
            opened = await transport.listen(
                self.mode, self.host, port, handler, udp_port=udp_port, limits=limits
            )
        self._open.append(opened)
        return opened

    async def connect(
        self,
        server: Transport,
        handler: Handler,
        *,
        limits: Limits | None = None,
        local_host: str = "",
        local_port: int = 0,
        local_udp_port: int = 0,
    ) -> Transport:
        return await self.connect_to(
            server.port,
            server.udp_port or 0,
            handler,
            limits=limits,
            local_host=local_host,
            local_port=local_port,
            local_udp_port=local_udp_port,
        )

    async def connect_to(
        self,
        port: int,
        udp_port: int,
        handler: Handler,
        *,
        limits: Limits | None = None,
        local_host: str = "",
        local_port: int = 0,
        local_udp_port: int = 0,
    ) -> Transport:
        limits = limits or Limits()
        local_host = local_host or self.host
        if self.name == MEMORY:
            opened = await self._network.connect(
                self.host,
                port,
                handler,
                limits=limits,
                local_host=local_host,
                local_port=local_port,
            )
        else:
            opened = await transport.connect(
                self.mode,
                self.host,
                port,
                handler,
                udp_port=udp_port,
                local_host=local_host,
                local_port=local_port,
                local_udp_port=local_udp_port,
                limits=limits,
            )
        self._open.append(opened)
        return opened

    async def close(self) -> None:
        for opened in self._open:
            await opened.close()


class Pair:
    """A server and a client with one association between them."""

    def __init__(self, world: World, limits: Limits | None = None) -> None:
        self.world = world
        self.limits = limits
        self.at_server = Recorder()
        self.at_client = Recorder()

    async def open(self) -> "Pair":
        self.server = await self.world.listen(self.at_server, limits=self.limits)
        self.client = await self.world.connect(self.server, self.at_client, limits=self.limits)
        await self.at_server.ups()
        return self

    @property
    def to_server(self) -> Association:
        return self.at_client.up_[0]

    @property
    def to_client(self) -> Association:
        return self.at_server.up_[0]
