"""Reading what other versions of evcore have written (docs/decisions/0011).

A step is decoded as what this version knows. Only where that fails is it looked at again, event by
event: an old one is made into today's by its upcasters, one that is not known and may be ignored
is noted, and any other is an error that names it and the version that wrote it.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast, get_args

import msgspec

from schemas.event import IGNORABLE
from schemas.step import Output, Step, encode
from schemas.version import VERSION

E = TypeVar("E")

Fields: TypeAlias = dict[str, Any]
"""An event as it is stored: its fields, and its name under `event`."""

Upcaster: TypeAlias = Callable[[Fields], Fields]
"""Makes an event of one version into the event that the next version would have written. It takes
one small step; several in a row go from any version to today's."""

UPCASTERS: Final[dict[str, dict[str, Upcaster]]] = {"ue": {}, "gnb": {}, "upf": {}}
"""By the kind of aggregate and the name of the event. One is asked only about an event that this
version cannot decode, so it is never given today's."""

_OUTPUTS: Final = frozenset(kind.__struct_config__.tag for kind in get_args(Output))


class UnreadableError(msgspec.ValidationError):
    """A step has something that this version does not know; it says what, and who wrote it."""


class StepReader(Generic[E]):
    """Decodes the steps of a kind of aggregate, whichever version wrote them."""

    def __init__(
        self, step: Any, events: Any, upcasters: Mapping[str, Upcaster], version: str = VERSION
    ) -> None:
        """`step` is the type of the steps, `events` the union of their events."""
        self._step = msgspec.msgpack.Decoder[Step[E]](step)
        self._event = msgspec.msgpack.Decoder[E](events)
        self._known = frozenset(kind.__struct_config__.tag for kind in get_args(events))
        self._upcasters = upcasters
        self._version = version

    def decode(self, octets: bytes) -> Step[E]:
        """A step.

        Raises:
            UnreadableError: see there.
            msgspec.DecodeError: the octets are no step of any version.
        """
        try:
            return self._step.decode(octets)
        except msgspec.ValidationError:
            return self._mended(octets)

    def _mended(self, octets: bytes) -> Step[E]:
        tree = msgspec.msgpack.decode(octets, type=dict[str, Any])
        writer = tree.get("code", "?")
        events = msgspec.convert(tree.get("events"), tuple[Fields, ...])
        tree["events"] = [self._today(event, writer) for event in events]
        for output in msgspec.convert(tree.get("outputs"), tuple[Fields, ...]):
            if output.get("kind") not in _OUTPUTS:
                raise UnreadableError(self._unknown("output", output.get("kind"), writer))
        try:
            return self._step.decode(encode(tree))
        except msgspec.ValidationError as err:
            raise UnreadableError(f"code {writer} wrote it: {err}") from None

    def _today(self, event: Fields, writer: str) -> Fields:
        """An event as this version would have written it."""
        used: set[str] = set()
        while problem := self._problem(event):
            name = str(event.get("event"))
            upcast = self._upcasters.get(name)
            if upcast is None or name in used:
                return self._given_up(name, writer, problem)
            used.add(name)
            event = upcast(dict(event))
        return event

    def _given_up(self, name: str, writer: str, problem: msgspec.ValidationError) -> Fields:
        if name.startswith(IGNORABLE):
            text = self._unknown("event", name.removeprefix(IGNORABLE), writer)
            return {"event": "Noted", "text": f"{text}; it may be ignored"}
        if name not in self._known:
            raise UnreadableError(self._unknown("event", name, writer))
        raise UnreadableError(
            f"code {writer} wrote the event {name}, and version {self._version} cannot read "
            f"it: {problem}"
        )

    def _unknown(self, what: str, name: object, writer: str) -> str:
        return f"code {writer} wrote the {what} {name}, which version {self._version} does not know"

    def _problem(self, event: Fields) -> msgspec.ValidationError | None:
        try:
            self._event.decode(encode(event))
        except msgspec.ValidationError as err:
            return err
        return None


class Snapshots:
    """Encodes and decodes the snapshots of a kind of aggregate.

    A snapshot says which shapes of state and events it was folded with, and a version takes only
    what was folded with its own: it must not lack what another one did not know.
    """

    def __init__(self, state: Any, events: Any, fold: int) -> None:
        """`fold` is a number that is raised where the same events come to fold to another state."""
        self._types = (state, events)
        self._fold = fold
        self._shape = b""
        self._outer = msgspec.msgpack.Decoder(tuple[bytes, msgspec.Raw])
        self._state = msgspec.msgpack.Decoder[Any](state)

    @property
    def shape(self) -> bytes:
        """What tells this version's snapshots from those of others: eight octets."""
        if not self._shape:
            self._shape = shape_of(*self._types, fold=self._fold)
        return self._shape

    def encode(self, state: Any) -> bytes:
        """A snapshot of a state."""
        return encode((self.shape, msgspec.Raw(encode(state))))

    def decode(self, octets: bytes) -> Any | None:
        """Return the state of a snapshot; None if another version folded it.

        Raises:
            msgspec.DecodeError: the octets are no snapshot.
        """
        shape, state = self._outer.decode(octets)
        return self._state.decode(state) if shape == self.shape else None


def shape_of(*types: Any, fold: int = 1) -> bytes:
    """A digest of what values of some types are made of; what documents them is left out."""
    components = msgspec.json.schema_components(types)
    canonical = msgspec.json.encode((fold, _bare(components)), order="deterministic")
    return hashlib.blake2b(canonical, digest_size=8).digest()


def _bare(schema: Any) -> Any:
    if isinstance(schema, dict):
        fields = cast("dict[str, Any]", schema)
        return {
            name: _bare(value)
            for name, value in fields.items()
            if not (name == "description" and isinstance(value, str))
        }
    if isinstance(schema, list | tuple):
        return [_bare(value) for value in cast("list[Any]", schema)]
    return schema
