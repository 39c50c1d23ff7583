"""The parts of the core by themselves, without processes."""

from pathlib import Path
from typing import Final

from bench.figures import Row
from bench.micro import bus, codec, decisions, floor, log

SQLITE: Final = "sqlite:{folder}/log.db"


async def rows(folder: Path) -> list[Row]:
    """Return all figures of the parts."""
    folder.mkdir(parents=True)
    found = [*codec.rows(), *decisions.rows(), *floor.rows()]
    found += [row async for row in log.rows(folder, SQLITE)]
    return found + [row async for row in bus.rows(folder / "bus")]


def markdown(found: list[Row]) -> list[str]:
    """Return the figures as a table."""
    lines = ["| part | what | | |", "|---|---|---|---|"]
    return lines + [f"| {r.table} | {r.what} | {r.figure.text(1)} | {r.unit} |" for r in found]
