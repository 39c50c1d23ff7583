"""The SQLite engine, with faults at moments that a test selects."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from functions.runtime.replay import all_aggregates
from schemas.step import Step
from statestore.contract import Append, Appended, IndexKey, Loaded, Outcome
from statestore.log import EventLog
from statestore.sqlite.engine import SqliteEngine
from statestore.subscribers import SubscriberStore
from statestore.vault import Vault
from tests.runtime.script import Script, Story, told, unplaced

Fault = Callable[[str], Awaitable[None]]
"""Called with the name of an engine method. It may wait or raise."""


async def no_fault(_: str) -> None:
    pass


class Store(SqliteEngine):
    """The store of one process, with its own engine on the file."""

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)
        vault = Vault(bytes(32))
        self.log = EventLog(self, vault)
        self.subscribers = SubscriberStore(self, vault)
        self.before: Fault = no_fault
        self.after: Fault = no_fault
        """Called after a committed transaction; it may raise."""
        self.appended: list[list[str]] = []
        """The triggers of the steps of each transaction."""

    async def append(self, batch: Sequence[Append]) -> list[Outcome]:
        await self.before("append")
        outcomes = await super().append(batch)
        done = zip(batch, outcomes, strict=True)
        self.appended.append([a.trigger for a, outcome in done if isinstance(outcome, Appended)])
        await self.after("append")
        return outcomes

    async def load(self, aggregates: Sequence[str]) -> list[Loaded | None]:
        await self.before("load")
        return await super().load(aggregates)

    async def owners(self, entries: Sequence[IndexKey]) -> list[str | None]:
        await self.before("owners")
        return await super().owners(entries)

    async def steps(self, aggregate: str) -> list[Step[Any]]:
        return [step async for step in self.log.steps(aggregate)]

    async def heads(self) -> dict[str, int]:
        return {name: head async for name, head in all_aggregates(self.log)}

    async def story(self) -> Story:
        return {name: told(await self.steps(name)) for name in await self.heads()}

    async def holds(self, script: Script) -> None:
        """Assert that the log, every state and every index are those of the script."""
        heads, story = await self.heads(), await self.story()
        assert heads == script.heads, await self.otherwise(script)
        assert story == script.story(), [n for n in story if story[n] != script.story()[n]]
        for aggregate in await self.log.load(list(script.states)):
            assert unplaced(aggregate.state) == unplaced(script.states[aggregate.name])
        entries = sorted(script.owners)
        owners = await self.owners([IndexKey(*entry) for entry in entries])
        assert dict(zip(entries, owners, strict=True)) == script.owners

    async def otherwise(self, script: Script) -> str:
        """Return the aggregates with another number of steps, and their triggers, as text."""
        lines: list[str] = []
        for name in {**script.heads, **await self.heads()}:
            here, there = await self.steps(name), script.steps.get(name, [])
            if len(here) != len(there):
                steps = (f"{s.procedure} {s.trigger.id} {s.events}" for s in here)
                lines += [f"{name}: {len(here)} steps, not {len(there)}", *steps]
        return "\n".join(lines)


async def opened(path: Path, script: Script) -> Store:
    """Open the store in a folder, with the subscribers of a script."""
    store = await Store.open(path / "evcore.db")
    assert isinstance(store, Store)
    await store.subscribers.put_all(list(script.subscribers.values()))
    return store
