"""SCTP in user space for asyncio: `wire.SctpEndpoint` on a datagram socket.

One reader and one timer serve all associations. The packets of one wake-up are processed as one
batch: packets in, then events, messages and packets out, once.
"""

import asyncio
import errno
import logging
import time
from collections import deque

import wire
from transport.contract import (
    NGAP_PPID,
    BufferFull,
    Handler,
    Limits,
    Mode,
    TransportError,
    check_message,
)
from transport.datagrams import Datagrams, Packet

_log = logging.getLogger(__name__)

_BATCH_PACKETS = 64
"""Packets read in one wake-up."""
_BATCH_MESSAGES = 256
"""Messages delivered before the transport yields to the loop."""
_MAX_UNSENT = 1024
"""Packets that may wait for the socket. Further packets are dropped; SCTP retransmits them."""
_SHORTEST_TIMER = 0.001
"""In seconds. A loop may round a shorter delay down to 0 and fire repeatedly."""
_CLOSE_SECONDS = 1.0
_UNREACHABLE = (errno.ECONNREFUSED, errno.ENOPROTOOPT)
"""ICMP port unreachable and protocol unreachable."""

_MTU = {Mode.USERSPACE_UDP: 1400, Mode.USERSPACE_RAW: 1460}


class UserspaceAssociation:
    """An association of a `UserspaceTransport`."""

    __slots__ = ("_id", "_transport", "address", "alive", "outbound_streams", "peer")

    def __init__(self, transport: "UserspaceTransport", number: int, peer: str) -> None:
        self._transport = transport
        self._id = number
        self.peer = peer
        # The text is "127.0.0.1:9899 port 38412" or "[::1]:9899 port 38412".
        self.address = peer.rpartition(" port ")[0].rpartition(":")[0].strip("[]")
        streams = transport.endpoint.streams(number)
        self.outbound_streams = streams[1] if streams else 0
        self.alive = True

    def __repr__(self) -> str:
        return f"<association with {self.peer}>"

    def send(self, stream: int, payload: bytes, ppid: int = NGAP_PPID) -> None:
        """See `Association.send`."""
        if not self.alive:
            raise TransportError(f"the association with {self.peer} is gone")
        transport = self._transport
        limit = transport.limits.max_message
        check_message(stream, self.outbound_streams, payload, ppid, limit)
        try:
            transport.endpoint.send(self._id, stream, ppid, payload, time.monotonic())
        except wire.WireError as err:
            kind = BufferFull if err.kind == "sctp-full" else TransportError
            raise kind(f"to {self.peer}: {err}") from None
        finally:
            transport.turn_soon()

    def shutdown(self) -> None:
        """See `Association.shutdown`."""
        if self.alive:
            self._transport.endpoint.shutdown(self._id, time.monotonic())
            self._transport.turn_soon()

    def abort(self) -> None:
        """See `Association.abort`."""
        if self.alive:
            self.alive = False
            self._transport.endpoint.abort(self._id, time.monotonic())
            self._transport.turn_soon()


class UserspaceTransport:
    """Associations of one SCTP port over one datagram socket."""

    def __init__(
        self, datagrams: Datagrams, port: int, handler: Handler, limits: Limits, *, accept: bool
    ) -> None:
        """Take over a bound socket; `accept` is true for a server.

        Raises:
            TransportError: a limit is invalid.
        """
        self.mode = datagrams.mode
        self.port = port
        self.udp_port = datagrams.udp_port or None
        try:
            self.endpoint = wire.SctpEndpoint(
                port,
                accept=accept,
                mtu=limits.mtu or _MTU[self.mode],
                streams=limits.streams,
                max_associations=limits.max_associations,
                receive_window=limits.receive_window,
                send_buffer=limits.send_buffer,
                heartbeat=limits.heartbeat,
                rto_max=limits.rto_max,
                max_retransmissions=limits.max_retransmissions,
                max_message=limits.max_message,
                max_waiting=limits.max_waiting,
                max_unfinished=limits.max_unfinished,
                max_unsent=limits.max_unsent,
                unfinished_within=limits.unfinished_within,
            )
        except (wire.WireError, OverflowError) as err:
            raise TransportError(f"limits: {err}") from err
        self._datagrams = datagrams
        self._handler = handler
        self.limits = limits
        self._loop = asyncio.get_running_loop()
        self._associations: dict[int, UserspaceAssociation] = {}
        self._unsent: deque[Packet] = deque()
        self._paused = False
        self._turn_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._connecting: tuple[int, asyncio.Future[None]] | None = None
        self._closing: asyncio.Future[None] | None = None
        self._closed = False
        self._fd = datagrams.sock.fileno()
        self._loop.add_reader(self._fd, self._readable)

    @property
    def address(self) -> str:
        """See `Transport.address`."""
        host = self._datagrams.host
        host = f"[{host}]" if ":" in host else host
        where = f"{host}:{self.port}"
        return f"{where} over UDP port {self.udp_port}" if self.udp_port else f"{where} over IP"

    def pause(self) -> None:
        """See `Transport.pause`."""
        self._paused = True

    def resume(self) -> None:
        """See `Transport.resume`."""
        self._paused = False
        self.turn_soon()

    async def connect(self, ip: str, udp_port: int, port: int) -> None:
        """Start an association and wait until it is established.

        Raises:
            TransportError: the association was not established. The caller must still close the
                transport.
        """
        up: asyncio.Future[None] = self._loop.create_future()
        try:
            number = self.endpoint.connect(ip, udp_port, port, time.monotonic())
        except wire.WireError as err:
            raise TransportError(str(err)) from None
        self._connecting = (number, up)
        self.turn_soon()
        try:
            async with asyncio.timeout(self.limits.connect_timeout):
                await up
        except TimeoutError:
            raise TransportError(f"no answer from {ip} port {port}") from None
        finally:
            self._connecting = None

    async def close(self) -> None:
        """See `Transport.close`."""
        if self._closed:
            return
        if self._closing is None:
            self._closing = self._loop.create_future()
            for association in list(self._associations.values()):
                association.shutdown()
            self.turn_soon()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.shield(self._closing)
        except TimeoutError:
            pass
        finally:
            self._end()

    def _end(self) -> None:
        if self._closed:
            return
        for association in list(self._associations.values()):
            association.abort()
        self._report()
        self._send_packets()
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        self._datagrams.close()
        # The endpoint may only be freed in this thread. Handlers, associations and this object are
        # a reference cycle, which the garbage collector may free in another thread.
        del self.endpoint

    def turn_soon(self) -> None:
        """Schedule a turn of the loop that processes the endpoint's events and packets."""
        if not self._turn_due and not self._closed:
            self._turn_due = True
            self._loop.call_soon(self._turn)

    def _readable(self) -> None:
        receive, take, now = self._datagrams.receive, self.endpoint.receive, time.monotonic()
        for _ in range(_BATCH_PACKETS):
            try:
                data, (ip, udp_port) = receive()
            except BlockingIOError:
                break
            except OSError as err:
                # An ICMP error for an earlier packet. It may show that a peer is unreachable, or be
                # forged.
                self._unreachable(err)
                continue
            take(data, ip, udp_port, now)
        self._turn()

    def _unreachable(self, err: OSError) -> None:
        if self._connecting is not None and err.errno in _UNREACHABLE:
            self._connected(f"not connected: the peer is unreachable ({err.strerror})")
        else:
            _log.debug("%s: a packet was not delivered: %s", self.address, err)

    def _expired(self) -> None:
        self._timer = None
        self.endpoint.advance(time.monotonic())
        self._turn()

    def _turn(self) -> None:
        if self._closed:
            return
        # Messages sent from a handler leave at the end of this turn.
        self._turn_due = True
        self._report()
        more = self._deliver()
        # A handler may have resumed the transport, and sending may detect a lost peer.
        more |= self._report()
        self._send_packets()
        more |= self._report()
        self._turn_due = False
        if more:
            self.turn_soon()
        self._set_timer()
        if self._closing is not None and not self._associations and not self._closing.done():
            self._closing.set_result(None)

    def _deliver(self) -> bool:
        """Deliver messages. Return true if some are left for the next turn."""
        messages, associations = self.endpoint.messages, self._associations
        received = self._handler.received
        for _ in range(_BATCH_MESSAGES):
            # Read one message at a time, because the handler may pause or abort after any of them.
            if self._paused:
                return False
            batch = messages(1)
            if not batch:
                return False
            number, stream, ppid, payload = batch[0]
            association = associations.get(number)
            if association is None or not association.alive:
                continue
            try:
                received(association, stream, ppid, payload)
            except Exception:
                self._failed(association)
        return True

    def _report(self) -> bool:
        """Report events. Return true if there were any."""
        events = self.endpoint.events()
        for kind, number, text in events:
            if kind == "up":
                self._up(number, text)
            elif kind == "down":
                self._down(number, text)
            else:
                association = self._associations.get(number)
                if association is not None and association.alive:
                    try:
                        self._handler.writable(association)
                    except Exception:
                        self._failed(association)
        return bool(events)

    def _up(self, number: int, peer: str) -> None:
        if self._closing is not None:
            self.endpoint.abort(number, time.monotonic())
            return
        association = UserspaceAssociation(self, number, peer)
        self._associations[number] = association
        try:
            self._handler.up(association)
        except Exception:
            self._failed(association)
        if self._connecting is not None and self._connecting[0] == number:
            self._connected(None)

    def _down(self, number: int, reason: str) -> None:
        association = self._associations.pop(number, None)
        if association is not None:
            association.alive = False
            try:
                self._handler.down(association, reason)
            except Exception:
                _log.exception("the handler failed on the end of %r", association)
        elif self._connecting is not None and self._connecting[0] == number:
            self._connected(f"not connected: {reason}")

    def _connected(self, failure: str | None) -> None:
        if self._connecting is None or self._connecting[1].done():
            return
        if failure is None:
            self._connecting[1].set_result(None)
        else:
            self._connecting[1].set_exception(TransportError(failure))

    def _failed(self, association: UserspaceAssociation) -> None:
        _log.exception("the handler failed; aborting %r", association)
        association.abort()

    def _send_packets(self) -> None:
        packets = self.endpoint.packets()
        if self._unsent:
            self._keep(packets)
            return
        send = self._datagrams.send
        for at, (packet, to) in enumerate(packets):
            try:
                send(packet, to)
            except BlockingIOError:
                self._keep(packets[at:])
                self._loop.add_writer(self._fd, self._writable)
                return
            except OSError as err:
                self._unreachable(err)

    def _keep(self, packets: list[Packet]) -> None:
        self._unsent.extend(packets[: _MAX_UNSENT - len(self._unsent)])

    def _writable(self) -> None:
        while self._unsent:
            packet, to = self._unsent[0]
            try:
                self._datagrams.send(packet, to)
            except BlockingIOError:
                return
            except OSError as err:
                self._unreachable(err)
            self._unsent.popleft()
        self._loop.remove_writer(self._fd)

    def _set_timer(self) -> None:
        due = self.endpoint.timeout()
        # A timer that fires too early only checks again. This is cheaper than moving it each time.
        if due is None or (self._timer is not None and self._timer_due <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due
        delay = max(due - time.monotonic(), _SHORTEST_TIMER)
        self._timer = self._loop.call_later(delay, self._expired)
