"""The JSON documents of a file: an array, one per line, or any sequence of documents."""

import json
from collections.abc import Iterator
from typing import Any, NoReturn, cast

from statestore.importers.values import ImportProblem, shown

_WHITESPACE = " \t\r\n"
# MongoDB Extended JSON, in both of its forms: mongoexport writes types that JSON does not have in
# this way.
_NUMBERS = {"$numberLong": int, "$numberInt": int, "$numberDouble": float, "$numberDecimal": float}
_TEXTS = ("$oid", "$date", "$uuid")


def documents(text: str) -> list[Any]:
    """Return the documents in `text`. The elements of an array are separate documents.

    Raises:
        ImportProblem: the text is not JSON. The message has the line and the column.
    """
    found: list[Any] = []
    for value in _values(text):
        if isinstance(value, list):
            found.extend(cast("list[Any]", value))
        else:
            found.append(value)
    return [_plain(value) for value in found]


def _values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)
    at = 0
    while True:
        while at < len(text) and text[at] in _WHITESPACE:
            at += 1
        if at == len(text):
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as err:
            raise ImportProblem(
                f"line {err.lineno}, column {err.colno}: this is not JSON: {err.msg}"
            ) from None
        except ValueError as err:
            raise ImportProblem(f"a number in the file cannot be read: {err}") from None
        except RecursionError:
            raise ImportProblem("the JSON of the file is nested too deeply") from None
        yield value


def _no_constant(name: str) -> NoReturn:
    raise ImportProblem(f"{name} is not a JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ImportProblem(f"an object has the field {shown(repr(twice))} twice")
    return value


def _plain(value: Any) -> Any:
    """Return `value` with MongoDB's typed values replaced by plain ones."""
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    if len(fields) == 1:
        ((name, inner),) = fields.items()
        if name in _TEXTS:
            return str(inner)
        if name in _NUMBERS:
            try:
                return _NUMBERS[name](inner)
            except (TypeError, ValueError):
                raise ImportProblem(f"{{{name}: {shown(repr(inner))}}} is not a number") from None
    return {name: _plain(inner) for name, inner in fields.items()}
