"""Runs a load in one asyncio process: gNBs on their associations, UEs on one heap of timers."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import IPv4Address
from math import inf
from random import Random
from typing import Any

from loadgen.errors import ConfigError, LoadError
from loadgen.foreign import ForeignNgap
from loadgen.gnb.cell import Cell
from loadgen.gnb.gnb import Gnb
from loadgen.gnb.messages import GNB_ID_BITS, GnbConfig
from loadgen.gnb.neighbours import Neighbours
from loadgen.load.config import LoadConfig
from loadgen.load.link import Connector, Link
from loadgen.load.traffic import Traffic
from loadgen.report.capture import Capture
from loadgen.report.plot import save_plot
from loadgen.report.report import Recorder, Report, procedures_of
from loadgen.report.terminal import ProgressBar, print_tables
from loadgen.timers import Deadlines
from loadgen.ue.ue import DownlinkData, DownlinkTunnel, no_downlink_data, no_downlink_tunnel
from transport import Handler, Transport, connect

_FIRST_N3 = IPv4Address("127.8.0.1")
"""The N3 address of the first gNB. It need not be reachable."""


class Driver:
    """The event loop, the links and the timers of a run."""

    def __init__(
        self,
        config: LoadConfig,
        connector: Connector,
        capture: Capture | None,
        downlink_data: DownlinkData = no_downlink_data,
        downlink_tunnel: DownlinkTunnel = no_downlink_tunnel,
        recorder: Recorder | None = None,
    ) -> None:
        """Create the gNBs and the UEs, without sending anything."""
        self.recorder = recorder or Recorder()
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._deadlines = Deadlines()
        self._over = asyncio.Event()
        self._set_up = asyncio.Event()
        self._wake: asyncio.TimerHandle | None = None
        self._wake_at = inf
        self._closing = False
        self.neighbours = Neighbours(Random(f"{config.seed} cells"))
        self.neighbours.on_activity = self._note_activity
        self._active: dict[Cell, None] = {}
        self.gnbs = [self._gnb(n) for n in range(config.gnbs)]
        self.links = [
            Link(gnb, connector, self._progressed, capture=capture, rng=Random(n))
            for n, gnb in enumerate(self.gnbs)
        ]
        self.traffic = Traffic(
            config,
            self.gnbs,
            self._deadlines,
            self.recorder,
            self._over.set,
            downlink_data,
            downlink_tunnel,
        )
        self._links_of = {link.gnb.cell: link for link in self.links}
        self._bar = ProgressBar(self.recorder, self.traffic.planned) if config.progress else None

    def _gnb(self, number: int) -> Gnb:
        config = self._config
        gnb_id = config.first_gnb_id + number
        foreign, bits = None, GNB_ID_BITS
        if config.profile == "foreign":
            foreign = ForeignNgap(f"{config.seed} gnb {gnb_id}")
            bits = foreign.gnb_id_bits(gnb_id)
        one = GnbConfig(
            name=f"gnb-{gnb_id}" if foreign is None else foreign.name(),
            gnb_id=gnb_id,
            gnb_id_bits=bits,
            plmn=config.broadcast[0],
            plmns=config.broadcast[1:],
            tac=config.tac_of(number),
            slices=config.slices,
            n3_address=str(_FIRST_N3 + number),
            behaviour=config.gnb_behaviour,
        )
        return Gnb(
            one,
            self._deadlines,
            timers=config.timers,
            on_violation=self.recorder.violated,
            neighbours=self.neighbours,
            seed=config.seed,
            foreign=foreign,
        )

    async def run(self) -> Report:
        """Set up the gNBs, run the load, and close the associations.

        Raises:
            LoadError: the gNBs cannot be set up.
        """
        tasks = [asyncio.create_task(link.run()) for link in self.links]
        try:
            await self._gnbs_ready()
            return await self._load()
        finally:
            self._closing = True
            if self._wake is not None:
                self._wake.cancel()
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    async def _gnbs_ready(self) -> None:
        try:
            async with asyncio.timeout(self._config.connect_timeout):
                await self._set_up.wait()
        except TimeoutError:
            raise LoadError(self._why_not_ready()) from None
        refused = next((gnb for gnb in self.gnbs if gnb.interface.refused is not None), None)
        if refused is not None:
            raise LoadError(f"the AMF refuses {refused.config.name}: {refused.interface.refused}")

    def _why_not_ready(self) -> str:
        config = self._config
        waiting = [link for link in self.links if not link.gnb.ready]
        where = f"{config.host} port {config.port}"
        why = waiting[0].trouble if waiting else None
        cause = waiting[0].gnb.interface.retry_cause if waiting else ""
        if why is None and cause:
            why = f"the AMF answers NG SETUP REQUEST with a failure: {cause}"
        elif why is None:
            why = "the association is up, but NG SETUP REQUEST is not answered"
        text = f"{len(waiting)} of {config.gnbs} gNBs are not set up with the AMF at {where}"
        return f"{text} after {config.connect_timeout:g} s: {why}"

    async def _load(self) -> Report:
        config = self._config
        started_at = datetime.now(UTC)
        cpu, begun = time.process_time(), time.monotonic()
        if self._bar is not None:
            self._bar.start(begun)
            self._deadlines.touch(self._bar)
        self.traffic.start(begun)
        self._tick()
        watch = asyncio.create_task(self._without_amf())
        over = asyncio.create_task(self._over.wait())
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait((over, watch), timeout=config.longest, return_when=first)
            if not over.done():
                self.traffic.give_up(time.monotonic())
        finally:
            over.cancel()
            watch.cancel()
            if self._bar is not None:
                self._bar.stop()
        seconds = time.monotonic() - begun
        cut_off = watch.result() if watch.done() and not over.done() else None
        return self._report(
            started_at, begun, seconds, cpu_seconds=time.process_time() - cpu, cut_off=cut_off
        )

    async def _without_amf(self) -> str:
        """Wait until a gNB has had no AMF for `drain` seconds: its UEs would wait forever."""
        patience = self._config.drain
        there = dict.fromkeys(range(len(self.links)), time.monotonic())
        while True:
            await asyncio.sleep(min(1.0, patience / 4))
            now = time.monotonic()
            for number, link in enumerate(self.links):
                if link.gnb.ready:
                    there[number] = now
                elif now - there[number] >= patience:
                    name = link.gnb.config.name
                    return f"{name} had no AMF for {patience:g} s: {link.trouble or 'no answer'}"

    # called by the event loop

    def _progressed(self, link: Link) -> None:
        """Handle activity of a gNB: send its PDUs, collect ended procedures and set the timer."""
        if self._closing:
            return
        self._take(link)
        if not self._set_up.is_set():
            self._check_set_up()
        if self._deadlines.next() < self._wake_at:
            self._arm()

    def _note_activity(self, cell: Cell) -> None:
        """Note that a cell has something to send or to report because of another cell."""
        self._active[cell] = None

    def _take(self, link: Link) -> None:
        """Collect ended procedures and send PDUs, of this gNB and of all active cells."""
        while True:
            if link.gnb.cell.ended:
                self.traffic.collect(link.gnb, time.monotonic())
            link.flush()
            if not self._active:
                return
            link = self._links_of[self._active.popitem()[0]]

    def _check_set_up(self) -> None:
        gnbs = self.gnbs
        if all(gnb.ready for gnb in gnbs) or any(gnb.interface.refused is not None for gnb in gnbs):
            self._set_up.set()

    def _arm(self) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake_at = self._deadlines.next()
        if self._wake_at < inf:
            # Not `call_at`: the clock of uvloop has milliseconds, which is too coarse for
            # latencies.
            pause = max(0.0, self._wake_at - time.monotonic())
            self._wake = self._loop.call_later(pause, self._tick)

    def _tick(self) -> None:
        """Run every timer that is due."""
        now = time.monotonic()
        self._wake_at = -inf
        self._deadlines.run(now)
        for link in self.links:
            self._take(link)
        self._arm()

    def _report(
        self,
        started_at: datetime,
        begun: float,
        seconds: float,
        *,
        cpu_seconds: float,
        cut_off: str | None,
    ) -> Report:
        recorder, gnbs, ues = self.recorder, self.gnbs, self.traffic.ues
        counts = [gnb.counts for gnb in gnbs]
        interfaces = [gnb.interface.counts for gnb in gnbs]
        return Report(
            started_at=started_at.isoformat(timespec="milliseconds"),
            seconds=seconds,
            ues=self._config.population.count,
            gnbs=len(gnbs),
            mode=str(self.links[0].mode or self._config.mode),
            cut_off=cut_off,
            procedures=procedures_of(recorder, begun),
            failed=recorder.failed_since(begun),
            violations=recorder.violations,
            violation_counts={str(k): n for k, n in sorted(recorder.violation_counts.items())},
            retransmissions=_sum(ue.record.retransmissions for ue in ues),
            phases=self.traffic.reports(time.monotonic()),
            sessions=[record for ue in ues for record in ue.records()],
            tunnels_moved=sum(ue.record.tunnels_moved for ue in ues),
            faults=_sum(gnb.fault_injector.draws.injected for gnb in gnbs),
            tolerated=_sum(
                [*(ue.record.tolerated for ue in ues), *(gnb.cell.tolerated for gnb in gnbs)]
            ),
            not_understood=_sum(ue.record.statuses for ue in ues),
            not_understood_tolerated=_sum(ue.record.statuses_tolerated for ue in ues),
            error_indications=_sum(c.errors for c in counts),
            rejects=_sum(ue.record.rejects for ue in ues),
            sessions_lost=sum(ue.record.sessions_lost for ue in ues),
            sessions_released=sum(ue.record.sessions_released for ue in ues),
            congested=sum(ue.record.congested for ue in ues),
            configured=sum(ue.record.configured for ue in ues),
            deregistered=sum(ue.record.deregistered for ue in ues),
            reconfigured=sum(c.reconfigured for c in interfaces),
            pagings=sum(c.pagings for c in counts),
            paged=sum(c.paged for c in counts),
            duplicates=sum(ue.channel.duplicates for ue in ues),
            repeated_contexts=sum(gnb.cell.repeated_contexts for gnb in gnbs),
            undelivered=sum(gnb.cell.undelivered for gnb in gnbs),
            reassociations=sum(max(0, link.associations - 1) for link in self.links),
            ng_setups=sum(c.setups for c in interfaces),
            error_indications_sent=sum(c.error_indications_sent for c in counts),
            error_indications_received=sum(c.error_indications_received for c in counts),
            resets_received=sum(c.resets_received for c in interfaces),
            overload_starts=sum(c.overload_starts for c in interfaces),
            overload_stops=sum(c.overload_stops for c in interfaces),
            held=sum(gnb.cell.admission.refused for gnb in gnbs),
            blocked_arrivals=self.traffic.blocked,
            ngap_sent=sum(c.sent for c in counts),
            ngap_received=sum(c.received for c in counts),
            cpu_seconds=cpu_seconds,
        )


def _sum(counts: Iterable[Mapping[Any, int]]) -> dict[str, int]:
    """Return the sums of counts by name."""
    total = Counter[str]()
    for one in counts:
        for name, count in one.items():
            total[str(name)] += count
    return dict(sorted(total.items()))


def connector_of(config: LoadConfig) -> Connector:
    """Return the function that opens the associations of a run."""

    async def connect_gnb(handler: Handler) -> Transport:
        return await connect(
            config.mode,
            config.host,
            config.port,
            handler,
            udp_port=config.udp_port,
            local_host=config.local_host,
        )

    return connect_gnb


async def run(
    config: LoadConfig,
    connector: Connector | None = None,
    *,
    downlink_data: DownlinkData | None = None,
    downlink_tunnel: DownlinkTunnel = no_downlink_tunnel,
) -> Report:
    """Run a load, write the outputs that `config` names, and return the report.

    Args:
        config: the load.
        connector: opens an association; by default with SCTP as `config` says.
        downlink_data: called in the loop with the address of a PDU session; makes the UPF receive
            data for it. A programme with ``page`` needs it.
        downlink_tunnel: returns where the UPF sends data for an address, to check handovers.

    Raises:
        ConfigError: the configuration is invalid, or an output cannot be written.
        LoadError: the gNBs cannot be set up with the AMF.
    """
    config.check()
    if downlink_data is None and config.pages:
        raise ConfigError("page needs downlink data, but this load has no UPF to send it")
    capture = None if config.capture is None else Capture(config.capture)
    try:
        driver = Driver(
            config,
            connector or connector_of(config),
            capture,
            downlink_data or no_downlink_data,
            downlink_tunnel,
        )
        report = await driver.run()
    finally:
        if capture is not None:
            capture.close()
    if config.json is not None:
        report.save(config.json)
    if config.plot is not None:
        save_plot(report, driver.recorder, config.plot)
    if config.table:
        print_tables(report)
    return report


__all__ = ["ConfigError", "LoadError", "connector_of", "run"]
