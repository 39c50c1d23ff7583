"""The version of evcore: here, in pyproject.toml and in wire/Cargo.toml, and nowhere else."""

from typing import Final

VERSION: Final = "0.1.0"
