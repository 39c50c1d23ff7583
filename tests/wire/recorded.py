"""The trees of the recorded messages."""

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.corpus import entries

Tree = dict[str, Any]


def trees_of(kind: str, decode: Callable[[bytes], Tree]) -> st.SearchStrategy[Tree]:
    """One of the trees of the corpus. The caller may change it."""
    found = [decode(e.octets) for e in entries(kind) if e.outcome in ("same", "anew")]
    return st.sampled_from(found).map(copy.deepcopy)
