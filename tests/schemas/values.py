"""Hypothesis strategies for the types of `schemas`."""

import types
import typing
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec
from hypothesis import strategies as st
from msgspec import Meta, Struct

Strategy = st.SearchStrategy[Any]

_SMALLEST, _LARGEST = -(1 << 63), (1 << 64) - 1
"""The range of integers in msgpack."""

_SCALARS: dict[Any, Strategy] = {
    str: st.text(max_size=12),
    bytes: st.binary(max_size=20),
    int: st.integers(_SMALLEST, _LARGEST),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    type(None): st.none(),
    datetime: st.datetimes(timezones=st.just(UTC)),
}


def values(kind: Any, bound: Any = None) -> Strategy:
    """Return the values of a type; `bound` replaces the type variable of a generic Struct."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in _SCALARS:
        found = _SCALARS[kind]
    elif isinstance(kind, TypeVar):
        found = values(bound)
    elif origin is Annotated:
        found = _limited(values(arguments[0], bound), arguments[0], arguments[1:])
    elif origin is Literal:
        found = st.sampled_from(arguments)
    elif origin in (typing.Union, types.UnionType):
        found = st.one_of([values(one, bound) for one in arguments])
    elif origin is tuple and arguments[-1] is not Ellipsis:
        found = st.tuples(*(values(one, bound) for one in arguments))
    elif origin is tuple:
        found = st.lists(values(arguments[0], bound), max_size=3).map(_tuple)
    elif origin is list:
        found = st.lists(values(arguments[0], bound), max_size=3)
    elif origin is dict:
        found = st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        found = st.sampled_from(kind)
    else:
        found = structs(typing.cast("type[Struct]", origin or kind), *arguments[:1])
    return found


def _limited(found: Strategy, kind: Any, annotations: Sequence[Meta]) -> Strategy:
    """Return the values within annotated limits."""
    for meta in annotations:
        if kind is int:
            most = meta.le if meta.lt is None else meta.lt - 1
            found = st.integers(
                _SMALLEST if meta.ge is None else int(meta.ge),
                _LARGEST if most is None else int(most),
            )
        elif kind is float:
            least = meta.gt if meta.ge is None else meta.ge
            found = st.floats(least, meta.le).filter(partial(_is_above, meta.gt))
        elif meta.pattern is not None:
            found = st.from_regex(str(meta.pattern), fullmatch=True)
        elif meta.min_length is not None:
            found = found.filter(partial(_is_long, meta.min_length))
    return found


def _is_above(bound: float | None, value: float) -> bool:
    return bound is None or value > bound


def _is_long(length: int, value: Any) -> bool:
    return len(value) >= length


def _tuple(items: list[Any]) -> tuple[Any, ...]:
    return tuple(items)


@cache
def structs(kind: type[Struct], bound: Any = None) -> Strategy:
    """Return values of a Struct with all its fields."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {f.name: values(hints[f.name], bound) for f in msgspec.structs.fields(kind)}
    return st.builds(kind, **fields)
