"""ECIES profiles A and B of the SUPI concealment (TS 33.501 C.3)."""

import hashlib
import hmac
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CURVE = ec.SECP256R1()
PUBLIC_OCTETS = {"A": 32, "B": 33}


@dataclass
class Keys:
    """The ephemeral key data K, parsed (C.3.2)."""

    encryption: bytes
    icb: bytes
    mac: bytes


def x963(shared: bytes, info: bytes, length: int) -> bytes:
    """ANSI-X9.63-KDF with SHA-256."""
    blocks = -(-length // 32)
    out = b"".join(
        hashlib.sha256(shared + i.to_bytes(4, "big") + info).digest() for i in range(1, blocks + 1)
    )
    return out[:length]


def public_key(profile: str, private: bytes) -> bytes:
    """The public key of a private key, as a SUCI carries it."""
    if profile == "A":
        return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    key = ec.derive_private_key(int.from_bytes(private, "big"), CURVE)
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


def agreed(profile: str, private: bytes, public: bytes) -> bytes:
    """Return the ephemeral shared key of one side's private key and the other side's public key."""
    if profile == "A":
        own = X25519PrivateKey.from_private_bytes(private)
        return own.exchange(X25519PublicKey.from_public_bytes(public))
    key = ec.derive_private_key(int.from_bytes(private, "big"), CURVE)
    return key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(CURVE, public))


def keys(shared: bytes, ephemeral: bytes) -> Keys:
    data = x963(shared, ephemeral, 64)
    return Keys(data[:16], data[16:32], data[32:])


def through(found: Keys, data: bytes) -> bytes:
    cipher = Cipher(algorithms.AES(found.encryption), modes.CTR(found.icb)).encryptor()
    return cipher.update(data) + cipher.finalize()


def tag(found: Keys, ciphertext: bytes) -> bytes:
    return hmac.new(found.mac, ciphertext, hashlib.sha256).digest()[:8]


def conceal(profile: str, home: bytes, ephemeral_private: bytes, plain: bytes) -> bytes:
    """Return the scheme output for a home network's public key."""
    ephemeral = public_key(profile, ephemeral_private)
    found = keys(agreed(profile, ephemeral_private, home), ephemeral)
    ciphertext = through(found, plain)
    return ephemeral + ciphertext + tag(found, ciphertext)


def reveal(profile: str, private: bytes, output: bytes) -> bytes:
    """Return the scheme input of a scheme output. Its tag must be right."""
    size = PUBLIC_OCTETS[profile]
    ephemeral, ciphertext, mac = output[:size], output[size:-8], output[-8:]
    found = keys(agreed(profile, private, ephemeral), ephemeral)
    assert tag(found, ciphertext) == mac
    return through(found, ciphertext)
