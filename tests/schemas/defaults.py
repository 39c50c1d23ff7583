"""The defaults of values that are stored without them.

``python -m tests.schemas.defaults`` adds new ones.

Events, steps, states and CloudEvents omit fields with default values. So a default is part of the
meaning of recorded octets, and never changes. A test compares all defaults with the file.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

import msgspec
from msgspec import NODEFAULT, Struct

from schemas import cloudevents
from schemas.cloudevents import CloudEvent
from schemas.ran import Gnb, GnbEvent
from schemas.step import Step
from schemas.ue.events import UeEvent
from schemas.ue.state import Ue
from schemas.upf import Upf, UpfEvent

FILE: Final = Path(__file__).with_name("frozen_defaults.json")
DATA: Final = tuple(
    value
    for value in vars(cloudevents).values()
    if isinstance(value, type) and issubclass(value, Struct) and value is not Struct
)
STORED: Final = (UeEvent, GnbEvent, UpfEvent, Step, Ue, Gnb, Upf, CloudEvent, *DATA)
Defaults: TypeAlias = dict[str, dict[str, str]]


def structs(kind: Any, seen: set[type[Struct]]) -> Iterator[type[Struct]]:
    """Yield every struct that a value of a type can contain."""
    if isinstance(kind, type) and issubclass(kind, Struct) and kind not in seen:
        seen.add(kind)
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from structs(field.type, seen)
    for argument in get_args(kind):
        yield from structs(argument, seen)


def defaults() -> Defaults:
    """Return the current defaults by struct and field, as Python source."""
    seen: set[type[Struct]] = set()
    found: Defaults = {}
    for kind in (one for stored in STORED for one in structs(stored, seen)):
        own = {field.encode_name: _default(field) for field in msgspec.structs.fields(kind)}
        name = f"{kind.__module__}.{kind.__qualname__}"
        found[name] = {field: value for field, value in own.items() if value is not None}
    return {name: own for name, own in sorted(found.items()) if own}


def _default(field: msgspec.structs.FieldInfo) -> str | None:
    if field.default is not NODEFAULT:
        return repr(field.default)
    if field.default_factory is not NODEFAULT:
        return repr(field.default_factory())
    return None


def frozen() -> Defaults:
    """Return the defaults in the file."""
    found: Defaults = json.loads(FILE.read_text())
    return found


def main() -> int:
    """Add new defaults to the file, without changing those in it."""
    kept = frozen() if FILE.exists() else {}
    for name, own in defaults().items():
        kept[name] = own | kept.get(name, {})
    FILE.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
