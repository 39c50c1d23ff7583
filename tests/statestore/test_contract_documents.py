"""The contract of documents, on every engine."""

import asyncio

import pytest

from statestore.contract import Document, Engine
from tests.statestore.backends import Backend
from tests.statestore.steps import UE, step


async def test_versions_count_from_one(engine: Engine):
    assert await engine.put_document("a", b"one") == 1
    assert await engine.put_document("a", b"two") == 2
    assert await engine.put_document("b", b"one") == 1
    assert await engine.get_document("a") == Document(2, b"two")
    assert await engine.get_document("a", 1) == Document(1, b"one")
    assert await engine.get_document("a", 2) == Document(2, b"two")
    assert await engine.get_document("a", 3) is None
    assert await engine.get_document("a", -1) is None
    assert await engine.get_document("c") is None
    assert await engine.documents() == [("a", 2), ("b", 1)]


async def test_the_same_body_as_the_last_adds_no_version(engine: Engine):
    assert await engine.put_document("a", b"one") == 1
    assert await engine.put_document("a", b"one") == 1
    assert await engine.put_document("a", b"two") == 2
    # A body equal to an older version adds a new version.
    assert await engine.put_document("a", b"one") == 3
    assert await engine.documents() == [("a", 3)]


async def test_documents_are_no_aggregates(engine: Engine):
    await engine.put_document(UE, b"document")
    await engine.append([step(UE, 1)])
    assert await engine.aggregates() == [(UE, 1)]
    assert await engine.documents() == [(UE, 1)]
    assert len(await engine.feed()) == 1


@pytest.mark.parametrize("octets", [0, 1, 90_000, 90_001, 1_000_000])
async def test_documents_of_any_size(engine: Engine, octets: int):
    body = b"x" * octets
    assert await engine.put_document("a", body) == 1
    assert await engine.put_document("a", body) == 1
    assert await engine.put_document("a", body + b"y") == 2
    assert await engine.get_document("a", 1) == Document(1, body)


async def test_names_that_begin_with_one_another_are_apart(engine: Engine):
    names = ["a", "a\0", "a\0\0b", "a/b", "ab"]
    for name in names:
        assert await engine.put_document(name, name.encode()) == 1
    for name in names:
        assert await engine.get_document(name) == Document(1, name.encode())
    assert await engine.documents() == [(name, 1) for name in sorted(names)]


async def test_versions_put_at_once_are_all_kept(backend: Backend):
    engines = [await backend.open() for _ in range(3)]
    bodies = [f"body {number}".encode() for number in range(15)]
    puts = [engines[n % 3].put_document("a", body) for n, body in enumerate(bodies)]
    versions = await asyncio.gather(*puts)
    assert sorted(versions) == list(range(1, 16))
    for version, body in zip(versions, bodies, strict=True):
        assert await engines[0].get_document("a", version) == Document(version, body)
    for engine in engines:
        await engine.close()
