"""Transports without sockets, for tests of code that uses a transport.

The contract is the same as for real transports, including back-pressure and ends of associations.
No message is lost, and there are no delays: one side sees an action of the other in a later turn of
the loop.
"""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Callable

from transport.contract import (
    DEFAULT_LIMITS,
    NGAP_PPID,
    BufferFull,
    Handler,
    Limits,
    Mode,
    TransportError,
    check_message,
)

_log = logging.getLogger(__name__)

_BATCH_MESSAGES = 256
_CLOSE_SECONDS = 1.0

_Call = Callable[["MemoryAssociation"], None]


class MemoryAssociation:
    """One end of an association."""

    def __init__(self, transport: "MemoryTransport", peer: str, streams: int) -> None:
        self.peer = peer
        self.address = peer.rpartition(" port ")[0]
        self.outbound_streams = streams
        self.transport = transport
        self.alive = True
        self.ending: str | None = None
        """Why the association ends after all sent messages have been read."""
        self.inbox: deque[tuple[int, int, bytes]] = deque()
        self.waiting = 0
        """Octets in the inbox."""
        self.refused = False
        self.other = self
        """The peer's end of the association."""

    def __repr__(self) -> str:
        return f"<association with {self.peer}>"

    @property
    def capacity(self) -> int:
        """Return how many octets may wait in the peer's inbox."""
        return self.transport.limits.send_buffer + self.other.transport.limits.receive_window

    def send(self, stream: int, payload: bytes, ppid: int = NGAP_PPID) -> None:
        """See `Association.send`."""
        limit, other = self.transport.limits.max_message, self.other
        if not self.alive or self.ending is not None:
            raise TransportError(f"the association with {self.peer} is gone")
        check_message(stream, self.outbound_streams, payload, ppid, limit)
        if other.waiting >= self.capacity:
            self.refused = True
            raise BufferFull(f"to {self.peer}: buffer full")
        if not other.inbox:
            other.transport.messages_for(other)
        other.inbox.append((stream, ppid, payload))
        other.waiting += len(payload)

    def shutdown(self) -> None:
        """See `Association.shutdown`."""
        self._end("closed")

    def abort(self) -> None:
        """See `Association.abort`."""
        if self.alive:
            self.discard()
            self.other.discard()
            self._end("aborted")
            self.alive = False

    def discard(self) -> None:
        """Discard unread messages."""
        self.inbox.clear()
        self.waiting = 0

    def _end(self, reason: str) -> None:
        for end in (self, self.other):
            if end.alive:
                end.ending = end.ending or reason
                end.transport.end_of(end)

    def take(self) -> tuple[int, int, bytes]:
        """Return the next message of the inbox."""
        message = self.inbox.popleft()
        self.waiting -= len(message[2])
        other = self.other
        if other.refused and self.waiting <= other.capacity // 2:
            other.refused = False
            other.transport.call_soon(other.transport.handler.writable, other)
        if self.ending is not None and not self.inbox:
            self._end(self.ending)
        return message

    @property
    def over(self) -> bool:
        """Whether the association is ending and both sides have read all messages."""
        return self.ending is not None and not self.inbox and not self.other.inbox


class MemoryTransport:
    """A transport of a `MemoryNetwork`."""

    mode = Mode.USERSPACE_UDP
    """The mode that it reports."""

    def __init__(
        self, network: "MemoryNetwork", host: str, port: int, handler: Handler, limits: Limits
    ) -> None:
        self.handler = handler
        self.limits = limits
        self.host = host
        self.port = port
        self.udp_port: int | None = None
        self.associations: list[MemoryAssociation] = []
        self._network = network
        self._loop = asyncio.get_running_loop()
        self._messages: deque[MemoryAssociation] = deque()
        self._calls: deque[tuple[_Call, MemoryAssociation]] = deque()
        self._ends: deque[MemoryAssociation] = deque()
        self._paused = False
        self._turn_due = False
        self._closed = False
        self._empty = asyncio.Event()

    @property
    def address(self) -> str:
        """See `Transport.address`."""
        return f"{self.host}:{self.port} in memory"

    def pause(self) -> None:
        """See `Transport.pause`."""
        self._paused = True

    def resume(self) -> None:
        """See `Transport.resume`."""
        self._paused = False
        self._schedule()

    async def close(self) -> None:
        """See `Transport.close`."""
        self._network.release(self)
        self._empty.clear()
        for association in list(self.associations):
            association.shutdown()
        self._schedule()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                while self.associations:
                    await self._empty.wait()
        except TimeoutError:
            for association in list(self.associations):
                association.abort()
            self._turn()
        self._closed = True

    def vanish(self) -> None:
        """Stop like a machine that died: the peers' heartbeats get no answer."""
        self._network.release(self)
        self._closed = True
        for association in self.associations:
            association.alive = False
            association.discard()
            association.other.ending = "no answer to heartbeats"
            association.other.transport.end_of(association.other)
        self.associations.clear()

    def add(self, association: MemoryAssociation) -> None:
        """Add an association and notify the handler."""
        self.associations.append(association)
        self.call_soon(self.handler.up, association)

    def call_soon(self, call: _Call, association: MemoryAssociation) -> None:
        """Schedule a call of the handler."""
        self._calls.append((call, association))
        self._schedule()

    def messages_for(self, association: MemoryAssociation) -> None:
        """Schedule reading of an inbox that was empty and has messages now."""
        self._messages.append(association)
        self._schedule()

    def end_of(self, association: MemoryAssociation) -> None:
        """Report the end of the association if it is complete."""
        self._ends.append(association)
        self._schedule()

    def _schedule(self) -> None:
        if not self._turn_due and not self._closed:
            self._turn_due = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_due = False
        while self._calls:
            call, association = self._calls.popleft()
            if association.alive:
                try:
                    call(association)
                except Exception:
                    self._failed(association)
        self._deliver()
        while self._ends:
            association = self._ends.popleft()
            if association.over and association in self.associations:
                self._down(association)
        if not self.associations:
            self._empty.set()

    def _deliver(self) -> None:
        for _ in range(_BATCH_MESSAGES):
            if self._paused or not self._messages:
                return
            association = self._messages.popleft()
            if association.alive and association.inbox:
                stream, ppid, payload = association.take()
                if association.inbox:
                    self._messages.append(association)
                try:
                    self.handler.received(association, stream, ppid, payload)
                except Exception:
                    self._failed(association)
        self._schedule()

    def _failed(self, association: MemoryAssociation) -> None:
        _log.exception("the handler failed; aborting %r", association)
        association.abort()

    def _down(self, association: MemoryAssociation) -> None:
        self.associations.remove(association)
        association.alive = False
        try:
            self.handler.down(association, association.ending or "closed")
        except Exception:
            _log.exception("the handler failed on the end of %r", association)


class MemoryNetwork:
    """Connects the transports of one test, by host and port."""

    def __init__(self) -> None:
        self._listening: dict[tuple[str, int], MemoryTransport] = {}
        self._ports = itertools.count(49152)

    async def listen(
        self, host: str, port: int, handler: Handler, *, limits: Limits = DEFAULT_LIMITS
    ) -> MemoryTransport:
        """See `transport.listen`."""
        transport = MemoryTransport(self, host, port or next(self._ports), handler, limits)
        if self._listening.setdefault((host, transport.port), transport) is not transport:
            raise TransportError(f"cannot bind {host} port {port}: address already in use")
        return transport

    async def connect(
        self,
        host: str,
        port: int,
        handler: Handler,
        *,
        local_host: str = "127.0.0.1",
        local_port: int = 0,
        limits: Limits = DEFAULT_LIMITS,
    ) -> MemoryTransport:
        """See `transport.connect`."""
        server = self._listening.get((host, port))
        if server is None or len(server.associations) >= server.limits.max_associations:
            raise TransportError(f"not connected: no answer from {host} port {port}")
        local_port = local_port or next(self._ports)
        client = MemoryTransport(self, local_host, local_port, handler, limits)
        streams = min(limits.streams, server.limits.streams)
        here = MemoryAssociation(client, f"{host} port {port}", streams)
        there = MemoryAssociation(server, f"{local_host} port {local_port}", streams)
        here.other, there.other = there, here
        server.add(there)
        client.add(here)
        await asyncio.sleep(0)
        return client

    def release(self, transport: MemoryTransport) -> None:
        """Release a transport's address."""
        where = (transport.host, transport.port)
        if self._listening.get(where) is transport:
            del self._listening[where]
