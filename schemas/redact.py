"""Conversion of structs and trees to plain values for printing, without their secrets."""

from functools import cache
from typing import Annotated, Any, Final, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

HIDDEN: Final = "(secret)"

_SECRET_IES: Final = frozenset({"SecurityKey", "nextHopNH"})
"""Names in NGAP trees with keys as values."""

_SECRET_FIELDS: Final = frozenset(
    {"entropy", "k", "master_key", "opc", "pdu", "private_key", "tmsi_key"}
)
"""Fields that are secret in every Struct. A PDU is decoded before it is shown, because its octets
may contain a key."""


def plain(value: Any) -> Any:
    """Return `value` as dicts, lists, strings and numbers: octets in hexadecimal, secrets
    hidden."""
    if isinstance(value, Struct):
        return _struct(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {str(k): HIDDEN if k in _SECRET_IES else plain(v) for k, v in items}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in cast("list[Any]", value)]
    return value


def _struct(value: Struct) -> dict[str, Any]:
    found: dict[str, Any] = {}
    config = value.__struct_config__
    if config.tag_field is not None:
        found[config.tag_field] = config.tag
    secret = _secret_fields(type(value))
    for field in msgspec.structs.fields(type(value)):
        held = getattr(value, field.name)
        if config.omit_defaults and not field.required and held == _default(field):
            continue
        found[field.name] = (HIDDEN if held else "") if field.name in secret else plain(held)
    return found


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


@cache
def _secret_fields(kind: type[Struct]) -> frozenset[str]:
    hints = get_type_hints(kind, include_extras=True)
    marked = {name for name, hint in hints.items() if _is_secret(hint)}
    return frozenset(marked | (_SECRET_FIELDS & hints.keys()))


def _is_secret(hint: Any) -> bool:
    if get_origin(hint) is not Annotated:
        return False
    metas = [m for m in get_args(hint)[1:] if isinstance(m, Meta)]
    return any((m.extra or {}).get("secret") for m in metas)
