"""What leaves after the append: a step's outputs as CloudEvents, the same each time."""

import logging
from typing import Any

from msgspec import Struct
from nats.aio.client import Client
from nats.errors import Error as NatsError

from eventing import binding, subjects, timers
from eventing.publisher import Outgoing, Publisher
from schemas.aggregates import UNIDENTIFIED
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    NGAP_MEDIA_TYPE,
    CloudEvent,
    ConnectionLost,
    EventType,
)
from schemas.identity import index_ngap, slot_of, slot_of_amf_ue_ngap_id
from schemas.step import FanOut, HandOff, SendNgap, Step, Wake, encode
from statestore.contract import Engine

log = logging.getLogger(__name__)

FAN_OUT_PAGE = 200
"""UEs that are told at a time; the next are told when JetStream has these."""


def slot_of_aggregate(name: str, fallback: int) -> int:
    """The slot of an aggregate: that of its key, or of the connection of an unknown UE."""
    return fallback if name.startswith(UNIDENTIFIED) else slot_of(name.partition("/")[2])


def event_id(aggregate: str, step: Step[Any], index: int) -> str:
    """The id of the event that an output of a step becomes: the same each time it is sent."""
    return f"{aggregate}/{step.seq}/{index}"


class Effects(Struct, frozen=True):
    """How outputs leave."""

    client: Client
    publisher: Publisher
    engine: Engine
    partitions: int

    async def send_downlinks(self, aggregate: str, step: Step[Any]) -> None:
        """Hand the NGAP PDUs of a step to their gateways: first, for latency.

        One that does not leave is no loss: the timers of NAS and NGAP repeat it.
        """
        for index, output in enumerate(step.outputs):
            if isinstance(output, SendNgap):
                event = CloudEvent(
                    id=event_id(aggregate, step, index),
                    source=f"/{aggregate}",
                    type=EventType.NGAP_DOWNLINK,
                    partitionkey=output.gnb,
                    procedure=step.procedure,
                    datacontenttype=NGAP_MEDIA_TYPE,
                    traceparent=step.trigger.traceparent,
                )
                subject = subjects.downlink(output.gnb, output.association)
                headers = binding.to_headers(event)
                try:
                    await self.client.publish(subject, output.pdu, headers=headers)
                except NatsError as err:
                    log.warning("%s: a PDU is not sent: %s", event.id, err)

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
                messages.append(timers.schedule(event, aggregate, output.at, self.partitions))
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
                messages.append(self.publisher.outgoing(event))
        return messages

    async def fan_out(self, aggregate: str, step: Step[Any]) -> None:
        """Tell the UEs of a gNB's association that their connections are gone, page by page.

        Interrupted, it starts anew with the redelivered trigger; each UE takes it once.
        """
        for index, output in enumerate(step.outputs):
            if isinstance(output, FanOut):
                await self._tell(event_id(aggregate, step, index), aggregate, output)

    async def _tell(self, base: str, aggregate: str, output: FanOut) -> None:
        prefix = f"{output.gnb}/{output.association}/"
        named = _Named(output)
        after = ""
        while page := await self.engine.scan("gnb", prefix, after, FAN_OUT_PAGE):
            after = page[-1][0]
            messages: list[Outgoing] = []
            for key, owner in page:
                amf_id, ran_id = (int(part, 16) for part in key.removeprefix(prefix).split("/"))
                if not named(amf_id, ran_id):
                    continue
                lost = ConnectionLost(amf_id, output.reason, output.order)
                event = CloudEvent(
                    id=f"{base}/{amf_id:010x}",
                    source=f"/{aggregate}",
                    type=EventType.CONNECTION_LOST,
                    partitionkey=index_ngap(amf_id),
                    data=encode(lost),
                    datacontenttype=MSGPACK_MEDIA_TYPE,
                    procedure=output.procedure,
                    slot=slot_of_aggregate(owner, slot_of_amf_ue_ngap_id(amf_id)),
                )
                messages.append(self.publisher.outgoing(event))
            await self.publisher.publish(messages)


class _Named:
    """Whether a connection is one of those that a FanOut is for."""

    def __init__(self, output: FanOut) -> None:
        self._all = not output.amf_ue_ngap_ids and not output.ran_ue_ngap_ids
        self._amf_ids = frozenset(output.amf_ue_ngap_ids)
        self._ran_ids = frozenset(output.ran_ue_ngap_ids)

    def __call__(self, amf_ue_ngap_id: int, ran_ue_ngap_id: int) -> bool:
        return self._all or amf_ue_ngap_id in self._amf_ids or ran_ue_ngap_id in self._ran_ids
