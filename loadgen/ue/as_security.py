"""K_gNB and its key chain at handovers, in a UE and in gNBs (TS 33.501 6.9.2)."""

import wire

CHAIN = 8
"""NCC has three bits (6.9.2.1.1)."""
_ARFCN = 630_000


def physical_cell(gnb_id: int) -> tuple[int, int]:
    """Return PCI and downlink ARFCN of a gNB's one cell, which K_NG-RAN* is bound to (annex
    A.11)."""
    return gnb_id % 1008, _ARFCN


class GnbKeys:
    """A gNB's keys of one UE: K_gNB with its NCC, and the pair {NH, NCC} for the next K_gNB."""

    __slots__ = ("key", "ncc", "next")

    def __init__(self, key: bytes, ncc: int = 0, fresh: tuple[int, bytes] | None = None) -> None:
        self.key = key
        self.ncc = ncc
        self.next = fresh
        """NCC and NH of which no key was derived yet."""

    def handed_over(self, cell: tuple[int, int]) -> "GnbKeys":
        """Return the keys for a target cell: vertical with a fresh NH, else horizontal
        (6.9.2.3.2)."""
        ncc, base = (self.ncc, self.key) if self.next is None else self.next
        return GnbKeys(wire.kng_ran_star(base, *cell), ncc)


class UeKeys:
    """The key chain of a UE: each NH derives from K_AMF and the previous NH (annex A.10)."""

    __slots__ = ("_kamf", "_nh", "_nh_ncc", "given", "key", "ncc")

    def __init__(self, kamf: bytes, key: bytes) -> None:
        """Start from an initial K_gNB, which has NCC 0; the NH derived from it has NCC 1."""
        self._kamf = kamf
        self.key = key
        self.ncc = 0
        self.given = 0
        """The NCC of the last pair that the core gave to a gNB."""
        self._nh = wire.nh(kamf, key)
        self._nh_ncc = 1

    def next_hop(self, ncc: int) -> bytes:
        """Return the NH of an NCC, the current one or one of the next seven."""
        value, at = self._nh, self._nh_ncc
        while at % CHAIN != ncc % CHAIN:
            value, at = wire.nh(self._kamf, value), at + 1
        return value

    def check_pair(self, ncc: int, nh: bytes) -> str | None:
        """Check a pair that the core gives to a gNB. Return the error, as a sentence, or None.

        The NCC must differ from that of the previous pair, and the UE must derive the same NH.
        """
        if ncc == self.given:
            return f"the pair of NCC {ncc} is not fresh: the core gave it before"
        self.given = ncc
        if self.next_hop(ncc) != nh:
            return f"NH of NCC {ncc} differs from the NH that the UE derives"
        return None

    def handed_over(self, ncc: int, cell: tuple[int, int]) -> None:
        """Derive the K_gNB of a target cell: horizontally if the NCC is unchanged (6.9.2.3.4)."""
        if ncc != self.ncc:
            self._nh, self._nh_ncc = self.next_hop(ncc), ncc
            self.ncc = ncc
            self.key = wire.kng_ran_star(self._nh, *cell)
        else:
            self.key = wire.kng_ran_star(self.key, *cell)
