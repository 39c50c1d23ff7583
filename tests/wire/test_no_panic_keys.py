"""No key, challenge, SUCI or sealed value of any length ends the process."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.hostile import attempt, octets
from tests.wire.profiles import FAST, MORE

SN_NAME = "5G:mnc001.mcc001.3gppnetwork.org"

# Half of the lengths are right, so that the code after the length check is reached.
key16 = st.binary(min_size=16, max_size=16) | st.binary(max_size=40)
key32 = st.binary(min_size=32, max_size=32) | st.binary(max_size=40)
number = st.integers(0, 2**32 - 1)
algorithm = st.integers(0, 255)
name = st.sampled_from([SN_NAME, "", "5G:", "x" * 2000]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=20
)
supi = st.sampled_from(["imsi-001010000000001", "nai-a@b", "imsi-", "", "imsi-x"]) | name

CALLS: dict[str, tuple[Any, ...]] = {
    "milenage_opc": (key16, key16),
    "milenage": (key16, key16, key16, st.integers(0, 2**64 - 1), st.binary(max_size=4)),
    "aka_vector": (key16, key16, key16, st.integers(0, 2**64 - 1), st.binary(max_size=4), name),
    "usim_answer": (key16, key16, key16, key16, name),
    "auts": (key16, key16, key16, st.integers(0, 2**64 - 1)),
    "verify_auts": (key16, key16, key16, st.binary(min_size=14, max_size=14) | key16),
    "eap_aka_keys": (key16, key16, name, key16, name),
    "eap_aka_challenge": (algorithm, key16, key16, name, key32),
    "eap_aka_mac_is_right": (octets("eap"), key32),
    "eap_decode": (octets("eap"),),
    "kausf": (key16, key16, name, key16),
    "kseaf": (key32, name),
    "kamf": (key32, supi, st.binary(max_size=300)),
    "kamf_prime": (key32, st.booleans(), number),
    "knas_int": (key32, algorithm),
    "knas_enc": (key32, algorithm),
    "kgnb": (key32, number),
    "kn3iwf": (key32, number),
    "nh": (key32, key32),
    "kng_ran_star": (key32, st.integers(0, 2**16 - 1), number),
    "as_keys": (key32, algorithm, algorithm),
    "res_star": (key16, key16, name, key16, st.binary(max_size=20)),
    "hres_star": (key16, key16),
    "suci_public_key": (st.sampled_from(["A", "B", "", "C"]), key32),
    "suci_scheme": (octets("suci"),),
    "TmsiCipher": (key32,),
    "Sealer": (key32,),
    "NasSecurity": (key32, algorithm, algorithm, number, number),
}


@pytest.mark.parametrize("call", CALLS)
@FAST
@given(data=st.data())
def test_any_arguments(call: str, data: st.DataObject) -> None:
    arguments = [data.draw(strategy) for strategy in CALLS[call]]
    found = attempt(getattr(wire, call), *arguments)
    if isinstance(found, wire.WireError):
        assert found.kind in ("security", "aka-mac", "eap", "suci")


@MORE
@given(
    suci=octets("suci", "nas"),
    profile=st.sampled_from([None, "A", "B", "C"]),
    key=st.none() | key32,
)
def test_any_suci(suci: bytes, profile: str | None, key: bytes | None) -> None:
    found = attempt(wire.suci_deconceal, suci, profile, key)
    if isinstance(found, wire.WireError):
        assert found.kind == "suci"
    else:
        assert found.startswith(("imsi-", "nai-"))
    attempt(wire.suci_scheme, suci)


@FAST
@given(
    mcc=name,
    mnc=name,
    msin=st.text(max_size=20),
    routing=name,
    profile=st.sampled_from([None, "A", "B", ""]),
    key=st.none() | key32 | st.binary(min_size=33, max_size=33),
    key_id=st.integers(0, 255),
)
def test_any_identity(
    mcc: str,
    mnc: str,
    msin: str,
    routing: str,
    profile: str | None,
    key: bytes | None,
    key_id: int,
) -> None:
    found = attempt(
        wire.suci_conceal,
        mcc,
        mnc,
        msin,
        routing_indicator=routing,
        profile=profile,
        public_key=key,
        key_id=key_id,
    )
    if isinstance(found, bytes):
        attempt(wire.suci_scheme, found)


@FAST
@given(nonce=st.binary(max_size=20), sealed=st.binary(max_size=60), context=st.binary(max_size=9))
def test_anything_sealed(nonce: bytes, sealed: bytes, context: bytes) -> None:
    sealer = wire.Sealer(bytes(32))
    assert isinstance(attempt(sealer.open, sealed, context), wire.WireError)
    attempt(sealer.seal, nonce, sealed, context)


@FAST
@given(
    algorithm_=algorithm,
    key=key16,
    count=number,
    bearer=st.integers(0, 255),
    data=st.binary(max_size=70),
    downlink=st.booleans(),
)
def test_any_algorithm(
    algorithm_: int, key: bytes, count: int, bearer: int, data: bytes, downlink: bool
) -> None:
    for call in (wire.nia, wire.nea):
        found = attempt(call, algorithm_, key, count, bearer, data, downlink=downlink)
        if isinstance(found, wire.WireError):
            assert found.kind == "security"
