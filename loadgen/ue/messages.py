"""The 5GMM and 5GSM messages that a UE sends (TS 24.501 8.2, 8.3), built octet by octet.

A load generator sends each message many thousand times, and each consists of constant octets and
one or two values. Tests compare the messages with the codecs.
"""

from collections.abc import Iterable
from functools import lru_cache

from loadgen.identity import SNssai
from loadgen.session_model import SessionRequest
from loadgen.ue.profile import UeProfile, security_capability

NO_KEY = 7
"""ngKSI "no key is available" (9.11.3.32)."""

REGISTRATION_COMPLETE = b"\x7e\x00\x43"
CONFIGURATION_UPDATE_COMPLETE = b"\x7e\x00\x55"
DEREGISTRATION_ACCEPT = b"\x7e\x00\x48"

_CAPABILITY_5GMM = b"\x10\x01\x00"
"""5GMM capability without any option (9.11.3.1)."""
_DEFAULT_CONFIGURED_NSSAI = b"\x92"
"""Network slicing indication: the requested NSSAI is created from the default configured NSSAI
(9.11.3.36)."""
INITIAL_REGISTRATION, PERIODIC_UPDATING = 1, 3
"""5GS registration types (9.11.3.7)."""
_VOICE_CENTRIC = b"\x18\x01\x00"
"""UE's usage setting (9.11.3.55)."""
_FOLLOW_ON = 0x08


def _lv_e(value: bytes) -> bytes:
    return len(value).to_bytes(2, "big") + value


@lru_cache(maxsize=256)
def requested_nssai(slices: tuple[SNssai, ...]) -> bytes:
    """Return the requested NSSAI IE with its IEI; at most eight slices (9.11.3.37)."""
    value = b""
    for s in slices[:8]:
        one = bytes([s.sst]) + (b"" if s.sd is None else bytes.fromhex(s.sd))
        value += bytes([len(one)]) + one
    return bytes([0x2F, len(value)]) + value if value else b""


def registration_request(
    profile: UeProfile,
    ngksi: int,
    identity: bytes,
    kind: int = INITIAL_REGISTRATION,
    *,
    nssai: tuple[SNssai, ...] | None = None,
    status: bytes = b"",
) -> tuple[bytes, bytes]:
    """Return a REGISTRATION REQUEST with follow-on request: the entire message, and the message
    with only its cleartext IEs (4.4.6).

    A periodic update has no capabilities and no requested NSSAI (8.2.6.3, 8.2.6.4, 5.5.1.3.2).

    Args:
        profile: the UE.
        ngksi: the key set identifier of its security context.
        identity: the value of the 5GS mobile identity.
        kind: the 5GS registration type.
        nssai: the requested NSSAI of a configured NSSAI; None for the default configured NSSAI.
        status: the PDU session status with its IEI, empty for none.
    """
    default = nssai is None
    requested = requested_nssai(profile.slices if nssai is None else nssai)
    head = bytes([0x7E, 0x00, 0x41, ngksi << 4 | _FOLLOW_ON | kind]) + _lv_e(identity)
    if kind == PERIODIC_UPDATING:
        return head + status, head
    capability = security_capability(profile.algorithms)
    usage = _VOICE_CENTRIC * profile.voice_centric
    entire = head + _CAPABILITY_5GMM + capability + requested + status + usage
    return entire + _DEFAULT_CONFIGURED_NSSAI * default, head + capability


def deregistration_request(ngksi: int, identity: bytes, *, switch_off: bool) -> bytes:
    """Return DEREGISTRATION REQUEST for 3GPP access; all its IEs are cleartext IEs."""
    kind = 0x09 if switch_off else 0x01
    return bytes([0x7E, 0x00, 0x45, ngksi << 4 | kind]) + _lv_e(identity)


def service_request(ngksi: int, identity: bytes, service_type: int = 0) -> bytes:
    """Return SERVICE REQUEST with the 5G-S-TMSI and a service type (9.11.3.50)."""
    return bytes([0x7E, 0x00, 0x4C, service_type << 4 | ngksi]) + _lv_e(identity)


def authentication_response(res_star: bytes) -> bytes:
    """Return AUTHENTICATION RESPONSE of 5G-AKA."""
    return b"\x7e\x00\x57\x2d" + bytes([len(res_star)]) + res_star


def eap_response(packet: bytes) -> bytes:
    """Return AUTHENTICATION RESPONSE with an EAP message (8.2.2)."""
    return b"\x7e\x00\x57\x78" + len(packet).to_bytes(2, "big") + packet


def authentication_failure(cause: int, auts: bytes | None) -> bytes:
    """Return AUTHENTICATION FAILURE; with `auts` for cause #21."""
    parameter = b"" if auts is None else b"\x30" + bytes([len(auts)]) + auts
    return bytes([0x7E, 0x00, 0x59, cause]) + parameter


def identity_response(identity: bytes) -> bytes:
    """Return IDENTITY RESPONSE with the value of a 5GS mobile identity IE."""
    return b"\x7e\x00\x5c" + _lv_e(identity)


def security_mode_complete(imeisv: bytes | None, container: bytes | None) -> bytes:
    """Return SECURITY MODE COMPLETE with the data that the network requested."""
    first = b"" if imeisv is None else b"\x77" + _lv_e(imeisv)
    second = b"" if container is None else b"\x71" + _lv_e(container)
    return b"\x7e\x00\x5e" + first + second


def security_mode_reject(cause: int) -> bytes:
    """Return SECURITY MODE REJECT."""
    return bytes([0x7E, 0x00, 0x5F, cause])


def gmm_status(cause: int) -> bytes:
    """Return 5GMM STATUS."""
    return bytes([0x7E, 0x00, 0x64, cause])


UPLINK_DATA_STATUS, PDU_SESSION_STATUS = 0x40, 0x50
"""IEIs."""
REGULAR_DEACTIVATION = 36
INVALID_IDENTITY = 43
PTI_MISMATCH = 47
INVALID_MANDATORY = 96
TYPE_NON_EXISTENT = 97
NOT_COMPATIBLE = 98

_TYPES = {"ipv4": 1, "ipv6": 2, "ipv4v6": 3}
_FULL_RATE = b"\xff\xff"
_CAPABILITY = b"\x28\x01\x00"
_ADDRESS_VIA_NAS, _DNS_IPV4, _DNS_IPV6, _MTU = (
    b"\x00\x0a\x00",
    b"\x00\x0d\x00",
    b"\x00\x03\x00",
    (b"\x00\x10\x00"),
)


@lru_cache(maxsize=8)
def _establishment(session_type: str) -> bytes:
    """Return the IEs of PDU SESSION ESTABLISHMENT REQUEST: integrity at full rate, SSC mode 1,
    PCO."""
    options = b"\x80" + _ADDRESS_VIA_NAS
    options += _DNS_IPV4 + _MTU if session_type != "ipv6" else b""
    options += _DNS_IPV6 if session_type != "ipv4" else b""
    pco = b"\x7b" + len(options).to_bytes(2, "big") + options
    return _FULL_RATE + bytes([0x90 | _TYPES[session_type], 0xA1]) + _CAPABILITY + pco


def establishment_request(psi: int, pti: int, session_type: str) -> bytes:
    """Return PDU SESSION ESTABLISHMENT REQUEST."""
    return bytes([0x2E, psi, pti, 0xC1]) + _establishment(session_type)


def release_request(psi: int, pti: int, cause: int = REGULAR_DEACTIVATION) -> bytes:
    """Return PDU SESSION RELEASE REQUEST."""
    return bytes([0x2E, psi, pti, 0xD1, 0x59, cause])


def release_complete(psi: int, pti: int) -> bytes:
    """Return PDU SESSION RELEASE COMPLETE."""
    return bytes([0x2E, psi, pti, 0xD4])


def modification_complete(psi: int, pti: int) -> bytes:
    """Return PDU SESSION MODIFICATION COMPLETE."""
    return bytes([0x2E, psi, pti, 0xCC])


def gsm_status(psi: int, pti: int, cause: int) -> bytes:
    """Return 5GSM STATUS."""
    return bytes([0x2E, psi, pti, 0xD6, cause])


@lru_cache(maxsize=64)
def _dnn(dnn: str) -> bytes:
    labels = b"".join(bytes([len(one)]) + one.encode() for one in dnn.split("."))
    return bytes([0x25, len(labels)]) + labels


def _s_nssai(one: SNssai) -> bytes:
    value = bytes([one.sst]) + (b"" if one.sd is None else bytes.fromhex(one.sd))
    return bytes([0x22, len(value)]) + value


def ul_nas_transport(psi: int, message: bytes, request: SessionRequest | None = None) -> bytes:
    """Return UL NAS TRANSPORT of a 5GSM message; `request` is for an establishment request.

    Only an establishment request has request type, S-NSSAI and DNN (5.4.5.2.2).
    """
    head = b"\x7e\x00\x67\x01" + len(message).to_bytes(2, "big") + message + bytes([0x12, psi])
    if request is None:
        return head
    asked = b"\x81"
    if request.s_nssai is not None:
        asked += _s_nssai(request.s_nssai)
    if request.dnn is not None:
        asked += _dnn(request.dnn)
    return head + asked


def sessions_ie(iei: int, psis: Iterable[int]) -> bytes:
    """Return the uplink data status IE (0x40) or PDU session status IE (0x50) with these
    sessions."""
    bits = sum(1 << psi for psi in psis)
    return bytes([iei, 2]) + bits.to_bytes(2, "little")


def gsm_cause_of(plain: bytes) -> int | None:
    """Return the 5GSM cause after the header of the message in a DL NAS TRANSPORT."""
    message = plain[6 : 6 + int.from_bytes(plain[4:6], "big")]
    return message[4] if len(message) > 4 else None
