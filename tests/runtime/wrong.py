"""A deregistration that is wrong on purpose: it always fails for the first UE."""

from typing import Any

from functions.gmm.deregistration import procedure


def decide(d: Any, given: Any) -> None:
    if d.ue.supi == "imsi-001010000000001":
        raise ZeroDivisionError("wrong on purpose")
    procedure.decide(d, given)
