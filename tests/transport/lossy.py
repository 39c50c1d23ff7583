"""A UDP proxy that loses, repeats and reorders packets, controlled by a seed."""

import asyncio
import random
from collections.abc import Callable

Address = tuple[str, int]


class _Side(asyncio.DatagramProtocol):
    def __init__(self, received: Callable[[bytes, Address], None]) -> None:
        self._received = received

    def datagram_received(self, data: bytes, addr: Address) -> None:
        self._received(data, addr)


class LossyProxy:
    """A proxy between one client and the server at a UDP port of the loopback interface."""

    def __init__(self, server_port: int, seed: int = 0) -> None:
        self.loss = self.repeat = self.reorder = 0.0
        """Probabilities, in both directions."""
        self.port = 0
        self.counts = {"lost": 0, "repeated": 0, "reordered": 0}
        self._server = ("127.0.0.1", server_port)
        self._client: Address | None = None
        self._rng = random.Random(seed)
        self._held: list[Callable[[], None]] = []

    async def open(self) -> "LossyProxy":
        loop = asyncio.get_running_loop()
        here = ("127.0.0.1", 0)
        self._to_client, _ = await loop.create_datagram_endpoint(
            lambda: _Side(self._from_client), local_addr=here
        )
        self.port = self._to_client.get_extra_info("sockname")[1]
        await self.rebind()
        return self

    async def rebind(self) -> None:
        """Reach the server from another UDP port, like a NAT after a restart."""
        loop = asyncio.get_running_loop()
        old: asyncio.DatagramTransport | None = getattr(self, "_to_server", None)
        self._to_server, _ = await loop.create_datagram_endpoint(
            lambda: _Side(self._from_server), local_addr=("127.0.0.1", 0)
        )
        if old is not None:
            old.close()

    def close(self) -> None:
        self._to_client.close()
        self._to_server.close()

    def _from_client(self, data: bytes, addr: Address) -> None:
        self._client = addr
        self._carry(lambda: self._to_server.sendto(data, self._server))

    def _from_server(self, data: bytes, _: Address) -> None:
        client = self._client
        if client is not None:
            self._carry(lambda: self._to_client.sendto(data, client))

    def _carry(self, send: Callable[[], None]) -> None:
        if self._rng.random() < self.loss:
            self.counts["lost"] += 1
            return
        if self._rng.random() < self.reorder:
            self.counts["reordered"] += 1
            self._held.append(send)
            return
        send()
        if self._rng.random() < self.repeat:
            self.counts["repeated"] += 1
            send()
        while self._held and self._rng.random() < 0.5:
            self._held.pop()()
