"""Flow control of a gateway: it reads from no gNB while JetStream or the workers do not keep up.

The SCTP windows of the gNBs close then, so nothing that they send is lost.
"""

import asyncio
import logging
from typing import Final

from nats.aio.client import Client

from eventing.jetstream.connection import BusError
from eventing.jetstream.streams import waiting_bytes
from gateway.n2.counters import N2Counters
from gateway.n2.indications import Indications
from gateway.outbox import Outbox
from transport import Transport

log = logging.getLogger(__name__)

OVERLOAD_AFTER: Final = 0.5
"""Seconds beyond the bound after which the gateway sends OVERLOAD START."""
DEPTH_POLL: Final = 1.0
"""Seconds between two checks of the octets that wait in the stream."""
RELIEF: Final = 0.25
"""The share of the bound at which the gateway reads from gNBs again."""


class Pressure:
    """Pauses the transport of a gateway, and resumes it."""

    def __init__(
        self,
        client: Client,
        outbox: Outbox,
        indications: Indications,
        counters: N2Counters,
        max_under_way: int,
        max_bytes: int,
    ) -> None:
        """Pause nothing yet.

        Args:
            client: the connection to NATS.
            outbox: has the events that JetStream has not stored.
            indications: sends OVERLOAD START and OVERLOAD STOP.
            counters: those of the gateway.
            max_under_way: the bound of events that JetStream has not stored.
            max_bytes: the bound of the octets in the stream.
        """
        self._client = client
        self._outbox = outbox
        self._indications = indications
        self._counters = counters
        self._bound = max_under_way
        self._max_bytes = max_bytes
        self._full = False
        """Whether too many octets wait in the stream."""
        self._paused_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._transport: Transport | None = None

    @property
    def paused(self) -> bool:
        """Whether nothing is read from gNBs."""
        return bool(self._paused_since)

    def start(self, transport: Transport) -> asyncio.Task[None]:
        """Begin to pause a transport; the task watches the stream until it is cancelled."""
        self._transport = transport
        return self._loop.create_task(self._watch_depth())

    async def _watch_depth(self) -> None:
        """Pause while too much waits in the stream: the workers do not keep up."""
        while True:
            await asyncio.sleep(DEPTH_POLL)
            try:
                depth = await waiting_bytes(self._client)
            except BusError as err:
                log.warning("%s", err)
                self._indications.answered(False)
                continue
            self._indications.answered(True)
            if depth >= self._max_bytes:
                self._full = True
                if not self._paused_since:
                    self._hold()
            elif self._full and depth <= self._max_bytes * RELIEF:
                self._full = False
                self.relax()

    def added(self) -> None:
        """Note that the outbox has one more event."""
        if not self._paused_since and self._outbox.waiting >= self._bound:
            self._hold()

    def relax(self) -> None:
        """Read from gNBs again if few enough events wait."""
        if self._paused_since and not self._full and self._outbox.waiting <= self._bound * RELIEF:
            self._resume()

    def _hold(self) -> None:
        """Stop reading from gNBs, and send OVERLOAD START if the overload lasts."""
        self._paused_since = self._loop.time()
        if self._transport is not None:
            self._transport.pause()
        self._loop.call_later(OVERLOAD_AFTER, self._report_overload, self._paused_since)

    def _report_overload(self, since: float) -> None:
        if self._paused_since != since:
            return
        self._counters.overloads += 1
        self._indications.everything = True
        log.warning("%d events wait for JetStream: OVERLOAD START", self._outbox.waiting)
        self._indications.ask_all()

    def _resume(self) -> None:
        self._paused_since = 0.0
        self._indications.everything = False
        if self._transport is not None:
            self._transport.resume()
        self._indications.ask_all()
