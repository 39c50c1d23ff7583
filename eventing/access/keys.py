"""The key of each role: an nkey, which is an Ed25519 key pair as NATS writes it.

A file ``ROLE.nk`` has the seed of a role, readable by its owner only. The broker knows the public
keys only, and checks a signature at each connection.
"""

import binascii
import os
from pathlib import Path
from typing import Any, Final

from eventing.access.files import write_once
from eventing.access.roles import Role
from schemas.config.values import ConfigError

_KEY_OCTETS: Final = 32
"""Octets of an Ed25519 private key."""
_SEED_LETTERS: Final = 58
"""Letters of a seed: the key with a prefix of two octets and a CRC of two octets, in base 32."""


def file_of(path: Path, role: Role) -> Path:
    """Return the file with the key of a role: `path`, or ``ROLE.nk`` in it if it is a folder."""
    return path / f"{role}.nk" if path.is_dir() else path


def make_missing(folder: Path) -> dict[Role, str]:
    """Make the files of all roles that have none in a folder. Return the public keys.

    Raises:
        ConfigError: the folder cannot be used, or a file has no key.
    """
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        for role in Role:
            _make(folder / f"{role}.nk")
    except OSError as err:
        raise ConfigError(f"{folder} cannot be used for keys of NATS: {err.strerror}") from None
    return {role: public_key(folder / f"{role}.nk") for role in Role}


def public_key(path: Path) -> str:
    """Return the public key of the seed in a file.

    Raises:
        ConfigError: the file cannot be read, or has no seed of a user.
    """
    # PyNaCl takes 10 ms to import, which a process without an nkey must not pay.
    import nkeys  # noqa: PLC0415

    try:
        seed = path.read_bytes().strip()
    except OSError as err:
        raise ConfigError(f"{path}: {err.strerror}") from None
    if not seed.startswith(b"SU") or len(seed) != _SEED_LETTERS:
        raise ConfigError(f"{path} has no nkey of a user: one line that starts with SU")
    try:
        pair: Any = nkeys.from_seed(bytearray(seed))
        found: bytes = pair.public_key
    except (nkeys.NkeysError, binascii.Error, ValueError):
        raise ConfigError(f"{path} has no nkey of a user: the seed is damaged") from None
    return found.decode()


def _make(path: Path) -> None:
    if path.exists():
        return
    import nkeys  # noqa: PLC0415 - see `public_key`

    seed: bytes = nkeys.encode_seed(os.urandom(_KEY_OCTETS), nkeys.PREFIX_BYTE_USER)
    write_once(path, seed + b"\n")
