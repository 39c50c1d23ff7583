"""The keys in identities route a message to its UE's partition without a lookup."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from schemas import identity
from schemas.identity import SLOTS, Guami, SNssai

slots = st.integers(0, SLOTS - 1)
keys = st.binary(min_size=32, max_size=32)
numbers = st.integers(0, (1 << 64) - 1)


@given(slots, numbers)
def test_an_amf_ue_ngap_id_carries_its_slot(slot: int, random: int) -> None:
    made = identity.make_amf_ue_ngap_id(slot, random)
    assert 0 <= made < 1 << 40
    assert identity.slot_of_amf_ue_ngap_id(made) == slot
    assert made & ((1 << 30) - 1) == random & ((1 << 30) - 1)


@given(st.integers(0, (1 << 40) - 1))
def test_any_amf_ue_ngap_id_has_a_slot(amf_ue_ngap_id: int) -> None:
    assert 0 <= identity.slot_of_amf_ue_ngap_id(amf_ue_ngap_id) < SLOTS


@given(keys, slots, numbers)
def test_a_tmsi_carries_its_slot_under_the_key(key: bytes, slot: int, random: int) -> None:
    cipher = wire.TmsiCipher(key)
    plaintext = identity.make_tmsi_plaintext(slot, random)
    tmsi = cipher.encrypt(plaintext)
    assert 0 <= tmsi < 1 << 32
    assert identity.slot_of_tmsi_plaintext(cipher.decrypt(tmsi)) == slot


@given(keys, st.integers(0, (1 << 32) - 1))
def test_any_tmsi_has_a_slot(key: bytes, tmsi: int) -> None:
    plaintext = wire.TmsiCipher(key).decrypt(tmsi)
    assert 0 <= identity.slot_of_tmsi_plaintext(plaintext) < SLOTS


def test_a_tmsi_hides_its_slot() -> None:
    """The 5G-TMSIs of one slot look random."""
    cipher = wire.TmsiCipher(bytes(range(32)))
    tops = Counter(
        cipher.encrypt(identity.make_tmsi_plaintext(7, random)) >> 22 for random in range(20_000)
    )
    assert len(tops) == SLOTS
    assert max(tops.values()) < 60


@pytest.mark.parametrize(
    ("key", "slot"),
    [("imsi-001010000000001", 187), ("imsi-999990123456789", 907), ("001-01-gnb-24-1", 925)],
)
def test_slots_never_change(key: str, slot: int) -> None:
    """They are in the AMF-UE-NGAP-IDs and 5G-TMSIs of UEs, and in the streams."""
    assert identity.slot_of(key) == slot


def test_subscribers_are_spread_over_the_slots() -> None:
    found = Counter(identity.slot_of(f"imsi-00101{n:010d}") for n in range(SLOTS * 100))
    assert len(found) == SLOTS
    assert max(found.values()) < 200


@given(st.integers(0, (1 << 40) - 1), st.integers(0, (1 << 32) - 1))
def test_keys_of_indexes_are_told_apart_and_sort_as_numbers(amf_id: int, tmsi: int) -> None:
    ngap, five_g = identity.index_ngap(amf_id), identity.index_tmsi(tmsi)
    assert re.fullmatch(r"ngap-[0-9a-f]{10}", ngap)
    assert re.fullmatch(r"tmsi-[0-9a-f]{8}", five_g)
    assert int(ngap[5:], 16) == amf_id
    assert int(five_g[5:], 16) == tmsi


def test_names_of_the_specifications() -> None:
    assert identity.serving_network_name("001-01") == "5G:mnc001.mcc001.3gppnetwork.org"
    assert identity.serving_network_name("310-410") == "5G:mnc410.mcc310.3gppnetwork.org"
    assert identity.supi_of_imsi("001010000000001") == "imsi-001010000000001"
    assert (str(SNssai(1)), str(SNssai(1, "010203"))) == ("1", "1-010203")
    assert Guami("001-01", 1, 2, 3) == Guami(plmn="001-01", region=1, set=2, pointer=3)
