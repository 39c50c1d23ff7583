"""Deciding recorded logs again, and counting what differs."""

from collections.abc import Iterable

from evcore.logs.access import Access
from functions.runtime.replay import Replayer
from statestore.contract import StoreError, StoreUnavailable


class Verification:
    """What came of deciding logs again."""

    def __init__(self) -> None:
        self.aggregates = 0
        self.steps = 0
        self.differing: list[str] = []
        """A line for each step that is decided otherwise now, or cannot be read."""
        self.elsewhere: list[str] = []
        """A line for each step that a version has decided which is not here."""


async def verify_aggregates(access: Access, names: Iterable[str]) -> Verification:
    """Decide every step of `names` again, and compare the fold with what a reader loads."""
    result = Verification()
    replayer = Replayer(access.log, access.subscribers, variants=access.variants.procedures)
    for name in names:
        result.aggregates += 1
        try:
            await _verify(replayer, name, result)
        except StoreUnavailable:
            raise
        except StoreError as err:
            result.differing.append(f"{name}: {err}")
    return result


async def _verify(replayer: Replayer, name: str, result: Verification) -> None:
    async for found in replayer.steps(name):
        result.steps += 1
        if found.elsewhere:
            result.elsewhere.append(f"{name} step {found.recorded.seq}: {found.error}")
        elif not found.same:
            why = found.error or "events or outputs differ"
            result.differing.append(f"{name} step {found.recorded.seq}: {why}")
    if not await replayer.state_is_the_fold(name):
        result.differing.append(f"{name}: its snapshot is not the fold of its steps")
