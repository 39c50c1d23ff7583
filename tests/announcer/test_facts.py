"""The domain events of real logs: the recorded histories and random sequences."""

import base64
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec import structs

from eventing.cloudevents import http_binding
from schemas import domain, generate, upf
from schemas.aggregates import kind_of
from schemas.cloudevents import CloudEvent, EventType
from schemas.domain import DATA, PREFIX, SCHEMA_OF, DomainType
from schemas.step import Step
from schemas.ue import events as ue_events
from schemas.ue.state import Ue
from tests.announcer.ledger import Ledger
from tests.announcer.told import Told, told
from tests.conformance.playing import play
from tests.conformance.sequences import draw
from tests.evcore.recording import played, record
from tests.functions.world import GNB, UPF
from tests.histories import history
from tests.histories import record as recordings

HISTORIES = {f"{path.parent.name}/{path.stem}": path for path in history.files()}
SUPI = "imsi-001010000000001"


@cache
def steps(name: str) -> tuple[tuple[str, Step[Any]], ...]:
    return tuple((found.aggregate, found.step()) for found in history.read(HISTORIES[name]).steps)


def of(name: str) -> list[Told]:
    return told(steps(name))


def of_now(scenario: str) -> list[Told]:
    """Return the domain events of a scenario as this version records it."""
    return of(f"{recordings.folder().name}/{scenario}")


def test_the_life_of_a_ue_is_told() -> None:
    found = [one for one in told(played().order) if one.event.aggregate == f"ue/{SUPI}"]
    assert [one.name for one in found] == [
        "ue.connected",
        "ue.registered",
        "ue.idle",
        "ue.connected",
        "ue.registration-updated",
        "ue.deregistered",
        "ue.idle",
    ]
    registered = found[1].data
    assert registered["supi"] == SUPI
    assert registered["allowed_nssai"] == [{"sst": 1, "sd": "010203"}]
    assert registered["location"]["gnb"] == GNB
    assert found[5].data == {"supi": SUPI, "reason": "UE switched off"}


def test_nodes_are_told() -> None:
    found = told(played().order)
    assert [one.name for one in found if one.event.aggregate == f"gnb/{GNB}"] == ["gnb.connected"]
    areas = next(one.data for one in found if one.name == "gnb.connected")["tracking_areas"]
    assert areas[0]["tai"] == {"plmn": "001-01", "tac": 1}
    upf = [one.name for one in found if one.event.aggregate == f"upf/{UPF}"]
    assert upf[0] == "upf.associated"
    assert "upf.restarted" in upf


def test_attributes_say_which_event_it_is() -> None:
    found = told(played().order)
    registered = next(one for one in found if one.name == "ue.registered")
    headers = registered.event.headers
    seq = int(headers["ce-id"].split("/")[2])
    step = next(s for name, s in played().order if name == f"ue/{SUPI}" and s.seq == seq)
    index = [type(event).__name__ for event in step.events].index("RegistrationAccepted")
    assert headers == {
        "ce-specversion": "1.0",
        "ce-id": f"ue/{SUPI}/{seq}/{index}/ue.registered",
        "ce-source": "/amf/test",
        "ce-type": "org.evcore.ue.registered",
        "ce-subject": SUPI,
        "ce-time": "2023-11-14T22:13:20.000Z",
        "ce-partitionkey": f"ue/{SUPI}",
        "ce-sequence": f"{seq:010}-{index:03}",
        "content-type": "application/json",
    }


@pytest.mark.parametrize("name", HISTORIES)
def test_every_event_is_itself_and_valid(name: str) -> None:
    found = of(name)
    assert [one.event for one in found] == [one.event for one in of(name)]
    assert len({one.event.id for one in found}) == len(found)
    last: dict[str, str] = {}
    for one in found:
        VALIDATORS[one.event.type].validate(one.data)
        place = one.event.headers["ce-sequence"]
        assert place > last.get(one.event.aggregate, "")
        last[one.event.aggregate] = place


SCHEMAS = generate.json_schemas()
VALIDATORS = {
    kind: Draft202012Validator(
        SCHEMAS[f"{SCHEMA_OF[data]}.schema.json"],
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )
    for kind, data in DATA.items()
}


@pytest.mark.parametrize("name", HISTORIES)
def test_what_is_told_adds_up_to_the_state(name: str) -> None:
    """A subscriber knows from domain events which UEs are registered, where, and their sessions."""
    ledger = Ledger()
    last: dict[str, Any] = {}
    for one in of(name):
        ledger.note(one)
    for about, step in steps(name):
        state = last.get(about, kind_of(about).new())
        for event in step.events:
            state = kind_of(about).evolve(state, event)
        last[about] = state
    assert all(ledger.agrees(about, ue) for about, ue in last.items() if isinstance(ue, Ue))


@pytest.mark.parametrize("chunk", range(4))
def test_it_does_after_whatever_happens(chunk: int) -> None:
    """The same for random sequences of actions of UEs, gNBs, UPFs and time."""
    for number in range(chunk, 400, 4):
        core = play(draw(Random(f"announcer/{number}"))).core
        ledger = Ledger()
        for one in told(core.order):
            ledger.note(one)
        for about, state in core.states.items():
            assert not isinstance(state, Ue) or ledger.agrees(about, state), number


@pytest.mark.parametrize(
    ("name", "told_of"),
    [
        ("session-released", ["session.established", "session.released"]),
        ("session-modified", ["session.established", "session.modified"]),
        ("session-idle-and-back", ["session.established"]),
        ("session-deregistered", ["session.established", "session.released"]),
        ("session-upf-restarted", ["session.established"]),
    ],
)
def test_sessions_are_told_from_beginning_to_end(name: str, told_of: list[str]) -> None:
    found = [one for one in of_now(name) if one.name.startswith("session.")]
    assert [one.name for one in found] == told_of
    assert len({one.data["session"] for one in found}) == 1
    assert found[0].data["dnn"] == "internet"
    assert found[0].data["ipv4"]


@pytest.mark.parametrize(
    ("name", "failures"),
    [
        ("synch-failure", 0),
        ("ngksi-in-use", 0),
        ("synch-failure-twice", 1),
        ("wrong-res-star", 1),
        ("mac-failure", 1),
    ],
)
def test_what_another_challenge_mends_is_no_failure(name: str, failures: int) -> None:
    found = [one.name for one in of_now(name)]
    assert found.count("ue.authentication-failed") == failures
    if not failures:
        assert "ue.registered" in found


@pytest.mark.parametrize(("name", "by"), [("handover", "n2"), ("path-switch", "xn")])
def test_a_handover_is_a_move(name: str, by: str) -> None:
    moved = [one.data for one in of_now(name) if one.name == "ue.moved"]
    assert moved
    assert {data["handover"] for data in moved} == {by}


UPF_EVENTS = (
    (upf.UpfNotAssociated("no answer"), "upf.not-associated", {"node": UPF, "reason": "no answer"}),
    (upf.UpfReleased("never was"), None, {}),
    (
        upf.UpfAssociated(UPF, 3_900_000_000, ("FTUP",)),
        "upf.associated",
        {"node": UPF, "features": ["FTUP"]},
    ),
    (upf.UpfReachable(reachable=True), None, {}),
    (upf.UpfReachable(reachable=False), "upf.unreachable", {"node": UPF}),
    (upf.UpfReachable(reachable=True), "upf.reachable", {"node": UPF}),
    (upf.UpfLoad(70), None, {}),
    (
        upf.UpfOverloaded(30, 1_700_000_060_000),
        "upf.overloaded",
        {"node": UPF, "reduction": 30, "until": "2023-11-14T22:14:20Z"},
    ),
    (upf.UpfRestarted(3_900_000_001), "upf.restarted", {"node": UPF}),
    (
        upf.UpfAssociated(UPF, 3_900_000_001, ()),
        "upf.associated",
        {"node": UPF, "features": []},
    ),
    (upf.UpfReleased("by the UPF"), "upf.released", {"node": UPF, "reason": "by the UPF"}),
)


def made(name: str, *events: Any, **changes: Any) -> tuple[str, Step[Any]]:
    trigger = CloudEvent("t-1", "/n4", EventType.TIMER, name)
    step: Step[Any] = Step(1, 1_700_000_000_000, "upf", "3f2a9c01", trigger, b"", "1", events, ())
    return name, structs.replace(step, **changes)


def test_what_happens_to_a_upf_is_told() -> None:
    found = told([made(f"upf/{UPF}", *(event for event, _, _ in UPF_EVENTS))])
    assert [(one.name, one.data) for one in found] == [
        (name, data) for _, name, data in UPF_EVENTS if name is not None
    ]
    indexes = [int(one.event.id.split("/")[-2]) for one in found]
    assert indexes == [index for index, (_, name, _) in enumerate(UPF_EVENTS) if name]


def test_a_function_that_fails_is_told() -> None:
    (one,) = told([made(f"ue/{SUPI}", ue_events.Noted("poisoned"), poisoned=True)])
    assert one.name == "function.failed"
    assert one.event.id == f"ue/{SUPI}/1/1/function.failed"
    assert one.data == {
        "aggregate": f"ue/{SUPI}",
        "seq": 1,
        "procedure": "upf",
        "code": "3f2a9c01",
    }


def test_every_type_is_told_of_some_log() -> None:
    seen = Counter(one.event.type for name in HISTORIES for one in of(name))
    by_hand = {f"org.evcore.{name}" for _, name, _ in UPF_EVENTS if name}
    assert set(DomainType) - set(seen) - by_hand == {DomainType.FUNCTION_FAILED}


async def test_no_key_is_told(tmp_path: Any) -> None:
    """No domain event holds a key of a UE, of the core or of its configuration."""
    keys = (await record(tmp_path / "data", played())).keys
    for name in HISTORIES:
        for one in of(name):
            assert not leaked(one, keys)
    for one in told(played().order):
        assert not leaked(one, keys)


def leaked(one: Told, keys: set[bytes]) -> list[str]:
    text = one.event.body.decode() + repr(one.event.headers)
    return [
        key.hex()
        for key in keys
        if key.hex() in text.lower() or base64.b64encode(key).decode().rstrip("=") in text
    ]


def test_no_domain_event_is_taken_for_one_of_the_bus() -> None:
    assert not {str(kind) for kind in DomainType} & {str(kind) for kind in EventType}
    assert set(DATA) == set(DomainType)
    assert set(SCHEMA_OF) == set(DATA.values())
    assert all(issubclass(kind, domain.Data) for kind in SCHEMA_OF)


def test_the_page_has_every_type_and_the_schema_of_its_data() -> None:
    page = (Path(__file__).parents[2] / "docs" / "domain-events.md").read_text()
    rows = [row for row in page.splitlines() if row.startswith("| `")]
    for kind, data in DATA.items():
        (row,) = (row for row in rows if f"`{kind.removeprefix(PREFIX)}`" in row.split("|")[1])
        assert row.endswith(f"| {SCHEMA_OF[data]} |"), row
    for status in http_binding.REFUSALS:
        assert str(status) in page
