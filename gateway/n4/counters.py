"""What a gateway counts, and how it tells without filling its log."""

import logging

from msgspec import Struct

log = logging.getLogger("gateway.n4")


class Counters(Struct):
    """What the gateway has done since it started."""

    uplink: int = 0
    """Messages from UPFs."""
    downlink: int = 0
    """Messages from the core."""
    repeated: int = 0
    """Requests that were sent again after T1."""
    unanswered: int = 0
    """Requests that were not answered after N1 repetitions."""
    undeliverable: int = 0
    """Requests that found no room in the queue of their UPF; the functions' timers repeat them."""
    under_way: int = 0
    """Requests that were under way already."""
    duplicates: int = 0
    """Requests that a UPF had sent before, and answers to requests that were answered."""
    unmatched: int = 0
    """Answers to nothing that was asked."""
    malformed: int = 0
    """What was no message, from either side."""
    unknown_source: int = 0
    """Messages from addresses of no UPF."""
    overloads: int = 0
    """Requests of UPFs that were not taken, because JetStream does not keep up."""


def rarely(count: int, text: str, *arguments: object) -> None:
    """Log a warning about the `count`-th of something, at powers of two."""
    if count & (count - 1) == 0:
        log.warning(text + " (%d so far)", *arguments, count)
