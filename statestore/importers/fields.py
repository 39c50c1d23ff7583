"""Objects of a file, read field by field: whatever is wrong is told with its place, and
whatever was not read is known."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from statestore.importers.values import BadValue, ImportProblem, shown

T = TypeVar("T")

_NOTHING: tuple[Any, ...] = (None, "")
_SAYS_NOTHING: tuple[Any, ...] = (*_NOTHING, False, 0, [], {})


class Fields:
    """The fields of one object. A field that is null, or an empty string, is not there."""

    def __init__(self, value: Any, record: str, path: str = "") -> None:
        self.record = record
        self._path = path
        self._seen: set[str] = set()
        if not isinstance(value, dict):
            raise ImportProblem(f"{record}: {path or 'it'} is not an object")
        self._value = cast("dict[str, Any]", value)

    def __contains__(self, name: str) -> bool:
        return self._value.get(name) not in _NOTHING

    def path(self, name: str) -> str:
        """The place of a field in its record."""
        return f"{self._path}.{shown(name)}" if self._path else shown(name)

    def problem(self, name: str, what: str) -> ImportProblem:
        """What to raise about a field."""
        return ImportProblem(f"{self.record}: {self.path(name)} {what}")

    def raw(self, name: str) -> Any:
        """A field as it is, None for one that is not there."""
        self._seen.add(name)
        return self._value[name] if name in self else None

    def need(self, name: str, read: Callable[[Any], T]) -> T:
        """A field that must be there."""
        if name not in self:
            raise self.problem(name, "is missing")
        return self._read(name, read)

    def take(self, name: str, read: Callable[[Any], T], default: T) -> T:
        """A field that may be left out."""
        self._seen.add(name)
        return self._read(name, read) if name in self else default

    def _read(self, name: str, read: Callable[[Any], T]) -> T:
        try:
            return read(self.raw(name))
        except BadValue as err:
            raise self.problem(name, str(err)) from None

    def child(self, name: str) -> "Fields":
        """An object that must be there."""
        if name not in self:
            raise self.problem(name, "is missing")
        return Fields(self.raw(name), self.record, self.path(name))

    def maybe(self, name: str) -> "Fields | None":
        """An object that may be left out."""
        self._seen.add(name)
        return self.child(name) if name in self else None

    def items(self, name: str) -> list[Any]:
        """The elements of a list; none for one that is left out."""
        value = self.raw(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.problem(name, "is not a list")
        return cast("list[Any]", value)

    def children(self, name: str) -> list["Fields"]:
        """The objects of a list; none for one that is left out."""
        return [
            Fields(value, self.record, f"{self.path(name)}[{number}]")
            for number, value in enumerate(self.items(name))
        ]

    def each(self, name: str, read: Callable[[Any], T]) -> tuple[T, ...]:
        """The values of a list; none for one that is left out."""
        read_items: list[T] = []
        for number, value in enumerate(self.items(name)):
            try:
                read_items.append(read(value))
            except BadValue as err:
                raise self.problem(f"{name}[{number}]", str(err)) from None
        return tuple(read_items)

    def skip(self, *names: str) -> None:
        """Count fields as read that say nothing a subscription would keep."""
        self._seen.update(names)

    def unread(self) -> list[str]:
        """The names of the fields that were not read."""
        return [name for name in self._value if name not in self._seen]

    def says_as_well(self, name: str, value: Any) -> bool:
        """Whether a field, which does not count as read by this, holds `value`."""
        return self._value.get(name) == value

    def says(self, name: str) -> bool:
        """Whether a field holds more than nothing, zero or false."""
        return self._value.get(name) not in _SAYS_NOTHING
