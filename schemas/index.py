"""Index entries of the store: what leads from a key that a message has to an aggregate."""

from typing import Any, TypeAlias

Lead: TypeAlias = tuple[Any, ...]
"""What an index entry is made of: its kind, the function that writes its key, and the values that
the function takes. To compare leads is cheaper than to write keys, and most steps change none.
Different leads of one state have different entries."""


def entry_of(lead: Lead) -> tuple[str, str]:
    """The index entry of a lead: its kind and its key."""
    kind, key, *values = lead
    return kind, key(*values)
