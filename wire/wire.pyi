"""NGAP, 5GS NAS, PFCP, 5G security and userspace SCTP: conversion between bytes and values.

No function does I/O, reads a clock or keeps a secret after its object is freed. A *tree* is the
value of a message as dicts, lists, strings, numbers and booleans, with the names of the
specification: ``{"message": "DownlinkNASTransport", "ies": [{"AMF-UE-NGAP-ID": 1}, ...]}`` for
NGAP, ``{"message-type": "registration-reject", "5gmm-cause": "illegal-ue"}`` for NAS, and
``{"message": "HeartbeatRequest", "sequence": 1, "ies": [{"Recovery Time Stamp": 3900000000}]}``
for PFCP. Octets in a tree are hexadecimal strings.

If a message has the form that the encoder writes (ITU-T X.691; the IEs of a NAS message in the
order of its table; PFCP without spare bits), its tree encodes to the same octets. Otherwise it
encodes to other octets with the same tree.

Every refusal is a `WireError`. An argument of another type raises a `TypeError`, and a number that
the parameter's type cannot hold raises an `OverflowError`.
"""

from typing import Any, Final, Self, final

ERROR_KINDS: Final[list[str]]
"""Every possible `WireError.kind`."""

class WireError(ValueError):
    """Octets or values are refused. `str()` gives the reason in a sentence."""

    kind: str
    """The kind of the refusal, one of `ERROR_KINDS`."""
    ie: str | None
    """The faulty IE, by its name or its number in the specification."""
    offset: int | None
    """The octet, from 0, at which reading stopped; for kind ``nas-refused``, in `plain`."""
    cause: int | None
    """The 5GMM or 5GSM cause value of the answer in TS 24.501 clause 7."""
    count: int | None
    """For kind ``nas-refused``: the NAS COUNT that the authentic message used."""
    plain: bytes | None
    """For kind ``nas-refused``: the deciphered message."""

SOURCE_DIGEST: Final[str]
"""SHA-256 of the sources of this build, in hexadecimal digits."""

def forbid_entropy(forbidden: bool) -> bool:
    """Forbid or allow entropy on this thread, and return the setting before.

    `suci_conceal` with a profile, `SctpEndpoint.connect` and `SctpEndpoint.receive` draw entropy.
    While it is forbidden they raise `WireError`, kind ``entropy``. No other function draws entropy.
    """

def build_info() -> str:
    """Return the version, the profile and the codec versions of this build."""

# NGAP (TS 38.413)

@final
class NgapPeek:
    """The fields of a PDU that a gateway routes by. A field is None if the PDU lacks its IE."""

    message: str
    """The name of the message; ``"unknown"`` for a procedure code that NGAP does not define."""
    procedure_code: int
    direction: str
    """``"InitiatingMessage"``, ``"SuccessfulOutcome"`` or ``"UnsuccessfulOutcome"``."""
    amf_ue_ngap_id: int | None
    """For a PATH SWITCH REQUEST, its Source AMF UE NGAP ID."""
    ran_ue_ngap_id: int | None
    global_ran_node_id: str | None
    """``"<mcc>-<mnc>-<gnb|ngenb|n3iwf>-<bits>-<id in hexadecimal>"``, valid in a NATS subject."""
    s_tmsi: tuple[int, int, int] | None
    """AMF set, AMF pointer and 5G-TMSI of the 5G-S-TMSI IE."""
    nas_pdu: bytes | None
    nas: NasPeek | None

def ngap_peek(data: bytes) -> NgapPeek:
    """Read the header and the routing IEs of a PDU.

    Raises:
        WireError: kind ``ngap-decode``: the octets are not an NGAP PDU, or its list of IEs cannot
            be read. An IE that does not decode is omitted, not refused: `ngap_check` reports its
            fault.
    """

def ngap_decode(data: bytes) -> dict[str, Any]:
    """Return the tree of a PDU: ``message`` and ``ies``, a list with one name and value each.

    If a criticality differs from the ASN.1, ``criticality`` is added next to the value or the
    message. An IE that NGAP does not define has its number as name and ``octets`` in its value. A
    procedure that NGAP does not define has ``procedure_code`` and ``direction`` as its ``message``.
    A private message has ``octets`` instead of ``ies``. A PDU that deviates from ITU-T X.691 only
    in its encoding is read as if it did not.

    Raises:
        WireError: kind ``ngap-decode``; `ie` is the number of an IE with a value that does not
            decode.
    """

def ngap_encode(tree: dict[str, Any]) -> bytes:
    """Return the PDU of a tree, in aligned PER. Criticalities come from the ASN.1.

    Raises:
        WireError: kind ``ngap-encode``.
    """

def ngap_check(data: bytes) -> dict[str, Any] | None:
    """Return how to answer the syntax faults of a received PDU (TS 38.413 clause 10.3).

    None for a PDU without fault. Otherwise ``reject`` (true if the procedure is rejected, false if
    it continues without the IE), ``cause`` (a tree of the Cause IE), ``deviations`` (a sentence
    each), and the Criticality Diagnostics trees ``diagnostics`` (for an ERROR INDICATION) and
    ``diagnostics_for_response``. IEs in a wrong order are a fault (10.3.6): ``order`` then has a
    sentence for each, and ``in_any_order`` the answer of a receiver that accepts any order, None if
    the PDU has no other fault.

    Raises:
        WireError: kind ``ngap-decode``: the octets are not an NGAP PDU.
    """

@final
class NgapRead:
    """A received PDU, read once for several questions."""

    @property
    def peek(self) -> NgapPeek:
        """Return the result of `ngap_peek`."""
    def check(self) -> dict[str, Any] | None:
        """Return the result of `ngap_check`.

        Raises:
            WireError: kind ``ngap-decode``.
        """

    def ies(self) -> dict[str, Any]:
        """Return the IEs by name, with the values of `ngap_decode`; for a repeated IE, the first.

        The call is fast after a `check` that found no fault.

        Raises:
            WireError: kind ``ngap-decode``, as `ngap_decode`.
        """

def ngap_read(data: bytes) -> NgapRead:
    """Return a received PDU.

    Raises:
        WireError: kind ``ngap-decode``, as `ngap_peek`.
    """

@final
class NgapTemplate:
    """A PDU to be sent for many UEs with a few different values. Its tree is read only once."""

    def __new__(cls, tree: dict[str, Any]) -> Self:
        """Return the template of a tree. The values that `encode` replaces are only examples.

        Raises:
            WireError: kind ``ngap-encode``.
        """

    def encode(
        self,
        amf_ue_ngap_id: int,
        ran_ue_ngap_id: int,
        *,
        nas_pdu: bytes | None = None,
        security_key: bytes | None = None,
        masked_imeisv: bytes | None = None,
        radio_capability: bytes | None = None,
        sessions: list[tuple[int, bytes, int]] | None = None,
    ) -> bytes:
        """Return the octets of the PDU with other values for the ids of the UE (also in
        UE-NGAP-IDs) and for the named IEs, which the template must have.

        `sessions` replaces all entries of the template's list of PDU sessions to set up. An entry
        is a PDU session identity, a NAS message or ``b""`` for none, and the TEID of the UPF.

        Raises:
            WireError: kind ``ngap-encode``: the template lacks an IE, or a value is invalid for its
                IE.
        """

# 5GS NAS (TS 24.501)

@final
class NasPeek:
    """The fields of a NAS message that can be read without a security context."""

    epd: int
    """The extended protocol discriminator: 0x7e 5GMM, 0x2e 5GSM."""
    security_header: int
    """The security header type (9.3); 0 for a plain message."""
    sequence_number: int | None
    message_type: int | None
    """The message type; None if it is ciphered."""
    guti: tuple[str, str, int, int, int, int] | None
    """MCC, MNC, AMF region, AMF set, AMF pointer and 5G-TMSI."""
    s_tmsi: tuple[int, int, int] | None
    """AMF set, AMF pointer and 5G-TMSI."""
    supi: str | None
    """``"imsi-..."`` from a SUCI with the null scheme."""
    suci: bytes | None
    """The octets of a SUCI, of any scheme."""
    suci_scheme: int | None
    """The protection scheme: 0 null, 1 profile A, 2 profile B."""

def nas_peek(data: bytes) -> NasPeek:
    """Read the headers and, in an initial message or identity response, the identity.

    Raises:
        WireError: kind ``nas-decode``: fewer than two octets.
    """

def nas_decode(data: bytes) -> dict[str, Any]:
    """Return the tree of a NAS message; of a ciphered one, its security header and octets.

    Raises:
        WireError: kind ``nas-decode``, with `ie`, `offset` and `cause` if they are known.
    """

@final
class NasRead:
    """A plain uplink message, decoded once for several questions."""

    tree: dict[str, Any] | None
    """The tree; None if the message cannot be decoded.

    The tree omits the NAS message container of a SECURITY MODE COMPLETE, the payload container of
    an UL NAS TRANSPORT of N1 SM information, and the 5GMM and UE security capabilities of a
    REGISTRATION REQUEST. `nas_decode` and `ue_security_capability` return those.
    """
    container: bytes | None
    """The octets in the omitted container."""
    fault: str
    """The reason why there is no tree."""
    answer: bytes | None
    """The result of `nas_answer`."""

def nas_read(plain: bytes) -> NasRead:
    """Decode a plain uplink message, but not the container in it."""

def nas_encode(tree: dict[str, Any]) -> bytes:
    """Return the octets of a plain NAS message.

    Raises:
        WireError: kind ``nas-encode``.
    """

def nas_authentication_request(ngksi: int, abba: bytes, rand: bytes, autn: bytes) -> bytes:
    """Return an AUTHENTICATION REQUEST (8.2.1) of 5G AKA, with a native ngKSI.

    Raises:
        WireError: kind ``nas-encode``: an ngKSI over 6, or a RAND or AUTN without 16 octets.
    """

def nas_dl_transport(container: bytes, psi: int, cause: int | None = None) -> bytes:
    """Return a DL NAS TRANSPORT (8.2.11) of N1 SM information. `container` is not checked.

    `psi` is the PDU session identity, `cause` the value of a 5GMM cause.

    Raises:
        WireError: kind ``nas-encode``: the container is too long.
    """

@final
class NasTemplate:
    """A plain downlink message to be sent to many UEs with a few different values. Its tree is read
    only once."""

    def __new__(cls, tree: dict[str, Any]) -> Self:
        """Return the template of a tree. The values that its methods replace are only examples.

        Raises:
            WireError: kind ``nas-encode``.
        """

    def registration_accept(self, tmsi: int) -> bytes:
        """Return the octets of a REGISTRATION ACCEPT with another 5G-TMSI in its 5G-GUTI.

        Raises:
            WireError: kind ``nas-encode``: the template is another message, or has no 5G-GUTI.
        """

    def establishment_accept(
        self, psi: int, pti: int, ipv4: str, interface_id: int | None
    ) -> bytes:
        """Return the octets of a PDU SESSION ESTABLISHMENT ACCEPT with another PDU session
        identity, PTI and PDU address: an IPv4 address, ``""`` for none, and the 64 bits of an IPv6
        interface identifier, None for none.

        Raises:
            WireError: kind ``nas-encode``: the template is another message, the address is invalid,
                or there is neither an IPv4 address nor an interface identifier.
        """

def nas_answer(plain: bytes) -> bytes | None:
    """Return the network's answer to a faulty plain message by clause 7, such as 5GMM STATUS; None
    if the message must be ignored or has no fault."""

def ue_security_capability(plain: bytes) -> bytes | None:
    """Return the value of the UE security capability (9.11.3.54) of a plain REGISTRATION REQUEST:
    an octet each of 5G-EA, 5G-IA and, if present, EEA and EIA; bit 8 is algorithm 0."""

@final
class NasVerified:
    """A message with a right MAC."""

    plain: bytes
    """The message to process: for an initial message with a NAS message container, the complete
    message in the container (4.4.6)."""
    security_header: int
    count: int
    """The NAS COUNT of the verification. K_gNB is derived from that of an initial message."""
    outer: bytes | None
    """The cleartext message around the container, if there was a container."""

@final
class NasSecurity:
    """The NAS keys of a K_AMF, their algorithms, and the next NAS COUNT of each direction.

    Header types are those of TS 24.501 9.3: 1 integrity protected; 2 integrity protected and
    ciphered; 3 and 4 the same as 1 and 2, with a new context.
    """

    def __new__(cls, kamf: bytes, nia: int, nea: int, uplink: int = 0, downlink: int = 0) -> Self:
        """Restore a context.

        Raises:
            WireError: kind ``security``: a key without 32 octets, a reserved algorithm, NIA0 with
                another cipher than NEA0, or a COUNT over 24 bits.
        """

    @property
    def uplink(self) -> int | None:
        """The next uplink COUNT; None if all are used."""
    @property
    def downlink(self) -> int | None:
        """The next downlink COUNT; None if all are used."""
    def protect(self, plain: bytes, security_header: int, *, downlink: bool) -> bytes:
        """Cipher the message if the header type requires it, add the MAC, and use a COUNT.

        Raises:
            WireError: ``nas-decode`` and ``nas-encode`` if the message must not be sent in this
                way, ``nas-count`` if all COUNTs are used, ``security`` for header type 0.
        """

    def protect_initial(self, plain: bytes) -> bytes:
        """Protect an initial message as a UE does (4.4.6): its cleartext IEs, and the complete
        message ciphered in a NAS message container."""

    def unprotect(self, data: bytes, *, downlink: bool) -> NasVerified:
        """Verify the MAC, then decipher. The COUNT changes only after the MAC is verified.

        Raises:
            WireError: ``nas-integrity`` for a wrong MAC or a used COUNT, ``nas-refused`` for an
                authentic message that must not be received, ``nas-decode`` for octets that are not
                a protected message.
        """

# PFCP (TS 29.244) over N4

@final
class PfcpPeek:
    """The fields of a message that a gateway routes by. A field is None if the message lacks its
    IE, or if the IE does not decode. For a repeated IE, the first counts."""

    message: str
    """The name of the message; ``"unknown"`` for a message type that PFCP does not define."""
    message_type: int
    version: int
    """1, or the other version of the peer."""
    request: bool
    """Whether the message is a request."""
    seid: int | None
    """The SEID of the header, assigned by the receiver; 0 if none is assigned yet."""
    sequence: int
    priority: int | None
    """The message priority, 0 to 15."""
    length: int
    """The octets of the message with its header; the next message starts there."""
    follow_on: bool
    """Whether another message follows in the same packet."""
    f_seid: tuple[int, str | None, str | None] | None
    """SEID, IPv4 and IPv6 address of the F-SEID IE: of the CP function in a session establishment
    request, of the UP function in its response."""
    node_id: str | None
    """The Node ID: an address or a domain name."""
    cause: int | None
    """The value of the Cause."""
    recovery_time_stamp: int | None
    """In seconds since 1900."""

def pfcp_peek(data: bytes) -> PfcpPeek:
    """Read the header of the first message in `data`, and its routing IEs.

    Raises:
        WireError: kind ``pfcp-decode``: the header is incomplete, or there are fewer octets than
            its length.
    """

def pfcp_decode(data: bytes, *, lenient: bool = False) -> dict[str, Any]:
    """Return the tree of a message: ``message``, ``seid`` (if the header has one), ``sequence``,
    ``priority`` and ``follow_on`` (if present), and ``ies``.

    An IE is a dict of its name in table 8.1.2-1 and its value. The value is a list of IEs for a
    group, the specification's word or else the number for an enumeration, a list of names for a bit
    map, and a dict of the present parts for a value with parts. Octets are hexadecimal, addresses
    text, times seconds since 1900 as on the wire, rates kbit/s. A text that is not UTF-8 is a dict
    of ``octets``. An IE that is not in the table has its number as name and a dict of ``octets`` as
    value, with the ``enterprise`` of a vendor's IE. A message that PFCP does not define is
    ``"unknown"``, with its ``message_type``. The tree has no spare bits, no bits of a later
    release, and no octets that a later release has appended to an IE.

    These IEs are a dict of ``octets``, too: those of ATSSS (165 to 176, 216 to 231, 265, 288, 289,
    330 to 333), of TSC and time synchronisation (194 to 210, 266, 321), of RDS (261, 262), of L2TP
    (276 to 287, 313), of MBS (300 to 312, 314), of edge computing (293, 294), of XR (316, 317, 320,
    322 to 329, 334 to 337, 339 to 345, 347 to 351), and IP Multicast Address.

    With `lenient`, an IE that does not decode is omitted. Clause 7.6 requires this of a receiver if
    `pfcp_check` returns ``"ignore"``.

    Raises:
        WireError: kind ``pfcp-decode``, with `ie` and `offset` if they are known: also for another
            version, for octets after the message without the follow-on flag, and for groups nested
            deeper than the specification allows.
    """

def pfcp_encode(tree: dict[str, Any]) -> bytes:
    """Return the octets of a message, with its IEs in the order of the tree.

    The header has a SEID if the tree has one. The value of every IE may be a dict of ``octets``.

    Raises:
        WireError: kind ``pfcp-encode``, with `ie` if it is known.
    """

def pfcp_check(data: bytes) -> dict[str, Any] | None:
    """Return how a receiver handles the syntax faults of a message (clause 7.6).

    None for a message without fault. Otherwise ``action``, ``cause`` and ``cause_value`` (the word
    and the number of a Cause), ``offending_ie`` and ``offending_ie_type`` (its name and number),
    and ``text`` for a log; absent values are None. The ``action`` is

    - ``"version-not-supported"``: answer with a Version Not Supported Response (7.6.2);
    - ``"discard"``: send no answer: an unknown message, an incomplete header, a session message
      without SEID, or a heartbeat or a response without a mandatory IE (to the procedure, no
      response arrived);
    - ``"reject"``: answer with the cause and the offending IE: the length differs from that of the
      header, or a mandatory IE, or a conditional one with its condition in the message, is missing
      or malformed;
    - ``"ignore"``: an optional IE is malformed, or a response has no Node ID; process the message
      without it. The sender of a response is known by its request.

    An optional IE without octets in an Update group is not a fault: it removes the IE from the rule
    (5.6.3), and its tree is ``{"octets": ""}``.
    """

# Authentication (TS 33.501 6.1, TS 35.206)

def milenage_opc(k: bytes, op: bytes) -> bytes:
    """Return OPc from K and OP, 16 octets each."""

def milenage(k: bytes, opc: bytes, rand: bytes, sqn: int, amf: bytes) -> dict[str, bytes]:
    """Return the outputs of f1, f1*, f2, f3, f4, f5 and f5* by these names."""

@final
class AkaVector:
    """A 5G home environment vector, and the keys derived from it."""

    rand: bytes
    autn: bytes
    xres_star: bytes
    hxres_star: bytes
    kausf: bytes
    kseaf: bytes

def aka_vector(k: bytes, opc: bytes, rand: bytes, sqn: int, amf: bytes, sn_name: str) -> AkaVector:
    """Return a 5G-AKA vector: `rand` 16 octets, `sqn` 48 bits, `amf` 2 octets with the separation
    bit, `sn_name` as ``"5G:mnc001.mcc001.3gppnetwork.org"``."""

@final
class UsimAnswer:
    """The values of a UE that has accepted the MAC of a challenge. The UE itself must check that
    `sqn` is fresh (TS 33.102 annex C)."""

    sqn: int
    separation_bit: bool
    res_star: bytes
    kausf: bytes
    kseaf: bytes

def usim_answer(k: bytes, opc: bytes, rand: bytes, autn: bytes, sn_name: str) -> UsimAnswer:
    """Return the UE's response to a challenge.

    Raises:
        WireError: kind ``aka-mac``: the MAC of AUTN is wrong.
    """

def auts(k: bytes, opc: bytes, rand: bytes, sqn_ms: int) -> bytes:
    """Return the AUTS, 14 octets, of a USIM with the SQN `sqn_ms`."""

def verify_auts(k: bytes, opc: bytes, rand: bytes, auts: bytes) -> int:
    """Return SQN_MS from an AUTS.

    Raises:
        WireError: kind ``aka-mac``: its MAC-S is wrong.
    """

# EAP-AKA' (RFC 9048, TS 33.501 6.1.3.1 and annex F)

@final
class EapAkaKeys:
    """The keys of one full authentication (RFC 9048 3.3)."""

    k_encr: bytes
    k_aut: bytes
    """The key of AT_MAC, 32 octets."""
    k_re: bytes
    msk: bytes
    emsk: bytes
    kausf: bytes
    """The first 32 octets of the EMSK (TS 33.501 6.1.3.1)."""

def eap_aka_keys(ck: bytes, ik: bytes, sn_name: str, autn: bytes, identity: str) -> EapAkaKeys:
    """Return the keys derived from CK and IK through CK' and IK' (TS 33.402 A.2).

    `identity` is the digits of the IMSI in 5GS (TS 33.501 F.3).

    Raises:
        WireError: kind ``eap``: a key or an AUTN without 16 octets.
    """

def eap_aka_challenge(
    identifier: int, rand: bytes, autn: bytes, sn_name: str, k_aut: bytes
) -> bytes:
    """Return an EAP-Request of AKA'-Challenge: AT_RAND, AT_AUTN, AT_KDF, AT_KDF_INPUT and
    AT_MAC."""

def eap_aka_mac_is_right(data: bytes, k_aut: bytes) -> bool:
    """Whether a packet of EAP-AKA' has a right AT_MAC for `k_aut`.

    Raises:
        WireError: kind ``eap``: the octets are not an EAP-AKA' packet.
    """

def eap_decode(data: bytes) -> dict[str, Any]:
    """Decode an EAP packet.

    The result has ``code`` and ``identifier``; ``type`` for a request or response; ``subtype`` and
    ``attributes`` for EAP-AKA' (50). ``attributes`` maps the type of an attribute to its octets
    after type and length. AT_KDF and the skippable attributes (from 128) may be repeated: the last
    one counts.

    Raises:
        WireError: kind ``eap``.
    """

def eap_result(identifier: int, success: bool) -> bytes:
    """Return an EAP-Success or EAP-Failure."""

# Keys (TS 33.501 annex A)

def kausf(ck: bytes, ik: bytes, sn_name: str, autn: bytes) -> bytes:
    """Return K_AUSF of 5G-AKA (A.2)."""

def kseaf(kausf: bytes, sn_name: str) -> bytes:
    """Return K_SEAF (A.6)."""

def kamf(kseaf: bytes, supi: str, abba: bytes) -> bytes:
    """Return K_AMF (A.7) of a SUPI such as ``"imsi-..."``."""

def kamf_prime(kamf: bytes, downlink: bool, count: int) -> bytes:
    """Return K_AMF' (A.13): idle mobility with the uplink COUNT, or handover with the downlink
    one."""

def knas_int(kamf: bytes, nia: int) -> bytes:
    """Return K_NASint (A.8), 16 octets."""

def knas_enc(kamf: bytes, nea: int) -> bytes:
    """Return K_NASenc (A.8), 16 octets."""

def kgnb(kamf: bytes, uplink_count: int) -> bytes:
    """Return K_gNB (A.9)."""

def kn3iwf(kamf: bytes, uplink_count: int) -> bytes:
    """Return K_N3IWF (A.9)."""

def nh(kamf: bytes, sync_input: bytes) -> bytes:
    """Return NH (A.10) after K_gNB or after the previous NH."""

def kng_ran_star(base_key: bytes, pci: int, arfcn_dl: int) -> bytes:
    """Return K_NG-RAN* (A.11) for a target gNB, from NH or K_gNB."""

def as_keys(kgnb: bytes, nia: int, nea: int) -> tuple[bytes, bytes, bytes, bytes]:
    """Return K_RRCint, K_RRCenc, K_UPint and K_UPenc (A.8)."""

def res_star(ck: bytes, ik: bytes, sn_name: str, rand: bytes, res: bytes) -> bytes:
    """Return RES* or XRES* (A.4)."""

def hres_star(rand: bytes, res_star: bytes) -> bytes:
    """Return HRES* or HXRES* (A.5)."""

def nia(
    algorithm: int, key: bytes, count: int, bearer: int, message: bytes, *, downlink: bool
) -> bytes:
    """Return the MAC, four octets, of 128-NIA1 to 3, or zeros for NIA0 (annex D.3)."""

def nea(
    algorithm: int, key: bytes, count: int, bearer: int, data: bytes, *, downlink: bool
) -> bytes:
    """Return `data` through 128-NEA1 to 3, or unchanged for NEA0 (annex D.2)."""

# SUCI (TS 33.501 annex C); a SUCI is the value of a 5GS mobile identity IE

def suci_public_key(profile: str, key: bytes) -> bytes:
    """Return the home network public key of a private key of profile ``"A"`` or ``"B"``."""

def suci_conceal(
    mcc: str,
    mnc: str,
    msin: str,
    *,
    routing_indicator: str = "0",
    profile: str | None = None,
    public_key: bytes | None = None,
    key_id: int = 0,
) -> bytes:
    """Return the SUCI of an IMSI: null scheme, or profile ``"A"`` or ``"B"`` with a new ephemeral
    key.

    Raises:
        WireError: kind ``suci``.
    """

def suci_scheme(suci: bytes) -> tuple[int, int]:
    """Return the protection scheme and the home network public key identifier of a SUCI."""

def suci_deconceal(suci: bytes, profile: str | None = None, key: bytes | None = None) -> str:
    """Return the SUPI of a SUCI. `key` is the private key for its public key identifier.

    Raises:
        WireError: kind ``suci``: the key or the tag is wrong, a point is not on the curve, or the
            SUCI contains no IMSI.
    """

@final
class TmsiCipher:
    """Format-preserving encryption of 32-bit values (FF1, NIST SP 800-38G, AES-256)."""

    def __new__(cls, key: bytes) -> Self: ...
    def encrypt(self, value: int) -> int: ...
    def decrypt(self, tmsi: int) -> int: ...

@final
class Sealer:
    """Encryption at rest under one data key of 32 octets: AES-256-GCM."""

    def __new__(cls, key: bytes) -> Self: ...
    def seal(self, nonce: bytes, plain: bytes, context: bytes) -> bytes:
        """Seal `plain` with a `nonce` of 12 octets that must never be reused with this key. The
        same `context` is needed to open it."""

    def open(self, sealed: bytes, context: bytes) -> bytes:
        """Return the plain form of a sealed value.

        Raises:
            WireError: kind ``sealed``: another key or context, or changed octets.
        """

# SCTP in user space (RFC 9260 over UDP, RFC 6951, or over a raw IP socket)

@final
class SctpEndpoint:
    """The associations on one datagram socket, without I/O.

    The owner of the socket passes packets to `receive` and the time as `now` (seconds of a
    monotonic clock). After each call it takes `packets`, `events` and `messages`. It calls
    `advance` at `timeout`, which it reads after `packets`, because that bundles messages sent
    together. An object must be used and freed in the thread that created it.
    """

    def __new__(
        cls,
        port: int,
        *,
        accept: bool = False,
        mtu: int = 1400,
        streams: int = 64,
        max_associations: int = 1024,
        receive_window: int = 1048576,
        send_buffer: int = 1048576,
        heartbeat: float = 30.0,
        rto_max: float = 5.0,
        max_retransmissions: int = 10,
        max_message: int = 262144,
        max_waiting: int = 67108864,
        max_unfinished: int = 33554432,
        max_unsent: int = 67108864,
        unfinished_within: float = 30.0,
    ) -> Self:
        """Return an endpoint on SCTP port `port`. Sizes are in octets, times in seconds.

        An INIT takes no memory: the state cookie has all state of a new association, with a message
        authentication code. Above `max_associations`, or without `accept`, an INIT is answered with
        ABORT.

        Three bounds apply to all associations together. From half of `max_waiting`, the receive
        window of each association is an equal part of the rest. Beyond `max_unfinished` octets of
        partly received messages, the association with the oldest ends. Beyond `max_unsent` queued
        octets, the association with the most ends. An association also ends if more than 16 KiB
        of it have been unfinished for `unfinished_within` without a break.

        Raises:
            WireError: kind ``sctp``: a limit is invalid.
        """

    def connect(self, ip: str, udp_port: int, port: int, now: float) -> int:
        """Start an association with SCTP port `port` of a peer, and return its number.

        Raises:
            WireError: kind ``sctp``: the association exists already, or there are too many.
        """

    def receive(self, data: bytes, ip: str, udp_port: int, now: float) -> None:
        """Process a packet without its IP and UDP headers (`udp_port` is 0 over raw IP). Invalid
        and unrelated packets are counted in `dropped`."""

    def send(self, association: int, stream: int, ppid: int, payload: bytes, now: float) -> None:
        """Queue a message.

        Raises:
            WireError: ``sctp-full`` if the send buffer is full (an event ``writable`` follows);
                ``sctp`` if the association does not exist or is ending, the stream does not exist,
                or the message is empty or too large.
        """

    def advance(self, now: float) -> None:
        """Run the timers that are due."""

    def timeout(self) -> float | None:
        """Return the time for the next `advance`; None for never."""

    def packets(self) -> list[tuple[bytes, tuple[str, int]]]:
        """Return the packets to send, each with its destination IP address and UDP port."""

    def messages(self, limit: int) -> list[tuple[int, int, int, bytes]]:
        """Return up to `limit` received messages: association, stream, PPID, payload. The remaining
        ones fill the receive window, so that a fast peer waits for a slow reader."""

    def events(self) -> list[tuple[str, int, str]]:
        """Return the events: ``up`` (with the peer), ``down`` (with the reason) or ``writable``,
        the association and the text.

        A peer that restarts goes down and up with a new number. ``down`` comes after the
        association's last message was read, unless this side aborted it. It also comes if an
        association started by `connect` was never established.
        """

    def shutdown(self, association: int, now: float) -> None:
        """End an association after all queued data has arrived."""

    def abort(self, association: int, now: float) -> None:
        """End an association at once."""

    def streams(self, association: int) -> tuple[int, int] | None:
        """Return the negotiated numbers of inbound and outbound streams."""

    @property
    def associations(self) -> int: ...
    @property
    def dropped(self) -> int: ...
