"""A domain event as an HTTP request: CloudEvents 1.0 in binary mode.

| attribute | |
|---|---|
| `id` | `<aggregate>/<seq>/<index of the event in the step>/<type>` |
| `source` | `/amf/<name>`: the core, by the name of its AMF |
| `subject` | SUPI, Global RAN node ID or Node ID; omitted for an unidentified UE |
| `time` | the time of the step |
| `partitionkey` | the aggregate; events with the same value are in order |
| `sequence` | the position in the aggregate; it sorts as text |
| `traceparent` | of the event that caused the step, if it has one |
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from eventing.cloudevents import http_binding
from functions.announcer import node_facts, ue_facts
from functions.announcer.ue_facts import Fact
from schemas.aggregates import UNIDENTIFIED
from schemas.domain import JSON_MEDIA_TYPE, PREFIX, DomainType, FunctionFailedData
from schemas.step import Step
from statestore.log import Aggregate


class Announcement(NamedTuple):
    """A domain event, ready to be sent."""

    aggregate: str
    id: str
    type: DomainType
    headers: dict[str, str]
    body: bytes


def announcements(aggregate: Aggregate, step: Step[Any], source: str) -> Iterator[Announcement]:
    """Return the domain events of a step, in order, and move `aggregate` past the step.

    `source` is the `source` attribute of all events of this core.
    """
    kind, name = aggregate.kind, aggregate.name
    state = aggregate.state
    for index, event in enumerate(step.events):
        after = kind.evolve(state, event)
        for fact in _facts(name, state, event, after, step.events[index + 1 :]):
            yield _announcement(name, step, index, fact, source)
        state = after
    if step.poisoned:
        failed = FunctionFailedData(name, step.seq, step.procedure, step.code)
        fact = (DomainType.FUNCTION_FAILED, failed)
        yield _announcement(name, step, len(step.events), fact, source)
    aggregate.state, aggregate.seq = state, step.seq


def _facts(name: str, before: Any, event: Any, after: Any, rest: tuple[Any, ...]) -> Iterator[Fact]:
    kind, _, key = name.partition("/")
    match kind:
        case "gnb":
            return node_facts.of_gnb(key, before, event, after)
        case "upf":
            return node_facts.of_upf(key, before, event, after)
        case _:
            return ue_facts.facts(_supi(name), before, event, after, rest)


def _supi(name: str) -> str:
    return "" if name.startswith(UNIDENTIFIED) else name.partition("/")[2]


def _announcement(name: str, step: Step[Any], index: int, fact: Fact, source: str) -> Announcement:
    kind, data = fact
    identity = f"{name}/{step.seq}/{index}/{kind.removeprefix(PREFIX)}"
    time = datetime.fromtimestamp(step.at / 1000, UTC)
    attributes: dict[str, Any] = {
        "id": identity,
        "source": source,
        "type": str(kind),
        "time": time,
        "partitionkey": name,
        "sequence": f"{step.seq:010}-{index:03}",
        "datacontenttype": JSON_MEDIA_TYPE,
    }
    if not name.startswith(UNIDENTIFIED):
        attributes["subject"] = name.partition("/")[2]
    if step.trigger.traceparent:
        attributes["traceparent"] = step.trigger.traceparent
    headers = http_binding.binary_headers(attributes)
    # Always with milliseconds, so that times sort as text. The SDK omits zeros.
    headers["ce-time"] = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Announcement(name, identity, kind, headers, msgspec.json.encode(data))
