"""Logs that several versions write and read: `schemas.evolution`.

Each version in this test has its own events, state and fold.
"""

from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from schemas.cloudevents import CloudEvent, EventType
from schemas.event import IGNORABLE, Event, IgnorableEvent, Noted
from schemas.evolution import (
    UPCASTERS,
    Fields,
    Snapshots,
    StepReader,
    UnreadableError,
    Upcaster,
    shape_of,
)
from schemas.step import SendNgap, Step, encode
from schemas.ue.events import UeEvent
from schemas.ue.state import Ue
from tests.histories import history
from tests.schemas.values import values

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)

# Version 1: a UE has a name.


class Named(Event, frozen=True):
    name: str


V1: TypeAlias = Named | Noted

# Version 2: names have a language, a new field. UEs are weighed, in grams, and seen; `Seen` may be
# ignored. `NamedV2` is stored under the name of version 1.


class NamedV2(Event, frozen=True, tag="Named"):
    name: str
    language: str = ""


class Weighed(Event, frozen=True):
    grams: int


class Seen(IgnorableEvent, frozen=True):
    place: str


V2: TypeAlias = NamedV2 | Weighed | Seen | Noted

# Version 3: the weight is in kilograms, so it is another event; a name must have its language.


class NamedV3(Event, frozen=True, tag="Named"):
    name: str
    language: str


class WeighedInKilograms(Event, frozen=True):
    kilograms: float


V3: TypeAlias = NamedV3 | WeighedInKilograms | Seen | Noted


def with_language(event: Fields) -> Fields:
    return {**event, "language": "en"}


def in_kilograms(event: Fields) -> Fields:
    return {"event": "WeighedInKilograms", "kilograms": event["grams"] / 1000}


V3_UPCASTERS: dict[str, Upcaster] = {"Named": with_language, "Weighed": in_kilograms}


def reader(events: Any, version: str, upcasters: dict[str, Upcaster] | None = None) -> Any:
    return StepReader[Any](Step[events], events, upcasters or {}, version)


READERS = {
    "1": reader(V1, "1"),
    "2": reader(V2, "2"),
    "3": reader(V3, "3", V3_UPCASTERS),
}


def step(version: str, *events: Any, outputs: tuple[Any, ...] = ()) -> bytes:
    """Return a step as a version writes it."""
    trigger = CloudEvent("t-1", "/n2", EventType.TIMER, "ue/x")
    return encode(
        Step(1, 1_700_000_000_000, "registration", version, trigger, b"", "1", events, outputs)
    )


def test_a_new_field_is_no_obstacle_to_an_old_reader() -> None:
    found = READERS["1"].decode(step("2", NamedV2("Ada", "en")))
    assert found.events == (Named("Ada"),)
    assert found.code == "2"


def test_an_event_that_is_not_known_is_an_error_that_says_all() -> None:
    with pytest.raises(UnreadableError) as caught:
        READERS["1"].decode(step("2", NamedV2("Ada"), Weighed(70_000)))
    assert str(caught.value) == ("code 2 wrote the event Weighed, which version 1 does not know")


def test_an_event_that_may_be_ignored_is_noted_in_its_place() -> None:
    octets = step("2", NamedV2("Ada"), Seen("Paris"), NamedV2("Eve"))
    found = READERS["1"].decode(octets)
    noted = Noted("code 2 wrote the event Seen, which version 1 does not know; it may be ignored")
    assert found.events == (Named("Ada"), noted, Named("Eve"))
    assert READERS["2"].decode(octets).events[1] == Seen("Paris"), "it is kept in the log"


def test_an_old_event_is_made_into_todays_step_by_step() -> None:
    found = READERS["3"].decode(step("1", Named("Ada")))
    assert found.events == (NamedV3("Ada", "en"),)
    found = READERS["3"].decode(step("2", NamedV2("Eve", "fr"), Weighed(70_500), Seen("Paris")))
    assert found.events == (NamedV3("Eve", "fr"), WeighedInKilograms(70.5), Seen("Paris"))


def test_upcasters_make_a_chain() -> None:
    chain: dict[str, Upcaster] = {
        "First": lambda event: {"event": "Second", "n": event["n"] + 1},
        "Second": lambda event: {"event": "Weighed", "grams": event["n"] * 10},
    }
    old = encode({**msgspec.msgpack.decode(step("0")), "events": [{"event": "First", "n": 4}]})
    assert reader(V2, "2", chain).decode(old).events == (Weighed(50),)


def test_upcasters_that_lead_nowhere_end() -> None:
    circle: dict[str, Upcaster] = {
        "A": lambda _: {"event": "B"},
        "B": lambda _: {"event": "A"},
    }
    old = encode({**msgspec.msgpack.decode(step("0")), "events": [{"event": "A"}]})
    with pytest.raises(UnreadableError, match="code 0 wrote the event A, which version 2"):
        reader(V2, "2", circle).decode(old)


def test_an_upcaster_does_not_get_current_events() -> None:
    """Even if another event of the same step is old."""
    found = READERS["3"].decode(
        encode(
            {
                **msgspec.msgpack.decode(step("3")),
                "events": [
                    {"event": "Named", "name": "Ada", "language": "fr"},
                    {"event": "Named", "name": "Eve"},
                ],
            }
        )
    )
    assert found.events == (NamedV3("Ada", "fr"), NamedV3("Eve", "en"))


def test_a_field_of_another_type_is_an_error_with_all_facts() -> None:
    odd = {**msgspec.msgpack.decode(step("7")), "events": [{"event": "Named", "name": 4}]}
    with pytest.raises(UnreadableError, match="code 7 wrote the event Named, and version 1"):
        READERS["1"].decode(encode(odd))


def test_an_output_that_is_not_known_is_an_error_that_says_all() -> None:
    tree = msgspec.msgpack.decode(step("9", Named("Ada"), outputs=(SendNgap("g", "a", b"x"),)))
    tree["outputs"].append({"kind": "sms", "text": "hello"})
    with pytest.raises(UnreadableError, match="code 9 wrote the output sms, which version 1"):
        READERS["1"].decode(encode(tree))


@pytest.mark.parametrize("octets", [b"", b"\x93\x01\x02\x03", encode({"seq": 1}), b"\xc1", b"\x81"])
def test_what_is_no_step_is_an_error_of_decoding(octets: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        READERS["1"].decode(octets)


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(
    writer=st.sampled_from(["1", "2", "3"]),
    data=st.data(),
)
def test_every_version_reads_what_it_is_meant_to(writer: str, data: st.DataObject) -> None:
    """Later versions read old events; older versions read new ones, unless they must be known."""
    kinds = {"1": V1, "2": V2, "3": V3}
    events = tuple(data.draw(st.lists(values(kinds[writer]), max_size=6)))
    octets = step(writer, *events)
    assert READERS[writer].decode(octets).events == events
    for version, read in READERS.items():
        unknown = {
            "1": (Weighed, WeighedInKilograms),
            "2": (WeighedInKilograms,),
            "3": (),
        }[version]
        if any(isinstance(event, unknown) for event in events):
            with pytest.raises(UnreadableError, match=f"which version {version} does not know"):
                read.decode(octets)
            continue
        found = read.decode(octets)
        assert len(found.events) == len(events)
        for event, was in zip(found.events, events, strict=True):
            if isinstance(was, Named | NamedV2 | NamedV3):
                assert event.name == was.name


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_current_steps_are_read_as_by_the_typed_decoder(data: st.DataObject) -> None:
    """Any step is decoded as by the typed decoder alone."""
    value = data.draw(values(Step[UeEvent], UeEvent))
    read = StepReader[Any](Step[UeEvent], UeEvent, UPCASTERS["ue"])
    assert read.decode(encode(value)) == value


def test_recorded_histories_are_read_octet_by_octet() -> None:
    count = 0
    for path in history.files():
        for recorded in history.read(path).steps:
            assert encode(recorded.step()) == recorded.octets
            count += 1
    assert count > 500


def test_what_may_be_ignored_says_so_in_its_name() -> None:
    assert Seen.__struct_config__.tag == f"{IGNORABLE}Seen"
    assert msgspec.msgpack.decode(encode(Seen("x")))["event"] == "~Seen"


# Snapshots


class Old(Struct, frozen=True, omit_defaults=True):
    name: str = ""


class New(Struct, frozen=True, omit_defaults=True):
    name: str = ""
    language: str = ""


class Documented(Struct, frozen=True, omit_defaults=True):
    """Like `Old`, with docstrings."""

    name: str = ""
    """The name."""


def test_a_snapshot_is_used_by_versions_with_the_same_state_and_fold() -> None:
    old, new = Snapshots(Old, V1, 1), Snapshots(New, V2, 1)
    assert old.decode(old.encode(Old("Ada"))) == Old("Ada")
    assert new.decode(new.encode(New("Ada", "en"))) == New("Ada", "en")
    assert old.decode(new.encode(New("Ada", "en"))) is None, "its next one would lack the language"
    assert new.decode(old.encode(Old("Ada"))) is None, "it may lack what its maker did not know"


def test_a_snapshot_of_other_events_or_another_fold_is_not() -> None:
    made = Snapshots(Old, V1, 1).encode(Old("Ada"))
    assert Snapshots(Old, V2, 1).decode(made) is None
    assert Snapshots(Old, V1, 2).decode(made) is None


def test_documentation_does_not_change_the_shape() -> None:
    renamed = msgspec.defstruct("Documented", [("name", str, "")], frozen=True, omit_defaults=True)
    assert shape_of(Documented) == shape_of(renamed)
    other = msgspec.defstruct("Documented", [("name", str, "x")], frozen=True, omit_defaults=True)
    assert shape_of(Documented) != shape_of(other)


@settings(max_examples=50, deadline=None, suppress_health_check=SLOW)
@given(values(Ue))
def test_snapshots_there_and_back(ue: Ue) -> None:
    snapshots = Snapshots(Ue, UeEvent, 1)
    assert snapshots.decode(snapshots.encode(ue)) == ue
