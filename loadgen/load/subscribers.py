"""The population: subscribers that depend only on a seed and an index."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from loadgen.identity import SNssai
from loadgen.ue.profile import Algorithms, HomeKey, Scheme, UeProfile

MIXED_ALGORITHMS = tuple(
    Algorithms(ea=(0,) if nea == 0 else (0, nea), ia=(nia,)) for nia in (1, 2) for nea in (0, 1, 2)
)
"""Each of NEA0-2 with each of NIA1-2. The core must use the only pair that a UE offers."""


def problem_of_plmn(name: str, plmn: str) -> str | None:
    """Return why a setting is not a PLMN, as a sentence, or None."""
    mcc, _, mnc = plmn.partition("-")
    if mcc.isdigit() and mnc.isdigit() and len(mcc) == 3 and len(mnc) in (2, 3):
        return None
    return f"{name} is {plmn!r}, not MCC-MNC such as '001-01'"


class Population(Struct, frozen=True):
    """The subscribers of a load.

    UE `i` has the scheme ``schemes[i % len(schemes)]`` and the algorithms
    ``algorithms[i // len(schemes) % len(algorithms)]``, so that every pair occurs.
    """

    count: int = 1
    first_imsi: str = "001010000000001"
    plmn: str = "001-01"
    """The home PLMN."""
    seed: int = 0
    schemes: tuple[Scheme, ...] = ("null",)
    algorithms: tuple[Algorithms, ...] = MIXED_ALGORITHMS
    home_keys: tuple[HomeKey, ...] = ()
    slices: tuple[SNssai, ...] = (SNssai(1, "010203"),)
    dnns: tuple[str, ...] = ("internet",)
    sqn_ahead: int = 0
    """One in this many UEs has a USIM ahead of the core, 0 for none. Its first challenge is stale,
    and
    the core must process its AUTS (TS 33.102 6.3.5).
    """
    voice_centric: bool = False
    """Whether the UEs are voice-centric: they need IMS voice over PS sessions (TS 24.501 4.3.2)."""

    def problem(self) -> str | None:
        """Return the first error, as a sentence, or None."""
        problem = problem_of_plmn("population.plmn", self.plmn)
        if problem is not None:
            return problem
        mcc, _, mnc = self.plmn.partition("-")
        if not (self.first_imsi.isdigit() and len(self.first_imsi) == 15):
            return f"population.first_imsi is {self.first_imsi!r}, not 15 digits"
        if not self.first_imsi.startswith(mcc + mnc):
            return f"population.first_imsi {self.first_imsi} is not in PLMN {self.plmn}"
        return self._size_problem(mcc + mnc) or self._mix_problem()

    def _size_problem(self, plmn: str) -> str | None:
        if self.count < 1:
            return f"population.count is {self.count}, but must be at least 1"
        last = int(self.first_imsi) + self.count - 1
        if not f"{last:015}".startswith(plmn) or last > 999_999_999_999_999:
            return f"{self.count} UEs from {self.first_imsi} exceed the MSINs of the PLMN"
        return None

    def _mix_problem(self) -> str | None:
        if not self.schemes or not self.algorithms or not self.slices:
            return "population.schemes, algorithms and slices must each have an entry"
        for scheme in self.schemes:
            if scheme != "null" and all(key.profile != scheme for key in self.home_keys):
                return f"SUCI scheme {scheme} needs a key in home_keys"
        for key in self.home_keys:
            if (problem := key.problem()) is not None:
                return problem
        for one in self.algorithms:
            if 0 not in one.ea or not set(one.ea) <= {0, 1, 2, 3}:
                return f"algorithms.ea is {one.ea}, but must be of 0 to 3 with 0 (mandatory)"
            if not one.ia or not set(one.ia) <= {1, 2, 3}:
                return f"algorithms.ia is {one.ia}, but must be of 1 to 3 (NIA0 is for emergencies)"
        return None

    def profile(self, index: int) -> UeProfile:
        """Return the profile of UE `index`, from 0."""
        imsi = f"{int(self.first_imsi) + index:015}"
        scheme = self.schemes[index % len(self.schemes)]
        algorithms = self.algorithms[index // len(self.schemes) % len(self.algorithms)]
        keys = {key.profile: key for key in self.home_keys}
        ahead = self.sqn_ahead > 0 and index % self.sqn_ahead == 0
        return UeProfile(
            index=index,
            supi=f"imsi-{imsi}",
            plmn=self.plmn,
            k=self._secret(b"k", index),
            opc=self._secret(b"opc", index),
            imeisv=f"35609204{index % 1_000_000:06}01",
            algorithms=algorithms,
            slices=self.slices,
            home_key=None if scheme == "null" else keys[scheme],
            sqn=1 << 20 if ahead else 0,
            voice_centric=self.voice_centric,
        )

    def __iter__(self) -> Iterator[UeProfile]:
        return (self.profile(index) for index in range(self.count))

    def _secret(self, what: bytes, index: int) -> bytes:
        """Return 16 octets derived from the seed: test credentials of no real subscriber."""
        text = b"%s %d %d" % (what, self.seed, index)
        return blake2b(text, digest_size=16, person=b"evcore loadgen").digest()

    def to_json(self) -> list[dict[str, Any]]:
        """Return one record per subscriber for import into the core, with K and OPc.

        ``{"supi", "k", "opc", "amf", "sqn", "slices": [{"sst", "sd", "default", "dnns":
        [{"name", "session_types"}]}]}``, octets in hexadecimal, SQN as a number.
        """
        return [self._record(profile) for profile in self]

    def _record(self, profile: UeProfile) -> dict[str, Any]:
        types = ["IPV4V6", "IPV4", "IPV6"]
        dnns = [{"name": name, "session_types": types} for name in self.dnns]
        slices = [{**s.nas(), "default": True, "dnns": dnns} for s in profile.slices]
        return {
            "supi": profile.supi,
            "k": profile.k.hex(),
            "opc": profile.opc.hex(),
            "amf": "8000",
            "sqn": 0,
            "slices": slices,
        }
