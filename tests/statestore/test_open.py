"""Stores opened by URL."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from statestore import open as opening
from statestore.contract import StoreError
from statestore.foundationdb.engine import FoundationDbEngine
from statestore.open import open_store
from statestore.sqlite.engine import SqliteEngine
from tests.statestore.backends import DoubleBackend
from tests.statestore.fdb_double import FdbDouble
from tests.statestore.steps import OK, UE, step


def install(monkeypatch: pytest.MonkeyPatch, bindings: Any) -> None:
    def find(name: str) -> Any:
        assert name == "fdb"
        return bindings

    monkeypatch.setattr(opening, "import_module", find)


async def refused(url: str) -> str:
    with pytest.raises(StoreError) as caught:
        await open_store(url)
    return str(caught.value)


async def test_an_sqlite_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for url in (f"sqlite://{tmp_path}/store.db", "sqlite:store.db", f"sqlite:{tmp_path}/store.db"):
        store = await open_store(url)
        assert isinstance(store, SqliteEngine)
        assert len(await store.append([step(UE, 1)])) == 1
        await store.close()
    store = await open_store("sqlite:store.db", read_only=True)
    assert await store.aggregates() == [(UE, 1)]
    with pytest.raises(StoreError, match="read only"):
        await store.append([step(UE, 2)])
    await store.close()


async def test_a_path_with_blanks(tmp_path: Path):
    store = await open_store(f"sqlite://{tmp_path}/a%20store.db")
    await store.close()
    assert {path.name for path in tmp_path.iterdir()} >= {"a store.db"}


async def test_a_foundationdb_store(double: DoubleBackend, monkeypatch: pytest.MonkeyPatch):
    chosen: list[int] = []
    api: Any = FdbDouble({"/etc/fdb.cluster": double.cluster, None: double.cluster})
    api.api_version = chosen.append
    install(monkeypatch, api)
    store = await open_store("fdb:///etc/fdb.cluster")
    assert isinstance(store, FoundationDbEngine)
    assert chosen == [730]
    assert await store.append([step(UE, 1)]) == [OK]
    apart = await open_store("fdb:?prefix=other")
    assert await apart.aggregates() == []
    again = await open_store("fdb:?prefix=evcore")
    assert await again.aggregates() == [(UE, 1)]
    said = await refused("fdb:///elsewhere")
    assert said == "fdb:///elsewhere: the cluster file cannot be used: error 1515"


async def test_missing_bindings_are_told(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(opening, "import_module", missing)
    said = await refused("fdb:///etc/fdb.cluster")
    assert said == "the FoundationDB bindings are not installed: pip install foundationdb"


async def test_a_missing_client_library_is_told(monkeypatch: pytest.MonkeyPatch):
    class Module:
        @staticmethod
        def api_version(_: int) -> None:
            raise Exception("Unable to locate the API shared library!")  # noqa: TRY002 - as the client does

    install(monkeypatch, Module)
    assert await refused("fdb:///etc/fdb.cluster") == (
        "the FoundationDB client library cannot be used: Unable to locate the API shared library!"
        " (it comes with the package foundationdb-clients)"
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgres:///db", "'postgres' is not a kind of store; use sqlite:///PATH or fdb:///"),
        ("/var/lib/store.db", "'no scheme' is not a kind of store"),
        ("", "'no scheme' is not a kind of store"),
        ("sqlite://host/store.db", "a store URL has no host name"),
        ("sqlite://store.db", "a store URL has no host name; use sqlite:///PATH"),
        ("sqlite:", "the path of the file is missing"),
        ("sqlite:///store.db?mode=ro", "this kind of store has no option 'mode'"),
        ("fdb:///fdb.cluster?pefix=a", "this kind of store has no option 'pefix'"),
        ("sqlite:///none/store.db", "the directory /none of the store does not exist"),
        ("sqlite://[::1/store.db", "Invalid IPv6 URL"),
    ],
)
async def test_other_urls_are_refused(url: str, said: str):
    assert said in await refused(url)
