"""Make the files of a core private: only their owner reads and writes them."""

import os
import pwd
import resource
import stat
from pathlib import Path
from typing import Final

from schemas.config.reading import KEY_VARIABLES, ConfigError

DIRECTORY: Final = 0o700
FILE: Final = 0o600
UMASK: Final = 0o077
"""The umask of the processes of a core."""


def make_directory(path: Path) -> None:
    """Create a directory, if it does not exist, that only this user can use.

    Raises:
        OSError: it cannot be created.
    """
    path.mkdir(DIRECTORY, parents=True, exist_ok=True)


def tighten(root: Path) -> int:
    """Take the rights of other users from a directory and everything in it.

    Symbolic links in it are not followed. Return the number of files and directories that others
    had rights to. Processes may create and delete files in it meanwhile.

    Raises:
        ConfigError: something belongs to another user, or the file system keeps no rights.
        OSError: the directory cannot be read.
    """
    # The directory itself first: then no other user can open anything in it by name.
    changed = _tighten(root, root.stat(), None)
    for folder, folders, files, descriptor in os.fwalk(root):
        for name in (*folders, *files):
            try:
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                changed += _tighten(Path(folder, name), found, descriptor)
            except FileNotFoundError:
                continue
    return changed


def _tighten(path: Path, found: os.stat_result, descriptor: int | None) -> bool:
    """Tighten a file of the directory `descriptor`. Return whether others had rights to it."""
    if found.st_uid != os.geteuid():
        raise ConfigError(
            f"{path} belongs to another user ({_user(found.st_uid)}): run evcore as that user, or "
            "choose another data directory"
        )
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode) or not mode & UMASK:
        return False
    name = path if descriptor is None else path.name
    os.chmod(name, mode & ~UMASK, dir_fd=descriptor)
    if os.stat(name, dir_fd=descriptor).st_mode & UMASK:
        raise ConfigError(f"{path} is on a file system that cannot keep it from other users")
    return True


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def is_shared(path: Path) -> bool:
    """Whether other users can read a file, or write it.

    Raises:
        OSError: the file does not exist, or its directory cannot be read.
    """
    return bool(path.stat().st_mode & (UMASK & ~0o111))


def inherited(*, with_keys: bool) -> dict[str, str]:
    """Return the environment variables for a child, which may need no keys."""
    return {
        name: text for name, text in os.environ.items() if with_keys or name not in KEY_VARIABLES
    }


def forbid_core_dumps() -> None:
    """Forbid core dumps of this process and its children: they would have keys in plain."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
