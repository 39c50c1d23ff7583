"""The store's record of damage: aggregates with steps that are missing or were changed.

Their events cannot be decided, and become dead letters. The record is a document for each of them,
so that every process that starts can name them without a search. `evcore log repair` searches.
"""

import logging
from typing import Final, NamedTuple

from statestore.contract import AggregateDamaged, Engine

log = logging.getLogger(__name__)

NAMED: Final = 10
"""Maximum number of aggregates that a process names when it starts."""
_PREFIX: Final = "damage/"


class Damage(NamedTuple):
    """A damaged aggregate."""

    aggregate: str
    problem: str


async def record(engine: Engine, found: AggregateDamaged) -> None:
    """Record a damaged aggregate. The same damage again changes nothing."""
    await engine.put_document(_PREFIX + found.aggregate, str(found).encode())


async def withdraw(engine: Engine, aggregate: str) -> None:
    """Record that an aggregate is not damaged."""
    if await engine.get_document(_PREFIX + aggregate) is not None:
        await engine.put_document(_PREFIX + aggregate, b"")


async def recorded(engine: Engine, most: int = NAMED) -> list[Damage]:
    """Return up to `most` recorded damages, in the order of their aggregates."""
    found: list[Damage] = []
    after = ""
    while len(found) < most and (page := await engine.documents(_PREFIX, after, most)):
        after = page[-1][0]
        for name, version in page:
            document = await engine.get_document(name, version)
            if document is not None and document.body:
                problem = document.body.decode(errors="replace")
                found.append(Damage(name.removeprefix(_PREFIX), problem))
    return found[:most]


async def warn(engine: Engine) -> None:
    """Log the recorded damages, of a process that starts."""
    for found in await recorded(engine):
        log.warning("%s; its events become dead letters", found.problem)
