"""The 5GSM messages that a UE sends (TS 24.501 8.3), and their transport (8.2.10).

Put together octet by octet like those of `loadgen.nas_ue`; tests hold them against the codecs.
"""

from collections.abc import Iterable
from functools import lru_cache

from loadgen.identity import SNssai
from loadgen.session_model import SessionRequest

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
    """The IEs of PDU SESSION ESTABLISHMENT REQUEST: full rate of integrity, SSC mode 1, PCO."""
    options = b"\x80" + _ADDRESS_VIA_NAS
    options += _DNS_IPV4 + _MTU if session_type != "ipv6" else b""
    options += _DNS_IPV6 if session_type != "ipv4" else b""
    pco = b"\x7b" + len(options).to_bytes(2, "big") + options
    return _FULL_RATE + bytes([0x90 | _TYPES[session_type], 0xA1]) + _CAPABILITY + pco


def establishment_request(psi: int, pti: int, session_type: str) -> bytes:
    """PDU SESSION ESTABLISHMENT REQUEST."""
    return bytes([0x2E, psi, pti, 0xC1]) + _establishment(session_type)


def release_request(psi: int, pti: int, cause: int = REGULAR_DEACTIVATION) -> bytes:
    """PDU SESSION RELEASE REQUEST."""
    return bytes([0x2E, psi, pti, 0xD1, 0x59, cause])


def release_complete(psi: int, pti: int) -> bytes:
    """PDU SESSION RELEASE COMPLETE."""
    return bytes([0x2E, psi, pti, 0xD4])


def modification_complete(psi: int, pti: int) -> bytes:
    """PDU SESSION MODIFICATION COMPLETE."""
    return bytes([0x2E, psi, pti, 0xCC])


def status(psi: int, pti: int, cause: int) -> bytes:
    """5GSM STATUS."""
    return bytes([0x2E, psi, pti, 0xD6, cause])


@lru_cache(maxsize=64)
def _dnn(dnn: str) -> bytes:
    labels = b"".join(bytes([len(one)]) + one.encode() for one in dnn.split("."))
    return bytes([0x25, len(labels)]) + labels


def _s_nssai(one: SNssai) -> bytes:
    value = bytes([one.sst]) + (b"" if one.sd is None else bytes.fromhex(one.sd))
    return bytes([0x22, len(value)]) + value


def transport(psi: int, message: bytes, request: SessionRequest | None = None) -> bytes:
    """UL NAS TRANSPORT of a 5GSM message; with what is asked for, where it is an initial request.

    Request type, S-NSSAI and DNN go with the establishment alone (5.4.5.2.2).
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
    """Uplink data status (0x40) or PDU session status (0x50) with these sessions."""
    bits = sum(1 << psi for psi in psis)
    return bytes([iei, 2]) + bits.to_bytes(2, "little")


def cause_of(plain: bytes) -> int | None:
    """The 5GSM cause that follows the header of the message in a DL NAS TRANSPORT."""
    message = plain[6 : 6 + int.from_bytes(plain[4:6], "big")]
    return message[4] if len(message) > 4 else None
