"""Decide recorded logs again, and count the differences."""

from collections.abc import Iterable, Sequence

from evcore.logs.access import Access
from functions.runtime.code import this_code
from functions.runtime.replay import Redecided, Replayer
from schemas.code import Code
from statestore.contract import StoreError, StoreUnavailable


class Verification:
    """The result of deciding logs again."""

    def __init__(self) -> None:
        self.aggregates = 0
        self.steps = 0
        self.differing: list[str] = []
        """A line for each step that is decided differently now, or cannot be read."""
        self.elsewhere: list[str] = []
        """A line for each step of a variant that is not available."""
        self.decided_by: tuple[str, ...] = ()
        """The code of the steps, such as ``"0.1.0 (3f2a9c01)"``."""

    @property
    def codes(self) -> str:
        """The code that decided the steps, and the code that decides them now."""
        return codes_then_and_now(self.decided_by)


async def verify_aggregates(access: Access, names: Iterable[str]) -> Verification:
    """Decide every step of `names` again, and compare the fold with the loaded state."""
    result = Verification()
    replayer = Replayer(access.log, access.subscribers, variants=access.variants.load)
    for name in names:
        result.aggregates += 1
        before, key = len(result.differing), await access.log.engine.data_key(name)
        try:
            await _verify(replayer, name, result)
            await access.log.check_snapshot(name)
        except StoreUnavailable:
            raise
        except StoreError as err:
            result.differing.append(f"{name}: {err}")
        if await access.log.engine.data_key(name) != key:
            del result.differing[before:]  # the core has removed it meanwhile
    result.decided_by = tuple(replayer.decided_by(code) for code in replayer.codes)
    return result


def codes_then_and_now(decided_by: Sequence[str], now: Code | None = None) -> str:
    """Return ``"decided by 0.1.0 (3f2a9c01), now 0.2.0 (9c015e7d)"``, of this code by default."""
    return f"decided by {' and '.join(decided_by) or 'no code'}, now {now or this_code()}"


def code_to_fetch(replayer: Replayer, found: Redecided) -> str:
    """Return a hint at the code that decided a differing step; empty for this code."""
    decided_by = replayer.decided_by(found.recorded.code)
    return (
        "" if decided_by == str(this_code()) else f": fetch evcore {decided_by}, which decided it"
    )


async def _verify(replayer: Replayer, name: str, result: Verification) -> None:
    async for found in replayer.steps(name):
        result.steps += 1
        if found.elsewhere:
            result.elsewhere.append(f"{name} step {found.recorded.seq}: {found.error}")
        elif not found.same:
            why = found.error or "events or outputs differ"
            why += code_to_fetch(replayer, found)
            result.differing.append(f"{name} step {found.recorded.seq}: {why}")
    if not await replayer.state_is_the_fold(name):
        result.differing.append(f"{name}: its snapshot is not the fold of its steps")
