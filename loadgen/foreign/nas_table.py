"""The optional IEs of the uplink messages of TS 24.501 clause 8, and the UEs that include them.

Each table lists all optional IEs of its message in the order of the clause (Release 19). An IE with
a `value` is drawn at random if its condition holds. An IE without a value has the reason: the
procedures of loadgen send it, or no UE may send it to this network.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from loadgen import trees
from loadgen.foreign import nas_values as values
from loadgen.foreign.nas_values import Value, among, fixed, octets, one_of
from loadgen.trees import Tree

Condition: TypeAlias = Callable[[Tree], bool]
"""Whether the message with this tree may have the IE."""

CAPABILITY: Final = "5gmm-capability"


class Ie(NamedTuple):
    """An optional IE of a message."""

    iei: int
    """The IEI; that of a half octet with zeros."""
    name: str
    """The name in the trees of `wire`."""
    value: Value | None = None
    """The maker of a value; None for an IE that is not drawn."""
    when: Condition | None = None
    """The condition of its clause; None for an IE that any UE may include."""
    reason: str = ""
    """Why the IE is not drawn."""
    share: float = 1 / 3
    """The share of the messages with the IE, where its condition holds."""
    extends: bool = False
    """Whether the value replaces the value of loadgen."""
    cleartext: bool = False
    """Whether a message without protection may have the IE (4.4.6)."""


def _kind(tree: Tree) -> str:
    return str(tree["5gs-registration-type"]["registration-type"])


def _initial(tree: Tree) -> bool:
    return _kind(tree) == "initial-registration"


def _not_periodic(tree: Tree) -> bool:
    return _kind(tree) != "periodic-registration-updating"


def _has(name: str) -> Condition:
    return lambda tree: name in tree


def _capable(octet: int, bit: int) -> Condition:
    """Return the condition that a 5GMM capability has a bit (9.11.3.1): octet 3 is 0."""

    def holds(tree: Tree) -> bool:
        told = trees.octets(tree, CAPABILITY)
        return len(told) > octet and bool(told[octet] & bit) and _not_periodic(tree)

    return holds


_SENT: Final = "loadgen sends it"
_FROM_EPS: Final = "only at a change from S1 mode, with an identity of EPS"
_NON_3GPP: Final = "only with registration over non-3GPP access"
_NOT_ANNOUNCED: Final = "only if the network has announced its support"
_OTHER_UE: Final = "only a UE of another kind: wireline, SNPN, disaster roaming"
_CHANGES: Final = "it asks for another result of the procedure"

_T3512: Final = one_of(0x00, 0x21, 0x5F, 0x86, 0xA1, 0xE0)
"""GPRS timer 3 with several units, and deactivated (TS 24.008 10.5.7.4a)."""

REGISTRATION_REQUEST: Final = (
    Ie(0xC0, "non-current-native-nas-key-set-identifier", reason=_FROM_EPS),
    Ie(0x10, CAPABILITY, octets(1, 13), _has(CAPABILITY), extends=True, share=2 / 3),
    Ie(0x2E, "ue-security-capability", reason=_SENT),
    Ie(0x2F, "requested-nssai", reason=_SENT),
    Ie(0x52, "last-visited-registered-tai", values.tai),
    Ie(0x17, "s1-ue-network-capability", octets(2, 13), _capable(0, 0x01)),
    Ie(0x40, "uplink-data-status", reason=_SENT),
    Ie(
        0x50,
        "pdu-session-status",
        values.sessions("pdu-session-status"),
        _has("pdu-session-status"),
        extends=True,
    ),
    Ie(0xB0, "mico-indication", one_of(0, 1)),
    Ie(0x2B, "ue-status", among(range(4)), cleartext=True),
    Ie(0x77, "additional-guti", reason=_FROM_EPS),
    Ie(0x25, "allowed-pdu-session-status", reason=_NON_3GPP),
    Ie(0x18, "ue-usage-setting", one_of(0, 1), _not_periodic),
    Ie(0x51, "requested-drx-parameters", among(range(16)), _not_periodic),
    Ie(0x70, "eps-nas-message-container", reason=_FROM_EPS),
    Ie(0x74, "ladn-indication", values.ladn, _not_periodic),
    Ie(0x80, "payload-container-type", fixed("05"), _initial),
    Ie(
        0x7B,
        "payload-container",
        fixed("00040000" + "0100"),
        _has("payload-container-type"),
        share=1,
    ),
    Ie(0x90, "network-slicing-indication", reason=_SENT),
    Ie(0x53, "5gs-update-type", one_of(0x00, 0x01, 0x02, 0x03, 0x15), _not_periodic),
    Ie(0x41, "mobile-station-classmark-2", octets(3), _capable(1, 0x01)),
    Ie(0x42, "supported-codecs", values.codecs, _has("mobile-station-classmark-2"), share=1),
    Ie(0x71, "nas-message-container", reason=_SENT),
    Ie(0x60, "eps-bearer-context-status", reason=_FROM_EPS),
    Ie(0x6E, "requested-extended-drx-parameters", octets(1, 2)),
    Ie(0x6A, "t3324-value", one_of(0x01, 0x22, 0x45, 0xE0), _has("mico-indication")),
    Ie(0x67, "ue-radio-capability-id", values.radio_capability_id, _capable(1, 0x80)),
    Ie(0x35, "requested-mapped-nssai", reason="only a UE that roams"),
    Ie(0x48, "additional-information-requested", one_of(0, 1)),
    Ie(0x1A, "requested-wus-assistance-information", among(range(32)), _capable(2, 0x02)),
    Ie(0xA0, "n5gc-indication", reason=_OTHER_UE),
    Ie(0x30, "requested-nb-n1-mode-drx-parameters", among(range(8)), _not_periodic),
    Ie(0x29, "ue-request-type", reason=_NOT_ANNOUNCED),
    Ie(0x28, "paging-restriction", reason=_NOT_ANNOUNCED),
    Ie(0x72, "service-level-aa-container", values.device_id, _capable(4, 0x40)),
    Ie(0x32, "nid", reason=_OTHER_UE),
    Ie(0x16, "ue-determined-plmn-with-disaster-condition", reason=_OTHER_UE),
    Ie(
        0x2A,
        "requested-peips-assistance-information",
        among(range(0x20, 0x35)),
        _not_periodic,
    ),
    Ie(0x3B, "requested-t3512-value", _T3512, _has("mico-indication")),
    Ie(0x3C, "unavailability-information", reason=_NOT_ANNOUNCED),
    Ie(0x3F, "non-3gpp-path-switching-information", reason=_NON_3GPP),
    Ie(0x56, "aun3-indication", reason=_OTHER_UE),
    Ie(
        0x64,
        "requested-lp-wusps-assistance-information",
        among(range(0x20, 0x35)),
        _not_periodic,
    ),
)
"""TS 24.501 8.2.6."""

SERVICE_REQUEST: Final = (
    Ie(
        0x40,
        "uplink-data-status",
        values.sessions("uplink-data-status"),
        _has("uplink-data-status"),
        extends=True,
    ),
    Ie(
        0x50,
        "pdu-session-status",
        values.sessions("pdu-session-status"),
        _has("pdu-session-status"),
        extends=True,
    ),
    Ie(0x25, "allowed-pdu-session-status", reason=_NON_3GPP),
    Ie(0x71, "nas-message-container", reason=_SENT),
    Ie(0x29, "ue-request-type", reason=_NOT_ANNOUNCED),
    Ie(0x28, "paging-restriction", reason=_NOT_ANNOUNCED),
)
"""TS 24.501 8.2.16."""

DEREGISTRATION_REQUEST: Final = (
    Ie(0x3C, "unavailability-information", reason=_NOT_ANNOUNCED),
    Ie(0x71, "nas-message-container", reason=_SENT),
)
"""TS 24.501 8.2.12."""

UL_NAS_TRANSPORT: Final = (
    Ie(0x12, "pdu-session-id", reason=_SENT),
    Ie(0x59, "old-pdu-session-id", reason="only when a session of SSC mode 2 or 3 is replaced"),
    Ie(0x80, "request-type", reason=_SENT),
    Ie(0x22, "s-nssai", reason=_SENT),
    Ie(0x25, "dnn", values.dnn, _has("dnn"), extends=True),
    Ie(0x24, "additional-information", reason="only with a payload for location services"),
    Ie(0xA0, "ma-pdu-session-information", reason=_NOT_ANNOUNCED),
    Ie(0xF0, "release-assistance-indication", reason="only with user data of CIoT"),
    Ie(0x4E, "non-3gpp-access-path-switching-indication", reason=_NON_3GPP),
    Ie(0x5A, "alternative-s-nssai", reason=_NOT_ANNOUNCED),
    Ie(0x90, "payload-container-information", reason="only with a payload for location services"),
)
"""TS 24.501 8.2.10."""

SECURITY_MODE_COMPLETE: Final = (
    Ie(0x77, "imeisv", reason=_SENT),
    Ie(0x71, "nas-message-container", reason=_SENT),
    Ie(0x78, "non-imeisv-pei", reason="only a UE without an IMEISV"),
)
"""TS 24.501 8.2.26."""

AUTHENTICATION_RESPONSE: Final = (
    Ie(0x2D, "authentication-response-parameter", reason=_SENT),
    Ie(0x78, "eap-message", reason=_SENT),
)
"""TS 24.501 8.2.2."""

AUTHENTICATION_FAILURE: Final = (Ie(0x30, "authentication-failure-parameter", reason=_SENT),)
"""TS 24.501 8.2.4."""

REGISTRATION_COMPLETE: Final = (
    Ie(0x73, "sor-transparent-container", reason="only if the network asked for a confirmation"),
)
"""TS 24.501 8.2.8."""

_OPTIONS: Final = Ie(
    0x7B,
    "extended-protocol-configuration-options",
    values.protocol_options,
    extends=True,
    share=2 / 3,
)
_CAUSE: Final = Ie(0x59, "5gsm-cause", reason=_SENT)
_PACKET_FILTERS: Final = Ie(
    0x55,
    "maximum-number-of-supported-packet-filters",
    values.packet_filters,
)
_ALWAYS_ON: Final = Ie(0xB0, "always-on-pdu-session-requested", one_of(0, 1))
_PORTS: Final = Ie(0x74, "port-management-information-container", octets(5, 60))
_HEADERS: Final = Ie(
    0x66, "ip-header-compression-configuration", reason="only if CIoT over NAS was negotiated"
)
_ETHERNET: Final = "only for a PDU session of type Ethernet"
_MBS: Final = Ie(0x70, "requested-mbs-container", fixed("0506010203" + "00f110"))
_AA: Final = Ie(0x72, "service-level-aa-container", values.device_id)


def _ipv6(tree: Tree) -> bool:
    return tree.get("pdu-session-type") in ("ipv6", "ipv4v6")


ESTABLISHMENT_REQUEST: Final = (
    Ie(0x90, "pdu-session-type", reason=_SENT),
    Ie(0xA0, "ssc-mode", reason=_SENT),
    Ie(0x28, "5gsm-capability", octets(1, 13), extends=True),
    _PACKET_FILTERS,
    _ALWAYS_ON,
    Ie(
        0x39,
        "sm-pdu-dn-request-container",
        values.user_name,
    ),
    _OPTIONS,
    _HEADERS,
    Ie(0x6E, "ds-tt-ethernet-port-mac-address", reason=_ETHERNET),
    Ie(0x6F, "ue-ds-tt-residence-time", octets(8)),
    _PORTS,
    Ie(0x1F, "ethernet-header-compression-configuration", reason=_ETHERNET),
    Ie(
        0x29,
        "suggested-interface-identifier",
        values.interface_id,
        _ipv6,
    ),
    _AA,
    _MBS,
    Ie(0x34, "pdu-session-pair-id", among(range(7))),
    Ie(0x35, "rsn", one_of(0, 1), _has("pdu-session-pair-id")),
    Ie(0x36, "ursp-rule-enforcement-reports", reason=_NOT_ANNOUNCED),
)
"""TS 24.501 8.3.1."""

MODIFICATION_REQUEST: Final = (
    Ie(0x28, "5gsm-capability", octets(1, 13)),
    _CAUSE,
    _PACKET_FILTERS,
    _ALWAYS_ON,
    Ie(0x13, "integrity-protection-maximum-data-rate", fixed("ffff")),
    Ie(0x7A, "requested-qos-rules", reason=_CHANGES),
    Ie(0x79, "requested-qos-flow-descriptions", reason=_CHANGES),
    Ie(0x75, "mapped-eps-bearer-contexts", reason=_CHANGES),
    _OPTIONS,
    _PORTS,
    _HEADERS,
    Ie(0x1F, "ethernet-header-compression-configuration", reason=_ETHERNET),
    _MBS,
    _AA,
    Ie(0x73, "non-3gpp-delay-budget", reason=_NOT_ANNOUNCED),
    Ie(0x36, "ursp-rule-enforcement-reports", reason=_NOT_ANNOUNCED),
    Ie(0x7C, "non-3gpp-device-information", reason=_NOT_ANNOUNCED),
)
"""TS 24.501 8.3.7."""

TABLES: Final[dict[int, tuple[Ie, ...]]] = {
    0x41: REGISTRATION_REQUEST,
    0x43: REGISTRATION_COMPLETE,
    0x45: DEREGISTRATION_REQUEST,
    0x48: (),
    0x4C: SERVICE_REQUEST,
    0x55: (),
    0x57: AUTHENTICATION_RESPONSE,
    0x59: AUTHENTICATION_FAILURE,
    0x5C: (),
    0x5E: SECURITY_MODE_COMPLETE,
    0x67: UL_NAS_TRANSPORT,
    0xC1: ESTABLISHMENT_REQUEST,
    0xC6: (_OPTIONS,),
    0xC9: MODIFICATION_REQUEST,
    0xCC: (_OPTIONS, _PORTS),
    0xCD: (_OPTIONS,),
    0xD1: (_CAUSE, _OPTIONS),
    0xD4: (Ie(0x59, "5gsm-cause", one_of(36, 26)), _OPTIONS),
}
"""The optional IEs by message type. A STATUS and a SECURITY MODE REJECT stay as they are."""
