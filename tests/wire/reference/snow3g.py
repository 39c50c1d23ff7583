"""SNOW 3G (TS 35.216) with 128-NEA1 (UEA2) and 128-NIA1 (UIA2, TS 35.215), in bits."""

from collections.abc import Iterator

MASK = 0xFFFFFFFF
MASK64 = 2**64 - 1


def _times_x(value: int, polynomial: int) -> int:
    value <<= 1
    return (value ^ polynomial) & 0xFF if value & 0x100 else value


def _times(a: int, b: int, polynomial: int) -> int:
    product = 0
    while b:
        if b & 1:
            product ^= a
        a, b = _times_x(a, polynomial), b >> 1
    return product


def _power(a: int, exponent: int, polynomial: int) -> int:
    product = 1
    for _ in range(exponent):
        product = _times(product, a, polynomial)
    return product


def _rijndael() -> list[int]:
    """S_R: the S-box of AES, an affine map of the inverse modulo x^8+x^4+x^3+x+1."""
    box: list[int] = []
    for x in range(256):
        inverse = _power(x, 254, 0x1B)
        value = 0x63
        for shift in range(5):
            value ^= (inverse << shift | inverse >> (8 - shift)) & 0xFF
        box.append(value)
    return box


def _dickson() -> list[int]:
    """S_Q: the Dickson polynomial g_49 modulo x^8+x^6+x^5+x^3+1, plus 0x25."""
    exponents = (1, 9, 13, 15, 33, 41, 45, 47, 49)
    box: list[int] = []
    for x in range(256):
        value = 0x25
        for exponent in exponents:
            value ^= _power(x, exponent, 0x69)
        box.append(value)
    return box


SR, SQ = _rijndael(), _dickson()


def _mixed(word: int, box: list[int], polynomial: int) -> int:
    """S1 and S2: the box on each octet, then the column mix of Rijndael."""
    s = [box[octet] for octet in word.to_bytes(4, "big")]
    doubled = [_times_x(x, polynomial) for x in s]
    out = 0
    for row in range(4):
        at = [(row + 3 + k) % 4 for k in range(4)]
        value = doubled[at[1]] ^ s[at[0]] ^ doubled[at[0]] ^ s[at[2]] ^ s[at[3]]
        out = out << 8 | value
    return out


ALPHA_EXPONENTS = (23, 245, 48, 239)
INVERSE_EXPONENTS = (16, 39, 6, 64)


def _mul(octet: int, exponents: tuple[int, ...]) -> int:
    """MUL_alpha and DIV_alpha: four powers of x, modulo x^8+x^7+x^5+x^3+1."""
    out = 0
    for exponent in exponents:
        value = octet
        for _ in range(exponent):
            value = _times_x(value, 0xA9)
        out = out << 8 | value
    return out


MUL_ALPHA = [_mul(octet, ALPHA_EXPONENTS) for octet in range(256)]
DIV_ALPHA = [_mul(octet, INVERSE_EXPONENTS) for octet in range(256)]


class Snow3g:
    """The generator, initialised with four words of key and four of IV, last word first."""

    def __init__(self, key: bytes, iv: bytes) -> None:
        k = [int.from_bytes(key[i : i + 4], "big") for i in (12, 8, 4, 0)]
        v = [int.from_bytes(iv[i : i + 4], "big") for i in (12, 8, 4, 0)]
        ones = [word ^ MASK for word in k]
        self.s = [*ones, *k, *ones, *k]
        for index, word in ((15, v[0]), (12, v[1]), (10, v[2]), (9, v[3])):
            self.s[index] ^= word
        self.r = [0, 0, 0]
        for _ in range(32):
            self._shift(self._fsm())
        self._fsm()
        self._shift(0)

    def _fsm(self) -> int:
        r1, r2, r3 = self.r
        f = (self.s[15] + r1 & MASK) ^ r2
        self.r = [
            r2 + (r3 ^ self.s[5]) & MASK,
            _mixed(r1, SR, 0x1B),
            _mixed(r2, SQ, 0x69),
        ]
        return f

    def _shift(self, f: int) -> None:
        s0, s11 = self.s[0], self.s[11]
        word = (s0 << 8 & MASK) ^ MUL_ALPHA[s0 >> 24] ^ self.s[2] ^ s11 >> 8
        self.s = [*self.s[1:], word ^ DIV_ALPHA[s11 & 0xFF] ^ f]

    def words(self) -> Iterator[int]:
        while True:
            yield self._fsm() ^ self.s[0]
            self._shift(0)


def _iv(count: int, third: int) -> bytes:
    half = count.to_bytes(4, "big") + third.to_bytes(4, "big")
    return half * 2


def nea1(key: bytes, count: int, bearer: int, direction: int, data: bytes) -> bytes:
    """The octets through f8. The caller ignores bits after the message's length."""
    words = Snow3g(key, _iv(count, bearer << 27 | direction << 26)).words()
    stream = b"".join(next(words).to_bytes(4, "big") for _ in range(len(data) // 4 + 1))
    return bytes(a ^ b for a, b in zip(data, stream, strict=False))


def _times64(v: int, p: int) -> int:
    """Modulo x^64 + x^4 + x^3 + x + 1."""
    product = 0
    while p:
        if p & 1:
            product ^= v
        v, p = v << 1, p >> 1
        if v >> 64:
            v = (v ^ 0x1B) & MASK64
    return product


def nia1(key: bytes, count: int, bearer: int, direction: int, message: bytes, bits: int) -> bytes:
    """The MAC of the first `bits` bits of a message. FRESH has the bearer in its top bits."""
    fresh = bearer << 27
    iv = [count, fresh, count ^ direction << 31, fresh ^ direction << 15]
    words = Snow3g(key, b"".join(word.to_bytes(4, "big") for word in iv)).words()
    z = [next(words) for _ in range(5)]
    p, q = z[0] << 32 | z[1], z[2] << 32 | z[3]
    blocks = -(-bits // 64)
    number = int.from_bytes(message, "big") >> (8 * len(message) - bits) << (64 * blocks - bits)
    value = 0
    for index in range(blocks):
        value = _times64(value ^ number >> 64 * (blocks - 1 - index) & MASK64, p)
    value = _times64(value ^ bits, q)
    return (value >> 32 ^ z[4]).to_bytes(4, "big")
