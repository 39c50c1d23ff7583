"""Write the log of a core into a data directory without running a core."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace

import wire
from evcore.local.data import DataDirectory
from evcore.logs.access import Access, opened
from functions.messages.pfcp import session_message
from functions.runtime.code import this_code
from schemas.aggregates import upf_aggregate
from schemas.step import SendNgap, Step, encode
from statestore.contract import Appended
from statestore.log import Aggregate
from statestore.vault import Vault
from tests.functions.gnb import ng_setup
from tests.functions.phone import Phone
from tests.functions.world import GNB, HOME_KEYS, N4_NETWORK, UPF, World, subscriber
from tests.statestore import sqlite_rows

SUPI, OTHER_SUPI = "imsi-001010000000001", "imsi-001010000000002"
UE, OTHER_UE, RAN = f"ue/{SUPI}", f"ue/{OTHER_SUPI}", f"gnb/{GNB}"

# XRES* is not a key: a UE sends it in plain, as RES* (TS 24.501 5.4.1.3.3).
_KEYS_OF_UES = frozenset({"k", "opc", "kamf", "entropy", "tmsi_key"})
_KEYS_OF_NGAP = frozenset({"SecurityKey", "nextHopNH"})


class Recorded(NamedTuple):
    """A data directory with a log in it."""

    data: DataDirectory
    heads: dict[str, int]
    """The number of steps of each aggregate."""
    keys: set[bytes]
    """Every key in the log, in the subscriptions and in the secrets file."""


def played() -> World:
    """Play a scenario: one UE registers, goes idle, returns and switches off; another one stays.

    A UPF is associated, restarts and becomes silent; its restart ends a request.
    """
    world = World(subscriber(1), subscriber(2), network=N4_NETWORK)
    ng_setup(world)
    world.associate(UPF)
    world.path("up", UPF, 3_900_000_001)
    world.unanswered(*world.pfcp.pop())
    world.path("down", UPF)
    deletion = session_message("SessionDeletionRequest", 5, [])
    world.ended(UPF, upf_aggregate(UPF), 1, deletion, 3_900_000_001)
    first = Phone(world, 1)
    first.register("A")
    first.idle()
    first.open_again(first.request(), 9)
    first.finish()
    first.say(first.deregistration(switch_off=True))
    first.ngap("UEContextReleaseComplete")
    Phone(world, 2).register()
    return world


async def record(root: Path, world: World) -> Recorded:
    """Store the log of a world."""
    data = DataDirectory(root)
    secrets = data.prepare()
    async with opened(root) as access:
        await access.subscribers.put_all(list(world.subscribers.values()))
        version = await access.log.publish_network(world.network)
        code = await access.log.publish_code(this_code())
        aggregates: dict[str, Aggregate] = {}
        for name, step in world.order:
            if name not in aggregates:
                (aggregates[name],) = await access.log.load([name])
            await _append(access, aggregates[name], replace(step, network=version, code=code))
    home = [bytes.fromhex(key.private_key) for key in secrets.home_network_keys]
    ours = [bytes.fromhex(secrets.master_key), bytes.fromhex(secrets.tmsi_key), *home]
    given = [world.network, *world.subscribers.values(), *(step for _, step in world.order)]
    keys = {
        *ours,
        *(key.private_key for key in HOME_KEYS.values()),
        *(key for one in given for key in _keys(msgspec.to_builtins(one, builtin_types=(bytes,)))),
        *(key for _, step in world.order for key in _sent_keys(step)),
    }
    return Recorded(data, {name: len(steps) for name, steps in world.steps.items()}, keys)


async def _append(access: Access, aggregate: Aggregate, step: Step[Any]) -> None:
    before = aggregate.state
    aggregate.apply(step)
    entry = access.log.entry(aggregate, step, before)
    assert await access.log.engine.append([entry]) == [Appended()]


def _keys(tree: Any, names: frozenset[str] = _KEYS_OF_UES) -> Iterator[bytes]:
    if isinstance(tree, dict):
        for name, value in cast("dict[str, Any]", tree).items():
            if name in names:
                yield value if isinstance(value, bytes) else bytes.fromhex(value)
            else:
                yield from _keys(value, names)
    elif isinstance(tree, (list, tuple)):
        for value in cast("list[Any]", tree):
            yield from _keys(value, names)


def _sent_keys(step: Step[Any]) -> Iterator[bytes]:
    for output in step.outputs:
        if isinstance(output, SendNgap):
            yield from _keys(wire.ngap_decode(output.pdu), _KEYS_OF_NGAP)


# Damage to a database


def damage(data: DataDirectory, name: str, seq: int) -> None:
    """Flip a bit of a step, as a failing disk or somebody without the key can."""
    sqlite_rows.flip_step(data.database, name, seq)


def forge(data: DataDirectory, name: str, step: Step[Any]) -> None:
    """Replace a recorded step, as only somebody with the master key can."""
    vault = Vault(bytes.fromhex(data.secrets().master_key))
    query = "SELECT data_key FROM aggregates WHERE name = ?"
    ((wrapped,),) = sqlite_rows.rows(data.database, query, name)
    sealed = vault.sealer(wrapped, name).seal("step", step.seq, encode(step))
    write(data, name, step.seq, sealed)


async def read(data: DataDirectory, name: str) -> list[Step[Any]]:
    async with opened(data.root, read_only=True) as access:
        return [step async for step in access.log.steps(name)]


def body(data: DataDirectory, name: str, seq: int) -> bytes:
    return sqlite_rows.step(data.database, name, seq)


def write(data: DataDirectory, name: str, seq: int, sealed: bytes) -> None:
    sqlite_rows.put_step(data.database, name, seq, sealed)


def put_snapshot(data: DataDirectory, name: str, seq: int, sealed: bytes) -> None:
    insert = "INSERT INTO snapshots SELECT id, ?, ? FROM aggregates WHERE name = ?"
    sqlite_rows.change(data.database, insert, seq, sealed, name)
