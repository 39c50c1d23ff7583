"""Documents that steps reference: configuration, subscriptions, code. Each is stored with every
field.

A default never changes the meaning of a recorded document (docs/decisions/0019): encoding omits no
field, and decoding fills in no default.
"""

import hashlib
from functools import cache
from typing import Any, Final, TypeVar, cast, get_args

import msgspec
from msgspec import Struct

D = TypeVar("D", bound=Struct)

ADDED: Final[dict[tuple[str, str], Any]] = {}
"""Values of fields that were added after a release, by struct and field. A document without the
field has this value. A value never changes, even if the default does."""


class DocumentError(ValueError):
    """A stored document lacks a field, or has another type."""


def encode(document: Struct) -> bytes:
    """Return a document with every field, in a canonical form."""
    return _encoder.encode(whole(document))


def whole(value: Any) -> Any:
    """Return a value with its structs as dicts of every field."""
    if isinstance(value, Struct):
        return {name: whole(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list | tuple):
        return [whole(item) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, dict):
        return {key: whole(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def decode(octets: bytes, kind: type[D]) -> D:
    """Return the document that `encode` wrote.

    Raises:
        DocumentError: a field is missing, or a value has another type.
    """
    try:
        tree = _tree.decode(octets)
        _complete(tree, kind)
        return msgspec.convert(tree, kind)
    except msgspec.DecodeError as err:
        raise DocumentError(str(err)) from None


def digest(document: Struct) -> str:
    """Return the digest of exactly this document: 16 hexadecimal digits."""
    return hashlib.blake2b(encode(document), digest_size=8).hexdigest()


_encoder: Final = msgspec.msgpack.Encoder(order="sorted")
_tree: Final = msgspec.msgpack.Decoder(Any)


def _complete(tree: Any, kind: Any) -> None:
    """Check that a tree has every field of a struct; add the fields of `ADDED`."""
    if isinstance(tree, list):
        for item in cast("list[Any]", tree):
            _complete(item, kind)
        return
    if not isinstance(tree, dict):
        return
    fields = cast("dict[str, Any]", tree)
    for name, below in _fields(_struct_of(kind)):
        if name not in fields:
            owner = _struct_of(kind)
            if (owner.__name__, name) not in ADDED:
                raise DocumentError(f"the {owner.__name__} lacks the field {name}")
            fields[name] = ADDED[owner.__name__, name]
        if below is not None:
            _complete(fields[name], below)


@cache
def _fields(kind: type[Struct]) -> tuple[tuple[str, type[Struct] | None], ...]:
    """Return the fields of a struct, each with the struct type inside its type, if any."""
    found = msgspec.structs.fields(kind)
    return tuple((field.encode_name, _inner(field.type)) for field in found)


def _struct_of(kind: Any) -> type[Struct]:
    found = _inner(kind)
    if found is None:
        raise DocumentError(f"{kind} is not a document type")
    return found


def _inner(kind: Any) -> type[Struct] | None:
    """Return the struct in a type such as ``Nitz | None`` or ``tuple[UpfNode, ...]``."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return kind
    return next((found for arg in get_args(kind) if (found := _inner(arg)) is not None), None)
