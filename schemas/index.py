"""Index entries of the store, which lead from a key in a message to an aggregate."""

from typing import Any, TypeAlias

Lead: TypeAlias = tuple[Any, ...]
"""The parts of an index entry: its kind, the function that formats its key, and that function's
arguments. Comparing leads is cheaper than formatting keys, and most steps change no lead. Different
leads of one state have different entries."""


def entry_of(lead: Lead) -> tuple[str, str]:
    """Return the index entry of a lead: its kind and its key."""
    kind, key, *values = lead
    return kind, key(*values)
