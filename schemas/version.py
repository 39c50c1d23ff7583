"""The version of evcore. The same version must be in pyproject.toml and in wire/Cargo.toml."""

from typing import Final

VERSION: Final = "0.2.0"
