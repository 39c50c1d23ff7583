"""A subscription: the credentials and the access rights of one SUPI (TS 29.503 6.1, TS 29.505)."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from schemas.identity import SNssai

MAX_RATE: Final = 4_000_000_000_000
"""Maximum bit rate in bit/s, that of NGAP (TS 38.413 9.3.1.4)."""

GBR_5QIS: Final = frozenset({*range(1, 5), *range(65, 68), *range(71, 77), *range(82, 91)})
"""The standardized 5QIs of GBR and delay-critical GBR QoS flows (TS 23.501 table 5.7.4-1)."""


class PduSessionType(StrEnum):
    """TS 29.571 5.4.3.3."""

    IPV4 = "IPV4"
    IPV6 = "IPV6"
    IPV4V6 = "IPV4V6"
    UNSTRUCTURED = "UNSTRUCTURED"
    ETHERNET = "ETHERNET"


class AuthMethod(StrEnum):
    """TS 29.503 6.3.6.3.3 (AuthMethod): the values that the core supports."""

    FIVE_G_AKA = "5G_AKA"
    EAP_AKA_PRIME = "EAP_AKA_PRIME"


class Ambr(Struct, frozen=True):
    """An aggregate maximum bit rate, in bit/s."""

    uplink: int
    downlink: int


class Dnn(Struct, frozen=True):
    """The permissions of a subscriber in one data network of one slice."""

    name: str
    session_types: tuple[PduSessionType, ...] = (PduSessionType.IPV4,)
    ambr: Ambr = Ambr(1_000_000_000, 1_000_000_000)
    five_qi: int = 9
    """The 5QI of the default QoS flow, which is a non-GBR flow (TS 23.501 5.7.2.7)."""
    arp_priority: int = 8
    arp_preemption_capability: bool = False
    arp_preemption_vulnerability: bool = False


class SubscribedSlice(Struct, frozen=True):
    """A slice of the subscription; `default` as in TS 23.501 5.15.3."""

    nssai: SNssai
    default: bool = False
    dnns: tuple[Dnn, ...] = ()


class Subscriber(Struct, frozen=True):
    """One subscriber. `k` and `opc` are secret and encrypted at rest; `sqn` is the initial SQN."""

    supi: str
    k: bytes
    opc: bytes
    slices: tuple[SubscribedSlice, ...]
    amf: bytes = b"\x80\x00"
    """The authentication management field with its separation bit set (TS 33.501 6.1.3.2)."""
    sqn: int = 0
    ambr: Ambr = Ambr(1_000_000_000, 1_000_000_000)
    barred: bool = False
    """Operator determined barring of all packet services: 5GMM cause #7."""
    forbidden_tacs: tuple[int, ...] = ()
    """Tracking areas that the subscription excludes: 5GMM cause #12."""
    nr_allowed: bool = True
    """Whether the core network type restriction permits 5GC. If not: 5GMM cause #27."""
    auth_method: AuthMethod = AuthMethod.FIVE_G_AKA
    rfsp: int = 0
    """The index to RAT/frequency selection priority, 1 to 256 (TS 23.501 5.3.4.3); 0 for none."""
