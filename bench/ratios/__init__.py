"""Ratios of CPU times within one run. They show on any machine whether evcore became slower."""

from pathlib import Path

from bench.micro.floor import registration
from bench.ratios import alone, together


async def measured(folder: Path) -> dict[str, float]:
    """Return all ratios by name. The core uses `folder`, which must not exist yet.

    Raises:
        RuntimeError: the load could not be run, or a procedure failed.
    """
    folder.mkdir(parents=True)
    return {
        **alone.codecs(),
        **alone.decisions(registration()),
        **await alone.appends(folder / "log.db"),
        **await together.procedures(folder / "core"),
    }
