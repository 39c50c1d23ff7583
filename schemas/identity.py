"""Identities, and the keys derived from them that route a message to its aggregate (TS 23.003).

A slot is ``crc32(SUPI) mod 1024``. The AMF-UE-NGAP-ID contains it, and the 5G-TMSI contains it
encrypted, so a gateway routes a message without a lookup.
"""

from typing import Annotated, Any, TypeAlias
from zlib import crc32

from msgspec import Meta, Struct

SLOTS = 1024
PARTITIONS = 8
"""The default number of partitions: docs/decisions/0013."""
NGAP_ID_RANDOM_BITS = 30
TMSI_RANDOM_BITS = 22
SEID_RANDOM_BITS = 54

Secret: TypeAlias = Annotated[bytes, Meta(extra={"secret": True})]
"""Octets that are never printed (`schemas.redact`)."""

Plmn: TypeAlias = str
"""A PLMN as ``"001-01"``: MCC, a hyphen, and MNC of two or three digits."""


NO_SD = "ffffff"
"""The SD value that stands for no SD (TS 23.003 28.4.2)."""


class SNssai(Struct, frozen=True, omit_defaults=True, order=True):
    """A single network slice (TS 23.003 28.4.2): SST 0..255, SD as six hexadecimal digits.

    Readers of messages and files call `s_nssai_of`, so that equal slices have equal values.
    """

    sst: int
    sd: str | None = None

    def __str__(self) -> str:
        return f"{self.sst}" if self.sd is None else f"{self.sst}-{self.sd}"


def s_nssai_of(sst: int, sd: str | None = None) -> SNssai:
    """Return the S-NSSAI of an SST and an SD in any case. The SD FFFFFF is no SD."""
    sd = sd.lower() if sd else None
    return SNssai(sst, None if sd == NO_SD else sd)


class Tai(Struct, frozen=True, order=True):
    """A tracking area identity (TS 23.003 28.6); the TAC is a 24-bit number."""

    plmn: Plmn
    tac: int


class Guami(Struct, frozen=True):
    """A globally unique AMF identifier (TS 23.003 2.10.1)."""

    plmn: Plmn
    region: int
    set: int
    pointer: int


class Guti(Struct, frozen=True):
    """A 5G-GUTI (TS 23.003 2.10.1): a GUAMI and a 5G-TMSI."""

    guami: Guami
    tmsi: int


def slot_of(key: str) -> int:
    """Return the slot, 0..1023, of a SUPI or another key of an aggregate."""
    return crc32(key.encode()) % SLOTS


def partition_of(slot: int, partitions: int) -> int:
    """Return the partition of a slot. Slots are distributed evenly over `partitions`."""
    return slot % partitions


def make_amf_ue_ngap_id(slot: int, random: int) -> int:
    """Return an AMF-UE-NGAP-ID (40 bits): the slot above 30 random bits."""
    return slot << NGAP_ID_RANDOM_BITS | random & ((1 << NGAP_ID_RANDOM_BITS) - 1)


def slot_of_amf_ue_ngap_id(amf_ue_ngap_id: int) -> int:
    """Return the slot of an AMF-UE-NGAP-ID of this core."""
    return amf_ue_ngap_id >> NGAP_ID_RANDOM_BITS & (SLOTS - 1)


def make_tmsi_plaintext(slot: int, random: int) -> int:
    """Return the plaintext of a 5G-TMSI (32 bits): the slot above 22 random bits."""
    return slot << TMSI_RANDOM_BITS | random & ((1 << TMSI_RANDOM_BITS) - 1)


def slot_of_tmsi_plaintext(plaintext: int) -> int:
    """Return the slot in a decrypted 5G-TMSI."""
    return plaintext >> TMSI_RANDOM_BITS & (SLOTS - 1)


def make_seid(slot: int, random: int) -> int:
    """Return the SEID of a CP F-SEID (64 bits, TS 29.244 8.2.37): the slot above 54 random bits."""
    return slot << SEID_RANDOM_BITS | random & ((1 << SEID_RANDOM_BITS) - 1)


def slot_of_seid(seid: int) -> int:
    """Return the slot of a SEID of this core."""
    return seid >> SEID_RANDOM_BITS & (SLOTS - 1)


def serving_network_name(plmn: Plmn) -> str:
    """Return the serving network name of AKA (TS 33.501 6.1.1.4), with an MNC of three digits."""
    mcc, _, mnc = plmn.partition("-")
    return f"5G:mnc{mnc.zfill(3)}.mcc{mcc}.3gppnetwork.org"


def supi_of_imsi(imsi: str) -> str:
    """Return the SUPI of an IMSI (TS 29.571 5.3.2)."""
    return f"imsi-{imsi}"


def index_ngap(amf_ue_ngap_id: int) -> str:
    """Return the partition key and index key of a UE's N2 connection."""
    return f"ngap-{amf_ue_ngap_id:010x}"


def index_tmsi(tmsi: int) -> str:
    """Return the partition key and index key of a 5G-TMSI of this core."""
    return f"tmsi-{tmsi:08x}"


def index_seid(seid: int) -> str:
    """Return the partition key and index key of a PFCP session, by the core's SEID."""
    return f"seid-{seid:016x}"


def seid_of_index(key: str) -> int:
    """Return the SEID of an `index_seid`. Return 0, which no session has, for another key."""
    kind, _, digits = key.partition("-")
    try:
        return int(digits, 16) if kind == "seid" else 0
    except ValueError:
        return 0


Lead: TypeAlias = tuple[Any, ...]
"""The parts of an index entry: its kind, the function that formats its key, and that function's
arguments. Comparing leads is cheaper than formatting keys, and most steps change no lead. Different
leads of one state have different entries."""


def entry_of(lead: Lead) -> tuple[str, str]:
    """Return the index entry of a lead: its kind and its key."""
    kind, key, *values = lead
    return kind, key(*values)
