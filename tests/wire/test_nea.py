"""128-NEA1 to 3 (TS 33.501 D.2), against published sets, AES-CTR and second implementations."""

from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST
from tests.wire.reference import snow3g, zuc
from tests.wire.vectors import table

SETS = table("nea")


def nea2(key: bytes, count: int, bearer: int, direction: int, data: bytes) -> bytes:
    """AES in counter mode; COUNT, BEARER and DIRECTION start the counter block (D.2.1.3)."""
    head = count.to_bytes(4, "big") + bytes([bearer << 3 | direction << 2])
    encryptor = Cipher(algorithms.AES(key), modes.CTR(head + bytes(11))).encryptor()
    return encryptor.update(data) + encryptor.finalize()


REFERENCES: dict[int, Callable[[bytes, int, int, int, bytes], bytes]] = {
    1: snow3g.nea1,
    2: nea2,
    3: zuc.nea3,
}


def first(octets: bytes, bits: int) -> int:
    """The first bits of a message; the bits after them are padding."""
    return int.from_bytes(octets, "big") >> (8 * len(octets) - bits)


@pytest.mark.parametrize("row", SETS, ids=lambda row: f"nea{row[0]}-set-{row[1]}")
def test_published_set(row: list[str]) -> None:
    algorithm, bits = int(row[0]), int(row[5])
    count, bearer, direction = int(row[2], 16), int(row[3], 16), int(row[4])
    key, plain, right = map(bytes.fromhex, row[6:])
    found = wire.nea(algorithm, key, count, bearer, plain, downlink=bool(direction))
    second = REFERENCES[algorithm](key, count, bearer, direction, plain)
    assert first(found, bits) == first(second, bits) == first(right, bits)


@pytest.mark.parametrize("algorithm", [1, 2, 3])
@FAST
@given(
    key=st.binary(min_size=16, max_size=16),
    count=st.integers(0, 2**32 - 1),
    bearer=st.integers(0, 31),
    data=st.binary(max_size=90),
    downlink=st.booleans(),
)
def test_as_the_reference_has_it(
    algorithm: int, key: bytes, count: int, bearer: int, data: bytes, downlink: bool
) -> None:
    found = wire.nea(algorithm, key, count, bearer, data, downlink=downlink)
    assert found == REFERENCES[algorithm](key, count, bearer, int(downlink), data)
    assert wire.nea(algorithm, key, count, bearer, found, downlink=downlink) == data


def test_nea0_changes_nothing() -> None:
    assert wire.nea(0, bytes(16), 5, 1, b"plain", downlink=True) == b"plain"


@pytest.mark.parametrize(
    ("algorithm", "key", "bearer"),
    [(4, bytes(16), 1), (255, bytes(16), 1), (2, bytes(15), 1), (2, bytes(32), 1), (2, b"", 1)]
    + [(2, bytes(16), 32)],
)
def test_what_cannot_cipher_is_refused(algorithm: int, key: bytes, bearer: int) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.nea(algorithm, key, 0, bearer, b"data", downlink=False)
    assert refused.value.kind == "security"
