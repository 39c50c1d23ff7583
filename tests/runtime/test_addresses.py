"""The free addresses of one worker, on a store."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from functions.decision.env import NotReadyError
from functions.runtime import addresses
from functions.runtime.addresses import Addresses
from functions.runtime.pools import Pool
from schemas.network import UpfNode, UpfPool
from schemas.ue.index import address_index_key
from statestore.contract import QUARANTINE, Append, Appended, IndexConflict, IndexKey
from statestore.sqlite.engine import SqliteEngine
from tests.functions.world import NETWORK

WHERE = ("internet", "upf-1", 4)
NOW = 10_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[SqliteEngine]:
    opened = await SqliteEngine.open(tmp_path / "evcore.db")
    yield opened
    await opened.close()


def worker(
    engine: SqliteEngine, ipv4: str = "10.45.0.0/28", clock: Clock | None = None, seed: int = 1
) -> Addresses:
    upf = UpfNode("upf-1", (UpfPool("internet", ipv4, "2001:db8:1::/48"),))
    network = replace(NETWORK, upfs=(upf,))
    return Addresses(engine, network, 4, clock=clock or Clock(), random=Random(seed))


async def take(found: Addresses, partition: int = 0, now: int = NOW) -> str:
    """Take an address, after a lookup if necessary."""
    try:
        return found.allocate(*WHERE, partition)
    except NotReadyError:
        await found.load(*WHERE, partition, now)
        try:
            return found.allocate(*WHERE, partition)
        except NotReadyError:
            return ""


class Ues:
    """UEs with an address each, in the store."""

    def __init__(self, engine: SqliteEngine) -> None:
        self._engine = engine
        self._heads: dict[str, int] = {}

    async def append(
        self, found: Addresses, ue: str, put: str = "", drop: str = "", at: int = NOW
    ) -> bool:
        ended = found.end_quarantines([("internet", put)] if put else [])
        seq = self._heads.get(ue, 0) + 1
        put_, drop_ = (
            (IndexKey("address", address_index_key("internet", a)),) if a else ()
            for a in (put, drop)
        )
        made = Append(
            ue,
            seq,
            f"t-{ue}-{seq}",
            b"x",
            data_key=b"k",
            put=put_,
            at=at,
            give_up=drop_,
            end_quarantines=ended,
        )
        (outcome,) = await self._engine.append([made])
        if isinstance(outcome, IndexConflict):
            found.conflict(outcome.entry)
            return False
        assert isinstance(outcome, Appended)
        self._heads[ue] = seq
        found.appended(made)
        return True


async def test_all_are_given_once_and_then_none(engine: SqliteEngine) -> None:
    found, ues = worker(engine), Ues(engine)
    given: list[str] = []
    while address := await take(found):
        given.append(address)
        assert await ues.append(found, f"ue/{len(given)}", put=address)
        found.release_unstored()
    assert sorted(given) == sorted(f"10.45.0.{n}" for n in range(2, 15))


async def test_what_is_not_known_is_looked_up(engine: SqliteEngine) -> None:
    found = worker(engine)
    with pytest.raises(NotReadyError):
        found.allocate(*WHERE, 0)
    assert found.allocate("internet", "upf-9", 4, 0) == ""
    assert found.allocate("ims", "upf-1", 4, 0) == ""
    assert not await found.load("ims", "upf-1", 4, 0, NOW)
    await found.load("internet", "upf-1", 6, 3, NOW)
    assert found.allocate("internet", "upf-1", 6, 3).startswith("2001:db8:1:3")


async def test_what_was_not_stored_comes_back(engine: SqliteEngine) -> None:
    found = worker(engine, "10.45.0.0/30")
    for end in (
        found.release_unstored,
        found.outcome_unknown,
        lambda: found.withdraw("internet", "10.45.0.2"),
    ):
        assert await take(found) == "10.45.0.2"
        end()
    assert await take(found) == "10.45.0.2"
    assert await take(found) == "", "it is given already"


async def use_up(found: Addresses, ues: Ues, but: int = 0, at: int = NOW) -> None:
    """Give an address to a UE of its own until `but` addresses are left."""
    pool = Pool("upf-1", "internet", "10.45.0.0/28")
    for _ in range(pool.size - but):
        address = await take(found, now=at)
        assert await ues.append(found, f"ue/of-{address}", put=address, at=at)
        found.release_unstored()


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_was_given_up_is_not_given_again_while_others_are_free(
    engine: SqliteEngine, *, restarted: bool
) -> None:
    """In this worker, in another one that thinks it is free, and after a restart."""
    found, other, ues = worker(engine), worker(engine, seed=2), Ues(engine)
    await take(other)
    other.release_unstored()
    first = await take(found)
    await ues.append(found, "ue/1", put=first)
    await ues.append(found, "ue/1", drop=first)
    found.release_unstored()
    used = worker(engine) if restarted else found
    for number, one in enumerate([used, other] * 6):
        while True:
            address = await take(one, now=NOW + number)
            taken = await ues.append(one, f"ue/of-{number}", put=address, at=NOW + number)
            one.release_unstored()
            if taken:
                break
        assert address != first
    assert await take(worker(engine), now=NOW + 100) == first, "no other is left"


async def test_what_was_given_up_is_free_after_the_quarantine(engine: SqliteEngine) -> None:
    found, ues = worker(engine), Ues(engine)
    await use_up(found, ues, but=1)
    last = await take(found)
    await ues.append(found, "ue/1", put=last)
    await ues.append(found, "ue/1", drop=last)
    found.release_unstored()
    later = NOW + QUARANTINE
    fresh = worker(engine)
    assert await take(fresh, now=later) == last
    assert fresh.end_quarantines([("internet", last)]) == ()
    assert await ues.append(fresh, "ue/2", put=last, at=later)


async def test_an_exhausted_pool_gives_what_rested_longest(engine: SqliteEngine) -> None:
    """A small pool with UEs that come and go keeps working."""
    found, ues = worker(engine), Ues(engine)
    await use_up(found, ues)
    left = ["10.45.0.9", "10.45.0.4", "10.45.0.11"]
    for late, address in enumerate(left):
        await ues.append(worker(engine), f"ue/of-{address}", drop=address, at=NOW + late)
    for number, address in enumerate(left):
        at = NOW + 10 + number
        assert await take(found, now=at) == address
        assert await ues.append(found, f"ue/{number}", put=address, at=at)
        found.release_unstored()
    assert await take(found, now=NOW + 20) == ""


async def test_two_workers_do_not_give_the_same_out_of_quarantine(engine: SqliteEngine) -> None:
    one, other, ues = worker(engine), worker(engine), Ues(engine)
    await use_up(one, ues)
    for late, address in enumerate(["10.45.0.9", "10.45.0.4"]):
        await ues.append(worker(engine), f"ue/of-{address}", drop=address, at=NOW + late)
    assert await take(one, now=NOW + 9) == await take(other, now=NOW + 9) == "10.45.0.9"
    assert await ues.append(one, "ue/1", put="10.45.0.9", at=NOW + 9)
    assert not await ues.append(other, "ue/2", put="10.45.0.9", at=NOW + 9)
    other.release_unstored()
    assert await take(other, now=NOW + 9) == "10.45.0.4"
    assert await ues.append(other, "ue/2", put="10.45.0.4", at=NOW + 9)


async def test_workers_that_think_the_same_free_do_not_both_have_it(engine: SqliteEngine) -> None:
    one, other, ues = worker(engine), worker(engine), Ues(engine)
    address = await take(one)
    assert await take(other) == address
    assert await ues.append(one, "ue/1", put=address)
    assert not await ues.append(other, "ue/2", put=address)
    other.release_unstored()
    rest = [await take(other) for _ in range(13)]
    assert address not in rest
    assert rest[-1] == ""


async def test_a_ue_does_not_get_what_it_has(engine: SqliteEngine) -> None:
    """The store accepts an entry of the same UE twice, so the worker must not offer it again."""
    found = worker(engine, "10.45.0.0/30")
    await found.load(*WHERE, 0, NOW)
    held = {address_index_key("internet", "10.45.0.2")}
    with pytest.raises(NotReadyError):
        found.allocate(*WHERE, 0, held)


async def test_a_pool_that_was_exhausted_is_looked_at_again(engine: SqliteEngine) -> None:
    clock = Clock()
    found, other, ues = worker(engine, "10.45.0.0/30", clock), worker(engine), Ues(engine)
    await ues.append(other, "ue/1", put="10.45.0.2")
    assert await take(found) == ""
    await ues.append(other, "ue/1", drop="10.45.0.2")
    assert await take(found) == "", "it is not looked at for each UE"
    clock.now += addresses.EXHAUSTED_FOR + 1
    assert await take(found) == "10.45.0.2"


async def test_full_blocks_are_left_for_others_and_come_to_at_last(engine: SqliteEngine) -> None:
    clock = Clock()
    found, ues = worker(engine, "10.45.0.0/22", clock), Ues(engine)
    pool = Pool("upf-1", "internet", "10.45.0.0/22")
    for number in pool.numbers(1):
        await ues.append(found, f"ue/{number}", put=pool.text(number))
    given = {await take(found, 1) for _ in range(256)}
    assert {address.rsplit(".", 1)[0] for address in given} == {"10.45.2"}
    for number in pool.numbers(1)[:2]:
        await ues.append(worker(engine), f"ue/{number}", drop=pool.text(number))
    rest = [await take(found, 1) for _ in range(pool.size - 256 - 254 + 1)]
    assert rest[-1] == ""
    assert "" not in rest[:-1]
    assert {"10.45.1.0", "10.45.1.1"} <= set(rest), "what another released is found in the end"
    assert len(given | set(rest)) == pool.size - 254 + 1


async def test_memory_is_bounded(engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "LOADED", 2)
    monkeypatch.setattr(addresses, "FULL", 2)
    found = worker(engine, "10.45.0.0/20")
    given = [await take(found) for _ in range(16 * 256 - 3)]
    assert len(set(given)) == 16 * 256 - 3
    assert await take(found) == ""
