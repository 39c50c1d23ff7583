"""Octets that are not a SUCI, and inputs that cannot become one: each of kind ``suci``."""

import pytest

import wire
from tests.wire.test_suci import HOME, PRIVATE, PUBLIC, SCHEME_OUTPUT

OUTPUT = {profile: bytes.fromhex(text) for profile, text in SCHEME_OUTPUT.items()}
NULL = bytes.fromhex("00012080f6")
OFF_THE_CURVE = b"\x02" + bytes(31) + b"\x02"
"""An x coordinate of P-256 without a y on the curve."""


def suci(scheme: int, output: bytes, key_id: int = 7, home: bytes = HOME) -> bytes:
    return home + bytes([scheme, key_id]) + output


UNREADABLE = {
    "nothing": b"",
    "a type octet": b"\x01",
    "cut in the PLMN": HOME[:3],
    "cut in the routing indicator": HOME[:5],
    "cut before the scheme": HOME,
    "cut before the key": HOME + b"\x01",
    "no scheme output": suci(1, b""),
    "cut in the ephemeral key": suci(1, OUTPUT["A"][:31]),
    "cut in the tag": suci(1, OUTPUT["A"][:39]),
    "cut in a compressed point": suci(2, OUTPUT["B"][:32]),
    "a reserved scheme": suci(3, OUTPUT["A"]),
    "null scheme with a key": suci(0, NULL, key_id=1),
    "profile A without a key": suci(1, OUTPUT["A"], key_id=0),
    "a 5G-GUTI": bytes.fromhex("f200f110020040c0000001"),
    "a PLMN with a letter": suci(0, NULL, 0, bytes.fromhex("01f22410f0ff")),
    "an MNC with a letter": suci(0, NULL, 0, bytes.fromhex("0172241af0ff")),
    "no routing indicator": suci(0, NULL, 0, bytes.fromhex("01722410ffff")),
    "a routing indicator with a gap": suci(0, NULL, 0, bytes.fromhex("017224101ff1")),
    "an MSIN with a letter": suci(0, bytes.fromhex("0001208af6"), 0),
    "an MSIN with a gap": suci(0, bytes.fromhex("000120f6f6"), 0),
    "an MSIN too long": suci(0, bytes(20), 0),
    "a NAI that is no text": b"\x11\xff\xfe@\xff",
    "a NAI without a realm": b"\x11type1.rid0.schid0.useridsomebody",
}

UNREVEALABLE = {
    "a scheme of the operator": (suci(12, OUTPUT["A"]), "A"),
    "no key at hand": (suci(1, OUTPUT["A"]), None),
    "a key of the other profile": (suci(1, OUTPUT["A"]), "B"),
    "a key of the other profile, too": (suci(2, OUTPUT["B"]), "A"),
    "a profile that there is not": (suci(1, OUTPUT["A"]), "C"),
    "a point off the curve": (suci(2, OFF_THE_CURVE + OUTPUT["B"][33:]), "B"),
    "a point uncompressed": (suci(2, b"\x04" + OUTPUT["B"][1:]), "B"),
    "a point at infinity": (suci(2, bytes(33) + OUTPUT["B"][33:]), "B"),
    "a shared secret of zeros": (suci(1, bytes(32) + OUTPUT["A"][32:]), "A"),
}


@pytest.mark.parametrize("octets", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_unreadable(octets: bytes) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.suci_scheme(octets)
    assert refused.value.kind == "suci"
    for key in (None, *PRIVATE.items()):
        profile, private = key or (None, None)
        with pytest.raises(wire.WireError) as refused:
            wire.suci_deconceal(octets, profile, private)
        assert refused.value.kind == "suci"


@pytest.mark.parametrize(("octets", "profile"), UNREVEALABLE.values(), ids=UNREVEALABLE.keys())
def test_unrevealable(octets: bytes, profile: str | None) -> None:
    assert wire.suci_scheme(octets)[0] in (1, 2, 12)
    key = PRIVATE.get(profile or "", PRIVATE["A"])
    with pytest.raises(wire.WireError) as refused:
        wire.suci_deconceal(octets, profile, key)
    assert refused.value.kind == "suci"


@pytest.mark.parametrize("profile", ["A", "B"])
def test_another_private_key_is_refused(profile: str) -> None:
    octets = suci({"A": 1, "B": 2}[profile], OUTPUT[profile])
    with pytest.raises(wire.WireError, match="MAC") as refused:
        wire.suci_deconceal(octets, profile, bytes(range(1, 33)))
    assert refused.value.kind == "suci"


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)], ids=["0", "31", "33"])
@pytest.mark.parametrize("profile", ["A", "B"])
def test_a_private_key_of_another_size(profile: str, key: bytes) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.suci_public_key(profile, key)
    assert refused.value.kind == "suci"


@pytest.mark.parametrize("key", [bytes(32), b"\xff" * 32], ids=["zero", "over the order"])
def test_a_private_key_that_profile_b_does_not_have(key: bytes) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.suci_public_key("B", key)
    assert refused.value.kind == "suci"


PUBLIC_A, PUBLIC_B = (bytes.fromhex(PUBLIC[profile]) for profile in "AB")
UNCONCEALABLE: dict[str, tuple[tuple[str, str, str], dict[str, object]]] = {
    "MCC": (("27", "012", "1"), {}),
    "MNC": (("274", "0", "1"), {}),
    "MCC with a letter": (("27a", "012", "1"), {}),
    "no MSIN": (("274", "012", ""), {}),
    "MSIN too long": (("274", "012", "0123456789"), {}),
    "MSIN with a letter": (("274", "012", "12a"), {}),
    "MSIN of other digits": (("274", "012", "١٢"), {}),
    "no routing indicator": (("274", "012", "1"), {"routing_indicator": ""}),
    "routing indicator too long": (("274", "012", "1"), {"routing_indicator": "12345"}),
    "no public key": (("274", "012", "1"), {"profile": "A"}),
    "unknown profile": (("274", "012", "1"), {"profile": "C", "public_key": PUBLIC_A}),
    "A with B's key": (("274", "012", "1"), {"profile": "A", "public_key": PUBLIC_B, "key_id": 1}),
    "B with A's key": (("274", "012", "1"), {"profile": "B", "public_key": PUBLIC_A, "key_id": 1}),
    "B off the curve": (
        ("274", "012", "1"),
        {"profile": "B", "public_key": OFF_THE_CURVE, "key_id": 1},
    ),
    "A of low order": (("274", "012", "1"), {"profile": "A", "public_key": bytes(32), "key_id": 1}),
    "key 0": (("274", "012", "1"), {"profile": "A", "public_key": PUBLIC_A, "key_id": 0}),
    "key 255": (("274", "012", "1"), {"profile": "A", "public_key": PUBLIC_A, "key_id": 255}),
}


@pytest.mark.parametrize(("identity", "options"), UNCONCEALABLE.values(), ids=UNCONCEALABLE.keys())
def test_unconcealable(identity: tuple[str, str, str], options: dict[str, object]) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.suci_conceal(*identity, **options)  # pyright: ignore[reportArgumentType]
    assert refused.value.kind == "suci"
