"""Message trees (see wire.pyi), as far as they need types."""

from typing import Any, TypeAlias, cast

Tree: TypeAlias = dict[str, Any]


def subtree(tree: Tree, key: str) -> Tree:
    """The tree under a key; empty for none, or for a value that is no tree."""
    found = tree.get(key)
    return cast("Tree", found) if isinstance(found, dict) else {}
