"""Reading steps that other versions of evcore wrote (docs/decisions/0011).

A step is first decoded with the types of this version. If that fails, each event is converted:
upcasters convert an old event, an unknown event that may be ignored becomes a note, and any other
event is an error with the event's name and the version that wrote it.
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
"""A stored event: its fields, and its name under `event`."""

Upcaster: TypeAlias = Callable[[Fields], Fields]
"""Converts an event of one version to the next version. Several upcasters in a row convert any
older version to this one."""

UPCASTERS: Final[dict[str, dict[str, Upcaster]]] = {"ue": {}, "gnb": {}, "upf": {}}
"""By the kind of aggregate and the name of the event. An upcaster is called only for an event that
this version cannot decode, so never for a current event."""

_OUTPUTS: Final = frozenset(kind.__struct_config__.tag for kind in get_args(Output))


class UnreadableError(msgspec.ValidationError):
    """A step contains something that this version does not know. The message says what, and which
    code wrote it."""


class StepReader(Generic[E]):
    """Decodes the steps of a kind of aggregate, of any version."""

    def __init__(
        self, step: Any, events: Any, upcasters: Mapping[str, Upcaster], version: str = VERSION
    ) -> None:
        """Create a reader. `step` is the type of the steps, `events` the union of their events."""
        self._step = msgspec.msgpack.Decoder[Step[E]](step)
        self._event = msgspec.msgpack.Decoder[E](events)
        self._known = frozenset(kind.__struct_config__.tag for kind in get_args(events))
        self._upcasters = upcasters
        self._version = version

    def decode(self, octets: bytes) -> Step[E]:
        """Return the decoded step.

        Raises:
            UnreadableError: the step contains something that this version does not know.
            msgspec.DecodeError: the octets are not a step of any version.
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
        """Return an event in the form of this version."""
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

    A snapshot contains the shape of the state and event types that it was folded with. A version
    uses only snapshots with its own shape: another version may have ignored events that this one
    knows.
    """

    def __init__(self, state: Any, events: Any, fold: int) -> None:
        """Create a codec. `fold` must be raised if the same events fold to another state than
        before."""
        self._types = (state, events)
        self._fold = fold
        self._shape = b""
        self._outer = msgspec.msgpack.Decoder(tuple[bytes, msgspec.Raw])
        self._state = msgspec.msgpack.Decoder[Any](state)

    @property
    def shape(self) -> bytes:
        """The shape of this version's snapshots: eight octets."""
        if not self._shape:
            self._shape = shape_of(*self._types, fold=self._fold)
        return self._shape

    def encode(self, state: Any) -> bytes:
        """Return the snapshot of a state."""
        return encode((self.shape, msgspec.Raw(encode(state))))

    def decode(self, octets: bytes) -> Any | None:
        """Return the state of a snapshot; None if another version folded it.

        Raises:
            msgspec.DecodeError: the octets are not a snapshot.
        """
        shape, state = self._outer.decode(octets)
        return self._state.decode(state) if shape == self.shape else None


def shape_of(*types: Any, fold: int = 1) -> bytes:
    """Return a digest of the structure of some types, without their descriptions."""
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
