"""Read the objects of a file field by field, report errors with their place, and keep track of the
fields that were not read."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from statestore.importers.values import BadValue, ImportProblem, shown

T = TypeVar("T")

_NOTHING: tuple[Any, ...] = (None, "")
_SAYS_NOTHING: tuple[Any, ...] = (*_NOTHING, False, 0, [], {})


class Fields:
    """The fields of one object. A null field or an empty string counts as absent."""

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
        """Return the place of a field in its record."""
        return f"{self._path}.{shown(name)}" if self._path else shown(name)

    def problem(self, name: str, what: str) -> ImportProblem:
        """Return the exception to raise about a field."""
        return ImportProblem(f"{self.record}: {self.path(name)} {what}")

    def raw(self, name: str) -> Any:
        """Return the unconverted value of a field; None if it is absent."""
        self._seen.add(name)
        return self._value[name] if name in self else None

    def need(self, name: str, read: Callable[[Any], T]) -> T:
        """Return a mandatory field."""
        if name not in self:
            raise self.problem(name, "is missing")
        return self._read(name, read)

    def take(self, name: str, read: Callable[[Any], T], default: T) -> T:
        """Return an optional field, or its default."""
        self._seen.add(name)
        return self._read(name, read) if name in self else default

    def _read(self, name: str, read: Callable[[Any], T]) -> T:
        try:
            return read(self.raw(name))
        except BadValue as err:
            raise self.problem(name, str(err)) from None

    def child(self, name: str) -> "Fields":
        """Return a mandatory object."""
        if name not in self:
            raise self.problem(name, "is missing")
        return Fields(self.raw(name), self.record, self.path(name))

    def maybe(self, name: str) -> "Fields | None":
        """Return an optional object."""
        self._seen.add(name)
        return self.child(name) if name in self else None

    def items(self, name: str) -> list[Any]:
        """Return the elements of a list; an absent list is empty."""
        value = self.raw(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.problem(name, "is not a list")
        return cast("list[Any]", value)

    def children(self, name: str) -> list["Fields"]:
        """Return the objects of a list; an absent list is empty."""
        return [
            Fields(value, self.record, f"{self.path(name)}[{number}]")
            for number, value in enumerate(self.items(name))
        ]

    def each(self, name: str, read: Callable[[Any], T]) -> tuple[T, ...]:
        """Return the values of a list; an absent list is empty."""
        read_items: list[T] = []
        for number, value in enumerate(self.items(name)):
            try:
                read_items.append(read(value))
            except BadValue as err:
                raise self.problem(f"{name}[{number}]", str(err)) from None
        return tuple(read_items)

    def skip(self, *names: str) -> None:
        """Count fields as read that have no meaning for a subscription."""
        self._seen.update(names)

    def unread(self) -> list[str]:
        """Return the names of the fields that were not read."""
        return [name for name in self._value if name not in self._seen]

    def says_as_well(self, name: str, value: Any) -> bool:
        """Whether a field holds `value`. The field does not count as read."""
        return self._value.get(name) == value

    def says(self, name: str) -> bool:
        """Whether a field holds a value other than null, zero, false or empty."""
        return self._value.get(name) not in _SAYS_NOTHING
