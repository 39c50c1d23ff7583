"""The 5G key hierarchy (TS 33.501 annex A), against a second derivation from the annex."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST
from tests.wire.reference import kdf

octets16 = st.binary(min_size=16, max_size=16)
octets32 = st.binary(min_size=32, max_size=32)
count = st.integers(0, 2**24 - 1)
plmn = st.builds(
    lambda mcc, mnc: f"5G:mnc{mnc:03d}.mcc{mcc:03d}.3gppnetwork.org",
    st.integers(0, 999),
    st.integers(0, 999),
)
imsi = st.from_regex(r"imsi-[0-9]{15}", fullmatch=True)


@FAST
@given(ck=octets16, ik=octets16, sn_name=plmn, autn=octets16)
def test_kausf_and_kseaf(ck: bytes, ik: bytes, sn_name: str, autn: bytes) -> None:
    key = wire.kausf(ck, ik, sn_name, autn)
    assert key == kdf.kausf(ck, ik, sn_name, autn)
    assert wire.kseaf(key, sn_name) == kdf.kseaf(key, sn_name)


@FAST
@given(key=octets32, supi=imsi, abba=st.binary(min_size=2, max_size=8))
def test_kamf(key: bytes, supi: str, abba: bytes) -> None:
    assert wire.kamf(key, supi, abba) == kdf.kamf(key, supi, abba)


@FAST
@given(
    ck=octets16,
    ik=octets16,
    sn_name=plmn,
    rand=octets16,
    res=st.binary(min_size=8, max_size=8),
)
def test_res_star_and_hres_star(
    ck: bytes, ik: bytes, sn_name: str, rand: bytes, res: bytes
) -> None:
    star = wire.res_star(ck, ik, sn_name, rand, res)
    assert star == kdf.res_star(ck, ik, sn_name, rand, res)
    assert wire.hres_star(rand, star) == kdf.hres_star(rand, star)


@FAST
@given(key=octets32, algorithm=st.integers(0, 3), other=st.integers(0, 3))
def test_algorithm_keys(key: bytes, algorithm: int, other: int) -> None:
    assert wire.knas_enc(key, algorithm) == kdf.algorithm_key(key, 1, algorithm)
    assert wire.knas_int(key, algorithm) == kdf.algorithm_key(key, 2, algorithm)
    rrc_int, rrc_enc, up_int, up_enc = wire.as_keys(key, algorithm, other)
    assert rrc_enc == kdf.algorithm_key(key, 3, other)
    assert rrc_int == kdf.algorithm_key(key, 4, algorithm)
    assert up_enc == kdf.algorithm_key(key, 5, other)
    assert up_int == kdf.algorithm_key(key, 6, algorithm)


@FAST
@given(key=octets32, used=count, sync=octets32)
def test_access_keys(key: bytes, used: int, sync: bytes) -> None:
    assert wire.kgnb(key, used) == kdf.kgnb(key, used)
    assert wire.kn3iwf(key, used) == kdf.kgnb(key, used, access=2)
    assert wire.nh(key, sync) == kdf.nh(key, sync)


@FAST
@given(key=octets32, pci=st.integers(0, 1007), arfcn=st.integers(0, 3279165))
def test_kng_ran_star(key: bytes, pci: int, arfcn: int) -> None:
    assert wire.kng_ran_star(key, pci, arfcn) == kdf.kng_ran_star(key, pci, arfcn)


@FAST
@given(key=octets32, downlink=st.booleans(), used=count)
def test_kamf_prime(key: bytes, downlink: bool, used: int) -> None:
    assert wire.kamf_prime(key, downlink, used) == kdf.kamf_prime(key, int(downlink), used)


def test_the_keys_of_another_implementation() -> None:
    """The data of srsRAN_Project, tests/unittests/security/security_test.cpp.

    Its K_NG-RAN* is not used: it was derived from an ARFCN of two octets, and A.11 has three.
    """
    kgnb = bytes.fromhex("45cbc3f8a81193fd5c5229300d59edf812e998a115ec4e0ce903ba89367e2628")
    assert [key.hex() for key in wire.as_keys(kgnb, 0, 2)] == [
        "5c2cc2fda0f318a1e0ce35b9db5e80a5",
        "66a09e992386c8d1df7892964c6fb522",
        "d0deb4584095599e5806eae4f67656d8",
        "152052d3dfbc3f05869b7f920095be68",
    ]


def test_values_that_no_key_is_derived_from() -> None:
    key16, key32 = bytes(16), bytes(32)
    sn = "5G:mnc001.mcc001.3gppnetwork.org"
    refusals = [
        lambda: wire.kausf(key16, key32, sn, key16),
        lambda: wire.kausf(key16, key16, sn, bytes(15)),
        lambda: wire.kseaf(key16, sn),
        lambda: wire.kamf(key32, "imsi-", b"\0\0"),
        lambda: wire.kamf(key32, "imsi-001010000000001", b"\0"),
        lambda: wire.kamf(key32, "001010000000001", b"\0\0"),
        lambda: wire.kgnb(key32, 2**24),
        lambda: wire.kgnb(key16, 0),
        lambda: wire.kn3iwf(key32, 2**24),
        lambda: wire.kamf_prime(key32, True, 2**24),
        lambda: wire.nh(key32, key16),
        lambda: wire.kng_ran_star(key32, 0, 2**24),
        lambda: wire.knas_int(key32, 8),
        lambda: wire.knas_enc(key16, 2),
        lambda: wire.as_keys(key32, 4, 0),
        lambda: wire.res_star(key16, key16, sn, key16, b""),
        lambda: wire.hres_star(key16, key32),
    ]
    for refused in refusals:
        with pytest.raises(wire.WireError) as caught:
            refused()
        assert caught.value.kind == "security"
