"""The table of procedures that `evcore up` shows at the bottom of a terminal."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from rich import box
from rich.table import Table as RichTable

from evcore.commands.output import Notices
from evcore.local.core import LocalCore
from evcore.local.table import Row, Table

PERIOD: Final = 1.0
"""Seconds between updates. An unchanged table is not drawn again."""

_COLUMNS: Final = ("queued", "workers", "steps/s", "p99", "failures", "cold starts", "last took")


def rendered(rows: Sequence[Row]) -> RichTable:
    """Return the rows as a table for a terminal. A procedure without work is dim."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, highlight=False)
    table.add_column("procedure")
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for row in rows:
        cells = (
            row.procedure,
            str(row.queued),
            str(row.workers),
            f"{row.per_second:.0f}" if row.per_second >= 10 else f"{row.per_second:.1f}",
            "" if row.p99 is None else milliseconds(row.p99),
            str(row.failures),
            str(row.cold_starts),
            "" if row.last_cold_start is None else milliseconds(row.last_cold_start),
        )
        quiet = not (row.queued or row.per_second)
        table.add_row(*cells, style="red" if row.failures else "dim" if quiet else "")
    return table


def milliseconds(seconds: float) -> str:
    """Format a duration in milliseconds, or in seconds from 1 s on."""
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


@asynccontextmanager
async def shown(core: LocalCore, notices: Notices) -> AsyncGenerator[None]:
    """Show the table of a core below the printed lines for the duration of a block.

    Show no table if standard error is not a terminal.
    """
    if not notices.watched:
        yield
        return
    table = Table(core.scaler, core.stats)
    with notices.below(rendered(table.rows())) as draw:

        async def keep() -> None:
            last: list[Row] = []
            while True:
                await asyncio.sleep(PERIOD)
                rows = table.rows()
                if rows != last:
                    draw(rendered(rows))
                    last = rows

        drawing = asyncio.ensure_future(keep())
        try:
            yield
        finally:
            drawing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await drawing
