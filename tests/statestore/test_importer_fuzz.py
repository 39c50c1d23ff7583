"""Fuzz the importers: any file is either imported or rejected with an ImportProblem."""

import copy
import json
from collections.abc import Iterable
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from statestore.importers import Format, ImportProblem, read_subscribers
from tests.statestore.import_samples import OWN, free5gc_collections, free5gc_console, open5gs


def problems_of(data: bytes, form: Format | None) -> tuple[str, ...]:
    """Return the problems of a file; none if it can be imported."""
    try:
        read_subscribers(data, form)
    except ImportProblem as err:
        return err.problems
    return ()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["sst", "$oid", "$numberLong", "sqn", "a\n"]), inner)
    ),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every path in a document."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
    elif isinstance(value, list):
        items = enumerate(cast("list[Any]", value))
    return [path, *(place for name, inner in items for place in places(inner, (*path, name)))]


def put_at(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = put_at(value[path[0]], path[1:], new)
    return value


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_whatever_stands_anywhere_is_imported_or_told(data: st.DataObject):
    document: Any = data.draw(
        st.sampled_from([[OWN], [open5gs()], [free5gc_console()], free5gc_collections()])
    )
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places(document)))
        document = put_at(document, place, data.draw(anything))
    form = data.draw(st.sampled_from([None, Format.JSON, Format.OPEN5GS, Format.FREE5GC]))
    told = problems_of(json.dumps(document).encode(), form)
    assert all(problem and "\n" not in problem for problem in told)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.text(max_size=60) | st.text('",;\n\rsupikopcst 01', max_size=80),
    st.sampled_from([None, *Format]),
)
def test_any_text_is_imported_or_told(text: str, form: Format | None):
    problems_of(text.encode("utf-8", "surrogatepass"), form)
