"""Domain events in the AsyncAPI document: the events that `evcore announce` sends by HTTP POST."""

from typing import Any, Final

from schemas.cloudevents import SPECVERSION
from schemas.domain import DATA, JSON_MEDIA_TYPE, PREFIX, SCHEMA_OF, DomainType

_ATTRIBUTES: Final = {
    "ce-specversion": ("CloudEvents version", {"const": SPECVERSION}),
    "ce-id": (
        "<aggregate>/<seq>/<index>/<type>: the same if the event is sent again",
        {"type": "string"},
    ),
    "ce-source": ("/amf/<name of the AMF>", {"type": "string"}),
    "ce-subject": ("SUPI, Global RAN node ID or Node ID", {"type": "string"}),
    "ce-time": ("The time of the event", {"type": "string", "format": "date-time"}),
    "ce-partitionkey": ("The aggregate; its events are in order", {"type": "string"}),
    "ce-sequence": ("Its position in the aggregate, in the order of text", {"type": "string"}),
    "ce-traceparent": ("W3C trace context", {"type": "string"}),
}
_OPTIONAL: Final = ("ce-subject", "ce-traceparent")


def messages() -> dict[str, Any]:
    """Return the messages by their names in the document."""
    return {_short(kind): _message(kind) for kind in DomainType}


def channels() -> dict[str, Any]:
    """Return the channel by its name in the document."""
    return {
        "domain": {
            "address": None,
            "description": "HTTP, to the sink of `evcore announce`, as the ingress of a Knative "
            "Broker. At least once; in order for one partitionkey. Events that the sink "
            "refuses are stored in the JetStream stream EVCORE_DEAD, subject "
            "dead.announce.<announcer>.",
            "messages": {
                name: {"$ref": f"#/components/messages/{name}"} for name in sorted(messages())
            },
        }
    }


def operations() -> dict[str, Any]:
    """Return the operation by its name in the document."""
    return {
        "announce": {
            "action": "send",
            "channel": {"$ref": "#/channels/domain"},
            "summary": "The announcer sends domain events to subscribers",
        }
    }


def _short(kind: DomainType) -> str:
    return "domain-" + kind.removeprefix(PREFIX).replace(".", "-")


def _message(kind: DomainType) -> dict[str, Any]:
    return {
        "name": str(kind),
        "contentType": JSON_MEDIA_TYPE,
        "headers": {
            "type": "object",
            "required": ["ce-type", *(name for name in _ATTRIBUTES if name not in _OPTIONAL)],
            "properties": {
                "ce-type": {"description": "The type of the event", "const": str(kind)},
                **{
                    name: {"description": text, **value}
                    for name, (text, value) in _ATTRIBUTES.items()
                },
            },
        },
        "payload": {
            "schemaFormat": "application/schema+json;version=draft-2020-12",
            "schema": {"$ref": f"./{SCHEMA_OF[DATA[kind]]}.schema.json"},
        },
    }
