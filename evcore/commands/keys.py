"""Read keys of subscribers from a file, from standard input, from a terminal or from arguments."""

import contextlib
import getpass
import re
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from evcore.commands.errors import CommandError, UsageError
from evcore.local.private import is_shared

MOST_OCTETS: Final = 1 << 16
"""Largest key file, in octets."""
STDIN: Final = "-"
"""The name of standard input in place of a file."""

_ASKED: Final = {"k": "K", "opc": "OPc"}
"""The keys that a terminal is asked for, and their names in 3GPP's words."""
_LINE: Final = re.compile(r"(k|opc|op)\s*[=:]\s*(\S+)", re.IGNORECASE)


def keys_of(file: str | None, arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of a subscriber: `k`, and `opc` or `op`, in hexadecimal digits.

    Args:
        file: the name of a key file, or `STDIN`; None if there is none.
        arguments: the keys that were given as arguments, by name.

    Raises:
        UsageError: keys are missing or given twice, or a line of the file is none of `k=HEX`,
            `opc=HEX` and `op=HEX`.
        CommandError: the file cannot be read.
    """
    if file is not None:
        found = _in_file(file)
        if twice := sorted(set(found) & set(arguments)):
            raise UsageError(f"{file}: {twice[0]} is also given by --{twice[0]}")
        found |= arguments
    elif not arguments and _is_terminal():
        found = _asked()
    else:
        found = dict(arguments)
    if "k" not in found:
        raise UsageError("give K by --key-file: FILE, or - for standard input")
    if ("opc" in found) == ("op" in found):
        raise UsageError("give OPc by --opc or a line opc=HEX, or OP by --op or a line op=HEX")
    return found


def _in_file(name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        text = read_octets(name, MOST_OCTETS).decode()
    except UnicodeDecodeError:
        raise UsageError(f"{name}: the file is not UTF-8 text") from None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        match = _LINE.fullmatch(words)
        if match is None:
            # The line may have a key, so the message does not quote it.
            raise UsageError(f"{name}: line {number} is none of k=HEX, opc=HEX and op=HEX")
        key = match[1].lower()
        if key in found:
            raise UsageError(f"{name}: line {number} gives {key} again")
        found[key] = match[2]
    return found


def read_octets(name: str, most: int) -> bytes:
    """Return the contents of a file with keys, or of standard input.

    Args:
        name: the name of the file, or `STDIN`.
        most: the largest size in octets.

    Raises:
        CommandError: the file cannot be read, or is larger.
    """
    try:
        if name == STDIN:
            octets = sys.stdin.buffer.read(most + 1)
        else:
            with Path(name).open("rb") as file:
                octets = file.read(most + 1)
    except OSError as err:
        raise CommandError(f"{name}: {err.strerror}") from None
    if len(octets) > most:
        size = f"{most >> 20} MiB; import it in parts" if most >> 20 else f"{most >> 10} KiB"
        raise CommandError(f"{name}: more than {size}")
    return octets


def warn_of_keys(file: str | None, arguments: Collection[str], say: Callable[[str], None]) -> None:
    """Say where other users can read keys.

    Args:
        file: the name of a file with keys, or `STDIN`; None if there is none.
        arguments: the names of the keys that were given as arguments.
        say: gets a sentence for each of the two.
    """
    if file is not None and file != STDIN:
        with contextlib.suppress(OSError):
            if is_shared(Path(file)):
                say(f"note: other users can read or change {file}, which has keys: chmod 600")
    if arguments:
        say(
            "note: `ps` shows keys in arguments, and a shell's history keeps them: --key-file FILE "
            "reads a file, or - standard input"
        )


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]


def _asked() -> dict[str, str]:
    """Ask a terminal for K and OPc, without showing them."""
    try:
        return {name: getpass.getpass(f"{title}: ").strip() for name, title in _ASKED.items()}
    except EOFError:
        raise UsageError("no keys were given") from None
