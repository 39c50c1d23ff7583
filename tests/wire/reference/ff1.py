"""FF1 (NIST SP 800-38G algorithm 7): format-preserving encryption of numeral strings."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

ROUNDS = 10


def prf(key: bytes, data: bytes) -> bytes:
    """CBC-MAC with a zero initialization vector (algorithm 6)."""
    encryptor = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    return (encryptor.update(data) + encryptor.finalize())[-16:]


def number(numerals: Sequence[int], radix: int) -> int:
    value = 0
    for numeral in numerals:
        value = value * radix + numeral
    return value


def numerals(value: int, radix: int, length: int) -> list[int]:
    found: list[int] = []
    for _ in range(length):
        value, numeral = divmod(value, radix)
        found.append(numeral)
    return found[::-1]


def encrypt(key: bytes, radix: int, text: Sequence[int], tweak: bytes = b"") -> list[int]:
    n = len(text)
    u, v = n // 2, n - n // 2
    a, b = list(text[:u]), list(text[u:])
    octets = ((radix**v - 1).bit_length() + 7) // 8
    d = 4 * ((octets + 3) // 4) + 4
    p = bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([ROUNDS, u % 256])
    p += n.to_bytes(4, "big") + len(tweak).to_bytes(4, "big")
    for i in range(ROUNDS):
        padding = bytes(-(len(tweak) + octets + 1) % 16)
        q = tweak + padding + bytes([i]) + number(b, radix).to_bytes(octets, "big")
        r = prf(key, p + q)
        blocks = [r]
        while 16 * len(blocks) < d:
            mask = len(blocks).to_bytes(16, "big")
            blocks.append(prf(key, bytes(x ^ y for x, y in zip(r, mask, strict=True))))
        y = int.from_bytes(b"".join(blocks)[:d], "big")
        m = u if i % 2 == 0 else v
        c = (number(a, radix) + y) % radix**m
        a, b = b, numerals(c, radix, m)
    return a + b
