"""Types for message trees (see wire.pyi)."""

from typing import Any, TypeAlias, cast

Tree: TypeAlias = dict[str, Any]


def subtree(tree: Tree, key: str) -> Tree:
    """Return the tree under a key; empty if the key is missing or its value is not a tree."""
    found = tree.get(key)
    return cast("Tree", found) if isinstance(found, dict) else {}


def extensions(tree: Tree) -> Tree:
    """Return the IEs in the extension container of a sequence by name; empty if it has none."""
    listed: list[Tree] = tree.get("iE-Extensions", [])
    return {name: value for one in listed for name, value in one.items() if name != "criticality"}
