"""Adds optional IEs to the NAS messages of a UE (TS 24.501 clause 8)."""

from random import Random
from typing import Final

import wire
from loadgen.foreign.nas_table import TABLES, Ie
from loadgen.foreign.nas_values import unknown_ies
from loadgen.trees import Tree

_GSM: Final = 0x2E
_UL_NAS_TRANSPORT: Final = 0x67
_N1_SM: Final = 1
_UNKNOWN: Final = 1 / 4
"""The share of the messages with IEs of a later release."""


class OwnNas:
    """The NAS messages as loadgen builds them."""

    def message(self, plain: bytes) -> bytes:
        """Return a message as it is sent, before its protection."""
        return plain

    def request(self, entire: bytes, cleartext: bytes) -> tuple[bytes, bytes]:
        """Return a REGISTRATION REQUEST, entire and with only its cleartext IEs (4.4.6)."""
        return entire, cleartext


class ForeignNas(OwnNas):
    """The NAS messages of a UE of another maker. The draws depend only on the seed."""

    def __init__(self, seed: str) -> None:
        self._rng = Random(seed)

    def message(self, plain: bytes) -> bytes:
        """Return a message with more optional IEs."""
        return self._enriched(plain, cleartext=None)[0]

    def request(self, entire: bytes, cleartext: bytes) -> tuple[bytes, bytes]:
        """Return a REGISTRATION REQUEST with the same drawn IEs in both forms."""
        return self._enriched(entire, cleartext)

    def _enriched(self, plain: bytes, cleartext: bytes | None) -> tuple[bytes, bytes]:
        """Return a message, and its cleartext IEs, with the same drawn IEs."""
        kind = plain[3] if plain[0] == _GSM else plain[2]
        table = TABLES.get(kind)
        if table is None:
            return plain, cleartext or b""
        try:
            tree = wire.nas_decode(plain)
        except wire.WireError:
            return plain, cleartext or b""  # a message that is wrong on purpose
        drawn = self._draw(table, tree)
        if kind == _UL_NAS_TRANSPORT and plain[3] & 0x0F == _N1_SM:
            size = int.from_bytes(plain[4:6], "big")
            tree["payload-container"] = {"octets": self.message(plain[6 : 6 + size]).hex()}
        if self._rng.random() < _UNKNOWN:
            tree["unknown-ies"] = tree.get("unknown-ies", "") + unknown_ies(self._rng)
        entire = wire.nas_encode(tree)
        if cleartext is None:
            return entire, b""
        clear = {ie.name: tree[ie.name] for ie in drawn if ie.cleartext}
        return entire, wire.nas_encode({**wire.nas_decode(cleartext), **clear})

    def _draw(self, table: tuple[Ie, ...], tree: Tree) -> list[Ie]:
        """Add drawn IEs to a tree, in the order of the table. Return them."""
        drawn: list[Ie] = []
        for ie in table:
            if ie.value is None or (ie.name in tree and not ie.extends):
                continue
            if (ie.when is None or ie.when(tree)) and self._rng.random() < ie.share:
                tree[ie.name] = ie.value(self._rng, tree)
                drawn.append(ie)
        return drawn
