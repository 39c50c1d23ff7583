"""Identities of UEs, gNBs and AMFs (TS 23.003), in their NAS and NGAP forms."""

from typing import Any

from msgspec import Struct


class SNssai(Struct, frozen=True, omit_defaults=True, order=True):
    """A slice: SST 0..255, SD as six hexadecimal digits (TS 23.003 28.4.2)."""

    sst: int
    sd: str | None = None

    def __str__(self) -> str:
        return f"{self.sst}" if self.sd is None else f"{self.sst}-{self.sd}"

    def nas(self) -> dict[str, Any]:
        """Return the NAS tree (TS 24.501 9.11.2.8)."""
        return {"sst": self.sst} if self.sd is None else {"sst": self.sst, "sd": self.sd}

    def ngap(self) -> dict[str, Any]:
        """Return the NGAP tree (TS 38.413 9.3.1.24)."""
        inner = {"sST": self.sst} if self.sd is None else {"sST": self.sst, "sD": self.sd}
        return {"s-NSSAI": inner}


def nssai_of_nas(entries: Any) -> frozenset[SNssai]:
    """Return the slices of an NSSAI IE's tree; empty for any other tree."""
    try:
        return frozenset(SNssai(e["sst"], e.get("sd")) for e in entries or ())
    except (AttributeError, KeyError, TypeError):
        return frozenset()


def nssai_of_ngap(entries: Any) -> frozenset[SNssai]:
    """Return the slices of a list of NGAP items with an S-NSSAI; empty for any other tree."""
    try:
        found = [e["s-NSSAI"] for e in entries or ()]
        return frozenset(SNssai(e["sST"], e.get("sD")) for e in found)
    except (AttributeError, KeyError, TypeError):
        return frozenset()


class Guami(Struct, frozen=True):
    """A globally unique AMF identifier (TS 23.003 2.10.1); the PLMN as ``"001-01"``."""

    plmn: str
    region: int
    set: int
    pointer: int

    def __str__(self) -> str:
        return f"{self.plmn} {self.region}-{self.set}-{self.pointer}"

    @staticmethod
    def of_ngap(tree: Any) -> "Guami | None":
        """Return the GUAMI of its NGAP tree (TS 38.413 9.3.3.3); None for any other tree."""
        try:
            plmn, region = tree["pLMNIdentity"], tree["aMFRegionID"]
            return Guami(plmn, region, tree["aMFSetID"], tree["aMFPointer"])
        except (KeyError, TypeError):
            return None


class Guti(Struct, frozen=True):
    """A 5G-GUTI: a GUAMI and a 5G-TMSI (TS 23.003 2.10.1)."""

    guami: Guami
    tmsi: int

    @staticmethod
    def of_nas(tree: Any) -> "Guti | None":
        """Return the 5G-GUTI of its NAS tree (TS 24.501 9.11.3.4); None for any other identity."""
        try:
            found = tree["guti"]
            plmn, region = found["plmn"], found["amf-region-id"]
            guami = Guami(plmn, region, found["amf-set-id"], found["amf-pointer"])
            return Guti(guami, found["tmsi"])
        except (KeyError, TypeError):
            return None

    @property
    def s_tmsi(self) -> tuple[int, int, int]:
        """AMF set, AMF pointer and 5G-TMSI."""
        return self.guami.set, self.guami.pointer, self.tmsi

    def identity(self) -> bytes:
        """Return the value of a 5GS mobile identity IE with the 5G-GUTI, 11 octets."""
        low = bytes([self.guami.region]) + self._set_pointer_tmsi()
        return b"\xf2" + plmn_octets(self.guami.plmn) + low

    def s_tmsi_identity(self) -> bytes:
        """Return the value of a 5GS mobile identity IE with the 5G-S-TMSI, 7 octets."""
        return b"\xf4" + self._set_pointer_tmsi()

    def _set_pointer_tmsi(self) -> bytes:
        guami = self.guami
        return (guami.set << 6 | guami.pointer).to_bytes(2, "big") + self.tmsi.to_bytes(4, "big")


def plmn_octets(plmn: str) -> bytes:
    """Return the three octets of a PLMN (TS 24.501 9.11.3.4)."""
    mcc, _, mnc = plmn.partition("-")
    third = mnc[2] if len(mnc) == 3 else "f"
    return bytes.fromhex(f"{mcc[1]}{mcc[0]}{third}{mcc[2]}{mnc[1]}{mnc[0]}")


def serving_network_name(plmn: str) -> str:
    """Return the serving network name of AKA, with an MNC of three digits (TS 33.501 6.1.1.4)."""
    mcc, _, mnc = plmn.partition("-")
    return f"5G:mnc{mnc.zfill(3)}.mcc{mcc}.3gppnetwork.org"


def plmns_of(tree: Any) -> tuple[str, ...]:
    """Return the equivalent PLMNs of a REGISTRATION ACCEPT (TS 24.501 9.11.3.45); empty for any
    other tree."""
    try:
        return tuple(str(plmn) for plmn in tree.get("equivalent-plmns", ()))
    except (AttributeError, TypeError):
        return ()


def tais_of(tai_list: Any) -> frozenset[tuple[str, int]]:
    """Return the PLMN and TAC of each TAI of a 5GS TAI list's tree (TS 24.501 9.11.3.9)."""
    found: set[tuple[str, int]] = set()
    try:
        for part in tai_list or ():
            for kind, value in part.items():
                found.update(_tais_of_part(kind, value))
    except (AttributeError, KeyError, TypeError):
        return frozenset()
    return frozenset(found)


def _tais_of_part(kind: str, value: Any) -> set[tuple[str, int]]:
    match kind:
        case "one-plmn-non-consecutive":
            return {(value["plmn"], tac) for tac in value["tacs"]}
        case "one-plmn-consecutive":
            first = value["first-tac"]
            return {(value["plmn"], first + n) for n in range(value["count"])}
        case "different-plmns":
            return {(tai["plmn"], tai["tac"]) for tai in value}
        case _:
            return set()
