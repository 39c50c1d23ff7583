"""`python -m schemas.generate`: write the JSON Schemas and the AsyncAPI document from the code.

The files are in schemas/generated/. With `--check`, fail if a file is not up to date.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from schemas import asyncapi_domain, cloudevents, domain
from schemas.batch import BATCH_MEDIA_TYPE, Batch
from schemas.cloudevents import (
    MSGPACK_MEDIA_TYPE,
    NGAP_MEDIA_TYPE,
    PFCP_MEDIA_TYPE,
    SPECVERSION,
    CloudEvent,
    EventType,
)
from schemas.origin import Origin
from schemas.procedures import Procedure
from schemas.ran import Gnb, GnbEvent
from schemas.step import Output, Step
from schemas.subscriber import Subscriber
from schemas.ue.events import UeEvent
from schemas.ue.state import Ue
from schemas.upf import Upf, UpfEvent
from schemas.version import VERSION

HERE: Final = Path(__file__).parent / "generated"

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

SCHEMAS: Final[dict[str, Any]] = {
    "ue-state": Ue,
    "ue-event": UeEvent,
    "ue-step": Step[UeEvent],
    "gnb-state": Gnb,
    "gnb-event": GnbEvent,
    "gnb-step": Step[GnbEvent],
    "upf-state": Upf,
    "upf-event": UpfEvent,
    "upf-step": Step[UpfEvent],
    "output": Output,
    "subscriber": Subscriber,
    "cloudevent": CloudEvent,
    "association-lost": cloudevents.AssociationLost,
    "connection-lost": cloudevents.ConnectionLost,
    "identified": cloudevents.Identified,
    "unidentified": cloudevents.Unidentified,
    "upf-path": cloudevents.UpfPath,
    "upf-load-told": cloudevents.UpfLoadReported,
    "session-lost": cloudevents.SessionLost,
    "session-left": cloudevents.SessionLeft,
    "session-release": cloudevents.SessionRelease,
    "deregister": cloudevents.Deregister,
    "subscription-changed": cloudevents.SubscriptionChanged,
    "timers-due": cloudevents.TimersDue,
    "fan-out-due": cloudevents.FanOutDue,
    "batch": Batch,
    **{name: kind for kind, name in domain.SCHEMA_OF.items()},
}
"""The types with a JSON Schema, by file name."""

_DATA: Final[dict[EventType, tuple[str, str | None]]] = {
    EventType.NGAP_UPLINK: (NGAP_MEDIA_TYPE, None),
    EventType.NGAP_DOWNLINK: (NGAP_MEDIA_TYPE, None),
    EventType.ASSOCIATION_LOST: (MSGPACK_MEDIA_TYPE, "association-lost"),
    EventType.CONNECTION_LOST: (MSGPACK_MEDIA_TYPE, "connection-lost"),
    EventType.IDENTIFIED: (MSGPACK_MEDIA_TYPE, "identified"),
    EventType.UNIDENTIFIED: (MSGPACK_MEDIA_TYPE, "unidentified"),
    EventType.PFCP_UPLINK: (PFCP_MEDIA_TYPE, None),
    EventType.PFCP_DOWNLINK: (PFCP_MEDIA_TYPE, None),
    EventType.PFCP_UNANSWERED: (PFCP_MEDIA_TYPE, None),
    EventType.PFCP_ENDED: (PFCP_MEDIA_TYPE, None),
    EventType.NETWORK_CHANGED: (MSGPACK_MEDIA_TYPE, None),
    EventType.UPF_PATH: (MSGPACK_MEDIA_TYPE, "upf-path"),
    EventType.UPF_LOAD: (MSGPACK_MEDIA_TYPE, "upf-load-told"),
    EventType.SESSION_LOST: (MSGPACK_MEDIA_TYPE, "session-lost"),
    EventType.SESSION_LEFT: (MSGPACK_MEDIA_TYPE, "session-left"),
    EventType.SESSION_RELEASE: (MSGPACK_MEDIA_TYPE, "session-release"),
    EventType.DEREGISTER: (MSGPACK_MEDIA_TYPE, "deregister"),
    EventType.SUBSCRIPTION_CHANGED: (MSGPACK_MEDIA_TYPE, "subscription-changed"),
    EventType.TIMER: (MSGPACK_MEDIA_TYPE, None),
    EventType.TIMERS_DUE: (MSGPACK_MEDIA_TYPE, "timers-due"),
    EventType.FAN_OUT: (MSGPACK_MEDIA_TYPE, "fan-out-due"),
}
"""The media type of each event's data, and the schema if the data is msgpack."""

_ATTRIBUTES: Final = {
    "ce-specversion": ("CloudEvents version", {"const": SPECVERSION}),
    "ce-id": ("Unique; an aggregate processes each id once", {"type": "string"}),
    "ce-source": (
        "/n2/<gnb>/<association> or /n4/<Node ID>[,<Node ID>] of a gateway, /<aggregate> of a step",
        {"type": "string"},
    ),
    "ce-type": ("The type of the event", {"enum": [str(kind) for kind in EventType]}),
    "ce-partitionkey": (
        "imsi-..., {ngap,tmsi,seid,gnb,conn}-<that identity>, wakes-<...>, or an aggregate's name",
        {"type": "string"},
    ),
    "ce-datacontenttype": ("Media type of the payload", {"type": "string"}),
    "ce-procedure": (
        "The procedure that processes the event, or that sent a downlink message",
        {"enum": [str(procedure) for procedure in Procedure]},
    ),
    "ce-slot": ("Slot of the aggregate, 0 to 1023", {"type": "string", "pattern": "^[0-9]+$"}),
    "ce-sequence": (
        "Position of an uplink message on its N2 connection, from 0; number of a request on N4",
        {"type": "string", "pattern": "^[0-9]+$"},
    ),
    "ce-traceparent": ("W3C trace context", {"type": "string"}),
    "ce-position": (
        "Place in the order of the UE, if published again: sequence, index, time of storage in ms",
        {"type": "string", "pattern": "^[0-9]+[.][0-9]+[.][0-9]+$"},
    ),
    "ce-incarnation": (
        "Recovery Time Stamp of the UPF that a request is for, or that has ended it",
        {"type": "string", "pattern": "^[0-9]+$"},
    ),
}
_REQUIRED: Final = ("ce-specversion", "ce-id", "ce-source", "ce-type", "ce-partitionkey")


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas by file name."""
    return {
        f"{name}.schema.json": {"$schema": DIALECT, **msgspec.json.schema(kind)}
        for name, kind in SCHEMAS.items()
    }


def asyncapi() -> dict[str, Any]:
    """Return the AsyncAPI 3 document of the bus."""
    channels = {**_channels(), **asyncapi_domain.channels()}
    messages = {_short(kind): _message(kind) for kind in EventType}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "evcore",
            "version": VERSION,
            "description": "CloudEvents 1.0 in binary mode, or several in a batch: on NATS, "
            "between gateways and procedure functions; over HTTP, domain events for a Knative "
            "Broker. Generated by `python -m schemas.generate`.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": MSGPACK_MEDIA_TYPE,
        "channels": channels,
        "operations": {**_operations(), **asyncapi_domain.operations()},
        "components": {
            "messages": {
                **messages,
                "batch": _batch(),
                "sealed": _SEALED,
                **asyncapi_domain.messages(),
            }
        },
    }


def _short(kind: EventType) -> str:
    return kind.name.lower().replace("_", "-")


def _message(kind: EventType) -> dict[str, Any]:
    media_type, schema = _DATA[kind]
    message: dict[str, Any] = {
        "name": str(kind),
        "contentType": media_type,
        "headers": {
            "type": "object",
            "required": list(_REQUIRED),
            "properties": {
                name: {
                    "description": text,
                    **({"const": str(kind)} if name == "ce-type" else value),
                }
                for name, (text, value) in _ATTRIBUTES.items()
            },
        },
    }
    if schema is not None:
        message["payload"] = _payload(schema)
    return message


_SEALED: Final[dict[str, Any]] = {
    "name": "sealed",
    "summary": "A batch of ngap-downlink events, sealed for one association",
    "description": "1 octet version, 16 sender, 12 number, then AES-256-GCM of the batch; the key "
    "is derived from the key of the 5G-TMSIs and the sender. No headers.",
    "contentType": "application/vnd.evcore.sealed",
}


def _batch() -> dict[str, Any]:
    return {
        "name": "batch",
        "summary": "Several events for one consumer, one association or one UPF",
        "contentType": BATCH_MEDIA_TYPE,
        "headers": {
            "type": "object",
            "required": ["Content-Type"],
            "properties": {"Content-Type": {"const": BATCH_MEDIA_TYPE}},
        },
        "payload": _payload("batch"),
    }


def _payload(schema: str) -> dict[str, Any]:
    return {
        "schemaFormat": "application/schema+json;version=draft-2020-12",
        "schema": {"$ref": f"./{schema}.schema.json"},
    }


def _channels() -> dict[str, Any]:
    n4 = {EventType.PFCP_DOWNLINK}
    events = set(EventType) - {EventType.NGAP_DOWNLINK} - n4
    parameters = {
        "partition": {"description": "slot modulo the number of partitions"},
        "procedure": {"enum": [str(procedure) for procedure in Procedure]},
        "origin": {
            "description": "the kind of process that may send the event",
            "enum": [str(origin) for origin in Origin],
        },
        "slot": {"description": "crc32 of the SUPI, or of another key, modulo 1024"},
    }
    return {
        "events": {
            "address": "ue.{partition}.{procedure}.{origin}.{slot}",
            "description": "JetStream work-queue stream EVCORE; a durable pull consumer for each "
            "procedure and partition. A batch is on the subject of its first event.",
            "parameters": parameters,
            "messages": _references(events, batch=True),
        },
        "timers": {
            "address": "timer.{partition}.{slot}.{aggregate}",
            "description": "JetStream scheduled messages: the pending wake-up of an aggregate "
            "(a later one replaces it), one that the UEs of a partition share, or a page of events "
            "for many UEs that waits for its turn.",
            "parameters": {
                **{name: parameters[name] for name in ("partition", "slot")},
                "aggregate": {
                    "description": "name of the aggregate, wakes-... or page-..., as one token"
                },
            },
            "messages": _references({EventType.TIMER, EventType.TIMERS_DUE, EventType.FAN_OUT}),
        },
        "downlink": {
            "address": "n2.{gnb}.{association}",
            "description": "Core NATS, to the gateway that has the association.",
            "parameters": {
                "gnb": {"description": "Global RAN node ID"},
                "association": {"description": "the gateway's name of the SCTP association"},
            },
            "messages": {"sealed": {"$ref": "#/components/messages/sealed"}},
        },
        "n4": {
            "address": "n4.{upf}",
            "description": "Core NATS, to one of the gateways that serve the UPF.",
            "parameters": {"upf": {"description": "Node ID as one token"}},
            "messages": _references(n4, batch=True),
        },
        "dead": {
            "address": "dead.ue.{partition}.{procedure}.{slot}",
            "description": "JetStream stream EVCORE_DEAD: events without deliveries left, with "
            "the reason in the header evcore-reason.",
            "parameters": parameters,
            "messages": _references(events),
        },
    }


def _references(kinds: set[EventType], *, batch: bool = False) -> dict[str, Any]:
    names = sorted([_short(kind) for kind in kinds] + (["batch"] if batch else []))
    return {name: {"$ref": f"#/components/messages/{name}"} for name in names}


def _operations() -> dict[str, Any]:
    def operation(action: str, channel: str, summary: str) -> dict[str, Any]:
        return {
            "action": action,
            "channel": {"$ref": f"#/channels/{channel}"},
            "summary": summary,
        }

    return {
        "publishUplink": operation("send", "events", "A gateway publishes received messages"),
        "takeEvents": operation("receive", "events", "A worker pulls the events of its partitions"),
        "scheduleWakeUp": operation("send", "timers", "A step schedules a wake-up"),
        "sendDownlink": operation("send", "downlink", "A step sends a PDU to a gNB"),
        "takeDownlink": operation("receive", "downlink", "A gateway sends PDUs to its gNBs"),
        "sendN4": operation("send", "n4", "A step sends a message to a UPF"),
        "takeN4": operation("receive", "n4", "A gateway sends messages to its UPFs"),
        "bury": operation("send", "dead", "A worker stores an event that it cannot process"),
    }


def documents() -> dict[str, bytes]:
    """Return every generated file by name."""
    found = {**json_schemas(), "asyncapi.json": asyncapi()}
    return {
        name: msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
        for name, document in found.items()
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m schemas.generate", description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    generated = documents()
    HERE.mkdir(exist_ok=True)
    existing = {path.name for path in HERE.glob("*.json")}
    if options.check:
        stale = sorted(
            name
            for name in existing | generated.keys()
            if name not in existing
            or name not in generated
            or (HERE / name).read_bytes() != generated[name]
        )
        for name in stale:
            sys.stderr.write(f"schemas/generated/{name} is not up to date: run `make schemas`\n")
        return 1 if stale else 0
    for name in existing - generated.keys():
        (HERE / name).unlink()
    for name, octets in generated.items():
        (HERE / name).write_bytes(octets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
