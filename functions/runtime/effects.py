"""Outputs of a step as CloudEvents. A repetition produces the same events."""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final

from nats.aio.client import Client
from nats.errors import Error as NatsError

from eventing import subjects
from eventing.cloudevents import nats_binding
from eventing.jetstream import messages as timers
from eventing.jetstream.messages import Addressed, Outgoing, addressed, gathered, outgoing
from functions.runtime import fan_out, wakes
from functions.runtime.fan_out import Recipients
from functions.runtime.lookups import Coverage
from functions.runtime.wakes import SharedWakes, wake_up
from schemas.aggregates import slot_of_aggregate
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    NGAP_MEDIA_TYPE,
    PFCP_MEDIA_TYPE,
    CloudEvent,
    EventType,
)
from schemas.gmm.events import DownlinkCounted
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
from statestore.contract import Engine, StoreUnavailable

log = logging.getLogger(__name__)

MOST_DOWNLINKS: Final = 128
"""Maximum number of messages for one gNB or UPF in one batch."""


def event_id(aggregate: str, step: Step[Any], index: int) -> str:
    """Return the id of the event for an output of a step. It is the same for each repetition."""
    return f"{aggregate}/{step.seq}/{index}"


class Effects:
    """Converts the outputs of steps to events."""

    def __init__(self, engine: Engine, partitions: int) -> None:
        self._engine = engine
        self._partitions = partitions
        self._coverage = Coverage(engine)
        self._wakes = SharedWakes(partitions)

    async def downlinks(self, aggregate: str, step: Step[Any]) -> list[Addressed]:
        """Return the NGAP and PFCP messages of a step for their gateways. They are sent first, for
        latency.

        A lost message is no problem: the timers of NAS, NGAP and N4 repeat it.
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
        """Return the wake-ups and hand-offs of a step, for JetStream.

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
                event = wake_up(identifier, f"/{aggregate}", aggregate, output.procedure, slot)
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
                )
                messages.append(outgoing(event, self._partitions))
        return messages

    def stored(self, messages: Sequence[Outgoing]) -> None:
        """Record that JetStream has these messages of `queued`."""
        self._wakes.stored(messages)

    def wake_ups(self, event: CloudEvent) -> AsyncIterator[list[Addressed]]:
        """Yield the wake-ups of all UEs that share the wake-up of a TIMERS_DUE, page by page."""
        return self._pages_for(wakes.recipients_of(event, self._partitions))

    async def fan_out(self, aggregate: str, step: Step[Any]) -> AsyncIterator[list[Addressed]]:
        """Yield the events for the UEs of a lost association or the sessions of a lost UPF, page by
        page.

        If it is interrupted, it starts again with the redelivered trigger. Each UE processes an
        event once.
        """
        for index, output in enumerate(step.outputs):
            if isinstance(output, FanOut | FanOutSessions):
                base = event_id(aggregate, step, index)
                recipients = fan_out.recipients_of(aggregate, base, output)
                async for page in self._pages_for(recipients):
                    yield page

    async def _pages_for(self, recipients: Recipients) -> AsyncIterator[list[Addressed]]:
        async for page in fan_out.events_of(self._engine, recipients):
            yield [addressed(event, self._partitions) for event in page]


async def send_downlinks(
    client: Client, effects: Effects, done: Iterable[tuple[str, Step[Any]]]
) -> None:
    """Send the NGAP and PFCP messages of steps to their gateways, in order.

    Messages for one gNB or UPF are sent together.
    """
    leaving: list[Addressed] = []
    paging = False
    for aggregate, step in done:
        if not paging and any(isinstance(output, Page) for output in step.outputs):
            paging = True
            await _send(client, leaving)  # earlier messages do not wait for the lookup of the gNBs
            leaving = []
        leaving += await effects.downlinks(aggregate, step)
    await _send(client, leaving)


async def _send(client: Client, leaving: Sequence[Addressed]) -> None:
    for subject, data, headers in gathered(leaving, str, MOST_DOWNLINKS):
        try:
            await client.publish(subject, data, headers=headers)
        except NatsError as err:
            log.warning("%s: messages are not sent: %s", subject, err)


def fans_out(step: Step[Any]) -> bool:
    """Whether a step has events for many UEs."""
    return any(isinstance(output, FanOut | FanOutSessions) for output in step.outputs)


def responds_last(step: Step[Any]) -> bool:
    """Whether the outputs of a step must be sent after the events for its UEs (TS 38.413
    8.7.4.2.2).

    A response to a UPF is sent first: the UPF must be associated before its sessions are restored.
    """
    return any(isinstance(output, FanOut) for output in step.outputs)


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
