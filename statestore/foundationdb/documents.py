"""Versioned documents in FoundationDB."""

import os

from statestore.contract import Document, StoreDamaged
from statestore.foundationdb.api import Reader, Transaction
from statestore.foundationdb.blob import get_blob, put_blob
from statestore.foundationdb.client import Client, done, ready
from statestore.foundationdb.keys import SEQ_OCTETS, TOKEN_OCTETS, Keys


async def read_document(
    client: Client, reader: Reader, keys: Keys, name: str, version: int
) -> Document | None:
    """Return a version of a document; the last one for 0."""
    if version < 0:
        return None
    if not version:
        last = reader.get(keys.doc(name))
        await ready(last)
        if last.value is None:
            return None
        version = int.from_bytes(last.value)
    key = keys.version(name, version)
    future = reader.get(key)
    await ready(future)
    if future.value is None:
        return None
    return Document(version, await get_blob(client, reader, keys, key, future.value, TOKEN_OCTETS))


class Putting:
    """Adds one version to a document exactly once, with as many attempts as needed."""

    def __init__(self, client: Client, keys: Keys, name: str, body: bytes) -> None:
        self._client = client
        self._keys = keys
        self._name = name
        self._body = body
        self._token = os.urandom(TOKEN_OCTETS)
        self._attempts: set[int] = set()
        """The version numbers that earlier attempts tried to write."""

    async def attempt(self, transaction: Transaction) -> int:
        """Add the version in this transaction and return its number."""
        for version in self._attempts:
            future = transaction.get(self._keys.version(self._name, version))
            await ready(future)
            if (future.value or b"").startswith(self._token):
                return version
        # This read conflicts with every other transaction that adds a version, including an earlier
        # attempt with a commit that is still running.
        last = transaction.get(self._keys.doc(self._name))
        await ready(last)
        version = int.from_bytes(last.value or b"")
        if version:
            reader = transaction.snapshot
            before = await read_document(self._client, reader, self._keys, self._name, version)
            if before is None:
                raise StoreDamaged(f"version {version} of the document {self._name!r} is missing")
            if before.body == self._body:
                return version
        return await self._add(transaction, version + 1)

    async def _add(self, transaction: Transaction, version: int) -> int:
        self._attempts.add(version)
        key = self._keys.version(self._name, version)
        put_blob(transaction, self._keys, key, self._token, self._body)
        transaction.set(self._keys.doc(self._name), version.to_bytes(SEQ_OCTETS))
        await done(transaction.commit())
        return version
