"""Domain events in the AsyncAPI document: what `evcore announce` POSTs."""

from typing import Any, Final

from schemas.cloudevents import SPECVERSION
from schemas.domain import DATA, JSON_MEDIA_TYPE, PREFIX, SCHEMA_OF, DomainType

_ATTRIBUTES: Final = {
    "ce-specversion": ("CloudEvents version", {"const": SPECVERSION}),
    "ce-id": (
        "<aggregate>/<seq>/<index>/<what it is>: the same whenever the event is sent",
        {"type": "string"},
    ),
    "ce-source": ("/amf/<name of the AMF>", {"type": "string"}),
    "ce-subject": ("SUPI, Global RAN node ID or Node ID", {"type": "string"}),
    "ce-time": ("When it happened", {"type": "string", "format": "date-time"}),
    "ce-partitionkey": ("The aggregate; its events are in order", {"type": "string"}),
    "ce-sequence": ("Its place in the aggregate, in the order of text", {"type": "string"}),
    "ce-traceparent": ("W3C trace context", {"type": "string"}),
}
_OPTIONAL: Final = ("ce-subject", "ce-traceparent")


def messages() -> dict[str, Any]:
    """The messages, by their names in the document."""
    return {_short(kind): _message(kind) for kind in DomainType}


def channels() -> dict[str, Any]:
    """The channel, by its name in the document."""
    return {
        "domain": {
            "address": None,
            "description": "HTTP, to the sink of `evcore announce`, as the ingress of a Knative "
            "Broker. At least once; in order for one partitionkey. What the sink refuses is kept "
            "in the JetStream stream EVCORE_DEAD, subject dead.announce.<announcer>.",
            "messages": {
                name: {"$ref": f"#/components/messages/{name}"} for name in sorted(messages())
            },
        }
    }


def operations() -> dict[str, Any]:
    """The operation, by its name in the document."""
    return {
        "announce": {
            "action": "send",
            "channel": {"$ref": "#/channels/domain"},
            "summary": "The announcer tells subscribers what has happened",
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
                "ce-type": {"description": "What it is", "const": str(kind)},
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
