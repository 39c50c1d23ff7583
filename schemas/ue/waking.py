"""Wake-ups that aggregates share. JetStream stores one for all UEs, RAN nodes and UPFs with timers
that end at about the same time.

An index of the store lists them; it is written with the step that starts a timer. So every wake-up
can be made again from the store. The wake-up time in a state is exact; only the wake-up itself
comes slightly later.
"""

from typing import Final

from schemas.procedures import procedure_of_timer

WAKE: Final = "wake"
"""The index of the aggregates with a running timer, in the order of time."""
MOBILE_REACHABLE: Final = "mobile-reachable"
IMPLICIT_DEREGISTRATION: Final = "implicit-deregistration"
"""The timers of a registered UE in CM-IDLE (TS 24.501 5.3.7)."""

FINE: Final = 512
_COARSE: Final = 65_536
"""Maximum milliseconds between the end of a timer and its wake-up. The mobile reachable timer runs
for minutes or hours in every idle UE, and its delay does not matter."""


def wake_key(at: int, timer: str, identity: str) -> str:
    """Return the index key of a UE for a `timer` that ends at a time in milliseconds since the Unix
    epoch. `identity` is its SUPI or, before the identification, the key of its N2 connection."""
    return f"{wake_prefix(shared_at(at, timer), procedure_of_timer(timer))}{identity}"


def node_wake_key(at: int, procedure: str, identity: str) -> str:
    """Return the index key of a RAN node or a UPF with a timer that ends at a time in milliseconds
    since the Unix epoch."""
    return f"{wake_prefix(_rounded(at, FINE), procedure)}{identity}"


def shared_at(at: int, timer: str) -> int:
    """Return the time of the wake-up for a `timer` that ends at a time, both in milliseconds."""
    return _rounded(at, _COARSE if timer == MOBILE_REACHABLE else FINE)


def _rounded(at: int, step: int) -> int:
    return -(-at // step) * step


def wake_prefix(at: int, procedure: str) -> str:
    """Return the key prefix of all aggregates that share the wake-up of a procedure at a time."""
    return f"{at:013d}/{procedure}/"


def shared_by(key: str) -> tuple[int, str]:
    """Return the time and the procedure of the wake-up in an index key."""
    at, procedure, _ = key.split("/", 2)
    return int(at), procedure
