"""The peer of EAP-AKA' (RFC 9048, RFC 4187), based only on HMAC-SHA-256.

It follows the RFCs for the UE's side and shares no code with the core, so each checks the other.
"""

import hashlib
import hmac
from typing import NamedTuple

REQUEST, RESPONSE, SUCCESS, FAILURE = 1, 2, 3, 4
AKA_PRIME = 50
CHALLENGE, AUTHENTICATION_REJECT, SYNCHRONIZATION_FAILURE, CLIENT_ERROR = 1, 2, 4, 14
AT_RAND, AT_AUTN, AT_RES, AT_AUTS = 1, 2, 3, 4
AT_MAC, AT_CLIENT_ERROR_CODE, AT_KDF_INPUT, AT_KDF = 11, 22, 23, 24
UNABLE_TO_PROCESS = 0
HEADER = 8


class Keys(NamedTuple):
    """The keys of the hierarchy that a UE in 5GS uses."""

    k_aut: bytes
    kausf: bytes


class Challenge(NamedTuple):
    """An EAP-Request of AKA'-Challenge."""

    packet: bytes
    identifier: int
    rand: bytes
    autn: bytes
    network: str
    mac_at: int
    """The position of the 16 octets of the MAC."""

    def mac_is_right(self, k_aut: bytes) -> bool:
        """Whether the sender has `k_aut`."""
        end = self.mac_at + 16
        blank = self.packet[: self.mac_at] + bytes(16) + self.packet[end:]
        return hmac.compare_digest(_mac(k_aut, blank), self.packet[self.mac_at : end])


class MalformedError(ValueError):
    """The octets are not an AKA'-Challenge."""


def keys(ck: bytes, ik: bytes, network: str, autn: bytes, identity: str) -> Keys:
    """Return the keys below CK and IK; `identity` is the IMSI's digits in 5GS (TS 33.501 F.3)."""
    name = network.encode()
    seed = b"\x20" + name + len(name).to_bytes(2, "big") + autn[:6] + b"\x00\x06"
    primes = hmac.digest(ck + ik, seed, hashlib.sha256)
    key = primes[16:] + primes[:16]
    material, block = b"", b""
    for number in range(1, 8):
        block = hmac.digest(
            key, block + b"EAP-AKA'" + identity.encode() + bytes([number]), hashlib.sha256
        )
        material += block
    return Keys(material[16:48], material[144:176])


def read(packet: bytes) -> Challenge:
    """Return the challenge in an EAP message.

    Raises:
        MalformedError: the message is not a challenge or lacks an attribute.
    """
    if len(packet) < HEADER or int.from_bytes(packet[2:4], "big") != len(packet):
        raise MalformedError("the length is wrong")
    if (packet[0], packet[4], packet[5]) != (REQUEST, AKA_PRIME, CHALLENGE):
        raise MalformedError(f"code {packet[0]}, type {packet[4]}, subtype {packet[5]}")
    found: dict[int, int] = {}
    at = HEADER
    while at < len(packet):
        size = 4 * packet[at + 1] if at + 1 < len(packet) else 0
        if not size or at + size > len(packet):
            raise MalformedError(f"an incomplete attribute at octet {at}")
        found.setdefault(packet[at], at)
        at += size
    missing = {AT_RAND, AT_AUTN, AT_KDF, AT_KDF_INPUT, AT_MAC} - found.keys()
    if missing:
        raise MalformedError(f"the attributes {sorted(missing)} are missing")
    rand, autn = (packet[found[kind] + 4 : found[kind] + 20] for kind in (AT_RAND, AT_AUTN))
    name = found[AT_KDF_INPUT]
    length = int.from_bytes(packet[name + 2 : name + 4], "big")
    if packet[found[AT_KDF] + 3] != 1:
        raise MalformedError("the first key derivation function is not 1")
    network = packet[name + 4 : name + 4 + length].decode("ascii", "replace")
    return Challenge(packet, packet[1], rand, autn, network, found[AT_MAC] + 4)


def response(asked: Challenge, res: bytes, k_aut: bytes) -> bytes:
    """Return AKA'-Challenge with AT_RES and AT_MAC."""
    bits = (8 * len(res)).to_bytes(2, "big")
    body = _attribute(AT_RES, bits + res) + _attribute(AT_MAC, bytes(18))
    packet = _packet(asked, CHALLENGE, body)
    return packet[:-16] + _mac(k_aut, packet)


def synchronization_failure(asked: Challenge, auts: bytes) -> bytes:
    """Return AKA-Synchronization-Failure with AT_AUTS, and AT_KDF as it was offered (RFC 9048
    3.2)."""
    body = _attribute(AT_AUTS, auts) + _attribute(AT_KDF, b"\x00\x01")
    return _packet(asked, SYNCHRONIZATION_FAILURE, body)


def authentication_reject(asked: Challenge) -> bytes:
    """Return AKA-Authentication-Reject: the AUTN is wrong, or for another network."""
    return _packet(asked, AUTHENTICATION_REJECT, b"")


def client_error(asked: Challenge) -> bytes:
    """Return AKA-Client-Error: the packet cannot be processed."""
    code = UNABLE_TO_PROCESS.to_bytes(2, "big")
    return _packet(asked, CLIENT_ERROR, _attribute(AT_CLIENT_ERROR_CODE, code))


def _attribute(kind: int, value: bytes) -> bytes:
    words = (2 + len(value) + 3) // 4
    return (bytes([kind, words]) + value).ljust(4 * words, b"\x00")


def _packet(asked: Challenge, subtype: int, body: bytes) -> bytes:
    size = (HEADER + len(body)).to_bytes(2, "big")
    return bytes([RESPONSE, asked.identifier, *size, AKA_PRIME, subtype, 0, 0]) + body


def _mac(k_aut: bytes, packet: bytes) -> bytes:
    return hmac.digest(k_aut, packet, hashlib.sha256)[:16]
