"""Outputs of a step as CloudEvents. A repetition produces the same events."""

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import msgpack
from msgspec.structs import replace

from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.jetstream import messages as timers
from eventing.jetstream.downlinks import Downlinks
from eventing.jetstream.messages import Addressed, Outgoing, addressed, gathered, outgoing
from functions.runtime import fan_out, wakes
from functions.runtime.lookups import Coverage
from functions.runtime.pace import Pace
from functions.runtime.wakes import SharedWakes, wake_up
from schemas.aggregates import slot_of_aggregate
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    NGAP_MEDIA_TYPE,
    PFCP_MEDIA_TYPE,
    CloudEvent,
    EventType,
    FanOutDue,
    TimersDue,
)
from schemas.gmm.events import DownlinkCounted
from schemas.identity import partition_of
from schemas.step import (
    FanOut,
    FanOutSessions,
    HandOff,
    Page,
    SendNgap,
    SendPfcp,
    Step,
    Wake,
)
from schemas.ue.waking import FINE
from statestore.contract import StoreUnavailable
from statestore.log import EventLog

log = logging.getLogger(__name__)


def event_id(aggregate: str, step: Step[Any], index: int) -> str:
    """Return the id of the event for an output of a step. It is the same for each repetition."""
    return f"{aggregate}/{step.seq}/{index}"


class Leaving(NamedTuple):
    """What leaves for an event for many UEs."""

    messages: list[Outgoing]
    """For JetStream, in this order."""
    then: Sequence[Addressed] = ()
    """For gateways, when JetStream has stored the messages."""


class Effects:
    """Converts the outputs of steps to events."""

    def __init__(self, events: EventLog, partitions: int) -> None:
        engine = events.engine
        self._log = events
        self._engine = engine
        self._pace = Pace()
        self._partitions = partitions
        self._coverage = Coverage(engine)
        self._wakes = SharedWakes(partitions)

    async def downlinks(self, aggregate: str, step: Step[Any]) -> list[Addressed]:
        """Return the NGAP and PFCP messages of a step for their gateways. They are sent first, for
        latency.

        They are sent once, without an answer. If the worker dies before, the redelivered trigger or
        the next worker sends those that are still due (`functions.runtime.unsent`).
        """
        found: list[Addressed] = []
        for index, output in enumerate(step.outputs):
            if isinstance(output, SendNgap):
                identifier = event_id(aggregate, step, index)
                event = _ngap(identifier, aggregate, step, output.gnb, output.pdu)
                counts = [e.nas_count for e in step.events if isinstance(e, DownlinkCounted)]
                counted = nats_binding.counted(counts[0], counts[-1]) if counts else ""
                subject = subjects.downlink(output.gnb, output.association)
                found.append(Addressed(subject, event, counted))
            elif isinstance(output, SendPfcp):
                event = _pfcp(event_id(aggregate, step, index), aggregate, step, output)
                found.append(Addressed(subjects.n4(output.upf), event))
            elif isinstance(output, Page):
                found += await self._pages(
                    event_id(aggregate, step, index), aggregate, step, output
                )
        return found

    async def _pages(
        self, identifier: str, aggregate: str, step: Step[Any], page: Page
    ) -> list[Addressed]:
        """Return a PAGING for each gNB that serves one of its tracking areas."""
        found: list[Addressed] = []
        try:
            for gnb, association in await self._coverage.of(page.tais):
                one = f"{identifier}/{gnb}/{association}"
                event = _ngap(one, aggregate, step, gnb, page.pdu)
                found.append(Addressed(subjects.downlink(gnb, association), event))
        except StoreUnavailable as err:
            log.warning("%s: the UE is not paged: %s", identifier, err)
        return found

    def queued(self, aggregate: str, step: Step[Any], wake: str = "") -> list[Outgoing]:
        """Return the wake-ups and hand-offs of a step, for JetStream, and the events for the first
        pages of its fan-outs.

        Of several wake-ups only the last is sent, because it replaces the others. A wake-up in the
        near future gets its own message in addition to a shared one. `wake` is the index entry of
        the UE's shared wake-up, if the step wrote one (`Job.wake`). Call `stored` when JetStream
        has the messages.
        """
        messages: list[Outgoing] = []
        if wake:
            shared = self._wakes.schedule(f"{aggregate}/{step.seq}/wake", aggregate, wake)
            if shared is not None:
                messages.append(shared)
        last = max((i for i, o in enumerate(step.outputs) if isinstance(o, Wake)), default=-1)
        for index, output in enumerate(step.outputs):
            if isinstance(output, Wake):
                soon = output.at < step.at + FINE
                if (wake and not soon) or index != last:
                    continue
                identifier = event_id(aggregate, step, index)
                slot = slot_of_aggregate(aggregate, step.trigger.slot or 0)
                source = f"/{aggregate}"
                event = wake_up(identifier, source, aggregate, output.procedure, slot, output.at)
                messages.append(timers.schedule(event, aggregate, output.at, self._partitions))
            elif isinstance(output, HandOff):
                event = CloudEvent(
                    id=event_id(aggregate, step, index),
                    source=f"/{aggregate}",
                    type=output.type,
                    partitionkey=output.partitionkey,
                    data=output.data,
                    datacontenttype=MSGPACK_MEDIA_TYPE,
                    procedure=output.procedure,
                    slot=output.slot,
                    traceparent=step.trigger.traceparent,
                    position=step.trigger.position,
                )
                messages.append(outgoing(event, self._partitions))
            elif isinstance(output, FanOut | FanOutSessions):
                due = FanOutDue(aggregate, step.seq, index)
                slot = partition_of(slot_of_aggregate(aggregate, 0), self._partitions)
                event = fan_out.due_event(due, output, slot)
                messages.append(outgoing(event, self._partitions))
        return messages

    def stored(self, messages: Sequence[Outgoing]) -> None:
        """Record that JetStream has these messages of `queued`."""
        self._wakes.stored(messages)

    async def page(self, event: CloudEvent, waited: float) -> Leaving:
        """Return the events of a page, with the event for the next one behind them.

        `event` is a TIMERS_DUE or a FAN_OUT that has waited for some seconds. If it is not the turn
        of the page, return only the same event, scheduled for that time. Each UE processes an event
        once, so a page may be published again after a crash.

        Raises:
            StoreError: the page cannot be read.
        """
        self._pace.learn(waited)
        if event.type == EventType.TIMERS_DUE:
            return await self._wake_ups(event)
        return await self._fan_out(event)

    async def _wake_ups(self, event: CloudEvent) -> Leaving:
        """Return a page of the wake-ups for the UEs that share a TIMERS_DUE. The first page does
        not wait for a turn: most have one page only."""
        due = msgpack.decode(event.data, type=TimersDue)
        if due.after and not due.in_turn:
            wait, granted = self._pace.turn()
            if wait:
                later = wakes.next_page(event, due.after, in_turn=granted)
                return Leaving([self._scheduled(later, due.first, wait)])
        recipients = wakes.recipients_of(event, self._partitions)
        page = await fan_out.read_page(self._engine, recipients, due.after)
        following = [wakes.next_page(event, page.after)] if page.after else []
        return Leaving(self._messages(page.events, following))

    async def _fan_out(self, event: CloudEvent) -> Leaving:
        """Return a page of the events for the UEs of an association or the sessions of a UPF."""
        due = msgpack.decode(event.data, type=FanOutDue)
        step = await self._log.step(due.aggregate, due.seq)
        output = step.outputs[due.index] if step and due.index < len(step.outputs) else None
        if step is None or not isinstance(output, FanOut | FanOutSessions):
            log.error("%s: the log has no such output", event.id)
            return Leaving([])
        slot = event.slot or 0
        if not due.in_turn:
            wait, granted = self._pace.turn()
            if wait:
                later = fan_out.due_event(replace(due, in_turn=granted), output, slot)
                return Leaving([self._scheduled(later, _output_id(due), wait)])
        recipients = fan_out.recipients_of(due.aggregate, _output_id(due), output)
        page = await fan_out.read_page(self._engine, recipients, due.after)
        if page.after:
            # The pages pass through the queues of all partitions in turn.
            slot = (partition_of(slot, self._partitions) + 1) % self._partitions
            following = replace(due, after=page.after, in_turn=False)
            return Leaving(
                self._messages(page.events, [fan_out.due_event(following, output, slot)])
            )
        last = await self.downlinks(due.aggregate, step) if responds_last(step) else []
        return Leaving(self._messages(page.events, []), last)

    def _scheduled(self, event: CloudEvent, name: str, wait: float) -> Outgoing:
        at = int((time.time() + wait) * 1000)
        return timers.schedule(event, f"{fan_out.SCHEDULED}{name}", at, self._partitions)

    def _messages(
        self, events: Iterable[CloudEvent], following: Iterable[CloudEvent]
    ) -> list[Outgoing]:
        page = gathered(addressed(event, self._partitions) for event in events)
        return [*page, *(outgoing(event, self._partitions) for event in following)]


async def send_downlinks(
    downlinks: Downlinks, effects: Effects, done: Iterable[tuple[str, Step[Any]]]
) -> None:
    """Send the NGAP and PFCP messages of steps to their gateways, in order.

    Messages for one gNB or UPF are sent together.
    """
    leaving: list[Addressed] = []
    paging = False
    for aggregate, step in done:
        if not paging and any(isinstance(output, Page) for output in step.outputs):
            paging = True
            # Earlier messages do not wait for the lookup of the gNBs.
            await downlinks.send(leaving)
            leaving = []
        leaving += await effects.downlinks(aggregate, step)
    await downlinks.send(leaving)


def responds_last(step: Step[Any]) -> bool:
    """Whether the outputs of a step must be sent after the events for its UEs.

    NG RESET ACKNOWLEDGE must (TS 38.413 8.7.4.2.2), and every response on an association whose UEs
    are released. A response to a UPF is sent first: the UPF must be associated before its sessions
    are restored.
    """
    lost = {output.association for output in step.outputs if isinstance(output, FanOut)}
    return any(isinstance(o, SendNgap) and o.association in lost for o in step.outputs)


def _output_id(due: FanOutDue) -> str:
    return f"{due.aggregate}/{due.seq}/{due.index}"


def _pfcp(identifier: str, aggregate: str, step: Step[Any], output: SendPfcp) -> CloudEvent:
    return CloudEvent(
        id=identifier,
        source=f"/{aggregate}",
        type=EventType.PFCP_DOWNLINK,
        partitionkey=output.partitionkey,
        data=output.pdu,
        datacontenttype=PFCP_MEDIA_TYPE,
        procedure=step.procedure,
        slot=output.slot,
        sequence=output.number,
        traceparent=step.trigger.traceparent,
        incarnation=output.incarnation or None,
    )


def _ngap(identifier: str, aggregate: str, step: Step[Any], gnb: str, pdu: bytes) -> CloudEvent:
    return CloudEvent(
        id=identifier,
        source=f"/{aggregate}",
        type=EventType.NGAP_DOWNLINK,
        partitionkey=gnb,
        data=pdu,
        datacontenttype=NGAP_MEDIA_TYPE,
        procedure=step.procedure,
        traceparent=step.trigger.traceparent,
    )
