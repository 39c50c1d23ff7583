"""OVERLOAD START and STOP (TS 38.413 8.7.7, 8.7.8): which gNB is asked for which reduction.

Each gNB is asked for the reduction that brings it to its share of what the core can serve
(`gateway.n2.shares`). A gNB that sends less than its share is asked for nothing. Without room in
the event log, and while the gateway reads nothing, all gNBs are asked.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from nats.aio.client import Client

from eventing.fair_shares import NO_WEIGHTS
from eventing.stats import Stats, StatsWatch
from gateway.n2.counters import N2Counters
from gateway.n2.overload import EVERYTHING, OVERLOAD_STOP, PERIOD, LoadReduction, overload_start
from gateway.n2.peer import MAX_DOWNLINK, GnbPeer
from gateway.n2.room import RoomReduction
from gateway.n2.shares import reductions

log = logging.getLogger(__name__)

COARSE: Final = 3
"""Per cent by which a reduction must change to be sent again, unless it begins or ends."""


class Indications:
    """Asks the gNBs of a gateway for reductions of traffic."""

    def __init__(
        self,
        peers: Mapping[int, GnbPeer],
        counters: N2Counters,
        flush: Callable[[GnbPeer], None],
        publish: Callable[[GnbPeer], None],
        delay: Callable[[], float],
        after: float,
        weights: Mapping[str, float] = NO_WEIGHTS,
    ) -> None:
        """Ask for nothing yet.

        Args:
            peers: the gNBs; the gateway keeps them up to date.
            counters: those of the gateway.
            flush: sends the PDUs in `GnbPeer.downlink`.
            publish: publishes the waiting requests of a gNB for which there is room.
            delay: returns `Outbox.delay`.
            after: see `LoadReduction`.
            weights: the weights of gNBs by Global RAN Node ID.
        """
        self._peers = peers
        self._counters = counters
        self._flush = flush
        self._publish = publish
        self._delay = delay
        self._weights = weights
        self._load = LoadReduction(after)
        self._room = RoomReduction()
        self._stats = StatsWatch(self._heard)
        self._wanted: dict[str, int] = {}
        """By association, the reduction in per cent; no entry for none."""
        self._for_all = 0
        """The reduction for all gNBs."""
        self.everything = False
        """Whether gNBs are asked to send no requests at all, because the gateway reads nothing."""

    def _heard(self, stats: Stats) -> None:
        self._load.heard(stats)
        self._room.heard(stats)

    async def run(self, client: Client) -> None:
        """Ask for the reductions that the workers and the event log need, until cancelled."""
        await self._stats.start(client)
        while True:
            await asyncio.sleep(PERIOD)
            self.look()

    def answered(self, answered: bool) -> None:
        """Note whether JetStream answered a request of the gateway."""
        self._room.answered = answered

    def look(self) -> None:
        """Adapt the reductions, once a period."""
        self._load.change()
        ready = [peer for peer in self._peers.values() if peer.ready]
        for peer in ready:
            self._measure(peer)
        gnbs = [(peer.gnb, peer.requests) for peer in ready]
        load = self._load
        found = reductions(gnbs, load.share, load.offered, load.capacity, self._weights)
        before, self._for_all = self._wanted or self._for_all, self._room.percent(self._delay())
        self._wanted = {peer.id: one for peer, one in zip(ready, found, strict=True) if one}
        why = self._room.reason or f"requests wait for {self._load.wait:.1f} s"
        if not before and (self._wanted or self._for_all):
            self._counters.overloads += 1
            asked = len(ready) if self._for_all else len(self._wanted)
            log.warning("%s: OVERLOAD START to %d of %d gNBs", why, asked, len(ready))
        elif before and not (self._wanted or self._for_all):
            log.warning("%s: OVERLOAD STOP", why)
        self.ask_all()

    def _measure(self, peer: GnbPeer) -> None:
        """Measure the requests of a gNB, and publish those that may be published now."""
        self._publish(peer)
        requests, weight = peer.requests, self._weights.get(peer.gnb, 1.0)
        waited = requests.own_reduction
        requests.measure(PERIOD, self._load.capacity, peer.reduction, weight)
        if not waited and requests.own_reduction:
            log.warning(
                "%s: %d requests are under way and unproved, %d wait in the gateway",
                *(peer.gnb, requests.unproved, requests.waiting),
            )
        elif waited and not requests.own_reduction:
            log.warning("%s: no requests wait any more; %d dropped", peer.gnb, requests.dropped)

    def ask_all(self) -> None:
        """See `ask`, for all gNBs."""
        for peer in self._peers.values():
            self.ask(peer)

    def ask(self, peer: GnbPeer) -> None:
        """Send OVERLOAD START or OVERLOAD STOP, if the gNB was asked for something else before.

        A later OVERLOAD START replaces an earlier one (TS 38.413 8.7.7.2).
        """
        wanted = max(self._for_all, self._wanted.get(peer.id, 0))
        if self.everything:
            wanted = EVERYTHING
        if not peer.ready or peer.reduction == wanted:
            peer.requests.asked(peer.reduction)
            return
        if not wanted:
            peer.reduction = 0
            # Even beyond MAX_DOWNLINK: a gNB without OVERLOAD STOP would never send UEs again.
            peer.downlink.append((0, OVERLOAD_STOP))
        elif len(peer.downlink) >= MAX_DOWNLINK or (
            abs(peer.reduction - wanted) < COARSE and peer.reduction and wanted != EVERYTHING
        ):
            return
        else:
            peer.reduction = wanted
            peer.downlink.append((0, overload_start(wanted)))
        peer.requests.asked(peer.reduction)
        self._flush(peer)
