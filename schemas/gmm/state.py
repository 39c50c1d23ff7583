"""5GMM procedures and security contexts (TS 24.501 clause 5): part of the state of a UE."""

from typing import Literal

from msgspec import Struct

from schemas.identity import Plmn, Secret, SNssai, Tai


class SecurityContext(Struct, frozen=True, omit_defaults=True):
    """A 5G NAS security context (TS 33.501 6.4). `uplink` and `downlink` are the next NAS
    COUNTs."""

    ngksi: int
    kamf: Secret
    nia: int
    nea: int
    capability: bytes
    """The UE security capability (TS 24.501 9.11.3.54): all octets of its value."""
    uplink: int = 0
    downlink: int = 0
    eap_success: bytes = b""
    """The EAP-Success for the SECURITY MODE COMMAND, until the context is in use."""
    plmn: Plmn = ""
    """The serving network that K_AMF is bound to (TS 33.501 6.1.1.4); empty if it is not known."""


class Challenge(Struct, frozen=True, omit_defaults=True):
    """A challenge without a response (TS 33.501 6.1.3)."""

    ngksi: int
    rand: bytes
    autn: bytes
    xres_star: Secret
    """XRES* of 5G-AKA, or XRES of EAP-AKA'."""
    kamf: Secret
    resynchronised: bool = False
    """Whether it follows a synch failure; a second failure in a row is an error."""
    k_aut: Secret = b""
    """The key of AT_MAC; empty with 5G-AKA."""
    eap_identifier: int = 0
    plmn: Plmn = ""
    """The serving network that the UE is authenticated for (TS 33.501 6.1.1.4)."""
    ngksi_refused: int = 0
    """How often the UE has answered that the ngKSI is in use (5GMM cause #71)."""


class ConfiguredNssai(Struct, frozen=True):
    """The configured NSSAI of a UE in a PLMN (TS 24.501 4.6.1)."""

    plmn: Plmn
    nssai: tuple[SNssai, ...]
    subscribed: tuple[SNssai, ...]
    """The subscribed S-NSSAIs that it was made of."""


class Registration(Struct, frozen=True, omit_defaults=True):
    """An ongoing registration procedure (TS 24.501 5.5.1.2)."""

    request: bytes
    """The plain REGISTRATION REQUEST that started the procedure."""
    capability: bytes
    """The UE security capability of the request."""
    ngksi: int | None
    """The ngKSI in the request; None for no key."""
    identified_by: Literal["suci", "guti"]
    complete_request: bytes = b""
    """The complete initial message, from the NAS message container of a later message."""
    stage: Literal["begun", "identifying", "authenticating", "securing", "accepted"] = "begun"
    retransmit: bool = False
    """Whether the UE must send the complete request again (TS 24.501 5.4.2.2, RINMR)."""
    accept: bytes = b""
    """The plain REGISTRATION ACCEPT; it is sent again when T3550 expires (5.5.1.2.8 c)."""
    configured_nssai: ConfiguredNssai | None = None
    """The configured NSSAI in it; None for none."""
    corrected: bool = False
    """Whether the UE is authenticated again, because its complete request has other security
    capabilities than the first one."""


class Paging(Struct, frozen=True, omit_defaults=True):
    """An ongoing paging (TS 24.501 5.6.2)."""

    seids: tuple[int, ...]
    """The SEIDs of the sessions with downlink packets; empty for signalling only."""
    failed: bool = False
    """Whether the UE did not answer. The UE is not paged again until the running timer expires."""
    waits: bool = False
    """Whether PAGING waits for the release of the connection, or for T3513."""


class ConfigurationUpdate(Struct, frozen=True, omit_defaults=True):
    """A generic UE configuration update, pending or ongoing (5.4.4)."""

    guti: bool = False
    """Whether a new 5G-GUTI is pending."""
    nitz: bool = False
    """Whether the name and time of the network are pending."""
    command: bytes = b""
    """The plain CONFIGURATION UPDATE COMMAND; it is sent again when T3555 expires. Empty if no
    command waits for CONFIGURATION UPDATE COMPLETE."""
    amf_ue_ngap_id: int = 0
    """The connection of the command."""
    allowed_nssai: tuple[SNssai, ...] = ()
    """The allowed NSSAI in the command; empty for none."""
    register: bool = False
    """Whether the command requests a registration."""
    configured_nssai: ConfiguredNssai | None = None
    """The configured NSSAI in the command; None for none."""
    registration_area: tuple[Tai, ...] = ()
    """The registration area in the command; empty for none."""
    allocated: bool = False
    """Whether the pending 5G-GUTI is allocated, and not sent yet."""
    given_up: bool = False
    """Whether T3555 expired for the last time. The command is sent again on the next connection."""


class NetworkDeregistration(Struct, frozen=True, omit_defaults=True):
    """A deregistration by the network that the UE has not accepted yet (5.5.2.3)."""

    reason: str
    reregister: bool = False
    """Whether the UE must register again immediately."""
    cause: int = 0
    """The 5GMM cause; 0 to send none."""
    amf_ue_ngap_id: int = 0
    """The connection of the last DEREGISTRATION REQUEST; 0 before the first."""
