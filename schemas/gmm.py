"""Procedures of 5GMM that the network has begun, or owes the UE (TS 24.501 5.4.4, 5.5.2.3)."""

from msgspec import Struct

from schemas.identity import SNssai


class ConfigurationUpdate(Struct, frozen=True, omit_defaults=True):
    """A generic UE configuration update, owed to the UE or under way (5.4.4)."""

    guti: bool = False
    """Whether a new 5G-GUTI is owed."""
    nitz: bool = False
    """Whether the name of the network and its time are."""
    command: bytes = b""
    """The CONFIGURATION UPDATE COMMAND as sent, plain: the same again on T3555. Empty while none
    waits for its COMPLETE."""
    amf_ue_ngap_id: int = 0
    """The connection that it was sent on."""
    allowed_nssai: tuple[SNssai, ...] = ()
    """The allowed NSSAI in it, empty for none."""
    register: bool = False
    """Whether it has the UE register."""
    given_up: bool = False
    """Whether T3555 has expired for the last time. It is owed again on the next connection."""


class NetworkDeregistration(Struct, frozen=True, omit_defaults=True):
    """A deregistration that the network wants, and the UE has not accepted yet (5.5.2.3)."""

    reason: str
    reregister: bool = False
    """Whether the UE is to register again at once."""
    cause: int = 0
    """The 5GMM cause, 0 for none to tell."""
    amf_ue_ngap_id: int = 0
    """The connection that the DEREGISTRATION REQUEST was last sent on, 0 while it was not."""
