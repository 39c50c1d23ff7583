"""128-NIA1 to 3 (TS 33.501 D.3), against published sets, AES-CMAC and second implementations.

Most published messages are not whole octets, which NAS messages always are. Those sets check the
second implementation, and the second implementation checks `wire`.
"""

from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire.profiles import FAST
from tests.wire.reference import snow3g, zuc
from tests.wire.vectors import table

SETS = table("nia")


def nia2(key: bytes, count: int, bearer: int, direction: int, message: bytes, bits: int) -> bytes:
    """AES-CMAC of COUNT, BEARER, DIRECTION and the message, truncated to 32 bits (D.3.1.3)."""
    assert bits == 8 * len(message)
    mac = CMAC(AES(key))
    mac.update(count.to_bytes(4, "big") + bytes([bearer << 3 | direction << 2, 0, 0, 0]))
    mac.update(message)
    return mac.finalize()[:4]


REFERENCES: dict[int, Callable[[bytes, int, int, int, bytes, int], bytes]] = {
    1: snow3g.nia1,
    2: nia2,
    3: zuc.nia3,
}


@pytest.mark.parametrize("row", SETS, ids=lambda row: f"nia{row[0]}-set-{row[1]}")
def test_published_set(row: list[str]) -> None:
    algorithm, bits = int(row[0]), int(row[5])
    count, bearer, direction = int(row[2], 16), int(row[3], 16), int(row[4])
    key, message, mac = map(bytes.fromhex, row[6:])
    assert REFERENCES[algorithm](key, count, bearer, direction, message, bits) == mac
    if bits % 8 == 0:
        octets = message[: bits // 8]
        found = wire.nia(algorithm, key, count, bearer, octets, downlink=bool(direction))
        assert found == mac


@pytest.mark.parametrize("algorithm", [1, 2, 3])
@FAST
@given(
    key=st.binary(min_size=16, max_size=16),
    count=st.integers(0, 2**32 - 1),
    bearer=st.integers(0, 31),
    message=st.binary(min_size=1, max_size=90),
    downlink=st.booleans(),
)
def test_as_the_reference_has_it(
    algorithm: int, key: bytes, count: int, bearer: int, message: bytes, downlink: bool
) -> None:
    found = wire.nia(algorithm, key, count, bearer, message, downlink=downlink)
    bits = 8 * len(message)
    assert found == REFERENCES[algorithm](key, count, bearer, int(downlink), message, bits)


@pytest.mark.parametrize("algorithm", [1, 2, 3])
def test_long_and_empty_messages(algorithm: int) -> None:
    key = bytes(range(16))
    for message in (b"", bytes(8), bytes(range(256)) * 9):
        right = REFERENCES[algorithm](key, 7, 1, 0, message, 8 * len(message))
        assert wire.nia(algorithm, key, 7, 1, message, downlink=False) == right


def test_nia0_is_zeros() -> None:
    assert wire.nia(0, bytes(range(16)), 5, 1, b"message", downlink=True) == bytes(4)


@pytest.mark.parametrize(
    ("algorithm", "key", "bearer"),
    [(4, bytes(16), 1), (255, bytes(16), 1), (2, bytes(15), 1), (2, bytes(32), 1), (2, b"", 1)]
    + [(2, bytes(16), 32)],
)
def test_what_cannot_protect_is_refused(algorithm: int, key: bytes, bearer: int) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.nia(algorithm, key, 0, bearer, b"message", downlink=False)
    assert refused.value.kind == "security"
