"""NGAP, 5GS NAS, PFCP, 5G security and userspace SCTP: bytes in, values out, and back.

Nothing here does I/O, reads a clock or keeps a secret beyond its object. A *tree* is the
value of a message as dicts, lists, strings, numbers and booleans, with the names of the
specification: ``{"message": "DownlinkNASTransport", "ies": [{"AMF-UE-NGAP-ID": 1}, ...]}``
for NGAP, ``{"message-type": "registration-reject", "5gmm-cause": "illegal-ue"}`` for NAS,
``{"message": "HeartbeatRequest", "sequence": 1, "ies": [{"Recovery Time Stamp": 3900000000}]}``
for PFCP.
Octets in a tree are hexadecimal strings. A tree of a decoded message encodes to the octets
it came from, where they are in the form that the encoder writes (ITU-T X.691; the IEs of a NAS
message in the order of its table; PFCP without spare bits), else to octets of the same tree.

Every refusal is a `WireError`. An argument of another type is a `TypeError`, and a number that
its parameter cannot hold at all an `OverflowError`, as elsewhere in Python.
"""

from typing import Any, Final, Self, final

ERROR_KINDS: Final[list[str]]
"""Every `WireError.kind` there is."""

class WireError(ValueError):
    """Octets or values that are refused; `str()` says why in a sentence."""

    kind: str
    """Which refusal: one of `ERROR_KINDS`."""
    ie: str | None
    """The IE at fault, by its name or its number in the specification."""
    offset: int | None
    """The octet, from 0, at which reading stopped; for kind ``nas-refused``, in `plain`."""
    cause: int | None
    """The 5GMM or 5GSM cause value that TS 24.501 clause 7 answers with."""
    count: int | None
    """For kind ``nas-refused``: the NAS COUNT that the authentic message used."""
    plain: bytes | None
    """For kind ``nas-refused``: the message, deciphered."""

SOURCE_DIGEST: Final[str]
"""SHA-256 of the sources that this extension was built of, in hexadecimal digits."""

def build_info() -> str:
    """How this extension was built: its version, profile and codec versions."""

# NGAP (TS 38.413)

@final
class NgapPeek:
    """What a gateway needs of a PDU to route it. Fields are None where the PDU lacks the IE."""

    message: str
    """The name of the message, ``"unknown"`` for a procedure code that NGAP does not have."""
    procedure_code: int
    direction: str
    """``"InitiatingMessage"``, ``"SuccessfulOutcome"`` or ``"UnsuccessfulOutcome"``."""
    amf_ue_ngap_id: int | None
    """Of a PATH SWITCH REQUEST, its Source AMF UE NGAP ID."""
    ran_ue_ngap_id: int | None
    global_ran_node_id: str | None
    """``"<mcc>-<mnc>-<gnb|ngenb|n3iwf>-<bits>-<id in hexadecimal>"``, safe in a NATS subject."""
    s_tmsi: tuple[int, int, int] | None
    """AMF set, AMF pointer and 5G-TMSI of the 5G-S-TMSI IE."""
    nas_pdu: bytes | None
    nas: NasPeek | None

def ngap_peek(data: bytes) -> NgapPeek:
    """Read the header and the routing IEs of a PDU.

    Raises:
        WireError: kind ``ngap-decode``, for octets that are no NGAP PDU, or one whose IEs cannot
            be told apart. An IE that does not decode is left out, not refused: `ngap_check`
            tells what is wrong with it.
    """

def ngap_decode(data: bytes) -> dict[str, Any]:
    """The tree of a PDU: ``message`` and ``ies``, a list with one name and value each.

    Where a criticality is not the one of the ASN.1, ``criticality`` stands beside the value or
    the message. An IE that NGAP does not have has its number for a name and ``octets`` in its
    value. A procedure that NGAP does not have has ``procedure_code`` and ``direction`` for its
    ``message``, and a private message no ``ies`` but ``octets``. A PDU that is not in the form of
    ITU-T X.691 to the bit is read as if it were.

    Raises:
        WireError: kind ``ngap-decode``; `ie` is the number of an IE whose value does not decode.
    """

def ngap_encode(tree: dict[str, Any]) -> bytes:
    """The PDU of a tree, in aligned PER; criticalities come from the ASN.1.

    Raises:
        WireError: kind ``ngap-encode``.
    """

def ngap_check(data: bytes) -> dict[str, Any] | None:
    """How a received PDU must be answered for its syntax (TS 38.413 clause 10.3).

    None for a PDU without fault, else ``reject`` (whether the procedure is rejected, rather
    than continued without the IE), ``cause`` (a tree of the Cause IE), ``deviations`` (a
    sentence each), and the Criticality Diagnostics trees ``diagnostics`` (for an ERROR
    INDICATION) and ``diagnostics_for_response``. IEs out of order are a fault (10.3.6).

    Raises:
        WireError: kind ``ngap-decode``, for octets that are no NGAP PDU at all.
    """

@final
class NgapRead:
    """A received PDU, read once for what is asked of it in turn."""

    @property
    def peek(self) -> NgapPeek:
        """What `ngap_peek` says."""
    def check(self) -> dict[str, Any] | None:
        """What `ngap_check` says.

        Raises:
            WireError: kind ``ngap-decode``.
        """

    def ies(self) -> dict[str, Any]:
        """The IEs by name, as `ngap_decode` has them in ``ies``; of a repeated one, the first.

        It is quick after a `check` that has found nothing.

        Raises:
            WireError: kind ``ngap-decode``, as `ngap_decode`.
        """

def ngap_read(data: bytes) -> NgapRead:
    """A received PDU.

    Raises:
        WireError: kind ``ngap-decode``, as `ngap_peek`.
    """

@final
class NgapTemplate:
    """A PDU about a UE, of which many differ in few values. The rest of it is read from its tree
    once, and not each time."""

    def __new__(cls, tree: dict[str, Any]) -> Self:
        """The template of a tree, in which the values that will be replaced are only examples.

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
        """The octets of the PDU with other values: the ids of the UE, be they in UE-NGAP-IDs, and
        those of the named IEs, which the template must have.

        `sessions` are those of its list of PDU sessions to set up, as many as that has: a PDU
        session identity, a NAS message or ``b""`` for none, and the TEID of the UPF.

        Raises:
            WireError: kind ``ngap-encode``, for an IE that the template has not, and for a value
                that its IE cannot have.
        """

# 5GS NAS (TS 24.501)

@final
class NasPeek:
    """What can be read of a NAS message without a security context."""

    epd: int
    """The extended protocol discriminator: 0x7e 5GMM, 0x2e 5GSM."""
    security_header: int
    """The security header type (9.3), 0 for a plain message."""
    sequence_number: int | None
    message_type: int | None
    """The message type, None where it is ciphered."""
    guti: tuple[str, str, int, int, int, int] | None
    """MCC, MNC, AMF region, AMF set, AMF pointer and 5G-TMSI."""
    s_tmsi: tuple[int, int, int] | None
    """AMF set, AMF pointer and 5G-TMSI."""
    supi: str | None
    """``"imsi-..."`` of a SUCI with the null scheme."""
    suci: bytes | None
    """The octets of a SUCI, of any scheme."""
    suci_scheme: int | None
    """The protection scheme: 0 null, 1 profile A, 2 profile B."""

def nas_peek(data: bytes) -> NasPeek:
    """Read the headers and, in an initial message or identity response, the identity.

    Raises:
        WireError: kind ``nas-decode``, for fewer than two octets.
    """

def nas_decode(data: bytes) -> dict[str, Any]:
    """The tree of a NAS message; a ciphered one is its security header and octets.

    Raises:
        WireError: kind ``nas-decode``, with `ie`, `offset` and `cause` where they are known.
    """

@final
class NasRead:
    """A plain uplink message, decoded once for all that is asked of it."""

    tree: dict[str, Any] | None
    """The tree, without the NAS message container of a SECURITY MODE COMPLETE, the payload
    container of an UL NAS TRANSPORT of N1 SM information, and the 5GMM and UE security capabilities
    of a REGISTRATION REQUEST (`nas_decode` and `ue_security_capability` have those); None where
    the message cannot be decoded."""
    container: bytes | None
    """The octets in that container."""
    fault: str
    """Why there is no tree."""
    answer: bytes | None
    """What `nas_answer` says."""

def nas_read(plain: bytes) -> NasRead:
    """Decode a plain uplink message; the container in it, which may be anything, is not."""

def nas_encode(tree: dict[str, Any]) -> bytes:
    """The octets of a plain NAS message.

    Raises:
        WireError: kind ``nas-encode``.
    """

def nas_authentication_request(ngksi: int, abba: bytes, rand: bytes, autn: bytes) -> bytes:
    """An AUTHENTICATION REQUEST (8.2.1) of 5G AKA, under a native ngKSI.

    Raises:
        WireError: kind ``nas-encode``: an ngKSI over 6, a RAND or an AUTN that has not 16 octets.
    """

def nas_dl_transport(container: bytes, psi: int, cause: int | None = None) -> bytes:
    """A DL NAS TRANSPORT (8.2.11) of N1 SM information, which is not looked at.

    `psi` is the PDU session identity, `cause` the value of a 5GMM cause.

    Raises:
        WireError: kind ``nas-encode``, for a container that is too long.
    """

@final
class NasTemplate:
    """A plain downlink message that many UEs get, each with values of its own. The rest of it is
    read from its tree once, and not each time."""

    def __new__(cls, tree: dict[str, Any]) -> Self:
        """The template of a tree, in which the values that will be replaced are only examples.

        Raises:
            WireError: kind ``nas-encode``.
        """

    def registration_accept(self, tmsi: int) -> bytes:
        """The octets of a REGISTRATION ACCEPT, with another 5G-TMSI in its 5G-GUTI.

        Raises:
            WireError: kind ``nas-encode``, for the template of another message, or of one without
                a 5G-GUTI.
        """

    def establishment_accept(
        self, psi: int, pti: int, ipv4: str, interface_id: int | None
    ) -> bytes:
        """The octets of a PDU SESSION ESTABLISHMENT ACCEPT with another PDU session identity, PTI
        and PDU address: an IPv4 address, ``""`` for none, and the 64 bits of an IPv6 interface
        identifier, None for none.

        Raises:
            WireError: kind ``nas-encode``, for the template of another message, for an address
                that is none, and for neither.
        """

def nas_answer(plain: bytes) -> bytes | None:
    """The network's answer that clause 7 gives to a faulty plain message: 5GMM STATUS and
    the like; None where the message is to be ignored, or has no fault."""

def ue_security_capability(plain: bytes) -> bytes | None:
    """The value of the UE security capability (9.11.3.54) of a plain REGISTRATION REQUEST:
    an octet each of 5G-EA, 5G-IA and, if present, EEA and EIA; bit 8 is algorithm 0."""

@final
class NasVerified:
    """A message whose MAC is right."""

    plain: bytes
    """The message to act on: for an initial message with a NAS message container, the entire
    one from the container (4.4.6)."""
    security_header: int
    count: int
    """The NAS COUNT it was verified with; K_gNB is derived from that of an initial message."""
    outer: bytes | None
    """The cleartext message around the container, where there was one."""

@final
class NasSecurity:
    """The NAS keys of a K_AMF with their algorithms and the next NAS COUNT of each direction.

    Header types are those of TS 24.501 9.3: 1 integrity protected, 2 and ciphered, 3 integrity
    protected with a new context, 4 and ciphered.
    """

    def __new__(cls, kamf: bytes, nia: int, nea: int, uplink: int = 0, downlink: int = 0) -> Self:
        """Restore a context.

        Raises:
            WireError: kind ``security``: a key that has not 32 octets, a reserved algorithm,
                NIA0 with another cipher than NEA0, a COUNT over 24 bits.
        """

    @property
    def uplink(self) -> int | None:
        """The next uplink COUNT, None once all are used."""
    @property
    def downlink(self) -> int | None:
        """The next downlink COUNT, None once all are used."""
    def protect(self, plain: bytes, security_header: int, *, downlink: bool) -> bytes:
        """Cipher where the header type says so, add the MAC, use up a COUNT.

        Raises:
            WireError: ``nas-decode`` and ``nas-encode`` for a message that may not be sent so,
                ``nas-count`` when all COUNTs are used, ``security`` for header type 0.
        """

    def protect_initial(self, plain: bytes) -> bytes:
        """Protect an initial message as a UE does (4.4.6): its cleartext IEs, and the entire
        message ciphered in a NAS message container."""

    def unprotect(self, data: bytes, *, downlink: bool) -> NasVerified:
        """Verify the MAC, then decipher; the COUNT moves only after the MAC is right.

        Raises:
            WireError: ``nas-integrity`` for a wrong MAC or a COUNT used before, ``nas-refused``
                for an authentic message that is not one to receive, ``nas-decode`` for octets
                that are no protected message.
        """

# PFCP (TS 29.244) over N4

@final
class PfcpPeek:
    """What a gateway needs of a message to route it. Fields are None where the message lacks the
    IE, or has one that does not decode; of more than one of an IE, the first counts."""

    message: str
    """The name of the message, ``"unknown"`` for a message type that PFCP does not have."""
    message_type: int
    version: int
    """1, or the version of a peer that has another one."""
    request: bool
    """Whether the message asks for an answer."""
    seid: int | None
    """The SEID of the header, which is the receiver's own; 0 before there is one."""
    sequence: int
    priority: int | None
    """The message priority, 0 to 15."""
    length: int
    """The octets of the message with its header: where the next one starts."""
    follow_on: bool
    """Whether another message follows in the same packet."""
    f_seid: tuple[int, str | None, str | None] | None
    """SEID, IPv4 and IPv6 address of the F-SEID IE: of the CP function in a session
    establishment request, of the UP function in its answer."""
    node_id: str | None
    """The Node ID: an address or a domain name."""
    cause: int | None
    """The value of the Cause."""
    recovery_time_stamp: int | None
    """In seconds since 1900."""

def pfcp_peek(data: bytes) -> PfcpPeek:
    """Read the header of the first message in `data`, and the IEs that tell whose it is.

    Raises:
        WireError: kind ``pfcp-decode``, for octets without a whole header, or fewer than it says.
    """

def pfcp_decode(data: bytes, *, lenient: bool = False) -> dict[str, Any]:
    """The tree of a message: ``message``, ``seid`` (of a header that has one), ``sequence``,
    ``priority`` and ``follow_on`` (where there is one), and ``ies``.

    An IE is a dict of its name in table 8.1.2-1 and its value: a list of IEs for a group, the
    specification's word or else the number for an enumeration, a list of names for a bit map,
    a dict of what is there for a value with parts. Octets are hexadecimal, addresses text, times
    seconds since 1900 as on the wire, rates kbit/s. A text that is not UTF-8 is a dict of
    ``octets``. An IE that the table does not have has its number for a name and a dict of
    ``octets`` for a value, with the ``enterprise`` of a vendor's. A message that PFCP does not
    have is ``"unknown"``, with its ``message_type``. Spare bits, bits of a later release, and
    octets that a later release has appended to an IE are not in the tree.

    These IEs are a dict of ``octets``, too: those of ATSSS (165 to 176, 216 to 231, 265, 288,
    289, 330 to 333), of TSC and time synchronisation (194 to 210, 266, 321), of RDS (261, 262),
    of L2TP (276 to 287, 313), of MBS (300 to 312, 314), of edge computing (293, 294), of XR
    (316, 317, 320, 322 to 329, 334 to 337, 339 to 345, 347 to 351), and IP Multicast Address.

    With `lenient`, an IE that does not decode is left out, as clause 7.6 has a receiver do where
    `pfcp_check` says ``"ignore"``.

    Raises:
        WireError: kind ``pfcp-decode``, with `ie` and `offset` where they are known: also for
            another version, for octets after the message unless one follows on, and for groups
            that nest deeper than any of the specification.
    """

def pfcp_encode(tree: dict[str, Any]) -> bytes:
    """The octets of a message; IEs in the order of the tree.

    A header has a SEID where the tree has one. The value of every IE may be a dict of ``octets``.

    Raises:
        WireError: kind ``pfcp-encode``, with `ie` where it is known.
    """

def pfcp_check(data: bytes) -> dict[str, Any] | None:
    """What a receiver does with a message for its syntax (clause 7.6).

    None for a message without fault, else ``action``, ``cause`` and ``cause_value`` (the word and
    the number of a Cause), ``offending_ie`` and ``offending_ie_type`` (its name and number), and
    ``text`` for a log; what there is none of is None. The ``action`` is

    - ``"version-not-supported"``: answer with a Version Not Supported Response (7.6.2);
    - ``"discard"``: no answer: an unknown message, half a header, a session message without SEID,
      a heartbeat or an answer that lacks what it must have (for the procedure, no answer came);
    - ``"reject"``: answer with the cause and the offending IE: a length that is not the header's,
      a mandatory IE, or one whose condition is in the message, that is missing or malformed;
    - ``"ignore"``: an optional IE is malformed; take the message without it.

    An optional IE of no length in an Update group is no fault: it takes that IE from the rule
    (5.6.3), and its tree is ``{"octets": ""}``.
    """

# Authentication (TS 33.501 6.1, TS 35.206)

def milenage_opc(k: bytes, op: bytes) -> bytes:
    """OPc from K and OP, 16 octets each."""

def milenage(k: bytes, opc: bytes, rand: bytes, sqn: int, amf: bytes) -> dict[str, bytes]:
    """The outputs of f1, f1*, f2, f3, f4, f5 and f5* by those names."""

@final
class AkaVector:
    """A 5G home environment vector, and the keys below it."""

    rand: bytes
    autn: bytes
    xres_star: bytes
    hxres_star: bytes
    kausf: bytes
    kseaf: bytes

def aka_vector(k: bytes, opc: bytes, rand: bytes, sqn: int, amf: bytes, sn_name: str) -> AkaVector:
    """A 5G-AKA vector: `rand` 16 octets, `sqn` 48 bits, `amf` 2 octets with the separation bit,
    `sn_name` as ``"5G:mnc001.mcc001.3gppnetwork.org"``."""

@final
class UsimAnswer:
    """What a UE has after it accepted the MAC of a challenge. Whether `sqn` is fresh is its own
    judgement (TS 33.102 annex C)."""

    sqn: int
    separation_bit: bool
    res_star: bytes
    kausf: bytes
    kseaf: bytes

def usim_answer(k: bytes, opc: bytes, rand: bytes, autn: bytes, sn_name: str) -> UsimAnswer:
    """The UE's side of a challenge.

    Raises:
        WireError: kind ``aka-mac`` when the MAC of AUTN is wrong.
    """

def auts(k: bytes, opc: bytes, rand: bytes, sqn_ms: int) -> bytes:
    """The AUTS, 14 octets, of a USIM whose SQN is `sqn_ms`."""

def verify_auts(k: bytes, opc: bytes, rand: bytes, auts: bytes) -> int:
    """SQN_MS out of an AUTS.

    Raises:
        WireError: kind ``aka-mac`` when its MAC-S is wrong.
    """

# EAP-AKA' (RFC 9048, TS 33.501 6.1.3.1 and annex F)

@final
class EapAkaKeys:
    """The keys of one full authentication (RFC 9048 3.3)."""

    k_encr: bytes
    k_aut: bytes
    """Of AT_MAC, 32 octets."""
    k_re: bytes
    msk: bytes
    emsk: bytes
    kausf: bytes
    """The first 32 octets of the EMSK (TS 33.501 6.1.3.1)."""

def eap_aka_keys(ck: bytes, ik: bytes, sn_name: str, autn: bytes, identity: str) -> EapAkaKeys:
    """The keys below CK and IK, by way of CK' and IK' (TS 33.402 A.2).

    `identity` is the IMSI, digits alone, in 5GS (TS 33.501 F.3).

    Raises:
        WireError: kind ``eap``, for a key or an AUTN that has not 16 octets.
    """

def eap_aka_challenge(
    identifier: int, rand: bytes, autn: bytes, sn_name: str, k_aut: bytes
) -> bytes:
    """An EAP-Request of AKA'-Challenge: AT_RAND, AT_AUTN, AT_KDF, AT_KDF_INPUT and AT_MAC."""

def eap_aka_mac_is_right(data: bytes, k_aut: bytes) -> bool:
    """Whether a packet of EAP-AKA' has an AT_MAC, and it is that of `k_aut`.

    Raises:
        WireError: kind ``eap``, for octets that are no packet of EAP-AKA'.
    """

def eap_decode(data: bytes) -> dict[str, Any]:
    """What an EAP packet says: ``code`` and ``identifier``, of a request or response ``type``, of
    EAP-AKA' (50) ``subtype`` and ``attributes``, from the type of each to its octets behind type
    and length. AT_KDF and those that may be skipped (from 128) may be there twice: the last counts.

    Raises:
        WireError: kind ``eap``.
    """

def eap_result(identifier: int, success: bool) -> bytes:
    """EAP-Success or EAP-Failure."""

# Keys (TS 33.501 annex A)

def kausf(ck: bytes, ik: bytes, sn_name: str, autn: bytes) -> bytes:
    """K_AUSF of 5G-AKA (A.2)."""

def kseaf(kausf: bytes, sn_name: str) -> bytes:
    """K_SEAF (A.6)."""

def kamf(kseaf: bytes, supi: str, abba: bytes) -> bytes:
    """K_AMF (A.7) of a SUPI as ``"imsi-..."``."""

def kamf_prime(kamf: bytes, downlink: bool, count: int) -> bytes:
    """K_AMF' (A.13): idle mobility with the uplink COUNT, or handover with the downlink one."""

def knas_int(kamf: bytes, nia: int) -> bytes:
    """K_NASint (A.8), 16 octets."""

def knas_enc(kamf: bytes, nea: int) -> bytes:
    """K_NASenc (A.8), 16 octets."""

def kgnb(kamf: bytes, uplink_count: int) -> bytes:
    """K_gNB (A.9)."""

def kn3iwf(kamf: bytes, uplink_count: int) -> bytes:
    """K_N3IWF (A.9)."""

def nh(kamf: bytes, sync_input: bytes) -> bytes:
    """NH (A.10) after K_gNB or after the NH before it."""

def kng_ran_star(base_key: bytes, pci: int, arfcn_dl: int) -> bytes:
    """K_NG-RAN* (A.11) for a target gNB, from NH or K_gNB."""

def as_keys(kgnb: bytes, nia: int, nea: int) -> tuple[bytes, bytes, bytes, bytes]:
    """K_RRCint, K_RRCenc, K_UPint and K_UPenc (A.8)."""

def res_star(ck: bytes, ik: bytes, sn_name: str, rand: bytes, res: bytes) -> bytes:
    """RES* or XRES* (A.4)."""

def hres_star(rand: bytes, res_star: bytes) -> bytes:
    """HRES* or HXRES* (A.5)."""

def nia(
    algorithm: int, key: bytes, count: int, bearer: int, message: bytes, *, downlink: bool
) -> bytes:
    """The MAC, four octets, of 128-NIA1 to 3, or zeros for NIA0 (annex D.3)."""

def nea(
    algorithm: int, key: bytes, count: int, bearer: int, data: bytes, *, downlink: bool
) -> bytes:
    """`data` through 128-NEA1 to 3, or unchanged for NEA0 (annex D.2)."""

# SUCI (TS 33.501 annex C); a SUCI is the value of a 5GS mobile identity IE

def suci_public_key(profile: str, key: bytes) -> bytes:
    """The home network public key of a private key, profile ``"A"`` or ``"B"``."""

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
    """The SUCI of an IMSI: null scheme, or profile ``"A"`` or ``"B"`` with a fresh ephemeral key.

    Raises:
        WireError: kind ``suci``.
    """

def suci_scheme(suci: bytes) -> tuple[int, int]:
    """The protection scheme and the home network public key identifier of a SUCI."""

def suci_deconceal(suci: bytes, profile: str | None = None, key: bytes | None = None) -> str:
    """The SUPI of a SUCI; `key` is the private key that it names.

    Raises:
        WireError: kind ``suci``: wrong key or tag, a point off the curve, no IMSI inside.
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
        """Seal `plain` under a `nonce` of 12 octets that is never used again with this key;
        `context` must be the same to open it."""

    def open(self, sealed: bytes, context: bytes) -> bytes:
        """What was sealed.

        Raises:
            WireError: kind ``sealed``, for another key or context, or changed octets.
        """

# SCTP in user space (RFC 9260 over UDP, RFC 6951, or over a raw IP socket)

@final
class SctpEndpoint:
    """The associations on one datagram socket, without I/O.

    The owner of the socket gives packets in with `receive` and time with `now` (seconds of a
    clock that does not go back), and after each call takes out `packets`, `events` and
    `messages`. It calls `advance` at `timeout`, which it asks for after `packets`: what was
    sent together is bundled there. An object stays in the thread that made it, and ends there.
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
    ) -> Self:
        """An endpoint on SCTP port `port`; sizes in octets, times in seconds.

        `max_associations` counts half-open ones too, the oldest of which give way; else one
        too many is answered with ABORT, as is every INIT without `accept`.

        Raises:
            WireError: kind ``sctp``, for a limit that cannot be.
        """

    def connect(self, ip: str, udp_port: int, port: int, now: float) -> int:
        """Start an association with SCTP port `port` of a peer; its number.

        Raises:
            WireError: kind ``sctp``, when it exists already or there are too many.
        """

    def receive(self, data: bytes, ip: str, udp_port: int, now: float) -> None:
        """Take a packet, its IP and UDP headers removed (`udp_port` 0 over raw IP). A packet
        that is broken or of no association is counted in `dropped`."""

    def send(self, association: int, stream: int, ppid: int, payload: bytes, now: float) -> None:
        """Queue a message.

        Raises:
            WireError: ``sctp-full`` when the send buffer is full (an event ``writable``
                follows), ``sctp`` for no such association (or one that is ending), a stream it
                does not have, or a message that is empty or too large.
        """

    def advance(self, now: float) -> None:
        """Run the timers that are due."""

    def timeout(self) -> float | None:
        """When `advance` is to be called, None for never."""

    def packets(self) -> list[tuple[bytes, tuple[str, int]]]:
        """The packets to send, each with the IP address and UDP port it goes to."""

    def messages(self, limit: int) -> list[tuple[int, int, int, bytes]]:
        """Up to `limit` received messages: association, stream, PPID, payload. What is left
        fills the receive window, so that a peer that is faster than the reader waits."""

    def events(self) -> list[tuple[str, int, str]]:
        """What happened: ``up`` (with the peer), ``down`` (with the reason) or ``writable``,
        the association and the text. A peer that restarts goes down and up, under a new number.
        ``down`` comes after the association's last message was taken, unless it was aborted
        from here; it also comes for one that was started by `connect` and never was up."""

    def shutdown(self, association: int, now: float) -> None:
        """End an association after what is queued has arrived."""

    def abort(self, association: int, now: float) -> None:
        """End an association at once."""

    def streams(self, association: int) -> tuple[int, int] | None:
        """The negotiated numbers of inbound and outbound streams."""

    @property
    def associations(self) -> int: ...
    @property
    def dropped(self) -> int: ...
