"""Published test vectors, one table per file. Each file names its source document."""

from pathlib import Path


def table(name: str) -> list[list[str]]:
    """Return the rows of ``<name>.txt``, split at blanks. `#` starts a comment line."""
    lines = Path(__file__).with_name(f"{name}.txt").read_text(encoding="ascii").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]
