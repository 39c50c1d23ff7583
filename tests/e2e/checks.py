"""Invariants of the logs after every run."""

import asyncio
from collections import Counter

from evcore.local.data import DataDirectory
from evcore.logs.access import opened
from evcore.logs.verify import Verification, verify_aggregates
from functions.runtime.replay import all_aggregates
from loadgen import Report
from schemas.ue.state import Ue
from statestore.contract import Engine, IndexKey


def failed(report: Report) -> str:
    """Return the failures of a load as one text, because pytest shortens other values."""
    return f"failed={report.failed[:9]} violations={report.violations[:9]} cut_off={report.cut_off}"


async def verified(data: DataDirectory) -> Verification:
    """Assert that steps are decided the same, snapshots are the fold, and triggers are unique."""
    async with opened(data.root) as access:
        names = [name async for name, _ in all_aggregates(access.log)]
        result = await verify_aggregates(access, names)
        assert result.differing == [], result.differing[:5]
        for name in names:
            triggers = Counter([step.trigger.id async for step in access.log.steps(name)])
            twice = {trigger for trigger, count in triggers.items() if count > 1}
            assert not twice, (name, twice)
    return result


async def ues(data: DataDirectory) -> dict[str, Ue]:
    """Return the states of the UEs with a known SUPI."""
    async with opened(data.root) as access:
        names = [name async for name, _ in all_aggregates(access.log, "ue/imsi-")]
        found = await access.log.load(names)
        return {aggregate.name: aggregate.state for aggregate in found}


async def index_entries(data: DataDirectory, kind: str) -> list[tuple[str, str]]:
    """Return all entries of an index at one moment."""
    async with opened(data.root) as access:
        engine = access.log.engine
        found = await _scanned(engine, kind)
        while True:
            owners = await engine.owners([IndexKey(kind, key) for key, _ in found])
            if owners == [owner for _, owner in found]:
                return found
            before, found = found, await _scanned(engine, kind)
            assert found != before  # otherwise a running core has written in between


async def _scanned(engine: Engine, kind: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    after = ""
    while page := await engine.scan(kind, "", after):
        found += page
        after = page[-1][0]
    return found


async def no_sessions(data: DataDirectory) -> None:
    """Assert that no PDU session, address or SEID is left."""
    assert {name for name, ue in (await ues(data)).items() if ue.sessions} == set()
    for kind in ("seid", "upf", "address"):
        assert await index_entries(data, kind) == []


async def upfs_associated(data: DataDirectory, count: int) -> None:
    """Wait until this number of UPFs is associated."""
    while True:
        async with opened(data.root) as access:
            names = [name async for name, _ in all_aggregates(access.log, "upf/")]
            found = await access.log.load(names)
        if sum(aggregate.state.associated for aggregate in found) == count:
            return
        await asyncio.sleep(0.05)  # another process writes
