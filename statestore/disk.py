"""The room on the disk of a directory, and the reason if it cannot be written."""

import os
import tempfile
from pathlib import Path
from typing import Final

_TRIAL: Final = bytes(65_536)
"""The octets of a trial: more than a file system may still have in open blocks."""


def free_bytes(directory: Path) -> int:
    """Return the octets that files in `directory` may still take; 0 if it can have no new file.

    A quota of the user is not taken into account.

    Raises:
        OSError: the directory cannot be read.
    """
    found = os.statvfs(directory)
    if found.f_files and not found.f_favail:
        return 0
    return found.f_bavail * found.f_frsize


def why_not_writable(directory: Path) -> str:
    """Write 64 KiB to the disk and remove them. Return the error, such as ``"No space left on
    device"``; empty if there was none.

    SQLite names only the kind of an error. A quota, a disk that fails, and a file system that has
    become read-only are all ``"disk I/O error"``.
    """
    try:
        with tempfile.TemporaryFile(dir=directory, prefix=".trial-", buffering=0) as file:
            done = 0
            while done < len(_TRIAL):
                done += os.pwrite(file.fileno(), _TRIAL[done:], done)
            os.fdatasync(file.fileno())
    except OSError as err:
        return err.strerror or str(err)
    return ""


def text_of(octets: float) -> str:
    """Return a size for people, such as ``"1.5 GiB"``."""
    for unit in ("octets", "KiB", "MiB"):
        if octets < 1024:
            return f"{octets:.0f} {unit}" if octets >= 10 or octets == 0 else f"{octets:.1f} {unit}"
        octets /= 1024
    return f"{octets:.1f} GiB"
