"""SCTP of the Linux kernel for asyncio: a one-to-one style socket for each association.

Only the loop's `add_reader` and `add_writer` are used. uvloop's own servers never return the
connections accepted on an SCTP socket (MagicStack/uvloop#467).
"""

import asyncio
import logging
import os
import socket
from typing import Any

from transport import kernel_socket
from transport.contract import (
    NGAP_PPID,
    BufferFull,
    Handler,
    Limits,
    Mode,
    TransportError,
    check_message,
)
from transport.kernel_parts import Parts, Unfinished
from transport.kernel_socket import Piece, why_no_kernel_sctp

__all__ = ["KernelAssociation", "KernelTransport", "why_no_kernel_sctp"]

_log = logging.getLogger(__name__)

_BATCH = 32
"""Maximum messages read from one association, or associations accepted, in one wake-up."""
_CLOSE_SECONDS = 1.0
_ACCEPT_AGAIN_SECONDS = 1.0
_BACKLOG = 128
_AGE_AGAIN_SECONDS = 0.1


class KernelAssociation:
    """An association of a `KernelTransport`, and its socket."""

    def __init__(self, transport: "KernelTransport", sock: Any) -> None:
        self.sock = sock
        self.fd: int = sock.fileno()
        self.peer = kernel_socket.peer_text(sock)
        self.address = str(sock.getpeername()[0])
        self.outbound_streams = kernel_socket.outbound_streams(sock)
        self.alive = True
        self.parts = Parts()
        self._transport = transport

    def __repr__(self) -> str:
        return f"<association with {self.peer}>"

    def send(self, stream: int, payload: bytes, ppid: int = NGAP_PPID) -> None:
        """See `Association.send`."""
        limit = self._transport.limits.max_message
        if not self.alive:
            raise TransportError(f"the association with {self.peer} is gone")
        check_message(stream, self.outbound_streams, payload, ppid, limit)
        try:
            kernel_socket.send_message(self.sock, stream, ppid, payload)
        except BlockingIOError:
            self._transport.tell_when_writable(self)
            raise BufferFull(f"to {self.peer}: buffer full") from None
        except OSError as err:
            raise TransportError(f"to {self.peer}: gone ({err.strerror})") from err

    def shutdown(self) -> None:
        """See `Association.shutdown`."""
        if self.alive:
            try:
                self.sock.shutdown(socket.SHUT_WR)
            except OSError as err:
                # The association has already ended; its notification is still unread.
                _log.debug("%r: %s", self, err)

    def abort(self) -> None:
        """See `Association.abort`."""
        if self.alive:
            self.alive = False
            self._transport.aborted(self)


class KernelTransport:
    """A listening socket with its accepted associations, or one connected socket."""

    mode = Mode.KERNEL
    udp_port = None

    def __init__(self, sock: Any, handler: Handler, limits: Limits, *, accept: bool) -> None:
        self.limits = limits
        self._handler = handler
        self._loop = asyncio.get_running_loop()
        self._host, self.port = sock.getsockname()[:2]
        self._associations: set[KernelAssociation] = set()
        self._sock: Any = sock
        self._fd: int = sock.fileno()
        self._listens = accept
        self._accepting = False
        self._paused = False
        self._unfinished = Unfinished(limits)
        self._aging: asyncio.TimerHandle | None = None
        self._closing: asyncio.Future[None] | None = None
        self._closed = False
        if accept:
            # Without this option the kernel rejects a new listener while associations exist.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._accept(True)
            self._loop.add_reader(self._fd, self._acceptable)

    @classmethod
    def listening(
        cls, family: int, ip: str, port: int, handler: Handler, limits: Limits
    ) -> "KernelTransport":
        """Accept associations on a local address.

        Raises:
            TransportError: the kernel has no SCTP, or the address is not available.
        """
        return cls(_bound(family, ip, port, limits), handler, limits, accept=True)

    @classmethod
    def to_connect(
        cls, family: int, local: str, local_port: int, handler: Handler, limits: Limits
    ) -> "KernelTransport":
        """Prepare to connect from a local address.

        Raises:
            TransportError: the kernel has no SCTP, or the address is not available.
        """
        return cls(_bound(family, local, local_port, limits), handler, limits, accept=False)

    @property
    def address(self) -> str:
        """See `Transport.address`."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{host}:{self.port} in the kernel"

    def pause(self) -> None:
        """See `Transport.pause`. The end of an association is not seen either until `resume`."""
        self._paused = True
        for association in self._associations:
            self._loop.remove_reader(association.fd)

    def resume(self) -> None:
        """See `Transport.resume`."""
        if self._paused and not self._closed:
            self._paused = False
            self._unfinished.postpone(self._loop.time())
            for association in self._associations:
                self._loop.add_reader(association.fd, self._readable, association)

    async def connect(self, ip: str, _udp_port: int, port: int) -> None:
        """Start the association and wait until it is established.

        Raises:
            TransportError: the association was not established. The caller must still close the
                transport.
        """
        done: asyncio.Future[None] = self._loop.create_future()
        try:
            self._sock.connect((ip, port))
        except BlockingIOError:
            self._loop.add_writer(self._fd, lambda: done.done() or done.set_result(None))
        except OSError as err:
            raise TransportError(f"not connected: {err.strerror}") from err
        else:
            done.set_result(None)
        try:
            async with asyncio.timeout(self.limits.connect_timeout):
                await done
        except TimeoutError:
            raise TransportError(f"no answer from {ip} port {port}") from None
        finally:
            self._loop.remove_writer(self._fd)
        error = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise TransportError(f"not connected: {os.strerror(error)}")
        try:
            association = KernelAssociation(self, self._sock)
        except OSError as err:
            raise TransportError(f"not connected: {err.strerror}") from err
        self._host, self.port = self._sock.getsockname()[:2]
        self._add(association)

    async def close(self) -> None:
        """See `Transport.close`."""
        if self._closed:
            return
        if self._closing is None:
            self._closing = self._loop.create_future()
            if self._listens:
                self._loop.remove_reader(self._fd)
                self._sock.close()
            for association in list(self._associations):
                association.shutdown()
            self._look_for_end()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.shield(self._closing)
        except TimeoutError:
            pass
        finally:
            self._closed = True
            if self._aging is not None:
                self._aging.cancel()
            for association in list(self._associations):
                association.alive = False
                self._end(association, "aborted", abort=True)
            self._sock.close()

    def _accept(self, accepting: bool) -> None:
        """Accept associations, or make the kernel answer an INIT with ABORT."""
        if accepting != self._accepting:
            self._sock.listen(_BACKLOG if accepting else 0)
            self._accepting = accepting

    def _acceptable(self) -> None:
        for _ in range(_BATCH):
            try:
                sock, _ = self._sock.accept()
            except BlockingIOError:
                break
            except OSError as err:
                _log.warning("%s: cannot accept: %s", self.address, err)
                self._loop.remove_reader(self._fd)
                self._loop.call_later(_ACCEPT_AGAIN_SECONDS, self._accept_again)
                return
            sock.setblocking(False)
            if len(self._associations) >= self.limits.max_associations:
                kernel_socket.abort(sock)
                continue
            try:
                association = KernelAssociation(self, sock)
            except OSError:
                sock.close()  # closed before it was read
                continue
            self._add(association)
        self._accept(len(self._associations) < self.limits.max_associations)

    def _accept_again(self) -> None:
        if self._closing is None:
            self._loop.add_reader(self._fd, self._acceptable)

    def _add(self, association: KernelAssociation) -> None:
        self._associations.add(association)
        if not self._paused:
            self._loop.add_reader(association.fd, self._readable, association)
        self._up(association)

    def _up(self, association: KernelAssociation) -> None:
        try:
            self._handler.up(association)
        except Exception:
            self._failed(association)

    def _readable(self, association: KernelAssociation) -> None:
        for _ in range(_BATCH):
            if self._paused or not association.alive:
                return
            try:
                piece = kernel_socket.receive_piece(association.sock)
            except BlockingIOError:
                return
            except OSError as err:
                self._end(association, err.strerror or "gone")
                return
            if piece.notice is not None:
                association = self._noticed(association, piece.notice)
            elif not piece.data:
                self._end(association, "closed")
            else:
                self._take(association, piece)

    def _take(self, association: KernelAssociation, piece: Piece) -> None:
        payload = piece.data
        if association.parts or not piece.last:
            too_much = self._unfinished.add(association, payload, self._loop.time())
            if isinstance(too_much, KernelAssociation):
                _log.warning("too much of unfinished messages; aborting %r", too_much)
                self._unfinished.take(too_much)
                too_much.abort()
            if self._aging is None:
                self._age()
            if not piece.last or not association.alive:
                return
            payload = self._unfinished.take(association)
        try:
            self._handler.received(association, piece.stream, piece.ppid, payload)
        except Exception:
            self._failed(association)

    def _age(self) -> None:
        """Abort associations with a message that takes too long, and look again later."""
        self._aging = None
        if not self._paused:
            while True:
                old = self._unfinished.too_old(self._loop.time())
                if not isinstance(old, KernelAssociation):
                    break
                _log.warning("a message is unfinished for too long; aborting %r", old)
                self._unfinished.take(old)
                old.abort()
        due = self._unfinished.due
        if due is not None:
            delay = max(due - self._loop.time(), _AGE_AGAIN_SECONDS)
            self._aging = self._loop.call_later(delay, self._age)

    def _noticed(self, association: KernelAssociation, notice: int) -> KernelAssociation:
        """Return the association to continue with."""
        if notice in (kernel_socket.COMM_LOST, kernel_socket.CANNOT_START):
            self._end(association, "lost")
        elif notice == kernel_socket.SHUTDOWN_COMPLETE:
            self._end(association, "closed")
        elif notice == kernel_socket.DELIVERY_ABORTED:
            self._unfinished.take(association)
        elif notice == kernel_socket.RESTART:
            return self._restart(association)
        return association

    def _restart(self, old: KernelAssociation) -> KernelAssociation:
        """A peer that restarted has lost its state. Report this to the user as a new
        association."""
        try:
            new = KernelAssociation(self, old.sock)
        except OSError:
            self._end(old, "restarted by the peer")
            return old
        self._loop.remove_reader(old.fd)
        self._loop.remove_writer(old.fd)
        self._associations.remove(old)
        self._unfinished.take(old)
        self._down(old, "restarted by the peer")
        self._add(new)
        return new

    def tell_when_writable(self, association: KernelAssociation) -> None:
        """Call the handler when the association's send buffer has free space."""
        self._loop.add_writer(association.fd, self._writable, association)

    def _writable(self, association: KernelAssociation) -> None:
        self._loop.remove_writer(association.fd)
        if association.alive:
            try:
                self._handler.writable(association)
            except Exception:
                self._failed(association)

    def _failed(self, association: KernelAssociation) -> None:
        _log.exception("the handler failed; aborting %r", association)
        association.abort()

    def aborted(self, association: KernelAssociation) -> None:
        """Stop reading an association that the user aborted. Report its end in a later turn of the
        loop."""
        self._loop.remove_reader(association.fd)
        self._loop.remove_writer(association.fd)
        self._loop.call_soon(lambda: self._end(association, "aborted", abort=True))

    def _end(self, association: KernelAssociation, reason: str, *, abort: bool = False) -> None:
        if association not in self._associations:
            return
        self._associations.remove(association)
        self._unfinished.take(association)
        self._loop.remove_reader(association.fd)
        self._loop.remove_writer(association.fd)
        if abort:
            kernel_socket.abort(association.sock)
        else:
            association.sock.close()
        self._down(association, reason)
        if self._listens and self._closing is None:
            self._accept(True)
        self._look_for_end()

    def _down(self, association: KernelAssociation, reason: str) -> None:
        association.alive = False
        try:
            self._handler.down(association, reason)
        except Exception:
            _log.exception("the handler failed on the end of %r", association)

    def _look_for_end(self) -> None:
        closing = self._closing
        if closing is not None and not self._associations and not closing.done():
            closing.set_result(None)


def _bound(family: int, ip: str, port: int, limits: Limits) -> Any:
    sock = kernel_socket.open_socket(family, limits)
    try:
        sock.bind((ip, port))
    except OSError as err:
        sock.close()
        raise TransportError(f"cannot bind {ip} port {port}: {err.strerror}") from err
    return sock
