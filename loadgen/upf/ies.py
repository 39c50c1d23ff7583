"""Readers for the IEs of a PFCP tree. A malformed IE may have a value of another type."""

from typing import Any, TypeAlias, cast

from msgspec import Struct

from loadgen.trees import Tree

Ies: TypeAlias = list[Tree]
"""IEs in order, each a dict of one name and its value."""


def every(ies: Ies, name: str) -> list[Any]:
    """Return the values of all IEs with a name."""
    return [entry[name] for entry in ies if name in entry]


def first(ies: Ies, name: str) -> Any:
    """Return the value of the first IE with a name, which is the valid one; None if there is
    none."""
    for entry in ies:
        if name in entry:
            return entry[name]
    return None


def groups(ies: Ies, name: str) -> list[Ies]:
    """Return the members of all groups with a name."""
    return [_members(value) for value in every(ies, name)]


def group(ies: Ies, name: str) -> Ies:
    """Return the members of the first group with a name; empty if there is none."""
    return _members(first(ies, name))


def number_in(ies: Ies, name: str) -> int | None:
    """Return the first IE with a name if it is a number."""
    value = first(ies, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def numbers_in(ies: Ies, name: str) -> tuple[int, ...]:
    """Return all IEs with a name that are numbers."""
    return tuple(value for value in every(ies, name) if isinstance(value, int))


def text_in(ies: Ies, name: str) -> str | None:
    """Return the first IE with a name as text; octets that are not text as hexadecimal digits."""
    value = first(ies, name)
    if isinstance(value, dict):
        value = cast("Tree", value).get("octets")
    return value if isinstance(value, str) else None


def flags_in(ies: Ies, name: str) -> frozenset[str]:
    """Return the names of the bits that are set in the first IE with a name."""
    return words(first(ies, name))


def tree_in(ies: Ies, name: str) -> Tree | None:
    """Return the parts of the first IE with a name; None if there is none or it has no parts."""
    value = first(ies, name)
    return cast("Tree", value) if isinstance(value, dict) else None


def words(value: object) -> frozenset[str]:
    """Return the texts in a list; empty for any other value."""
    if not isinstance(value, list):
        return frozenset()
    return frozenset(one for one in cast("list[Any]", value) if isinstance(one, str))


def _members(value: object) -> Ies:
    if not isinstance(value, list):
        return []
    return [cast("Tree", one) for one in cast("list[Any]", value) if isinstance(one, dict)]


class _AddressedId(Struct, frozen=True):
    """A number with an IPv4 address, an IPv6 address, or both."""

    number: int
    ipv4: str | None = None
    ipv6: str | None = None

    def __str__(self) -> str:
        where = "/".join(address for address in (self.ipv4, self.ipv6) if address)
        return f"{self.number:#x}@{where}"


class FTeid(_AddressedId, frozen=True):
    """An assigned F-TEID: its number is a TEID (clause 8.2.3)."""

    @classmethod
    def of(cls, tree: Tree | None) -> "FTeid | None":
        """Read an F-TEID or Outer Header Creation IE; None without a TEID."""
        if tree is None or not isinstance(tree.get("teid"), int):
            return None
        return cls(tree["teid"], tree.get("ipv4"), tree.get("ipv6"))

    def tree(self) -> Tree:
        """Return the IE."""
        return _tree("teid", self)


class FSeid(_AddressedId, frozen=True):
    """An F-SEID: its number is a SEID (clause 8.2.37)."""

    @classmethod
    def of(cls, tree: Tree | None) -> "FSeid | None":
        """Read an F-SEID IE; None for any other value."""
        if tree is None or not isinstance(tree.get("seid"), int):
            return None
        return cls(tree["seid"], tree.get("ipv4"), tree.get("ipv6"))

    def tree(self) -> Tree:
        """Return the IE."""
        return _tree("seid", self)


def _tree(name: str, endpoint: _AddressedId) -> Tree:
    tree: Tree = {name: endpoint.number}
    if endpoint.ipv4 is not None:
        tree["ipv4"] = endpoint.ipv4
    if endpoint.ipv6 is not None:
        tree["ipv6"] = endpoint.ipv6
    return tree
