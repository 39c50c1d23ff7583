"""What leaves after the append: a step's outputs as CloudEvents, the same each time."""

import logging
from collections.abc import AsyncIterator
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError

from eventing import binding, subjects, timers
from eventing.publisher import Outgoing, Publisher
from functions.runtime import fan_out
from functions.runtime.coverage import Coverage
from schemas.aggregates import slot_of_aggregate
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    NGAP_MEDIA_TYPE,
    PFCP_MEDIA_TYPE,
    CloudEvent,
    EventType,
)
from schemas.step import (
    FanOut,
    FanOutSessions,
    HandOff,
    Output,
    Page,
    SendNgap,
    SendPfcp,
    Step,
    Wake,
)
from statestore.contract import Engine, StoreUnavailable

log = logging.getLogger(__name__)


def event_id(aggregate: str, step: Step[Any], index: int) -> str:
    """The id of the event that an output of a step becomes: the same each time it is sent."""
    return f"{aggregate}/{step.seq}/{index}"


class Effects:
    """How outputs leave."""

    def __init__(
        self, client: Client, publisher: Publisher, engine: Engine, partitions: int
    ) -> None:
        self._client = client
        self._publisher = publisher
        self._engine = engine
        self._partitions = partitions
        self._coverage = Coverage(engine)

    async def send_downlinks(self, aggregate: str, step: Step[Any]) -> None:
        """Hand the NGAP and PFCP messages of a step to their gateways: first, for latency.

        One that does not leave is no loss: the timers of NAS, NGAP and N4 repeat it.
        """
        for index, output in enumerate(step.outputs):
            identifier = event_id(aggregate, step, index)
            try:
                async for subject, event in self._downlinks(identifier, aggregate, step, output):
                    headers = binding.to_headers(event)
                    await self._client.publish(subject, event.data, headers=headers)
            except (NatsError, StoreUnavailable) as err:
                log.warning("%s: a message is not sent: %s", identifier, err)

    async def _downlinks(
        self, identifier: str, aggregate: str, step: Step[Any], output: Output
    ) -> AsyncIterator[tuple[str, CloudEvent]]:
        """The messages for gateways that an output becomes, with their subjects."""
        match output:
            case SendNgap(gnb, association, pdu):
                event = _ngap(identifier, aggregate, step, gnb, pdu)
                yield subjects.downlink(gnb, association), event
            case Page(tais, pdu):
                for gnb, association in await self._coverage.of(tais):
                    one = f"{identifier}/{gnb}/{association}"
                    event = _ngap(one, aggregate, step, gnb, pdu)
                    yield subjects.downlink(gnb, association), event
            case SendPfcp():
                event = CloudEvent(
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
                yield subjects.n4(output.upf), event
            case _:
                pass

    def queued(self, aggregate: str, step: Step[Any]) -> list[Outgoing]:
        """The wake-ups and hand-offs of a step, for JetStream."""
        messages: list[Outgoing] = []
        for index, output in enumerate(step.outputs):
            if isinstance(output, Wake):
                event = CloudEvent(
                    id=event_id(aggregate, step, index),
                    source=f"/{aggregate}",
                    type=EventType.TIMER,
                    partitionkey=aggregate,
                    procedure=output.procedure,
                    slot=slot_of_aggregate(aggregate, step.trigger.slot or 0),
                )
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
                messages.append(self._publisher.outgoing(event))
        return messages

    async def fan_out(self, aggregate: str, step: Step[Any]) -> None:
        """Tell the UEs of a gNB's association that their connections are gone, or those of a UPF
        that their sessions are, page by page.

        Interrupted, it starts anew with the redelivered trigger; each UE takes it once.
        """
        for index, output in enumerate(step.outputs):
            if isinstance(output, FanOut | FanOutSessions):
                base = event_id(aggregate, step, index)
                async for page in fan_out.events_of(self._engine, aggregate, base, output):
                    await self._publisher.publish([self._publisher.outgoing(e) for e in page])


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
