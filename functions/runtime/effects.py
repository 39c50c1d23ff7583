"""What leaves after the append: a step's outputs as CloudEvents, the same each time."""

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
from functions.runtime.fan_out import Audience
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
"""Messages for one gNB or UPF that leave together, at most."""


def event_id(aggregate: str, step: Step[Any], index: int) -> str:
    """The id of the event that an output of a step becomes: the same each time it is sent."""
    return f"{aggregate}/{step.seq}/{index}"


class Effects:
    """What outputs become."""

    def __init__(self, engine: Engine, partitions: int) -> None:
        self._engine = engine
        self._partitions = partitions
        self._coverage = Coverage(engine)
        self._wakes = SharedWakes(partitions)

    async def downlinks(self, aggregate: str, step: Step[Any]) -> list[Addressed]:
        """The NGAP and PFCP messages of a step, for their gateways: first, for latency.

        One that does not leave is no loss: the timers of NAS, NGAP and N4 repeat it.
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
        """A PAGING for each gNB that serves a tracking area of it."""
        found: list[Addressed] = []
        try:
            for gnb, association in await self._coverage.of(page.tais):
                one = f"{identifier}/{gnb}/{association}"
                event = _ngap(one, aggregate, step, gnb, page.pdu)
                found.append(Addressed(subjects.downlink(gnb, association), event))
        except StoreUnavailable as err:
            log.warning("%s: nobody is paged: %s", identifier, err)
        return found

    def queued(self, aggregate: str, step: Step[Any], wake: str = "") -> list[Outgoing]:
        """The wake-ups and hand-offs of a step, for JetStream. Of several wake-ups the last takes
        the place of the others, so it is the only one that is sent. What is to be at once has a
        message of its own, beside that which it shares.

        `wake` is the index entry of a wake-up that the UE shares with others, where the step has
        written one (`Job.wake`). What is returned is told to `kept` once JetStream has it.
        """
        messages: list[Outgoing] = []
        if wake:
            shared = self._wakes.ask(f"{aggregate}/{step.seq}/wake", aggregate, wake)
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

    def kept(self, messages: Sequence[Outgoing]) -> None:
        """JetStream has these messages of `queued`."""
        self._wakes.kept(messages)

    def woken(self, event: CloudEvent) -> AsyncIterator[list[Addressed]]:
        """What wakes those that share the wake-up of a TIMERS_DUE, page by page."""
        return self._pages_for(wakes.audience_of(event, self._partitions))

    async def fan_out(self, aggregate: str, step: Step[Any]) -> AsyncIterator[list[Addressed]]:
        """What tells the UEs of a gNB's association that their connections are gone, or those of a
        UPF that their sessions are, page by page.

        Interrupted, it starts anew with the redelivered trigger; each UE takes it once.
        """
        for index, output in enumerate(step.outputs):
            if isinstance(output, FanOut | FanOutSessions):
                base = event_id(aggregate, step, index)
                audience = fan_out.audience_of(aggregate, base, output)
                async for page in self._pages_for(audience):
                    yield page

    async def _pages_for(self, audience: Audience) -> AsyncIterator[list[Addressed]]:
        async for page in fan_out.events_of(self._engine, audience):
            yield [addressed(event, self._partitions) for event in page]


async def send_downlinks(
    client: Client, effects: Effects, done: Iterable[tuple[str, Step[Any]]]
) -> None:
    """Hand the NGAP and PFCP messages of some aggregates' steps to their gateways, in their order:
    those for one gNB or UPF together."""
    leaving: list[Addressed] = []
    paging = False
    for aggregate, step in done:
        if not paging and any(isinstance(output, Page) for output in step.outputs):
            paging = True
            await _send(client, leaving)  # what is there does not wait for who is to be paged
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
    """Whether a step tells many UEs something."""
    return any(isinstance(output, FanOut | FanOutSessions) for output in step.outputs)


def answers_last(step: Step[Any]) -> bool:
    """Whether what a step says is an answer for UEs that are to be told first (TS 38.413
    8.7.4.2.2). A UPF is answered before: it is to be associated when its sessions come back."""
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
