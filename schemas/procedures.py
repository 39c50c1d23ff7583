"""Which procedure takes which message: the one table behind routing, hosting and replay.

A gateway guesses with it from what it can read, the runtime decides with it from what it has
deciphered. A new procedure is a new file in `functions/` and its lines here.
"""

from enum import StrEnum
from typing import Final

from schemas.cloudevents import EventType


class Procedure(StrEnum):
    """The procedures there are, by the names of their subjects and deployments."""

    RAN = "ran"
    IDENTIFICATION = "identification"
    REGISTRATION = "registration"
    DEREGISTRATION = "deregistration"
    CONTEXT_RELEASE = "context-release"


DEFAULT: Final = Procedure.REGISTRATION
"""Who takes a message of a UE that names no procedure: one that is ciphered, or unknown."""

MODULES: Final[dict[Procedure, str]] = {
    Procedure.RAN: "functions.ran",
    Procedure.IDENTIFICATION: "functions.identification",
    Procedure.REGISTRATION: "functions.registration",
    Procedure.DEREGISTRATION: "functions.deregistration",
    Procedure.CONTEXT_RELEASE: "functions.context_release",
}

NAS_MESSAGES: Final[dict[int, Procedure]] = {
    0x41: Procedure.REGISTRATION,  # REGISTRATION REQUEST
    0x43: Procedure.REGISTRATION,  # REGISTRATION COMPLETE
    0x57: Procedure.REGISTRATION,  # AUTHENTICATION RESPONSE
    0x59: Procedure.REGISTRATION,  # AUTHENTICATION FAILURE
    0x5C: Procedure.REGISTRATION,  # IDENTITY RESPONSE
    0x5E: Procedure.REGISTRATION,  # SECURITY MODE COMPLETE
    0x5F: Procedure.REGISTRATION,  # SECURITY MODE REJECT
    0x45: Procedure.DEREGISTRATION,  # DEREGISTRATION REQUEST (UE originating)
}
"""5GMM message types (TS 24.501 table 9.7.1)."""

NGAP_MESSAGES: Final[dict[str, Procedure]] = {
    "InitialContextSetupResponse": Procedure.REGISTRATION,
    "InitialContextSetupFailure": Procedure.REGISTRATION,
    "UERadioCapabilityInfoIndication": Procedure.REGISTRATION,
    "NASNonDeliveryIndication": Procedure.REGISTRATION,
    "UEContextReleaseRequest": Procedure.CONTEXT_RELEASE,
    "UEContextReleaseComplete": Procedure.CONTEXT_RELEASE,
    "ErrorIndication": Procedure.CONTEXT_RELEASE,
}
"""UE-associated NGAP messages without a NAS message to go by."""

EVENTS: Final[dict[str, Procedure]] = {
    EventType.IDENTIFIED: Procedure.REGISTRATION,
    EventType.UNIDENTIFIED: Procedure.REGISTRATION,
    EventType.CONNECTION_LOST: Procedure.CONTEXT_RELEASE,
}

TIMERS: Final[dict[str, Procedure]] = {
    "T3550": Procedure.REGISTRATION,
    "T3560": Procedure.REGISTRATION,
    "T3570": Procedure.REGISTRATION,
    "ng-release": Procedure.CONTEXT_RELEASE,
}
"""Timers of a UE, by the procedure that takes their expiry."""
