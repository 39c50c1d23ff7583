"""Values of the optional IEs of `loadgen.foreign.nas_table` (TS 24.501 9.11, TS 24.008 10.5).

Each function takes a source of randomness and the tree of the message, and returns the value of the
IE in the tree of `wire`.
"""

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

from loadgen.trees import Tree

Value: TypeAlias = Callable[[Random, Tree], Any]

_DNNS = ("internet", "ims", "a.b.c", "x" * 63, "Edge-1.example")
_ACCEPTED_OPTIONS = (
    "p-cscf-ipv4-address-request",
    "p-cscf-ipv6-address-request",
    "im-cn-subsystem-signalling-flag",
    "ms-support-of-local-address-in-tft",
)
_IDENTIFIERS = (0x00F0, 0x7F00, 0xFF00, 0xFFFF)
"""Identifiers of containers that TS 24.008 10.5.6.3 leaves to later releases or to operators."""


def octets(least: int, most: int | None = None) -> Value:
    """Return the maker of any octets: at least `least` and at most `most`."""

    def make(rng: Random, _: Tree) -> Tree:
        size = least if most is None else rng.randint(least, most)
        return {"octets": rng.randbytes(size).hex()}

    return make


def one_of(*values: int) -> Value:
    """Return the maker of one octet with one of these values."""
    return lambda rng, _: {"octets": f"{rng.choice(values):02x}"}


def among(values: range) -> Value:
    """Return the maker of one octet with a value of a range."""
    return one_of(*values)


def fixed(value: str) -> Value:
    """Return the maker of a constant value, as hexadecimal octets."""
    return lambda _, __: {"octets": value}


def tai(rng: Random, _: Tree) -> Tree:
    """Return a tracking area of any PLMN, also with an MNC of three digits (9.11.3.8)."""
    plmn = rng.choice(("00f110", "00f110", "99f907", "130062"))
    return {"octets": plmn + rng.randbytes(3).hex()}


def ladn(rng: Random, _: Tree) -> Tree:
    """Return a LADN indication with up to eight DNNs (9.11.3.29)."""
    found = bytearray()
    for _number in range(rng.randint(0, 8)):
        name = rng.choice(_DNNS)
        labels = b"".join(bytes([len(one)]) + one.encode() for one in name.split("."))
        found += bytes([len(labels)]) + labels
    return {"octets": found.hex()}


def dnn(rng: Random, tree: Tree) -> Any:
    """Return the DNN of the message in capitals and small letters, which are equal (TS 23.003
    9.1)."""
    given: Any = tree["dnn"]
    if not isinstance(given, str):
        return given
    return "".join(rng.choice((one.upper(), one.lower())) for one in given)


def codecs(rng: Random, _: Tree) -> Tree:
    """Return a supported codec list for one to three systems (TS 24.008 10.5.4.32)."""
    systems = rng.sample((0, 4, 8), rng.randint(1, 3))
    return {"octets": "".join(f"{one:02x}02{rng.randbytes(2).hex()}" for one in systems)}


def radio_capability_id(rng: Random, _: Tree) -> Tree:
    """Return the digits of a UE radio capability ID, an odd or an even number (9.11.3.68)."""
    digits = [f"{rng.randint(0, 9):x}" for _ in range(rng.randint(2, 12))]
    if len(digits) % 2:
        digits.append("f")
    pairs = zip(digits[::2], digits[1::2], strict=True)
    return {"octets": "".join(high + low for low, high in pairs)}


def device_id(rng: Random, _: Tree) -> Tree:
    """Return a service-level-AA container with a service-level device ID (9.11.2.10)."""
    name = "".join(rng.choice("0123456789ABCDEF") for _ in range(rng.randint(1, 20)))
    return {"octets": f"10{len(name):02x}{name.encode().hex()}"}


def sessions(name: str) -> Value:
    """Return the maker of an IE with the same PDU sessions and up to 30 spare octets, all zero
    (9.11.3.44)."""

    def make(rng: Random, tree: Tree) -> Tree:
        bits = sum(1 << psi for psi in tree[name])
        return {"octets": bits.to_bytes(2, "little").hex() + "00" * rng.randint(0, 30)}

    return make


def packet_filters(rng: Random, _: Tree) -> Tree:
    """Return a number of packet filters, in the first 11 bits (9.11.4.9)."""
    return {"octets": (rng.randint(17, 1024) << 5).to_bytes(2, "big").hex()}


def user_name(rng: Random, _: Tree) -> Tree:
    """Return the user of a data network, as a network access identifier (9.11.4.15)."""
    return {"octets": ("u" * rng.randint(1, 240) + "@dn.example").encode().hex()}


def interface_id(rng: Random, _: Tree) -> Tree:
    """Return the IPv6 interface identifier that the UE would like (9.11.4.10)."""
    return {"octets": "02" + rng.randbytes(8).hex()}


def protocol_options(rng: Random, tree: Tree) -> list[Any]:
    """Return the extended PCO of the message with more of them (TS 24.008 10.5.6.3)."""
    present: Any = tree.get("extended-protocol-configuration-options")
    found: list[Any] = [*present] if isinstance(present, list) else []
    found += rng.sample(_ACCEPTED_OPTIONS, rng.randint(0, 3))
    for identifier in rng.sample(_IDENTIFIERS, rng.randint(0, 2)):
        contents = rng.randbytes(rng.randint(1, 9)).hex()
        found.append({"container": {"identifier": identifier, "contents": contents}})
    return found


def unknown_ies(rng: Random) -> str:
    """Return one to three IEs that a later release may add: TV, TLV and TLV-E (TS 24.007 11.2.4).

    No sender marks them as "comprehension required", which takes the IEIs 00 to 0F.
    """
    found = bytearray()
    for kind in rng.sample(("tv", "tlv", "tlv-e"), rng.randint(1, 3)):
        value = rng.randbytes(rng.randint(0, 40))
        if kind == "tv":
            found.append(0xE0 | rng.randint(0, 15))
        elif kind == "tlv":
            found += bytes([rng.choice((0x3E, 0x4F, 0x57)), len(value)]) + value
        else:
            found += b"\x7d" + len(value).to_bytes(2, "big") + value
    return found.hex()
