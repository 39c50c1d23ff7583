"""Decoding returns the encoded value, and encoding it again returns the same octets."""

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.aggregates import KINDS, kind_of
from schemas.event import IGNORABLE
from schemas.ran import GnbEvent
from schemas.step import encode
from schemas.ue.events import UeEvent
from schemas.ue.fold import evolve
from schemas.ue.state import Ue
from schemas.upf import UpfEvent
from tests.schemas.kinds import DECODED_AS
from tests.schemas.values import values

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
EVENTS: tuple[type[Any], ...] = get_args(UeEvent)
wide = settings(max_examples=25, deadline=None, suppress_health_check=SLOW)


@pytest.mark.parametrize("name", list(DECODED_AS))
@wide
@given(data=st.data())
def test_there_and_back(name: str, data: st.DataObject) -> None:
    """As MessagePack, as JSON (`--json`, the JSON Schemas), and with a field of a later version: in
    a rolling update a worker of this version reads the steps of the next."""
    kind, decoded_as = DECODED_AS[name]
    value: Any = data.draw(values(kind))
    octets = encode(value)
    found = msgspec.msgpack.decode(octets, type=decoded_as)
    assert found == value
    assert type(found) is type(value)
    assert encode(found) == octets
    assert msgspec.json.decode(msgspec.json.encode(value), type=decoded_as) == value
    tree = {**msgspec.msgpack.decode(octets), "from_a_later_version": [1]}
    assert msgspec.msgpack.decode(encode(tree), type=decoded_as) == value


@pytest.mark.parametrize("name", ["ue step", "gnb step", "upf step", "Ue", "Gnb", "Upf"])
@wide
@given(data=st.data())
def test_the_decoders_of_the_log(name: str, data: st.DataObject) -> None:
    value = data.draw(values(DECODED_AS[name][0]))
    kind = kind_of(f"{name.split(maxsplit=1)[0].lower()}/x")
    decode = kind.decode_step if name.endswith("step") else kind.decode_state
    assert decode(encode(value)) == value


def test_each_event_has_a_name_of_its_own() -> None:
    for events in (UeEvent, GnbEvent, UpfEvent):
        tags = [str(kind.__struct_config__.tag) for kind in get_args(events)]
        assert len(set(tags)) == len(tags)
        names = [tag.removeprefix(IGNORABLE) for tag in tags]
        assert names == [kind.__name__ for kind in get_args(events)]


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_state_that_was_never_heard_of_is_small(kind: str) -> None:
    found = KINDS[kind]
    assert msgspec.msgpack.decode(encode(found.new())) == {}
    assert found.indexes(found.new()) == frozenset()


@wide
@given(
    st.lists(values(UeEvent), max_size=8),
    st.lists(values(GnbEvent), max_size=8),
    st.lists(values(UpfEvent), max_size=8),
)
def test_the_folds_are_total(
    ue_events: list[Any], gnb_events: list[Any], upf_events: list[Any]
) -> None:
    """The folds accept any event in any state, whichever version wrote it."""
    for name, events in (("ue", ue_events), ("gnb", gnb_events), ("upf", upf_events)):
        kind = KINDS[name]
        state = kind.new()
        for event in events:
            before = encode(state)
            following = kind.evolve(state, event)
            assert encode(state) == before, "a state is never changed"
            state = following
            assert kind.decode_state(encode(state)) == state


@pytest.mark.parametrize(
    "kinds",
    [EVENTS[at : at + 10] for at in range(0, len(EVENTS), 10)],
    ids=lambda kinds: f"{kinds[0].__name__} to {kinds[-1].__name__}",
)
def test_each_event_of_a_ue_has_its_fold(kinds: tuple[type[Any], ...]) -> None:
    """Ten kinds share a state: to draw one takes longer than to draw their events."""

    @wide
    @given(values(Ue), st.tuples(*map(values, kinds)))
    def folds(state: Ue, events: tuple[Any, ...]) -> None:
        for event in events:
            assert isinstance(evolve(state, event), Ue), event

    folds()
