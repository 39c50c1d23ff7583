"""The cipher of 5G-TMSIs: FF1 of NIST SP 800-38G over 32 bits, under AES-256."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST
from tests.wire.reference import ff1

KEY = bytes(range(32))
CIPHER = wire.TmsiCipher(KEY)
SLOT_BITS = 10

key32 = st.binary(min_size=32, max_size=32)
value32 = st.integers(0, 2**32 - 1)
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

# NIST, "FF1 samples" to SP 800-38G: key, radix, tweak, plaintext, ciphertext.
LONG_KEY = "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94"
NIST_SAMPLES = [
    (LONG_KEY[:32], 10, "", "0123456789", "2433477484"),
    (LONG_KEY, 10, "", "0123456789", "6657667009"),
    (LONG_KEY, 10, "39383736353433323130", "0123456789", "1001623463"),
    (LONG_KEY, 36, "3737373770717273373737", "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
]


@pytest.mark.parametrize(("key", "radix", "tweak", "plain", "right"), NIST_SAMPLES)
def test_the_reference_gives_the_samples_of_nist(
    key: str, radix: int, tweak: str, plain: str, right: str
) -> None:
    text = [DIGITS.index(digit) for digit in plain]
    found = ff1.encrypt(bytes.fromhex(key), radix, text, bytes.fromhex(tweak))
    assert "".join(DIGITS[numeral] for numeral in found) == right


def encrypted_by_the_reference(key: bytes, value: int) -> int:
    """With radix 2; the first numeral is the lowest bit."""
    found = ff1.encrypt(key, 2, [value >> bit & 1 for bit in range(32)])
    return sum(numeral << bit for bit, numeral in enumerate(found))


@FAST
@given(key=key32, value=value32)
def test_as_the_reference_has_it(key: bytes, value: int) -> None:
    assert wire.TmsiCipher(key).encrypt(value) == encrypted_by_the_reference(key, value)


@FAST
@given(key=key32, value=value32)
def test_what_is_encrypted_is_decrypted(key: bytes, value: int) -> None:
    cipher = wire.TmsiCipher(key)
    assert cipher.decrypt(cipher.encrypt(value)) == value
    assert cipher.encrypt(cipher.decrypt(value)) == value


def test_it_is_a_permutation() -> None:
    values = range(0, 2**32, 2**32 // 20_011)
    tmsis = {CIPHER.encrypt(value) for value in values}
    assert len(tmsis) == len(values)
    assert all(0 <= tmsi < 2**32 for tmsi in tmsis)


def test_the_slot_is_not_visible() -> None:
    """Over the UEs of one slot, each bit of a 5G-TMSI is set in about half."""
    slot = 0x155 << (32 - SLOT_BITS)
    tmsis = [CIPHER.encrypt(slot | random) for random in range(4096)]
    for bit in range(32):
        ones = sum(tmsi >> bit & 1 for tmsi in tmsis)
        # 6 standard deviations of a fair coin are 192.
        assert abs(ones - 2048) < 192, bit
    assert len({tmsi >> (32 - SLOT_BITS) for tmsi in tmsis}) > 950


def test_neighbours_share_nothing() -> None:
    """A changed input bit changes each output bit with probability one half."""
    for bit in range(32):
        flips = sum(
            (CIPHER.encrypt(value) ^ CIPHER.encrypt(value ^ 1 << bit)).bit_count()
            for value in range(0, 2**32, 2**32 // 256)
        )
        assert 0.45 < flips / (257 * 32) < 0.55, bit


def test_another_key_is_another_permutation() -> None:
    other = wire.TmsiCipher(bytes(32))
    same = sum(CIPHER.encrypt(value) == other.encrypt(value) for value in range(1000))
    assert same == 0


@pytest.mark.parametrize("size", [0, 16, 24, 31, 33, 64])
def test_a_key_has_32_octets(size: int) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.TmsiCipher(bytes(size))
    assert refused.value.kind == "security"


@pytest.mark.parametrize("value", [-1, 2**32])
def test_a_value_has_32_bits(value: int) -> None:
    with pytest.raises(OverflowError):
        CIPHER.encrypt(value)
    with pytest.raises(OverflowError):
        CIPHER.decrypt(value)
