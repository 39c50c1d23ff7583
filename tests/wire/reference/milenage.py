"""MILENAGE (TS 35.206 clause 4.1)."""

from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

ROTATIONS: Final = (64, 0, 32, 64, 96)
CONSTANTS: Final = (0, 1, 2, 4, 8)
ALL_ONES: Final = (1 << 128) - 1


def block(key: bytes, data: bytes) -> bytes:
    """One block through AES."""
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def opc(k: bytes, op: bytes) -> bytes:
    """OPc = OP xor E_K(OP)."""
    return xor(block(k, op), op)


def rotated(value: bytes, bits: int) -> int:
    number = int.from_bytes(value, "big")
    return (number << bits | number >> (128 - bits)) & ALL_ONES


def out(k: bytes, opc_: bytes, temp: bytes, given: bytes | None, index: int) -> bytes:
    """OUT1 to OUT5. OUT1 also depends on SQN and AMF (`given`)."""
    if given is None:
        mixed = rotated(xor(temp, opc_), ROTATIONS[index])
    else:
        mixed = rotated(xor(given, opc_), ROTATIONS[index]) ^ int.from_bytes(temp, "big")
    return xor(block(k, (mixed ^ CONSTANTS[index]).to_bytes(16, "big")), opc_)


def milenage(k: bytes, opc_: bytes, rand: bytes, sqn: int, amf: bytes) -> dict[str, bytes]:
    """f1 to f5*, with the names of `wire.milenage`."""
    temp = block(k, xor(rand, opc_))
    given = (sqn.to_bytes(6, "big") + amf) * 2
    out1 = out(k, opc_, temp, given, 0)
    out2, out3, out4, out5 = (out(k, opc_, temp, None, index) for index in range(1, 5))
    return {
        "f1": out1[:8],
        "f1*": out1[8:],
        "f2": out2[8:],
        "f3": out3,
        "f4": out4,
        "f5": out2[:6],
        "f5*": out5[:6],
    }
