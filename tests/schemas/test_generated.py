"""The JSON Schemas and the AsyncAPI document: up to date, complete, and valid for encoded
values."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from schemas import generate
from schemas.batch import BatchedEvent
from schemas.cloudevents import EventType
from schemas.domain import DATA, SCHEMA_OF, DomainType
from schemas.procedures import (
    EVENTS,
    MODULES,
    NAS_MESSAGES,
    NGAP_MESSAGES,
    PFCP_MESSAGES,
    TIMERS,
    Procedure,
)
from tests.runtime.script import lives
from tests.schemas.values import values

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
SCHEMAS = generate.json_schemas()
ASYNCAPI = generate.asyncapi()


def plain(value: Any) -> Any:
    """Return a value as a reader of its JSON sees it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def test_the_files_are_current() -> None:
    assert generate.main(["--check"]) == 0
    there = {path.name: path.read_bytes() for path in generate.HERE.glob("*")}
    assert there == generate.documents()


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_each_is_a_json_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", list(generate.SCHEMAS))
@settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_what_is_encoded_is_valid(name: str, data: st.DataObject) -> None:
    validator = Draft202012Validator(SCHEMAS[f"{name}.schema.json"])
    validator.validate(plain(data.draw(values(generate.SCHEMAS[name]))))


def test_the_steps_and_states_of_whole_lives_are_valid() -> None:
    script = lives()
    for name, steps in script.steps.items():
        kind = name.partition("/")[0]
        step = Draft202012Validator(SCHEMAS[f"{kind}-step.schema.json"])
        for one in steps:
            step.validate(plain(one))
        state = Draft202012Validator(SCHEMAS[f"{kind}-state.schema.json"])
        state.validate(plain(script.states[name]))


@pytest.mark.parametrize(
    "changes", [{"seq": "1"}, {"events": [{"event": "NoSuchEvent"}]}, {"outputs": None}]
)
def test_what_is_no_step_is_not(changes: dict[str, Any]) -> None:
    step = plain(lives(1).steps["ue/imsi-001010000000001"][0])
    validator = Draft202012Validator(SCHEMAS["ue-step.schema.json"])
    assert validator.is_valid(step)
    assert not validator.is_valid({**step, **changes})
    del step["trigger"]
    assert not validator.is_valid(step)


def references(document: object) -> list[str]:
    return re.findall(r'"\$ref":"([^"]*)"', msgspec.json.encode(document).decode())


def resolved(reference: str) -> Any:
    if reference.startswith("./"):
        return SCHEMAS[reference.removeprefix("./")]
    found: Any = ASYNCAPI
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def test_the_asyncapi_document_refers_to_what_there_is() -> None:
    for reference in references(ASYNCAPI):
        assert resolved(reference), reference


def test_the_asyncapi_document_has_every_event_and_every_attribute() -> None:
    told = ASYNCAPI["components"]["messages"].values()
    known = {"batch", "sealed", *map(str, EventType), *map(str, DomainType)}
    assert {message["name"] for message in told} == known
    messages = [message for message in told if message["name"] in set(EventType)]
    carried = {
        resolved(reference["$ref"])["name"]
        for channel in ASYNCAPI["channels"].values()
        for reference in channel["messages"].values()
    }
    # An NGAP message for a gNB is in a sealed batch, and on no channel by itself.
    assert carried == known - {EventType.NGAP_DOWNLINK}
    fields = set(generate.SCHEMAS["cloudevent"].__struct_fields__) - {"data"}
    assert fields <= set(BatchedEvent.__struct_fields__)
    for message in messages:
        headers = message["headers"]["properties"]
        assert headers.keys() == {"ce-specversion", *(f"ce-{field}" for field in fields)}
        assert headers["ce-type"]["const"] == message["name"]
    parameters = ASYNCAPI["channels"]["events"]["parameters"]
    assert set(parameters["procedure"]["enum"]) == set(Procedure)


def test_every_domain_event_has_its_schema_and_attributes() -> None:
    channel = ASYNCAPI["channels"]["domain"]["messages"].values()
    messages = {found["name"]: found for found in (resolved(m["$ref"]) for m in channel)}
    assert messages.keys() == set(map(str, DomainType))
    for kind in DomainType:
        message = messages[kind]
        assert message["headers"]["properties"]["ce-type"]["const"] == str(kind)
        assert set(message["headers"]["required"]) <= message["headers"]["properties"].keys()
        file = f"./{SCHEMA_OF[DATA[kind]]}.schema.json"
        assert message["payload"]["schema"]["$ref"] == file


def test_every_procedure_is_in_the_tables_and_every_table_names_procedures() -> None:
    assert MODULES.keys() == set(Procedure)
    tables = (NAS_MESSAGES, NGAP_MESSAGES, PFCP_MESSAGES, EVENTS, TIMERS)
    routed = {procedure for table in tables for procedure in table.values()}
    assert routed | {Procedure.RAN, Procedure.IDENTIFICATION, Procedure.UPF} == set(Procedure)
    assert EVENTS.keys() <= set(EventType)
