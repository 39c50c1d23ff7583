"""Readers for the trees of `wire`. A malformed IE may have a value of another type."""

from typing import Any, TypeAlias, cast

Tree: TypeAlias = dict[str, Any]


def part(tree: Tree, name: str) -> Tree:
    """Return a value that is a tree; an empty tree for any other value or no value."""
    value = tree.get(name)
    return cast("Tree", value) if isinstance(value, dict) else {}


def items(tree: Tree, name: str) -> list[Tree]:
    """Return the trees in a value that is a list; empty for any other value or no value."""
    value = tree.get(name)
    if not isinstance(value, list):
        return []
    return [cast("Tree", one) for one in cast("list[Any]", value) if isinstance(one, dict)]


def number(tree: Tree, name: str) -> int | None:
    """Return a value that is a number; None for any other value or no value."""
    value = tree.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def octets(tree: Tree, name: str) -> bytes:
    """Return the octets of ``{"octets": hex}``; empty for any other value or no value."""
    value = part(tree, name).get("octets")
    return bytes.fromhex(value) if isinstance(value, str) else b""


def numbers(tree: Tree, name: str) -> tuple[int, ...]:
    """Return a value that is a list of numbers; empty for any other value or no value."""
    value = tree.get(name)
    return tuple(cast("list[int]", value)) if isinstance(value, list) else ()


def without_extensions(value: Any) -> Any:
    """Return a value of NGAP without the extensions that another node may have added."""
    if isinstance(value, list):
        return [without_extensions(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    tree = cast("Tree", value)
    kept = {name: one for name, one in tree.items() if name not in _EXTENSIONS}
    return {name: without_extensions(one) for name, one in kept.items()}


_EXTENSIONS = "iE-Extensions", "iE-Extension"
