"""A deregistration that is wrong on purpose: it fails for the first UE, each time."""

from typing import Any

from functions import deregistration

VERSION = deregistration.VERSION


def decide(d: Any, given: Any) -> None:
    if d.ue.supi == "imsi-001010000000001":
        raise ZeroDivisionError("wrong on purpose")
    deregistration.decide(d, given)
