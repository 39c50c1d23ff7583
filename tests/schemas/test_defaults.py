"""Defaults: those of stored values are frozen, and documents are stored without defaults."""

from typing import Any

import msgspec
import pytest
from msgspec import Struct

from schemas import document
from schemas.code import Code
from schemas.document import DocumentError
from schemas.network import Network, SecurityPolicy, Timers
from schemas.step import encode
from schemas.subscriber import Subscriber
from tests.functions.world import N4_NETWORK, subscriber
from tests.schemas.defaults import defaults, frozen, structs

CODE = Code("0.1.0", "a" * 64, "b" * 64, "c" * 64)
DOCUMENTS: tuple[Struct, ...] = (N4_NETWORK, subscriber(1), CODE)
KINDS = (Network, Subscriber, Code)


def test_no_default_of_a_stored_value_has_changed() -> None:
    """Logs omit these fields. ``python -m tests.schemas.defaults`` adds new ones."""
    assert defaults() == frozen()


@pytest.mark.parametrize("value", DOCUMENTS, ids=lambda value: type(value).__name__)
def test_a_document_is_stored_with_every_field(value: Struct) -> None:
    octets = document.encode(value)
    assert document.decode(octets, type(value)) == value
    assert _lacking(msgspec.msgpack.decode(octets), value) == []


def _lacking(tree: Any, value: Any) -> list[str]:
    """Return the fields of a value that are missing in a tree."""
    if isinstance(value, Struct):
        found = [name for name in value.__struct_fields__ if name not in tree]
        return found + [
            lack
            for name in value.__struct_fields__
            if name in tree
            for lack in _lacking(tree[name], getattr(value, name))
        ]
    if isinstance(value, tuple):
        return [lack for i, item in enumerate(value) for lack in _lacking(tree[i], item)]
    return []


@pytest.mark.parametrize("value", DOCUMENTS, ids=lambda value: type(value).__name__)
def test_no_default_is_put_in_for_a_missing_field(value: Struct) -> None:
    tree = document.whole(value)
    for name in value.__struct_fields__:
        less = {key: item for key, item in tree.items() if key != name}
        with pytest.raises(DocumentError, match=f"lacks the field {name}"):
            document.decode(encode(less), type(value))


def test_a_field_that_was_added_means_what_documents_without_it_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = document.whole(N4_NETWORK)
    del tree["timers"]["t3550"]
    with pytest.raises(DocumentError, match="the Timers lacks the field t3550"):
        document.decode(encode(tree), Network)
    monkeypatch.setitem(document.ADDED, ("Timers", "t3550"), 9)
    assert document.decode(encode(tree), Network).timers.t3550 == 9


def test_what_was_added_is_a_field_of_a_document() -> None:
    seen: set[type[Struct]] = set()
    fields = {
        (kind.__name__, name)
        for document_kind in KINDS
        for kind in structs(document_kind, seen)
        for name in kind.__struct_fields__
    }
    assert document.ADDED.keys() <= fields


@pytest.mark.parametrize(
    "octets",
    [b"", b"\xc1", encode([1]), encode("text"), encode({**document.whole(CODE), "wire": 5})],
)
def test_octets_that_are_no_document(octets: bytes) -> None:
    with pytest.raises(DocumentError):
        document.decode(octets, Code)


def test_the_digest_is_of_every_field() -> None:
    one = document.digest(Timers())
    assert one == document.digest(Timers(t3550=Timers().t3550))
    assert one != document.digest(Timers(t3550=7))
    assert document.digest(SecurityPolicy()) != document.digest(SecurityPolicy(reuse_context=False))


def test_the_id_of_code_is_short_and_of_every_part() -> None:
    assert len(CODE.id) == 8
    assert str(CODE) == f"0.1.0 ({CODE.id})"
    for name in CODE.__struct_fields__:
        assert msgspec.structs.replace(CODE, **{name: "other"}).id != CODE.id
