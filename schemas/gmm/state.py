"""5GMM procedures and security contexts (TS 24.501 clause 5): part of the state of a UE."""

from typing import Literal

from msgspec import Struct

from schemas.identity import Secret, SNssai


class SecurityContext(Struct, frozen=True, omit_defaults=True):
    """A 5G NAS security context (TS 33.501 6.4); the COUNTs are the next to expect and to use."""

    ngksi: int
    kamf: Secret
    nia: int
    nea: int
    capability: bytes
    """The UE security capability (TS 24.501 9.11.3.54), all octets of its value."""
    uplink: int = 0
    downlink: int = 0
    eap_success: bytes = b""
    """The EAP-Success that goes with the SECURITY MODE COMMAND, until it is in use."""


class Challenge(Struct, frozen=True, omit_defaults=True):
    """A challenge that waits for its response (TS 33.501 6.1.3)."""

    ngksi: int
    rand: bytes
    autn: bytes
    xres_star: Secret
    """XRES* of 5G-AKA, XRES of EAP-AKA'."""
    kamf: Secret
    resynchronised: bool = False
    """Whether it follows a synch failure, of which there may be one in a row."""
    k_aut: Secret = b""
    """The key of AT_MAC; empty for 5G-AKA."""
    eap_identifier: int = 0


class Registration(Struct, frozen=True, omit_defaults=True):
    """A registration procedure under way (TS 24.501 5.5.1.2)."""

    request: bytes
    """The REGISTRATION REQUEST as it began the procedure, plain."""
    capability: bytes
    """The UE security capability of the request."""
    ngksi: int | None
    """The ngKSI that the request named, None for no key."""
    identified_by: Literal["suci", "guti"]
    complete_request: bytes = b""
    """The entire initial message, from the NAS message container of a later message."""
    stage: Literal["begun", "identifying", "authenticating", "securing", "accepted"] = "begun"
    retransmit: bool = False
    """Whether the UE is to send the whole request again (TS 24.501 5.4.2.2, RINMR)."""
    accept: bytes = b""
    """The REGISTRATION ACCEPT as sent, plain: the same again on T3550 (5.5.1.2.8 c)."""


class Paging(Struct, frozen=True, omit_defaults=True):
    """A paging that the UE has not answered (TS 24.501 5.6.2)."""

    seids: tuple[int, ...]
    """The sessions with downlink packets, by their SEIDs; none if it is for signalling alone."""
    failed: bool = False
    """Whether it was given up: until the timer that now runs, nothing pages again."""


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
