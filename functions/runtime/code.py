"""Which code decides in this process: the digests of its sources, for steps to name."""

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import functions
import schemas
import wire
from schemas.code import Code
from schemas.version import VERSION

HOSTS: Final = ("announcer", "runtime")
"""Packages of `functions` that host decisions and make none."""


@cache
def this_code() -> Code:
    """Return the code of this process. It reads each source once, in some milliseconds."""
    return Code(
        release=VERSION,
        functions=digest(_functions(Path(functions.__path__[0]))),
        schemas=digest(_sources(Path(schemas.__path__[0]))),
        wire=wire.SOURCE_DIGEST,
    )


def digest(files: Iterator[tuple[str, Path]]) -> str:
    """Return the digest of files and of their names."""
    found = hashlib.sha256()
    for name, path in files:
        octets = path.read_bytes()
        found.update(f"{name}\n{len(octets)}\n".encode())
        found.update(octets)
    return found.hexdigest()


def _functions(root: Path) -> Iterator[tuple[str, Path]]:
    for name, path in _sources(root):
        if name.partition("/")[0] not in HOSTS:
            yield name, path


def _sources(root: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(root.rglob("*.py")):
        yield path.relative_to(root).as_posix(), path
