"""5GS registration types (TS 24.501 9.11.3.7); one without a meaning is an initial registration."""

from typing import Any, Final

from functions.trees import Tree, subtree

EMERGENCY: Final = "emergency-registration"
PERIODIC: Final = "periodic-registration-updating"
UPDATES: Final = ("mobility-registration-updating", PERIODIC)
ONBOARDING: Final = "snpn-onboarding-registration"
DISASTER: Final = (
    "disaster-roaming-initial-registration",
    "disaster-roaming-mobility-registration-updating",
)


def kind_of(request: Tree) -> Any:
    """The registration type that a REGISTRATION REQUEST has."""
    return subtree(request, "5gs-registration-type").get("registration-type")
