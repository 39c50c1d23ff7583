"""The USIM and the part of the ME that answers a 5G-AKA challenge."""

from msgspec import Struct

import wire

IND_BITS = 5
DELTA = 1 << 28
"""How far SEQ may jump ahead at once (TS 33.102 C.3.2)."""

MAC_FAILURE = 20
SYNCH_FAILURE = 21
NON_5G_UNACCEPTABLE = 26


class Challenged(Struct, frozen=True):
    """What came of a challenge: keys, or the 5GMM cause of AUTHENTICATION FAILURE."""

    cause: int | None = None
    auts: bytes | None = None
    """14 octets with cause #21."""
    res_star: bytes = b""
    kseaf: bytes = b""


class Usim:
    """K, OPc and the sequence numbers that were accepted (TS 33.102 annex C).

    SQN is SEQ above five bits of IND; the highest SEQ is kept for each IND (C.1.2, C.2.2).
    """

    __slots__ = ("_k", "_opc", "_seq", "_sqn_ms")

    def __init__(self, k: bytes, opc: bytes, sqn: int = 0) -> None:
        """A USIM that has accepted `sqn` last; `k` and `opc` have 16 octets."""
        self._k = k
        self._opc = opc
        self._sqn_ms = sqn
        self._seq: dict[int, int] = {sqn & ((1 << IND_BITS) - 1): sqn >> IND_BITS}

    @property
    def sqn_ms(self) -> int:
        """The highest SQN accepted, which AUTS conceals."""
        return self._sqn_ms

    def challenge(self, rand: bytes, autn: bytes, sn_name: str) -> Challenged:
        """Answer a challenge (TS 33.501 6.1.3.2, TS 33.102 6.3.3).

        The MAC is checked first, then the separation bit, then that SQN is fresh. A fresh SQN
        is taken.
        """
        try:
            answer = wire.usim_answer(self._k, self._opc, rand, autn, sn_name)
        except wire.WireError:
            return Challenged(MAC_FAILURE)
        if not answer.separation_bit:
            return Challenged(NON_5G_UNACCEPTABLE)
        if not self._fresh(answer.sqn):
            return Challenged(SYNCH_FAILURE, wire.auts(self._k, self._opc, rand, self._sqn_ms))
        self._seq[answer.sqn & ((1 << IND_BITS) - 1)] = answer.sqn >> IND_BITS
        self._sqn_ms = max(self._sqn_ms, answer.sqn)
        return Challenged(res_star=answer.res_star, kseaf=answer.kseaf)

    def keys(self, rand: bytes) -> tuple[bytes, bytes, bytes]:
        """RES, CK and IK of a challenge (TS 33.102 6.3.3), for EAP-AKA'."""
        out = wire.milenage(self._k, self._opc, rand, 0, bytes(2))
        return out["f2"], out["f3"], out["f4"]

    def _fresh(self, sqn: int) -> bool:
        seq, ind = sqn >> IND_BITS, sqn & ((1 << IND_BITS) - 1)
        ahead = seq - (self._sqn_ms >> IND_BITS)
        return ahead <= DELTA and seq > self._seq.get(ind, 0)
