"""K_gNB and what follows it at handovers, as a UE and as gNBs have it (TS 33.501 6.9.2)."""

import wire

CHAIN = 8
"""NCC has three bits (6.9.2.1.1)."""
_ARFCN = 630_000


def physical_cell(gnb_id: int) -> tuple[int, int]:
    """PCI and downlink ARFCN of a gNB's one cell, which K_NG-RAN* is bound to (annex A.11)."""
    return gnb_id % 1008, _ARFCN


class GnbKeys:
    """What a gNB has of one UE: K_gNB with its NCC, and the pair {NH, NCC} for the next one."""

    __slots__ = ("key", "ncc", "next")

    def __init__(self, key: bytes, ncc: int = 0, fresh: tuple[int, bytes] | None = None) -> None:
        self.key = key
        self.ncc = ncc
        self.next = fresh
        """NCC and NH that no key was derived from yet."""

    def handed_over(self, cell: tuple[int, int]) -> "GnbKeys":
        """The keys for a target cell: vertical with a fresh NH, else horizontal (6.9.2.3.2)."""
        ncc, base = (self.ncc, self.key) if self.next is None else self.next
        return GnbKeys(wire.kng_ran_star(base, *cell), ncc)


class UeKeys:
    """The chain of a UE: it derives each NH from K_AMF and the one before (annex A.10)."""

    __slots__ = ("_kamf", "_nh", "_nh_ncc", "key", "ncc", "told")

    def __init__(self, kamf: bytes, key: bytes) -> None:
        """Of an initial K_gNB, whose NCC is 0; the NH derived from it has NCC 1."""
        self._kamf = kamf
        self.key = key
        self.ncc = 0
        self.told = 0
        """The NCC of the last pair that the core gave a gNB."""
        self._nh = wire.nh(kamf, key)
        self._nh_ncc = 1

    def next_hop(self, ncc: int) -> bytes:
        """NH of an NCC, that of now or of the next seven."""
        value, at = self._nh, self._nh_ncc
        while at % CHAIN != ncc % CHAIN:
            value, at = wire.nh(self._kamf, value), at + 1
        return value

    def check_pair(self, ncc: int, nh: bytes) -> str | None:
        """What is wrong with a pair that the core gives a gNB, in a sentence; None for nothing.

        The NCC must be another than that of the pair before, and NH be what the UE derives.
        """
        if ncc == self.told:
            return f"the pair of NCC {ncc} is no fresh one: it was given before"
        self.told = ncc
        if self.next_hop(ncc) != nh:
            return f"NH of NCC {ncc} is not what the UE derives"
        return None

    def handed_over(self, ncc: int, cell: tuple[int, int]) -> None:
        """Derive the K_gNB of a target cell: horizontally with the same NCC (6.9.2.3.4)."""
        if ncc != self.ncc:
            self._nh, self._nh_ncc = self.next_hop(ncc), ncc
            self.ncc = ncc
            self.key = wire.kng_ran_star(self._nh, *cell)
        else:
            self.key = wire.kng_ran_star(self.key, *cell)
