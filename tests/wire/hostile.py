"""Invalid input: random octets, changed messages, and trees with random content."""

import copy
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

import wire
from tests.corpus import entries

Result = TypeVar("Result")


def attempt(call: Callable[..., Result], *args: Any, **kwargs: Any) -> Result | wire.WireError:
    """Return the result of a call, or the `WireError` that it raises. Any other exception is a
    bug."""
    try:
        return call(*args, **kwargs)
    except wire.WireError as error:
        assert error.kind in wire.ERROR_KINDS
        assert str(error)
        return error
    except Exception:
        raise
    except BaseException as panic:
        # PyO3's PanicException is not an Exception, so that no handler hides it.
        raise AssertionError(f"{call.__name__} panicked: {panic}") from panic


def of_corpus(*kinds: str) -> st.SearchStrategy[bytes]:
    return st.sampled_from([entry.octets for kind in kinds for entry in entries(kind)])


@st.composite
def changed(draw: st.DrawFn, messages: st.SearchStrategy[bytes]) -> bytes:
    """A message after one to five cuts, flips, insertions, repetitions and splices."""
    data = bytearray(draw(messages))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 6)):
            case 0:
                del data[at:]
            case 1:
                del data[at : at + draw(st.integers(1, 8))]
            case 2 if data:
                data[at % len(data)] ^= 1 << draw(st.integers(0, 7))
            case 3 if data:
                data[at % len(data)] = draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFE, 0xFF]))
            case 4:
                data[at:at] = draw(st.binary(min_size=1, max_size=8))
            case 5:
                data[at:at] = data[at : at + draw(st.integers(1, 40))]
            case _:
                other = draw(messages)
                data[at:] = other[draw(st.integers(0, len(other))) :]
    return bytes(data[:4096])


def octets(*kinds: str) -> st.SearchStrategy[bytes]:
    """Random octets, messages of the corpus, and changed messages."""
    messages = of_corpus(*kinds)
    return st.one_of(changed(messages), messages, st.binary(max_size=64))


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([-1, 0, 1, 255, 256, 2**32, 2**40, 2**63, 2**64]),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["", "00", "0", "zz", "\udc80", "001-01", "no-key", "octets"]),
    st.binary(max_size=8),
    st.sampled_from([object(), set[int](), (), print, 1j]),
)
keys = st.one_of(
    st.sampled_from(["octets", "value", "length", "criticality", "ies", "message", "\udc80", ""]),
    st.text(max_size=8),
    st.integers(-2, 300),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)


def _places(node: Any) -> list[tuple[Any, Any]]:
    """Return every container of a tree with each of its keys or indexes."""
    found: list[tuple[Any, Any]] = []
    if isinstance(node, dict):
        for key, value in node.items():  # pyright: ignore[reportUnknownVariableType]
            found += [(node, key), *_places(value)]
    elif isinstance(node, list):
        for index, value in enumerate(node):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            found += [(node, index), *_places(value)]
    return found


@st.composite
def spoiled(draw: st.DrawFn, trees: st.SearchStrategy[dict[str, Any]]) -> Any:
    """A tree with one to three of its parts replaced, removed, renamed or doubled."""
    tree: Any = copy.deepcopy(draw(trees))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(tree)
        if not places:
            return draw(values)
        container, key = draw(st.sampled_from(places))
        match draw(st.integers(0, 3)):
            case 0:
                del container[key]
            case 1 if isinstance(container, dict):
                container[draw(keys)] = container.pop(key)
            case 2:
                other, at = draw(st.sampled_from(places))
                container[key] = copy.deepcopy(other.get(at) if isinstance(other, dict) else other)
            case _:
                container[key] = draw(values)
    return tree
