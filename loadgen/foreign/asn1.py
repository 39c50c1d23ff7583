"""Random values of the ASN.1 types of NGAP, and random optional fields for given values.

pycrate has the ASN.1 of TS 38.413 as objects. A value has pycrate's form: a dict for a SEQUENCE, a
pair of name and value for a CHOICE, a pair of number and size for a BIT STRING.
"""

import importlib
import logging
import warnings
from collections.abc import Callable
from random import Random
from typing import Any, Final, cast

from loadgen.errors import ConfigError

UNKNOWN_VALUE: Final = "_unk_004"
"""pycrate's name of a value with a type that it does not know."""
UNKNOWN_IDS: Final = range(1000, 65536)
"""IEs that no release of TS 38.413 defines."""
_DEPTH: Final = 5
"""Nested SEQUENCEs of a new value that have optional fields."""
_LISTED: Final = 2
"""Most items of a new list."""
_OCTETS: Final = 24
"""Most octets or bits of a new string without a fixed size."""
_PRINTABLE: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 '()+,-./:=?"
"""Every character of a PrintableString (ITU-T X.680 41.4)."""
_VISIBLE: Final = "".join(map(chr, range(0x20, 0x7F)))
_UTF8: Final = _VISIBLE + "\x00\tÄßéñ中文\u202eजाले𝄞\U0001f4f6"
_LONGEST: Final = 150
"""Most characters of a name."""
_EXTENSIONS: Final = ("iE-Extensions", "iE-Extension")


def ngap() -> Any:
    """Return pycrate's NGAP.

    Raises:
        ConfigError: pycrate is not installed.
    """
    logging.getLogger("pycrate").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # raised by pycrate's own source
            return importlib.import_module("pycrate_asn1dir.NGAP")
    except ImportError:
        raise ConfigError("the foreign profile needs pycrate: pip install 'evcore[asn1]'") from None


def type_name(kind: Any) -> str:
    """Return the name of a type in the ASN.1; of an anonymous type its built-in type."""
    reference: Any = kind._typeref
    if reference is None or not isinstance(reference.called, tuple):
        return str(kind.TYPE)
    return str(cast("tuple[str, str]", reference.called)[1])


def text(rng: Random, characters: str, most: int) -> str:
    """Return a name of at most `most` characters, each of `characters`."""
    return "".join(rng.choice(characters) for _ in range(rng.randint(1, most)))


def printable(rng: Random, most: int) -> str:
    """Return a PrintableString."""
    return text(rng, _PRINTABLE, most)


class Draw:
    """One draw of values. `given` has the makers of types with a meaning, by type name."""

    def __init__(
        self,
        rng: Random,
        given: dict[str, Callable[[Random], Any]],
        left_out: Callable[[str, str], bool],
        share: float,
    ) -> None:
        """Create a draw.

        Args:
            rng: the source of randomness.
            given: makers of values, by the name of the type.
            left_out: whether a field of a type must not be drawn.
            share: the share of the optional fields that are drawn.
        """
        self._rng = rng
        self._given = given
        self._left_out = left_out
        self._share = share

    # Fields for a given value

    def enrich(self, kind: Any, value: Any) -> Any:
        """Return a value with more optional fields. No field that it has is changed."""
        match kind.TYPE:
            case "SEQUENCE":
                fields = {
                    name: self.enrich(kind._cont[name], part)
                    for name, part in value.items()
                    if name not in _EXTENSIONS
                }
                self._add_fields(kind, fields, 0)
                return fields
            case "SEQUENCE OF":
                return [self.enrich(kind._cont, part) for part in value]
            case "CHOICE" if value[0] in kind._cont:
                return value[0], self.enrich(kind._cont[value[0]], value[1])
            case "OCTET STRING" if isinstance(value, tuple):
                return value[0], self.enrich(kind._const_cont, value[1])
            case _:
                return value

    def _add_fields(self, kind: Any, fields: dict[str, Any], depth: int) -> None:
        name = type_name(kind)
        optional = [*(kind._root_opt or ()), *(kind._ext or ())]
        for field in optional:
            if field in fields or field not in kind._cont or self._left_out(name, field):
                continue
            if depth < _DEPTH and self._rng.random() < self._share:
                inner = kind._cont[field]
                if field in _EXTENSIONS:
                    fields[field] = self._extensions(name, inner, depth + 1)
                else:
                    fields[field] = self.value(inner, depth + 1)

    def _extensions(self, owner: str, kind: Any, depth: int) -> list[Any]:
        """Return a ProtocolExtensionContainer: known extensions, and one of a later release."""
        table = kind._cont._cont["id"]._const_tab
        known: list[Any] = [] if table is None else table.get_val().root
        made: list[Any] = []
        for entry in known:
            inner = entry["Extension"]
            name = type_name(inner)
            if not self._left_out(owner, name) and self._rng.random() < self._share:
                told = {"id": entry["id"], "criticality": entry["criticality"]}
                made.append({**told, "extensionValue": (name, self.value(inner, depth))})
        if not made:
            made.append(unknown(self._rng, "extensionValue"))
        return made

    # New values

    def value(self, kind: Any, depth: int = 0) -> Any:
        """Return a random value of a type."""
        given = self._given.get(type_name(kind))
        if given is not None:
            return given(self._rng)
        if kind.TYPE in _NESTED:
            return self._nested(kind, depth)
        return _SCALARS[kind.TYPE](self._rng, kind)

    def _nested(self, kind: Any, depth: int) -> Any:
        rng = self._rng
        match kind.TYPE:
            case "SEQUENCE":
                fields = {name: self.value(kind._cont[name], depth) for name in kind._root_mand}
                self._add_fields(kind, fields, depth)
                return fields
            case "SEQUENCE OF":
                least, most = _bounds(kind._const_sz, _LISTED)
                most = max(least, min(most, _LISTED))
                return [self.value(kind._cont, depth) for _ in range(rng.randint(least, most))]
            case "CHOICE":
                name = rng.choice([one for one in kind._cont if one != "choice-Extensions"])
                return name, self.value(kind._cont[name], depth)
            case _:
                if kind._const_cont is None:
                    return rng.randbytes(_size(rng, kind))
                return type_name(kind._const_cont), self.value(kind._const_cont, depth)


_NESTED: Final = frozenset({"SEQUENCE", "SEQUENCE OF", "CHOICE", "OCTET STRING"})


def _size(rng: Random, kind: Any) -> int:
    least, most = _bounds(kind._const_sz, _OCTETS)
    return rng.randint(least, max(least, min(most, _OCTETS)))


def _integer(rng: Random, kind: Any) -> int:
    least, most = _bounds(kind._const_val, 2**31)
    return rng.choice((least, most, rng.randint(least, most)))


def _bits(rng: Random, kind: Any) -> tuple[int, int]:
    size = _size(rng, kind)
    return rng.getrandbits(size) if size else 0, size


def _string(characters: str) -> Callable[[Random, Any], str]:
    def make(rng: Random, kind: Any) -> str:
        return text(rng, characters, min(_bounds(kind._const_sz, _LONGEST)[1], _LONGEST))

    return make


_SCALARS: Final[dict[str, Callable[[Random, Any], Any]]] = {
    "BIT STRING": _bits,
    "BOOLEAN": lambda rng, _: rng.random() < 0.5,
    "ENUMERATED": lambda rng, kind: rng.choice([*kind._root, *(kind._ext or ())]),
    "INTEGER": _integer,
    "PrintableString": _string(_PRINTABLE),
    "UTF8String": _string(_UTF8),
    "VisibleString": _string(_VISIBLE),
}
"""The makers of values, by built-in type."""


def unknown(rng: Random, field: str) -> dict[str, Any]:
    """Return an IE of a later release, to be ignored; `field` is ``value`` or
    ``extensionValue``."""
    value = UNKNOWN_VALUE, rng.randbytes(rng.randint(0, 30))
    return {"id": rng.choice(UNKNOWN_IDS), "criticality": "ignore", field: value}


def _bounds(constraint: Any, most: int) -> tuple[int, int]:
    """Return the bounds of a constraint without its extension; 0 and `most` without one."""
    if constraint is None:
        return 0, most
    least, bound = constraint.root[0], constraint.root[-1]
    return (
        least if isinstance(least, int) else least.lb,
        bound if isinstance(bound, int) else most if bound.ub is None else bound.ub,
    )
