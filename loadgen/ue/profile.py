"""The profile of a UE: its credentials and capabilities."""

from functools import lru_cache
from typing import Literal

from msgspec import Struct

import wire
from loadgen.identity import SNssai

Scheme = Literal["null", "A", "B"]


class HomeKey(Struct, frozen=True):
    """A home network public key that conceals the SUPI (TS 33.501 annex C.3)."""

    profile: Literal["A", "B"]
    key_id: int
    """The home network public key identifier, 1..255."""
    public_key: str
    """Hexadecimal: 32 octets for profile A, 33 (compressed) for B."""

    def problem(self) -> str | None:
        """Return the first error, as a sentence, or None."""
        if not 1 <= self.key_id <= 255:
            return f"home_keys: key_id is {self.key_id}, but must be 1 to 255"
        try:
            key = bytes.fromhex(self.public_key)
            wire.suci_conceal(
                "001", "01", "1", profile=self.profile, public_key=key, key_id=self.key_id
            )
        except ValueError as error:
            return f"home_keys: the public key of profile {self.profile} is invalid: {error}"
        return None


class Algorithms(Struct, frozen=True):
    """The NAS algorithms in a UE's capabilities (TS 24.501 9.11.3.54)."""

    ea: tuple[int, ...] = (0, 1, 2)
    ia: tuple[int, ...] = (1, 2)


class UeProfile(Struct, frozen=True):
    """One UE and its USIM. `k` and `opc` are secret."""

    index: int
    supi: str
    """As ``"imsi-001010000000001"``."""
    plmn: str
    """The home PLMN, as ``"001-01"``."""
    k: bytes
    opc: bytes
    imeisv: str
    """16 digits."""
    algorithms: Algorithms
    slices: tuple[SNssai, ...]
    """The slices of the subscription; the UE requests all of them."""
    home_key: HomeKey | None = None
    """The key that conceals the SUPI; None for the null scheme."""
    sqn: int = 0
    """The initial SQN of the USIM."""
    voice_centric: bool = False
    """Whether its usage setting is "voice centric" (TS 24.501 9.11.3.55)."""

    @property
    def scheme(self) -> Scheme:
        """The protection scheme of its SUCI."""
        return "null" if self.home_key is None else self.home_key.profile

    def conceal(self) -> bytes:
        """Return a fresh SUCI, the value of a 5GS mobile identity IE."""
        mcc, _, mnc = self.plmn.partition("-")
        msin = self.supi.removeprefix("imsi-")[len(mcc) + len(mnc) :]
        key = self.home_key
        if key is None:
            return wire.suci_conceal(mcc, mnc, msin)
        return wire.suci_conceal(
            mcc,
            mnc,
            msin,
            profile=key.profile,
            public_key=bytes.fromhex(key.public_key),
            key_id=key.key_id,
        )


def imeisv_identity(imeisv: str) -> bytes:
    """Return the value of a 5GS mobile identity IE with an IMEISV, 9 octets (TS 24.501
    9.11.3.4)."""
    pairs = "".join(imeisv[i + 1] + imeisv[i] for i in range(1, 15, 2))
    return bytes.fromhex(f"{imeisv[0]}5{pairs}f{imeisv[15]}")


def masked_imeisv(imeisv: str) -> str:
    """Return the Masked IMEISV of NGAP in hexadecimal: four SNR digits are ones (9.3.1.54)."""
    return f"{imeisv[:10]}ffff{imeisv[14:]}"


def algorithm_bits(numbers: tuple[int, ...]) -> str:
    """Return the 16 bits of NGAP in hexadecimal: the first bit is algorithm 1 (9.3.1.86)."""
    return f"{sum(1 << (16 - n) for n in numbers if 1 <= n <= 7):04x}"


@lru_cache(maxsize=256)
def security_capability(algorithms: Algorithms) -> bytes:
    """Return the UE security capability IE of REGISTRATION REQUEST with its IEI."""
    ea = sum(0x80 >> n for n in algorithms.ea)
    ia = sum(0x80 >> n for n in algorithms.ia)
    return bytes([0x2E, 2, ea, ia])
