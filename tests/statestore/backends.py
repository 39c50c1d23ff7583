"""The stores on which the contract is tested."""

import os
import uuid
from pathlib import Path
from typing import Protocol

import pytest

from statestore.contract import Engine
from statestore.foundationdb.api import Api
from statestore.foundationdb.engine import FoundationDbEngine
from statestore.foundationdb.keys import Keys, end_below
from statestore.open import foundationdb_bindings
from statestore.sqlite.engine import SqliteEngine
from tests.statestore.fdb_double import Database, FdbDouble
from tests.statestore.fdb_double_cluster import Cluster
from tests.statestore.official import without_old_importers

NAMES = ("sqlite", "fdb-double", "foundationdb")


class Backend(Protocol):
    """One empty store that any number of engines may use."""

    async def open(self) -> Engine:
        """Open another engine on the store."""
        ...

    async def close(self) -> None:
        """Remove the store. All engines are closed."""
        ...


class SqliteBackend:
    """A new SQLite file."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "store.db"

    async def open(self) -> Engine:
        return await SqliteEngine.open(self.path)

    async def close(self) -> None:
        pass


class DoubleBackend:
    """A FoundationDB cluster in memory."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.api = FdbDouble()
        self.database = Database(self.cluster)

    async def open(self, patience: float = 10) -> FoundationDbEngine:
        return await FoundationDbEngine.open(self.api, self.database, patience=patience)

    def put(self, key: bytes, value: bytes | None) -> None:
        """Change a key without the engines' knowledge."""
        transaction = self.database.create_transaction()
        if value is None:
            transaction.clear(key)
        else:
            transaction.set(key, value)
        transaction.commit().wait()

    async def close(self) -> None:
        self.cluster.close()


class ClusterBackend:
    """A separate prefix in a real cluster."""

    def __init__(self, cluster_file: str) -> None:
        self.api: Api = foundationdb_bindings()
        without_old_importers()
        self._cluster_file = cluster_file
        self._prefix = f"evcore-test-{uuid.uuid4()}"

    async def open(self) -> FoundationDbEngine:
        database = self.api.open(self._cluster_file)
        return await FoundationDbEngine.open(self.api, database, self._prefix)

    async def close(self) -> None:
        base = Keys(self._prefix).base
        transaction = self.api.open(self._cluster_file).create_transaction()
        transaction.clear_range(base, end_below(base))
        transaction.commit().wait()


def make(name: str, directory: Path) -> Backend:
    """Return the backend of a name. Skip the test if it is not available."""
    if name == "sqlite":
        return SqliteBackend(directory)
    if name == "fdb-double":
        return DoubleBackend()
    cluster_file = os.environ.get("FDB_CLUSTER_FILE")
    if not cluster_file:
        pytest.skip("FDB_CLUSTER_FILE is not set: there is no FoundationDB to test on")
    return ClusterBackend(cluster_file)
