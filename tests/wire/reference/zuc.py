"""ZUC (TS 35.222) with 128-NEA3 and 128-NIA3 (TS 35.221), in bits."""

from collections.abc import Iterator
from typing import Final

S0: Final = bytes.fromhex(
    "3e725b47cae0003304d1549809b96dcb7b1bf932af9d6aa5b82dfc1d08530390"
    "4d4e8499e4ced991ddb685488b296eaccdc1f81e734369c6b5bdfd396320d438"
    "767db2a7cfed57c5f32cbb142106559be3ef5e314f7f5aa40d8251495fba581c"
    "4a16d517a892241f8cffd8ae2e01d3ad3b4bda46ebc9de9a8f87d73a806f2fc8"
    "b1b437f70a2213287ccc3c89c7c3965607bf7ef00b2b975235417961a64c10fe"
    "bc2695888ab0a3fbc01894f2e1e5e95dd0dc1166645cec59427512f5749caa23"
    "0e86abbe2a02e767e644a26cc2939ff1f6fa36d250689e6271153dd640c4e20f"
    "8e83776b25053f0c30ea70b7a1e8a9658d271adb81b3a0f4457a19dfee783460"
)
S1: Final = bytes.fromhex(
    "55c263713bc847869f3cda5b29aafd778cc5940ca61a1300e3a8167240f9f842"
    "4426689681d9453e1076c6a78b3943e13ab5562ac06db3052266bfdc0bfa6248"
    "dd20110636c9c1cff62752bb69f5d4877f844cd29c57a4bc4f9adffed68d7aeb"
    "2b53d85ca11417fb23d57d3067730809eeb7703f61b2198e4ee54b938f5ddba9"
    "adf1ae2ecb0dfcf42d466e1d97e8d1e94d37a5755e839eab829db91ce0cd4989"
    "01b6bd5824a25f387899159050b895e4d091c7ceed0fb46fa0ccf0024a79c3de"
    "a3efea51e66b18ec1b2c80f774e7ff215a6a541e41319235c433070aba7e0e34"
    "88b1987cf33d606c7bcad31f3265042864be859b2f598ad7b025acaf1203e2f2"
)
D: Final = (
    *(0x44D7, 0x26BC, 0x626B, 0x135E, 0x5789, 0x35E2, 0x7135, 0x09AF),
    *(0x4D78, 0x2F13, 0x6BC4, 0x1AF1, 0x5E26, 0x3C4D, 0x789A, 0x47AC),
)
PRIME: Final = 2**31 - 1
MASK: Final = 0xFFFFFFFF
TAPS: Final = ((15, 15), (13, 17), (10, 21), (4, 20), (0, 8), (0, 0))
"""Cells, and the power of two of each in the feedback, modulo 2^31 - 1."""


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & MASK


def _linear(word: int, shifts: tuple[int, ...]) -> int:
    out = word
    for by in shifts:
        out ^= _rotated(word, by)
    return out


def _boxes(word: int) -> int:
    a, b, c, d = word.to_bytes(4, "big")
    return S0[a] << 24 | S1[b] << 16 | S0[c] << 8 | S1[d]


class Zuc:
    """The generator after its 32 rounds of initialisation and the discarded one."""

    def __init__(self, key: bytes, iv: bytes) -> None:
        self.s = [k << 23 | d << 8 | v for k, d, v in zip(key, D, iv, strict=True)]
        self.r = [0, 0]
        for _ in range(32):
            x = self._reorganised()
            self._shift(self._f(x) >> 1)
        self._f(self._reorganised())
        self._shift(0)

    def _reorganised(self) -> list[int]:
        s = self.s
        return [
            s[15] >> 15 << 16 | s[14] & 0xFFFF,
            (s[11] & 0xFFFF) << 16 | s[9] >> 15,
            (s[7] & 0xFFFF) << 16 | s[5] >> 15,
            (s[2] & 0xFFFF) << 16 | s[0] >> 15,
        ]

    def _f(self, x: list[int]) -> int:
        r1, r2 = self.r
        out = (x[0] ^ r1) + r2 & MASK
        w1, w2 = r1 + x[1] & MASK, r2 ^ x[2]
        u = _linear((w1 << 16 | w2 >> 16) & MASK, (2, 10, 18, 24))
        v = _linear((w2 << 16 | w1 >> 16) & MASK, (8, 14, 22, 30))
        self.r = [_boxes(u), _boxes(v)]
        return out

    def _shift(self, u: int) -> None:
        value = (sum(self.s[cell] << power for cell, power in TAPS) + u) % PRIME
        self.s = [*self.s[1:], value or PRIME]

    def words(self) -> Iterator[int]:
        while True:
            x = self._reorganised()
            yield self._f(x) ^ x[3]
            self._shift(0)

    def bits(self, count: int) -> int:
        """At least `count` bits of keystream as a number of whole words."""
        out = 0
        words = self.words()
        for _ in range(-(-count // 32)):
            out = out << 32 | next(words)
        return out


def nea3(key: bytes, count: int, bearer: int, direction: int, data: bytes) -> bytes:
    """The octets through 128-EEA3. The caller ignores bits after the message's length."""
    half = count.to_bytes(4, "big") + bytes([bearer << 3 | direction << 2, 0, 0, 0])
    words = Zuc(key, half * 2).words()
    stream = b"".join(next(words).to_bytes(4, "big") for _ in range(len(data) // 4 + 1))
    return bytes(a ^ b for a, b in zip(data, stream, strict=False))


def nia3(key: bytes, count: int, bearer: int, direction: int, message: bytes, bits: int) -> bytes:
    """The MAC of the first `bits` bits of a message."""
    half = bytearray(count.to_bytes(4, "big") + bytes([bearer << 3, 0, 0, 0]))
    other = bytearray(half)
    other[0] ^= direction << 7
    other[6] ^= direction << 7
    size = 32 * (-(-bits // 32) + 2)
    z = Zuc(key, bytes(half + other)).bits(size)

    def word(at: int) -> int:
        return z >> (size - 32 - at) & MASK

    value = 0
    for at in range(bits):
        if message[at // 8] & 0x80 >> at % 8:
            value ^= word(at)
    return (value ^ word(bits) ^ word(size - 32)).to_bytes(4, "big")
