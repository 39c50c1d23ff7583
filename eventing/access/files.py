"""Files with keys: made whole, readable by their owner only, and never replaced."""

import contextlib
import os
import tempfile
from pathlib import Path


def write_once(path: Path, octets: bytes) -> None:
    """Write a file of mode 600, unless it is there.

    A process that ends, or a disk that is full, leaves no part of a file. A file that another
    process makes at the same time stays.

    Raises:
        OSError: the file cannot be written.
    """
    number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(octets)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(part)
    finally:
        part.unlink()
