"""The table [strangers]: how long the logs of strangers are kept (docs/decisions/0031).

No decision depends on it.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct


class StrangerPolicy(Struct, frozen=True, forbid_unknown_fields=True):
    """When the logs of UEs that never proved their identity, and of RAN nodes without an accepted
    NG SETUP, are removed."""

    keep_for: Annotated[int, Meta(ge=60, le=31_536_000)] = 3600
    """Seconds from the end of its first contact until a stranger is removed."""
    max_kept: Annotated[int, Meta(ge=0, le=1_000_000)] = 4096
    """Maximum number of strangers in the store. The oldest of more are removed, half a minute
    after the end of their first contact at the earliest."""


DEFAULT_POLICY: Final = StrangerPolicy()
