"""Which code decides in this process: the digests of its sources, for steps to name.

`python -m functions.runtime.code` prints the code of an environment as JSON.
"""

import hashlib
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

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
        functions=digest(decision_sources()),
        schemas=digest(_sources(Path(schemas.__path__[0]))),
        wire=wire.SOURCE_DIGEST,
    )


def digest(files: Mapping[str, bytes]) -> str:
    """Return the digest of files and of their names."""
    found = hashlib.sha256()
    for name in sorted(files, key=PurePosixPath):
        found.update(f"{name}\n{len(files[name])}\n".encode())
        found.update(files[name])
    return found.hexdigest()


def decision_sources() -> dict[str, bytes]:
    """Return the modules of `functions` that decide, by their paths such as ``"gmm/paging.py"``."""
    found = _sources(Path(functions.__path__[0]))
    return {name: text for name, text in found.items() if name.partition("/")[0] not in HOSTS}


def _sources(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.py")}


if __name__ == "__main__":
    sys.stdout.write(msgspec.json.encode(this_code()).decode() + "\n")
