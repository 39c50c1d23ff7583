"""The 5G key hierarchy (TS 33.501 annex A) over the generic KDF (TS 33.220 annex B.2)."""

import hashlib
import hmac


def kdf(key: bytes, fc: int, *parameters: bytes) -> bytes:
    """HMAC-SHA-256 of FC and each parameter with its length."""
    s = bytes([fc]) + b"".join(p + len(p).to_bytes(2, "big") for p in parameters)
    return hmac.new(key, s, hashlib.sha256).digest()


def kausf(ck: bytes, ik: bytes, sn_name: str, autn: bytes) -> bytes:
    """A.2; SQN xor AK is the first six octets of AUTN."""
    return kdf(ck + ik, 0x6A, sn_name.encode(), autn[:6])


def res_star(ck: bytes, ik: bytes, sn_name: str, rand: bytes, res: bytes) -> bytes:
    """A.4."""
    return kdf(ck + ik, 0x6B, sn_name.encode(), rand, res)[16:]


def hres_star(rand: bytes, res_star_: bytes) -> bytes:
    """A.5."""
    return hashlib.sha256(rand + res_star_).digest()[16:]


def kseaf(kausf_: bytes, sn_name: str) -> bytes:
    """A.6."""
    return kdf(kausf_, 0x6C, sn_name.encode())


def kamf(kseaf_: bytes, supi: str, abba: bytes) -> bytes:
    """A.7; if the SUPI is an IMSI, the parameter is its digits."""
    return kdf(kseaf_, 0x6D, supi.removeprefix("imsi-").encode(), abba)


def algorithm_key(key: bytes, distinguisher: int, algorithm: int) -> bytes:
    """A.8; 1 and 2 are NAS ciphering and integrity, 3 and 4 RRC, 5 and 6 user plane."""
    return kdf(key, 0x69, bytes([distinguisher]), bytes([algorithm]))[16:]


def kgnb(kamf_: bytes, uplink_count: int, access: int = 1) -> bytes:
    """A.9; access type 1 is 3GPP (K_gNB), 2 non-3GPP (K_N3IWF)."""
    return kdf(kamf_, 0x6E, uplink_count.to_bytes(4, "big"), bytes([access]))


def nh(kamf_: bytes, sync_input: bytes) -> bytes:
    """A.10."""
    return kdf(kamf_, 0x6F, sync_input)


def kng_ran_star(key: bytes, pci: int, arfcn_dl: int) -> bytes:
    """A.11."""
    return kdf(key, 0x70, pci.to_bytes(2, "big"), arfcn_dl.to_bytes(3, "big"))


def kamf_prime(kamf_: bytes, direction: int, count: int) -> bytes:
    """A.13; direction 0 is idle mobility, 1 handover."""
    return kdf(kamf_, 0x72, bytes([direction]), count.to_bytes(4, "big"))
