"""The SCTP association of one gNB: it is established, lost and established again."""

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
"""Opens a transport with one association; the handler gets its events."""

_BACK_OFF = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts to associate; the last value applies to all further attempts."""


class Link:
    """Carries PDUs between a gNB and its association, by callbacks and without a task per
    message."""

    def __init__(
        self,
        gnb: Gnb,
        connect: Connector,
        progressed: Callable[["Link"], None],
        *,
        capture: Capture | None,
        rng: Random,
    ) -> None:
        """Create a link that is down.

        Args:
            gnb: the gNB.
            connect: opens the association.
            progressed: called after each event of the gNB.
            capture: records the PDUs.
            rng: spreads the attempts of many gNBs.
        """
        self.gnb = gnb
        self.associations = 0
        """How often the association was established."""
        self.trouble: str | None = None
        """Why the association is down."""
        self.mode: Mode | None = None
        """The SCTP in use, once the association is established."""
        self._connect = connect
        self._progressed = progressed
        self._capture = capture
        self._rng = rng
        self._association: Association | None = None
        self._outbox: deque[tuple[int, bytes]] = deque()
        self._down = asyncio.Event()

    async def run(self) -> None:
        """Associate, and again after each loss of the association, until cancelled."""
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
        """Send the PDUs of the gNB until the transport's buffer is full."""
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
                # `down` is called before or after this. Unsent PDUs are lost with the association.
                self.trouble = str(error)
                self._outbox.clear()
                return
            self._outbox.popleft()
            if self._capture is not None:
                self._capture.write(time.monotonic(), gnb.config.name, "sent", stream, pdu)

    # called by the transport

    def up(self, association: Association) -> None:
        """Handle the established association."""
        self._association = association
        self.associations += 1
        self.trouble = None
        self.gnb.association_up(association.outbound_streams, time.monotonic())
        self._progressed(self)

    def down(self, association: Association, reason: str) -> None:
        """Handle the loss of the association."""
        if association is not self._association:
            return
        self._association = None
        self._outbox.clear()
        self.trouble = reason
        self.gnb.association_down(time.monotonic())
        self._down.set()
        self._progressed(self)

    def received(self, association: Association, stream: int, ppid: int, payload: bytes) -> None:
        """Handle a PDU from the AMF."""
        del association, ppid
        now = time.monotonic()
        if self._capture is not None:
            self._capture.write(now, self.gnb.config.name, "received", stream, payload)
        self.gnb.receive(stream, payload, now)
        self._progressed(self)

    def writable(self, association: Association) -> None:
        """Continue to send: the transport has buffer space again."""
        del association
        self.flush()
