"""Reading the IEs of a PFCP tree, where one that is not as it should be has another shape."""

from typing import Any, TypeAlias, cast

from msgspec import Struct

from loadgen.trees import Tree

Ies: TypeAlias = list[Tree]
"""IEs in order, each a dict of its name and its value."""


def every(ies: Ies, name: str) -> list[Any]:
    """The values of all IEs of a name."""
    return [entry[name] for entry in ies if name in entry]


def first(ies: Ies, name: str) -> Any:
    """The value of the first IE of a name, which is the one that counts; None for none."""
    for entry in ies:
        if name in entry:
            return entry[name]
    return None


def groups(ies: Ies, name: str) -> list[Ies]:
    """The members of all groups of a name."""
    return [_members(value) for value in every(ies, name)]


def group(ies: Ies, name: str) -> Ies:
    """The members of the first group of a name; empty for none."""
    return _members(first(ies, name))


def number_in(ies: Ies, name: str) -> int | None:
    """The first IE of a name, where it is a number."""
    value = first(ies, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def numbers_in(ies: Ies, name: str) -> tuple[int, ...]:
    """All IEs of a name that are numbers."""
    return tuple(value for value in every(ies, name) if isinstance(value, int))


def text_in(ies: Ies, name: str) -> str | None:
    """The first IE of a name as text; of octets that are no text, their digits."""
    value = first(ies, name)
    if isinstance(value, dict):
        value = cast("Tree", value).get("octets")
    return value if isinstance(value, str) else None


def flags_in(ies: Ies, name: str) -> frozenset[str]:
    """The names of the bits that are set in the first IE of a name."""
    return words(first(ies, name))


def tree_in(ies: Ies, name: str) -> Tree | None:
    """The parts of the first IE of a name; None for none, and for a value without parts."""
    value = first(ies, name)
    return cast("Tree", value) if isinstance(value, dict) else None


def words(value: object) -> frozenset[str]:
    """The texts in a list; empty for any other value."""
    if not isinstance(value, list):
        return frozenset()
    return frozenset(one for one in cast("list[Any]", value) if isinstance(one, str))


def _members(value: object) -> Ies:
    if not isinstance(value, list):
        return []
    return [cast("Tree", one) for one in cast("list[Any]", value) if isinstance(one, dict)]


class _AddressedId(Struct, frozen=True):
    """A number at an IPv4 address, an IPv6 address, or both."""

    number: int
    ipv4: str | None = None
    ipv6: str | None = None

    def __str__(self) -> str:
        where = "/".join(address for address in (self.ipv4, self.ipv6) if address)
        return f"{self.number:#x}@{where}"


class FTeid(_AddressedId, frozen=True):
    """An F-TEID that is assigned: its number is a TEID (clause 8.2.3)."""

    @classmethod
    def of(cls, tree: Tree | None) -> "FTeid | None":
        """Of the IE F-TEID, or of an Outer Header Creation; None for one without a TEID."""
        if tree is None or not isinstance(tree.get("teid"), int):
            return None
        return cls(tree["teid"], tree.get("ipv4"), tree.get("ipv6"))

    def tree(self) -> Tree:
        """The IE."""
        return _tree("teid", self)


class FSeid(_AddressedId, frozen=True):
    """An F-SEID: its number is a SEID (clause 8.2.37)."""

    @classmethod
    def of(cls, tree: Tree | None) -> "FSeid | None":
        """Of the IE F-SEID; None for anything else."""
        if tree is None or not isinstance(tree.get("seid"), int):
            return None
        return cls(tree["seid"], tree.get("ipv4"), tree.get("ipv6"))

    def tree(self) -> Tree:
        """The IE."""
        return _tree("seid", self)


def _tree(name: str, endpoint: _AddressedId) -> Tree:
    tree: Tree = {name: endpoint.number}
    if endpoint.ipv4 is not None:
        tree["ipv4"] = endpoint.ipv4
    if endpoint.ipv6 is not None:
        tree["ipv6"] = endpoint.ipv6
    return tree
