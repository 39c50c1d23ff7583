"""The fuzz targets, one function for each decoder.

A target raises only for a fault: an exception that is not a `WireError`, a panic, or two functions
that disagree about the same octets.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import wire

KAMF = bytes(range(64, 96))
HOME_KEY = bytes(range(1, 33))


def ngap(data: bytes) -> None:
    """Peek, check and decode a PDU. Encode the decoded tree again."""
    try:
        peek = wire.ngap_peek(data)
        faults = wire.ngap_check(data)
    except wire.WireError:
        return
    try:
        tree = wire.ngap_decode(data)
    except wire.WireError:
        assert faults is not None
        assert faults["reject"]
        return
    assert tree.get("message", "unknown") == peek.message
    again = wire.ngap_encode(tree)
    assert wire.ngap_decode(again) == tree
    if faults is not None:
        diagnostics = {"CriticalityDiagnostics": faults["diagnostics"]}
        ies = [{"Cause": faults["cause"]}, diagnostics]
        wire.ngap_encode({"message": "ErrorIndication", "ies": ies})


def pfcp(data: bytes) -> None:
    """Peek, check and decode a message. Encode the decoded tree again."""
    faults = wire.pfcp_check(data)
    _refusable(wire.pfcp_peek, data)
    try:
        tree = wire.pfcp_decode(data)
    except wire.WireError:
        assert faults is not None
        try:
            tree = wire.pfcp_decode(data, lenient=True)
        except wire.WireError:
            assert faults["action"] != "ignore"
            return
    peek = wire.pfcp_peek(data)
    assert (tree["message"], tree["sequence"]) == (peek.message, peek.sequence)
    again = wire.pfcp_encode(tree)
    assert wire.pfcp_decode(again) == tree
    if faults is not None and faults["cause"] is not None:
        ies = [{"Cause": faults["cause"]}]
        if faults["offending_ie_type"] is not None:
            ies.append({"Offending IE": faults["offending_ie_type"]})
        tree = {"message": "AssociationSetupResponse", "sequence": 1, "ies": ies}
        assert wire.pfcp_decode(wire.pfcp_encode(tree)) == tree


def nas(data: bytes) -> None:
    """Peek, decode and answer a message. Encode the decoded tree again."""
    for read in (wire.nas_peek, wire.ue_security_capability, wire.nas_answer, wire.nas_read):
        _refusable(read, data)
    try:
        tree = wire.nas_decode(data)
    except wire.WireError:
        return
    again = wire.nas_encode(tree)
    assert wire.nas_decode(again) == tree


def nas_security(data: bytes) -> None:
    """Unprotect or protect a message. The first octet selects the algorithms, the direction, the
    header type, and whether the rest is a protected message or its plain form."""
    if len(data) < 2:
        return
    choice, rest = data[0], data[1:]
    nia, nea, downlink = 1 + choice % 3, choice // 3 % 4, bool(choice & 0x40)
    receiver = wire.NasSecurity(KAMF, nia, nea)
    if not choice & 0x80:
        try:
            receiver.unprotect(rest, downlink=downlink)
        except wire.WireError:
            assert (receiver.uplink, receiver.downlink) == (0, 0)
        return
    header = 1 + choice % 4
    body = rest
    if header in (2, 4):
        body = wire.nea(nea, wire.knas_enc(KAMF, nea), 0, 1, rest, downlink=downlink)
    mac = wire.nia(nia, wire.knas_int(KAMF, nia), 0, 1, b"\0" + body, downlink=downlink)
    message = bytes([0x7E, header]) + mac + b"\0" + body
    try:
        found = receiver.unprotect(message, downlink=downlink)
    except wire.WireError as error:
        # The message is refused, or the content of the container of an initial message.
        assert (error.kind, error.count) == ("nas-refused", 0)
        assert error.plain is not None
        assert len(error.plain) <= len(rest)
    else:
        assert rest in (found.plain, found.outer)
    assert (receiver.downlink if downlink else receiver.uplink) == 1


def eap(data: bytes) -> None:
    """Read an EAP packet, and check its AT_MAC."""
    _refusable(wire.eap_aka_mac_is_right, data, KAMF)
    try:
        found = wire.eap_decode(data)
    except wire.WireError:
        return
    assert (found["code"], found["identifier"]) == (data[0], data[1])
    if "attributes" in found:
        assert sum(2 + len(value) for value in found["attributes"].values()) <= len(data) - 8


def suci(data: bytes) -> None:
    """Read and reveal a SUCI of either profile."""
    _refusable(wire.suci_scheme, data)
    for profile in (None, "A", "B"):
        _refusable(wire.suci_deconceal, data, profile, HOME_KEY)


def sctp(data: bytes) -> None:
    """Feed packets to an endpoint. Each packet follows its length in two octets."""
    endpoint = wire.SctpEndpoint(38412, accept=True, max_associations=4)
    now, at = 0.0, 0
    while at + 2 <= len(data):
        size = int.from_bytes(data[at : at + 2], "big") & 0x7FF
        now += 0.25 + (data[at] >> 3)
        packet = data[at + 2 : at + 2 + size]
        endpoint.receive(packet, f"192.0.2.{1 + data[at] % 3}", 9899, now)
        endpoint.advance(now)
        endpoint.packets()
        endpoint.events()
        endpoint.messages(10)
        assert endpoint.associations <= 4
        at += 2 + size


def _refusable(read: Callable[..., Any], *arguments: Any) -> None:
    try:
        read(*arguments)
    except wire.WireError as error:
        assert error.kind in wire.ERROR_KINDS


class Target(NamedTuple):
    """A function for a fuzzer, and the source of its seeds."""

    run: Callable[[bytes], None]
    corpus: str
    before: bytes = b""
    """Prepended to each message of the corpus to make it a seed."""
    sized: bool = False
    """Whether the length of the message precedes it, in two octets."""


TARGETS = {
    "ngap": Target(ngap, "ngap"),
    "pfcp": Target(pfcp, "pfcp"),
    "nas": Target(nas, "nas"),
    "nas-security": Target(nas_security, "nas", b"\x85"),
    "eap": Target(eap, "eap"),
    "suci": Target(suci, "suci"),
    "sctp": Target(sctp, "sctp", sized=True),
}
