"""One gNB's SCTP association: it comes up, is lost, and comes up again."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeAlias

from loadgen.gnb.gnb import Gnb
from loadgen.report.capture import Capture
from transport import Association, BufferFull, Handler, Mode, Transport, TransportError

Connector: TypeAlias = Callable[[Handler], Awaitable[Transport]]
"""Opens a transport with one association, reporting to the handler."""

_BACK_OFF = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts to associate; the last is for all further ones."""


class Link:
    """Carries PDUs between a gNB and its association. Callbacks only, no task a message."""

    def __init__(
        self,
        gnb: Gnb,
        connect: Connector,
        progressed: Callable[["Link"], None],
        *,
        capture: Capture | None,
        rng: Random,
    ) -> None:
        """A link that is down.

        Args:
            gnb: whose it is.
            connect: how to open the association.
            progressed: called after each thing that happened to the gNB.
            capture: where PDUs are recorded.
            rng: spreads the attempts of many gNBs.
        """
        self.gnb = gnb
        self.associations = 0
        """How often the association came up."""
        self.trouble: str | None = None
        """Why it is down."""
        self.mode: Mode | None = None
        """The SCTP in use, once the association came up."""
        self._connect = connect
        self._progressed = progressed
        self._capture = capture
        self._rng = rng
        self._association: Association | None = None
        self._outbox: deque[tuple[int, bytes]] = deque()
        self._down = asyncio.Event()

    async def run(self) -> None:
        """Associate, and again whenever the association is lost, until cancelled."""
        failures = 0
        while True:
            self._down.clear()
            transport: Transport | None = None
            try:
                transport = await self._connect(self)
                self.mode = transport.mode
                failures = 0
                await self._down.wait()
            except TransportError as error:
                self.trouble = str(error)
            finally:
                if transport is not None:
                    await transport.close()
            pause = _BACK_OFF[min(failures, len(_BACK_OFF) - 1)]
            failures += 1
            await asyncio.sleep(pause * self._rng.uniform(0.75, 1.25))

    def flush(self) -> None:
        """Send what the gNB wants sent, as far as the transport takes it."""
        gnb = self.gnb
        if gnb.out:
            out, gnb.out = gnb.out, []
            self._outbox.extend(out)
        association = self._association
        while self._outbox and association is not None:
            stream, pdu = self._outbox[0]
            try:
                association.send(stream, pdu)
            except BufferFull:
                return
            except TransportError as error:
                # `down` follows, or has been; what is unsent is lost with the association.
                self.trouble = str(error)
                self._outbox.clear()
                return
            self._outbox.popleft()
            if self._capture is not None:
                self._capture.write(time.monotonic(), gnb.config.name, "sent", stream, pdu)

    # the transport's side

    def up(self, association: Association) -> None:
        """The association is there."""
        self._association = association
        self.associations += 1
        self.trouble = None
        self.gnb.association_up(association.outbound_streams, time.monotonic())
        self._progressed(self)

    def down(self, association: Association, reason: str) -> None:
        """The association is lost."""
        if association is not self._association:
            return
        self._association = None
        self._outbox.clear()
        self.trouble = reason
        self.gnb.association_down(time.monotonic())
        self._down.set()
        self._progressed(self)

    def received(self, association: Association, stream: int, ppid: int, payload: bytes) -> None:
        """A PDU arrived."""
        del association, ppid
        now = time.monotonic()
        if self._capture is not None:
            self._capture.write(now, self.gnb.config.name, "received", stream, payload)
        self.gnb.receive(stream, payload, now)
        self._progressed(self)

    def writable(self, association: Association) -> None:
        """The transport takes more."""
        del association
        self.flush()
