"""`evcore log repair` writes again what the steps determine, and names what it cannot repair."""

import asyncio

import pytest

import wire
from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from evcore.logs.repair import INDEXES
from schemas.aggregates import kind_of
from statestore import damage
from statestore.damage import Damage
from tests.evcore import recording
from tests.evcore.recording import OTHER_SUPI, OTHER_UE, RAN, SUPI, UE, Recorded
from tests.evcore.shell import Said, Shell
from tests.functions.phone import Phone
from tests.functions.site import Site
from tests.statestore import sqlite_rows


def change(data: DataDirectory, sql: str, *values: object) -> None:
    """Change rows of the store behind its engine; at least one."""
    sqlite_rows.change(data.database, sql, *values)


Entries = dict[tuple[str, str], str]


def entries(data: DataDirectory) -> Entries:
    """Return the owner of each index entry."""
    query = "SELECT kind, key, name FROM entries JOIN aggregates ON id = owner"
    return {(kind, key): name for kind, key, name in sqlite_rows.rows(data.database, query)}


def put_snapshot(data: DataDirectory, seq: int, of: int) -> None:
    """Store the state of the UE after step `of` as its snapshot after step `seq`."""

    async def sealed() -> bytes:
        async with opened(data.root) as access:
            aggregate = await access.log.at(UE, of)
            plain = kind_of(UE).snapshots.encode(aggregate.state)
            return aggregate.sealer.seal("snapshot", seq, plain)

    recording.put_snapshot(data, UE, seq, asyncio.run(sealed()))


def repaired(evcore: Shell, recorded: Recorded, *lines: str) -> None:
    """Repair everything, with these lines, and check that nothing is left to repair."""
    aggregates, steps = len(recorded.heads), sum(recorded.heads.values())
    said = evcore.ok("log", "repair")
    *mended, last = said.lines
    assert sorted(mended) == sorted(lines)
    assert last == f"repair: aggregates={aggregates} steps={steps} mended={len(lines)} damaged=0"
    assert evcore.ok("log", "repair").lines[-1].endswith(" mended=0 damaged=0")
    assert " differences=0" in evcore.ok("log", "verify", "--all").out


def damaged(said: Said) -> list[str]:
    assert said.status == 1
    *lines, last = said.lines
    assert last.endswith(f" mended=0 damaged={len(lines)}")
    return lines


def recorded_damage(data: DataDirectory) -> list[Damage]:
    async def read() -> list[Damage]:
        async with opened(data.root, read_only=True) as access:
            return await damage.recorded(access.log.engine)

    return asyncio.run(read())


def test_a_store_without_damage(evcore: Shell, recorded: Recorded) -> None:
    before = entries(recorded.data)
    repaired(evcore, recorded)
    assert entries(recorded.data) == before


@pytest.mark.parametrize("at_snapshot", [True, False])
def test_a_snapshot(evcore: Shell, recorded: Recorded, at_snapshot: bool) -> None:
    head = recorded.heads[UE]
    seq = 3 if at_snapshot else head + 1
    recording.put_snapshot(recorded.data, UE, seq, b"flipped" * 10)
    said = evcore("log", "verify", SUPI)
    assert (said.status, f"{UE}: the snapshot of {UE} is damaged" in said.out) == (1, True)
    repaired(evcore, recorded, f"{UE}: its snapshot is written again, after step {head}")


def test_a_snapshot_that_is_not_the_fold(evcore: Shell, recorded: Recorded) -> None:
    put_snapshot(recorded.data, 3, of=2)
    head = recorded.heads[UE]
    repaired(evcore, recorded, f"{UE}: its snapshot is written again, after step {head}")


def test_every_entry_that_is_lost_is_added(evcore: Shell, recorded: Recorded) -> None:
    before = entries(recorded.data)
    assert {kind for kind, _ in before} >= {"tmsi", "ngap", "gnb", "tai"}
    change(recorded.data, "DELETE FROM entries")
    lines = [
        f"{owner}: its entry {key} of the index {kind} is added"
        for (kind, key), owner in before.items()
    ]
    repaired(evcore, recorded, *lines)
    assert entries(recorded.data) == before


@pytest.mark.parametrize("index", ["tmsi", "ngap", "gnb", "tai"])
def test_a_bit_of_a_key(evcore: Shell, recorded: Recorded, index: str) -> None:
    before = entries(recorded.data)
    key, owner = next((key, owner) for (kind, key), owner in before.items() if kind == index)
    wrong = key[:-1] + chr(ord(key[-1]) ^ 1)
    update = "UPDATE entries SET key = ? WHERE kind = ? AND key = ?"
    change(recorded.data, update, wrong, index, key)
    repaired(
        evcore,
        recorded,
        f"{owner}: its entry {key} of the index {index} is added",
        f"{owner}: the entry {wrong} of the index {index} is removed",
    )
    assert entries(recorded.data) == before


def test_an_entry_with_another_owner(evcore: Shell, recorded: Recorded) -> None:
    before = entries(recorded.data)
    key = next(key for (kind, key), owner in before.items() if (kind, owner) == ("ngap", OTHER_UE))
    owner = "UPDATE entries SET owner = (SELECT id FROM aggregates WHERE name = ?) WHERE key = ?"
    change(recorded.data, owner, RAN, key)
    line = f"{OTHER_UE}: its entry {key} of the index ngap is added"
    repaired(evcore, recorded, line)
    assert entries(recorded.data) == before


def test_an_owner_that_does_not_exist(evcore: Shell, recorded: Recorded) -> None:
    before = entries(recorded.data)
    key = next(key for (kind, key), owner in before.items() if (kind, owner) == ("ngap", OTHER_UE))
    change(recorded.data, "UPDATE entries SET owner = owner + 4096 WHERE key = ?", key)
    repaired(evcore, recorded, f"{OTHER_UE}: its entry {key} of the index ngap is added")
    assert entries(recorded.data) == before


def test_a_step_is_named_and_recorded_until_it_is_restored(
    evcore: Shell, recorded: Recorded
) -> None:
    whole = recording.body(recorded.data, UE, 4)
    recording.damage(recorded.data, UE, 4)
    recording.damage(recorded.data, UE, 6)
    fourth, sixth = damaged(evcore("log", "repair"))
    assert fourth.startswith(f"step 4 of {UE} is damaged: ")
    assert sixth.startswith(f"step 6 of {UE} is damaged: ")
    ((name, problem),) = recorded_damage(recorded.data)
    assert (name, f" of {UE} is damaged: " in problem) == (UE, True)
    assert evcore.ok("log", "verify", OTHER_SUPI)
    assert {"aggregate": UE, "steps": recorded.heads[UE], "damaged": True} in evcore.ok(
        "log", "list", "--json"
    ).documents
    assert evcore.ok("session", "list")
    recording.write(recorded.data, UE, 4, whole)
    recording.damage(recorded.data, UE, 6)  # the same bit
    repaired(evcore, recorded)
    assert recorded_damage(recorded.data) == []


def test_a_step_before_a_snapshot(evcore: Shell, recorded: Recorded) -> None:
    """Its UE is served, and its entries are repaired; but the log cannot be verified."""
    put_snapshot(recorded.data, 6, of=6)
    recording.damage(recorded.data, UE, 4)
    (line,) = damaged(evcore("log", "repair"))
    assert line.startswith(f"step 4 of {UE} is damaged: ")
    assert recorded_damage(recorded.data) == []
    before = entries(recorded.data)
    change(recorded.data, "DELETE FROM entries")
    assert evcore("log", "repair").status == 1
    assert entries(recorded.data) == before


def test_a_missing_step(evcore: Shell, recorded: Recorded) -> None:
    sqlite_rows.put_step(recorded.data.database, UE, 3, None)
    assert damaged(evcore("log", "repair")) == [f"1 steps of '{UE}' are missing"]
    assert [found.aggregate for found in recorded_damage(recorded.data)] == [UE]


def test_a_data_key(evcore: Shell, recorded: Recorded) -> None:
    flip = "UPDATE aggregates SET data_key = flipped(data_key) WHERE name = ?"
    change(recorded.data, flip, UE)
    assert damaged(evcore("log", "repair")) == [f"the data key of {UE} is damaged"]


def test_a_subscription(evcore: Shell, recorded: Recorded) -> None:
    flip = "UPDATE documents SET body = flipped(body) WHERE name = ?"
    change(recorded.data, flip, f"subscriber/{SUPI}")
    (line,) = damaged(evcore("log", "repair"))
    assert line.startswith(f"the document subscriber/{SUPI}, version 1: ")


def test_a_name(evcore: Shell, recorded: Recorded) -> None:
    change(recorded.data, "UPDATE aggregates SET name = 'ud/x' WHERE name = ?", UE)
    assert "ud/x is the name of no aggregate" in evcore("log", "repair").lines


def test_another_master_key_is_not_damage(evcore: Shell, recorded: Recorded) -> None:
    text = recorded.data.secrets_file.read_text()
    key = recorded.data.secrets().master_key
    recorded.data.secrets_file.write_text(text.replace(key, "ab" * 32))
    said = evcore("log", "repair")
    assert (said.status, said.out) == (1, "")
    assert "the master key cannot open its data key" in said.err
    recorded.data.secrets_file.write_text(text)
    assert recorded_damage(recorded.data) == []


def test_every_index_is_checked() -> None:
    """An index that a state leads to must be in the list of the repair."""
    site = Site(ftup=False)
    site.upfs.silent = True
    site.ask()
    stranger = Phone(site.world, 99)
    stranger.initial(wire.nas_encode(stranger.request()))
    stranger.hear()
    stranger.ngap("UEContextReleaseComplete")
    assert {kind for kind, _ in site.world.owners} == set(INDEXES)
