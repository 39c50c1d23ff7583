"""The 5GMM messages of the core and the load generator, against pycrate (TS 24.501 clause 8.2)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire import nas_oracle as pycrate
from tests.wire.nas_cases import Case
from tests.wire.nas_messages import CASES
from tests.wire.profiles import SLOW_ORACLE

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@SLOW_ORACLE
@given(data=st.data())
def test_the_same_octets_and_the_same_values(case: Case, data: st.DataObject) -> None:
    tree, values = data.draw(case.both())
    octets = wire.nas_encode(tree)
    assert octets == pycrate.encode(case.kind, values)
    kind, found = pycrate.decode(octets)
    assert (kind, {name: found[name] for name in values}) == (case.kind, values)
    again = wire.nas_decode(octets)
    assert set(again) == set(tree)
    assert agrees(tree, again)
    assert wire.nas_encode(again) == octets


def agrees(written: Any, read: Any) -> bool:
    """Whether a tree has the values that were written. Written octets may be read as structured
    values, and a cause written as a number is read by its name."""
    if isinstance(written, dict):
        parts: dict[str, Any] = written
        return set(parts) == {"octets"} or all(agrees(parts[n], read[n]) for n in parts)
    if isinstance(written, list):
        entries: list[Any] = written
        return len(entries) == len(read) and all(map(agrees, entries, read))
    return written == read or (isinstance(written, int) and isinstance(read, str))
