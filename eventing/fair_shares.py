"""Fair shares: each sender gets as much as any other, unless it wants less.

A *sender* is a gNB, a UPF, or the core itself. Shares are in proportion to weights. One sender can
use all that the others leave, so fair shares cost nothing while no sender has to wait.
"""

from collections.abc import Iterable, Mapping
from typing import Final

CORE: Final = "core"
"""The sender of events that the core publishes itself, such as wake-ups."""
NO_WEIGHTS: Final[Mapping[str, float]] = {}
_INTERFACES: Final = frozenset({"n2", "n4"})


def sender_of(source: str) -> str:
    """Return the sender of an event by its attribute `source`: the gNB of ``/n2/<gnb>/...``, the
    UPF of ``/n4/<upf>``, or `CORE`."""
    parts = source.split("/", 3)
    return parts[2] if len(parts) > 2 and parts[1] in _INTERFACES else CORE


def level(
    wanted: Iterable[tuple[str, float]], total: float, weights: Mapping[str, float] = NO_WEIGHTS
) -> float:
    """Return the max-min fair level for senders that share a total.

    Args:
        wanted: each sender with the amount that it wants.
        total: the amount for all of them.
        weights: the weights of senders; 1 for any other.

    Returns:
        The amount that a sender of weight 1 can have; infinite if all can have all that they want.
    """
    found = [(want / weights.get(sender, 1.0), weights.get(sender, 1.0)) for sender, want in wanted]
    found.sort()
    left, weight = max(0.0, total), sum(one for _, one in found)
    for each, own in found:
        if each * weight > left:
            return left / weight
        left -= each * own
        weight -= own
    return float("inf")
