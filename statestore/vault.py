"""Encryption at rest: a data key for each aggregate and subscriber, wrapped by a master key.

Destroying an aggregate's wrapped key makes its log unreadable for ever.
"""

import os

from statestore.contract import StoreError
from wire import Sealer, WireError

KEY_OCTETS = 32
_NONCE_OCTETS = 12
_WRAP = b"evcore data key"


class WrongKeyError(StoreError):
    """The sealed value was sealed under another master key, or was changed later."""


class AggregateSealer:
    """Seals the values of one owner under its data key.

    Each value is bound to its owner, kind and number, so no value can replace another.
    """

    __slots__ = ("_context", "_sealer")

    def __init__(self, sealer: Sealer, context: str) -> None:
        self._sealer = sealer
        self._context = context

    def seal(self, kind: str, number: int, plain: bytes) -> bytes:
        """Return the sealed form of `plain`, 28 octets longer."""
        context = f"{self._context}\0{kind}\0{number}".encode()
        return self._sealer.seal(os.urandom(_NONCE_OCTETS), plain, context)

    def open(self, kind: str, number: int, sealed: bytes) -> bytes:
        """Return the plain form of a sealed value.

        Raises:
            WrongKeyError: the value was sealed under another key, or changed.
        """
        context = f"{self._context}\0{kind}\0{number}".encode()
        try:
            return self._sealer.open(sealed, context)
        except WireError as err:
            raise WrongKeyError(f"{self._context}: {kind} {number}: {err}") from None


class Vault:
    """Creates and opens data keys under one master key of 32 octets."""

    def __init__(self, master_key: bytes) -> None:
        if len(master_key) != KEY_OCTETS:
            raise StoreError(f"a master key has {KEY_OCTETS} octets, not {len(master_key)}")
        self._master = Sealer(master_key)

    def new_data_key(self) -> bytes:
        """Return a new data key, wrapped."""
        key, nonce = os.urandom(KEY_OCTETS), os.urandom(_NONCE_OCTETS)
        return self._master.seal(nonce, key, _WRAP)

    def sealer(self, wrapped: bytes, context: str) -> AggregateSealer:
        """Return the sealer of a wrapped data key. `context` names its owner.

        Raises:
            WrongKeyError: the data key was wrapped under another master key.
        """
        try:
            key = self._master.open(wrapped, _WRAP)
        except WireError:
            raise WrongKeyError(f"{context}: the master key cannot open its data key") from None
        return AggregateSealer(Sealer(key), context)
