"""SUCIs of the null scheme and profiles A and B (TS 33.501 annex C, TS 24.501 9.11.3.4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST
from tests.wire.reference import ecies

# TS 33.501 C.4: MCC 274, MNC 012, MSIN 001002086; and verylongusername1@3gpp.com.
PRIVATE = {
    "A": bytes.fromhex("c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d"),
    "B": bytes.fromhex("f1ab1074477ebcc7f554ea1c5fc368b1616730155e0041ac447d6301975fecda"),
}
PUBLIC = {
    "A": "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650",
    "B": "0272da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1",
}
EPHEMERAL = {
    "A": "c80949f13ebe61af4ebdbd293ea4f942696b9e815d7e8f0096bbf6ed7de62256",
    "B": "99798858a1dc6a2c68637149a4b1dbfd1fdff5addd62a2142f06699ed7602529",
}
SCHEME_INPUT = bytes.fromhex("00012080f6")
SCHEME_OUTPUT = {
    "A": "b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457d"
    "cb02352410"
    "cddd9e730ef3fa87",
    "B": "039aab8376597021e855679a9778ea0b67396e68c66df32c0f41e9acca2da9b9d1"
    "46a33fc271"
    "6ac7dae96aa30a4d",
}
NAI_OUTPUT = {
    "A": "ecckey977D8B2FDAA7B64AA700D04227D5B440630EA4EC50F9082273A26BB678C92222"
    ".cip8E358A1582ADB15322C10E515141D2039A.mac12E1D7783A97F1AC",
    "B": "ecckey03759BB22C563D9F4A6B3C1419E543FC2F39D6823F02A9D71162B39399218B244B"
    ".cipBE22D8B9F856A52ED381CD7EAF4CF2D525.mac3CDDC61A0A7882EB",
}
HOME = bytes.fromhex("01722410f0ff")
"""SUCI of an IMSI, home network 274-012, routing indicator 0."""

PROFILES = pytest.mark.parametrize("profile", ["A", "B"])
SCHEMES = {"A": 1, "B": 2}

mcc = st.integers(0, 999).map("{:03d}".format)
mnc = st.one_of(st.integers(0, 99).map("{:02d}".format), st.integers(0, 999).map("{:03d}".format))
msin = st.from_regex(r"[0-9]{1,9}", fullmatch=True)
routing = st.from_regex(r"[0-9]{1,4}", fullmatch=True)


@PROFILES
def test_published_imsi(profile: str) -> None:
    """TS 33.501 C.4.3.1 and C.4.4.1, in both directions."""
    private, output = PRIVATE[profile], bytes.fromhex(SCHEME_OUTPUT[profile])
    public = bytes.fromhex(PUBLIC[profile])
    assert wire.suci_public_key(profile, private) == public == ecies.public_key(profile, private)
    made = ecies.conceal(profile, public, bytes.fromhex(EPHEMERAL[profile]), SCHEME_INPUT)
    assert made == output
    suci = HOME + bytes([SCHEMES[profile], 7]) + output
    assert wire.suci_scheme(suci) == (SCHEMES[profile], 7)
    assert wire.suci_deconceal(suci, profile, private) == "imsi-274012001002086"


@PROFILES
def test_published_network_specific_identifier(profile: str) -> None:
    """TS 33.501 C.4.3.2 and C.4.4.2. The SUCI is a text in this case (TS 23.003 28.7.3)."""
    text = f"type1.rid0.schid{SCHEMES[profile]}.hnkey7.{NAI_OUTPUT[profile]}@3gpp.com"
    suci = b"\x11" + text.encode()
    assert wire.suci_scheme(suci) == (SCHEMES[profile], 7)
    found = wire.suci_deconceal(suci, profile, PRIVATE[profile])
    assert found == "nai-verylongusername1@3gpp.com"


def test_published_null_scheme() -> None:
    """TS 33.501 C.4.2."""
    suci = wire.suci_conceal("274", "012", "001002086")
    assert suci == HOME + b"\0\0" + SCHEME_INPUT
    assert wire.suci_scheme(suci) == (0, 0)
    assert wire.suci_deconceal(suci) == "imsi-274012001002086"
    text = b"\x11type1.rid0.schid0.useridverylongusername1@3gpp.com"
    assert wire.suci_deconceal(text) == "nai-verylongusername1@3gpp.com"


@PROFILES
@FAST
@given(mcc_=mcc, mnc_=mnc, msin_=msin, routing_=routing, key_id=st.integers(1, 254))
def test_what_is_concealed_is_revealed(
    profile: str, mcc_: str, mnc_: str, msin_: str, routing_: str, key_id: int
) -> None:
    public = bytes.fromhex(PUBLIC[profile])
    suci = wire.suci_conceal(
        mcc_,
        mnc_,
        msin_,
        routing_indicator=routing_,
        profile=profile,
        public_key=public,
        key_id=key_id,
    )
    assert wire.suci_scheme(suci) == (SCHEMES[profile], key_id)
    assert wire.suci_deconceal(suci, profile, PRIVATE[profile]) == f"imsi-{mcc_}{mnc_}{msin_}"
    null = wire.suci_conceal(mcc_, mnc_, msin_, routing_indicator=routing_)
    assert wire.suci_deconceal(null) == f"imsi-{mcc_}{mnc_}{msin_}"
    assert suci[:6] == null[:6]
    assert ecies.reveal(profile, PRIVATE[profile], suci[8:]) == null[8:]


@PROFILES
@FAST
@given(ephemeral=st.integers(1, 2**255).map(lambda n: n.to_bytes(32, "big")), msin_=msin)
def test_a_suci_of_the_reference_is_revealed(profile: str, ephemeral: bytes, msin_: str) -> None:
    plain = wire.suci_conceal("001", "01", msin_)
    output = ecies.conceal(profile, bytes.fromhex(PUBLIC[profile]), ephemeral, plain[8:])
    suci = plain[:6] + bytes([SCHEMES[profile], 1]) + output
    assert wire.suci_deconceal(suci, profile, PRIVATE[profile]) == f"imsi-00101{msin_}"


@PROFILES
def test_each_concealment_is_another(profile: str) -> None:
    public = bytes.fromhex(PUBLIC[profile])
    made = {
        wire.suci_conceal("001", "01", "1", profile=profile, public_key=public, key_id=1)
        for _ in range(20)
    }
    assert len(made) == 20


@PROFILES
@FAST
@given(bit=st.integers(0, 46 * 8 - 1))
def test_a_changed_scheme_output_is_refused(profile: str, bit: int) -> None:
    output = bytearray(bytes.fromhex(SCHEME_OUTPUT[profile]))
    output[bit // 8 % len(output)] ^= 1 << bit % 8
    suci = HOME + bytes([SCHEMES[profile], 7]) + output
    with pytest.raises(wire.WireError) as refused:
        wire.suci_deconceal(suci, profile, PRIVATE[profile])
    assert refused.value.kind == "suci"


def test_the_bit_that_x25519_ignores_is_refused_too() -> None:
    """The top bit of a coordinate changes no shared key (RFC 7748 5), but it is part of
    SharedInfo1."""
    output = bytearray(bytes.fromhex(SCHEME_OUTPUT["A"]))
    before = ecies.agreed("A", PRIVATE["A"], bytes(output[:32]))
    output[31] ^= 0x80
    assert ecies.agreed("A", PRIVATE["A"], bytes(output[:32])) == before
    with pytest.raises(wire.WireError, match="MAC"):
        wire.suci_deconceal(HOME + b"\1\7" + output, "A", PRIVATE["A"])
