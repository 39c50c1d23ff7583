"""The extended protocol configuration options of a PDU session (TS 24.008 10.5.6.3): the response
to the options that a UE sends.

The UE gets only what it requests. PAP and CHAP are always successful: no external server
authenticates UEs for a data network (TS 23.501 5.6.6).
"""

from ipaddress import ip_address
from typing import Any, Final, cast

import wire
from functions.messages.trees import Tree
from schemas.network import DataNetwork

IE: Final = "extended-protocol-configuration-options"


def response(request: Tree, network: DataNetwork) -> list[Tree]:
    """Return the options in the answer to a message of the UE with or without options.

    Options that cannot be read are ignored, as 10.5.6.3 requires. Of each configuration protocol
    one packet is answered.
    """
    asked = _units(request.get(IE, []))
    found: list[Tree] = []
    for name, addresses in (("dns-server", network.dns), ("p-cscf", network.p_cscf)):
        for version in (4, 6):
            if f"{name}-ipv{version}-address-request" in asked:
                texts = [text for text in addresses if ip_address(text).version == version]
                found += [{f"{name}-ipv{version}-address": text} for text in texts]
    if "ipv4-link-mtu-request" in asked and network.mtu:
        found.append({"ipv4-link-mtu": network.mtu})
    answers: Tree = {}
    for unit in (unit for unit in asked if not isinstance(unit, str)):
        for protocol, packet in unit.items():
            answer = _packet(protocol, packet, network)
            if answer is not None:
                answers.setdefault(protocol, answer)
    return found + [{protocol: answer} for protocol, answer in answers.items()]


def _units(options: Any) -> list[str | Tree]:
    """Return the units of the options that can be read."""
    if isinstance(options, list):
        return cast("list[str | Tree]", options)
    octets, units = bytes.fromhex(options["octets"])[1:], list[str | Tree]()
    while len(octets) >= _HEAD:
        end = _HEAD + octets[_HEAD - 1]
        if len(octets) >= end:
            units += _unit(octets[:end])
        octets = octets[end:]
    return units


_HEAD: Final = 3
"""Octets before the contents of a unit: its identifier and the length of its contents."""


def _unit(octets: bytes) -> list[str | Tree]:
    """Return a unit, read as the only one of a message."""
    ie = b"\x80" + octets
    message = _REQUEST + len(ie).to_bytes(2, "big") + ie
    found: Any = wire.nas_decode(message).get(IE)
    return cast("list[str | Tree]", found) if isinstance(found, list) else []


_REQUEST: Final = bytes.fromhex("2e0101c1ffff7b")
"""The start of a PDU SESSION ESTABLISHMENT REQUEST with extended protocol configuration options."""


def _packet(protocol: str, packet: Any, network: DataNetwork) -> Tree | None:
    """Return the response to a packet of a configuration protocol; None for no response."""
    if protocol == "ipcp":
        return None if isinstance(packet, str) else _ipcp(packet, network)
    if protocol not in _SUCCESS:
        return None
    requested, octet, success = _SUCCESS[protocol]
    if isinstance(packet, str):
        # A packet with a name or password that is not text.
        octets = bytes.fromhex(packet)
        code, identifier = (octets[0], octets[1]) if len(octets) >= _LEAST_PACKET else (0, 0)
    else:
        code, identifier = packet["code"], packet["identifier"]
    if code not in (requested, octet):
        return None
    return {"code": success, "identifier": identifier, "message": ""}


_SUCCESS: Final = {
    "pap": ("authenticate-request", 1, "authenticate-ack"),
    "chap": ("response", 2, "success"),
}
"""The code of the packet to answer, as a name and as a number, and the code of the answer (RFC
1334 2.2, RFC 1994 4)."""

_LEAST_PACKET: Final = 4
"""Octets of a packet without data."""

_DNS: Final = ("primary-dns-server-address", "secondary-dns-server-address")


def _ipcp(packet: Tree, network: DataNetwork) -> Tree | None:
    """Return the response to an IPCP Configure-Request (RFC 1332, RFC 1877, RFC 1661 5).

    The UE gets no second response. So the values of the DNS servers go before the options that are
    not supported.
    """
    if packet.get("code") != "configure-request":
        return None
    servers = [text for text in network.dns if ip_address(text).version == 4]
    values: Tree = dict(zip(_DNS, servers, strict=False))
    options: list[Tree] = packet["options"]
    asked = {name: value for option in options for name, value in option.items()}
    other = [{name: value} for name, value in values.items() if asked.get(name, value) != value]
    refused = [option for option in options if not option.keys() & {*values, "ip-address"}]
    if other:
        return _configure("nak", packet, other)
    if refused:
        return _configure("reject", packet, refused)
    return _configure("ack", packet, options)


def _configure(kind: str, packet: Tree, options: list[Tree]) -> Tree:
    return {
        "code": f"configure-{kind}",
        "identifier": packet["identifier"],
        "options": options,
    }
