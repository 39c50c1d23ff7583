"""Published test vectors, a table a file; each file names the document it is from."""

from pathlib import Path


def table(name: str) -> list[list[str]]:
    """The rows of ``<name>.txt``, split at blanks; `#` starts a comment line."""
    lines = Path(__file__).with_name(f"{name}.txt").read_text(encoding="ascii").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]
