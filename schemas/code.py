"""The code that decided a step: a document in the store that steps reference by a short id."""

import hashlib

from msgspec import Struct

ID_DIGITS = 8
"""Hexadecimal digits of an id: short in a step, and unique among the releases of one core."""


class Code(Struct, frozen=True):
    """All code that can take part in a decision, by its digests (SHA-256, hexadecimal)."""

    release: str
    """The version of evcore (`schemas.version`)."""
    functions: str
    """The digest of the procedures and messages, in Python."""
    schemas: str
    """The digest of the events, states and documents."""
    wire: str
    """The digest of the sources of the Rust part."""
    variant: str = ""
    """The name of the variant that was swapped in, empty for the release itself."""

    @property
    def digest(self) -> str:
        """The digest of all parts."""
        parts = (self.release, self.functions, self.schemas, self.wire, self.variant)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @property
    def id(self) -> str:
        """The short id that steps contain."""
        return self.digest[:ID_DIGITS]

    def __str__(self) -> str:
        """Return the release and the id, as ``1.2.3 (3f2a9c01)``."""
        name = f"{self.release} {self.variant}" if self.variant else self.release
        return f"{name} ({self.id})"
