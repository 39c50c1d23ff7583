"""Wake-ups that UEs share: JetStream holds one for all whose timers end at about the same time.

Which UEs those are is in an index of the store, written with the step that starts a timer. What a
state says of its next wake-up stays exact; only the wake-up comes a little later.
"""

from typing import Final

from schemas.procedures import procedure_of_timer

WAKE: Final = "wake"
"""The index of the UEs to be woken, in the order of time."""
MOBILE_REACHABLE: Final = "mobile-reachable"
IMPLICIT_DEREGISTRATION: Final = "implicit-deregistration"
"""The timers of a registered UE in CM-IDLE (TS 24.501 5.3.7)."""

FINE: Final = 512
_COARSE: Final = 65_536
"""Milliseconds that a wake-up may be later than its timer, at most. Nothing waits for the mobile
reachable timer, of minutes and hours, and each UE that is idle has it."""


def wake_key(at: int, timer: str, supi: str) -> str:
    """The index key of a UE whose `timer` ends at a time in milliseconds since the Unix epoch."""
    return f"{wake_prefix(shared_at(at, timer), procedure_of_timer(timer))}{supi}"


def shared_at(at: int, timer: str) -> int:
    """When the wake-up comes of a `timer` that ends at a time, both in milliseconds."""
    step = _COARSE if timer == MOBILE_REACHABLE else FINE
    return -(-at // step) * step


def wake_prefix(at: int, procedure: str) -> str:
    """How the keys begin of all that share the wake-up of a procedure at a time."""
    return f"{at:013d}/{procedure}/"


def shared_by(key: str) -> tuple[int, str]:
    """The time and the procedure of the wake-up in an index key."""
    at, procedure, _ = key.split("/", 2)
    return int(at), procedure
