"""Decide all recorded histories again, and print a digest of each.

`python -m tests.purity.redecide [VARIANT [HISTORY]]` replays a history with the
variant in a folder. The environment variable `SEALED` refuses files and entropy to all code
of this process, native code included.
"""

import asyncio
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import wire
from functions.runtime import variants
from functions.runtime.replay import Decide, this_release
from schemas.step import Step, encode
from tests.histories import history
from tests.histories.again import redecided
from tests.purity import seccomp


def digest(steps: Iterable[Step[Any]]) -> str:
    """Return the digest of everything that steps have decided."""
    found = hashlib.sha256()
    for step in steps:
        decided = (step.procedure, step.events, step.outputs, step.lookups)
        found.update(encode(decided))
    return found.hexdigest()


def redecide(name: str, read: history.History, candidate: Decide | None) -> None:
    found = asyncio.run(redecided(read, candidate))
    steps = [again.now for again in found if again.now is not None]
    assert len(steps) == len(found), [again.error for again in found]
    sys.stdout.write(f"{name} {digest(steps)}\n")


def main() -> None:
    folder, name = [*sys.argv[1:], "", ""][:2]
    candidate = variants.load(Path(folder)).decide if folder else None
    this_release()
    read = [(path.stem, history.read(path)) for path in history.files()]
    if "SEALED" in os.environ:
        # Rust draws the keys of its hash maps once for each thread, at the first map.
        wire.pfcp_encode({"message": "HeartbeatRequest", "sequence": 1, "ies": []})
        loop = asyncio.new_event_loop()
        loop.close()
        seccomp.refuse(*seccomp.OPENING, *seccomp.DRAWING)
        assert is_sealed()
    for stem, found in read:
        if name in ("", stem):
            redecide(stem, found, candidate)


def is_sealed() -> bool:
    """Whether native code can draw no entropy: a SUCI needs an ephemeral key."""
    key = wire.suci_public_key("A", bytes(range(32)))
    try:
        wire.suci_conceal("001", "01", "0000000001", profile="A", public_key=key, key_id=1)
    except wire.WireError as err:
        return err.kind == "suci"
    return False


if __name__ == "__main__":
    main()
