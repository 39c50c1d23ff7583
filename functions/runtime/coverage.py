"""Which gNBs serve a tracking area, by the index entries of their associations."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from schemas.identity import Tai
from schemas.ran import tai_index_prefix
from statestore.contract import Engine

KEPT: Final = 1.0
"""Seconds after which a tracking area is looked up again. A gNB that comes in between hears the
next repetition of a PAGING, and is the target of the next handover that is tried."""
CAPACITY: Final = 4096
"""Tracking areas that are kept."""


class Coverage:
    """The associations that a PAGING goes to, looked up once for many UEs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[str, tuple[float, list[tuple[str, str]]]] = OrderedDict()

    async def of(self, tais: Sequence[Tai]) -> list[tuple[str, str]]:
        """Who serves one of the tracking areas: gNB and association, each once."""
        found: dict[tuple[str, str], None] = {}
        for tai in tais:
            found.update(dict.fromkeys(await self.serving(tai_index_prefix(tai))))
        return list(found)

    async def serving(self, prefix: str) -> list[tuple[str, str]]:
        """The same for the one tracking area whose index entries begin with `prefix`."""
        now, after = time.monotonic(), ""
        until, kept = self._kept.get(prefix, (0.0, []))
        if until > now:
            return kept
        found: list[tuple[str, str]] = []
        while page := await self._engine.scan("tai", prefix, after):
            after = page[-1][0]
            for key, _ in page:
                gnb, _, association = key.removeprefix(prefix).partition("/")
                found.append((gnb, association))
        self._kept[prefix] = (now + KEPT, found)
        self._kept.move_to_end(prefix)
        if len(self._kept) > CAPACITY:
            self._kept.popitem(last=False)
        return found
