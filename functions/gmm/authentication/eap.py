"""EAP-AKA' based primary authentication (TS 24.501 5.4.1.2, TS 33.501 6.1.3.1, RFC 9048)."""

import hmac
from enum import Enum
from typing import Any, Final

import wire
from functions.messages.trees import Tree, subtree
from schemas.gmm.state import Challenge
from schemas.subscriber import Subscriber

CHALLENGE, SYNCHRONIZATION_FAILURE = 1, 4
"""Subtypes of EAP-AKA' (RFC 4187 11). Of all others a peer means that it does not go on:
AKA-Authentication-Reject, AKA-Client-Error."""
AT_RES, AT_AUTS = 3, 4
AKA_PRIME: Final = 50
RESPONSE: Final = 2


class Answer(Enum):
    """What a UE has answered a challenge."""

    RIGHT = "right"
    SYNCH_FAILURE = "synch failure"
    WRONG = "wrong"
    NONE = "none"
    """What is no answer to it is discarded (RFC 3748 4.1)."""


def challenge(
    subscriber: Subscriber, supi: str, name: str, rand: bytes, sqn: int
) -> tuple[bytes, bytes, bytes, bytes]:
    """AUTN, XRES, K_aut and K_SEAF of an authentication vector, transformed (annex F).

    The identity in the key derivation is the IMSI, whatever the UE came by (F.3).
    """
    out = wire.milenage(subscriber.k, subscriber.opc, rand, sqn, subscriber.amf)
    concealed = (sqn ^ int.from_bytes(out["f5"], "big")).to_bytes(6, "big")
    autn = concealed + subscriber.amf + out["f1"]
    keys = wire.eap_aka_keys(out["f3"], out["f4"], name, autn, supi.removeprefix("imsi-"))
    return autn, out["f2"], keys.k_aut, wire.kseaf(keys.kausf, name)


def request(asked: Challenge, name: str) -> Tree:
    """The EAP message IE of an AUTHENTICATION REQUEST: the same each time that it is sent."""
    packet = wire.eap_aka_challenge(asked.eap_identifier, asked.rand, asked.autn, name, asked.k_aut)
    return {"octets": packet.hex()}


def result(asked: Challenge, *, success: bool) -> bytes:
    """EAP-Success or EAP-Failure."""
    return wire.eap_result(asked.eap_identifier, success)


def answer(tree: Tree, asked: Challenge) -> tuple[Answer, bytes]:
    """What an AUTHENTICATION RESPONSE says, and the AUTS of a synchronisation failure."""
    packet = bytes.fromhex(subtree(tree, "eap-message").get("octets", ""))
    try:
        found = wire.eap_decode(packet)
    except wire.WireError:
        return Answer.NONE, b""
    if (found["code"], found["identifier"]) != (RESPONSE, asked.eap_identifier):
        return Answer.NONE, b""
    if found["type"] != AKA_PRIME:
        return Answer.WRONG, b""  # a Nak: it does not do this method
    attributes: dict[int, Any] = found["attributes"]
    if found["subtype"] == SYNCHRONIZATION_FAILURE:
        return Answer.SYNCH_FAILURE, attributes.get(AT_AUTS, b"")
    if found["subtype"] != CHALLENGE or not wire.eap_aka_mac_is_right(packet, asked.k_aut):
        return Answer.WRONG, b""
    res = _res(attributes.get(AT_RES, b""))
    right = hmac.compare_digest(res, asked.xres_star)
    return (Answer.RIGHT if right else Answer.WRONG), b""


def _res(value: bytes) -> bytes:
    """The RES of an AT_RES, whose length is in bits (RFC 4187 10.8)."""
    bits = int.from_bytes(value[:2], "big")
    return value[2 : 2 + bits // 8] if bits % 8 == 0 else b""
