"""Caches for NAS messages that are the same for many UEs.

Encoding or decoding a NAS message takes tens of microseconds. The caches hold octets and frozen
values, never a tree, which is mutable. 5GMM messages with a key or an identity must not be cached.
"""

from functools import lru_cache
from typing import Final

from msgspec import msgpack

import wire
from functions.messages.trees import Tree

KEPT: Final = 1024
"""Cache size in messages of each kind; the least recently used are evicted."""
LONGEST: Final = 512
"""Maximum octets of a cached message: a UE could fill the memory with long messages."""
LARGEST: Final = 4096
"""Maximum octets of a tree in a cache key, for the same reason."""


def encode(message: Tree) -> bytes:
    """Return the octets of a message that is the same for many UEs.

    Raises:
        wire.WireError: kind ``nas-encode``.
    """
    packed = _tree.encode(message)
    return _octets(packed) if len(packed) <= LARGEST else wire.nas_encode(message)


def template(message: Tree) -> wire.NasTemplate:
    """Return the template of a message with a few values that differ between UEs.

    Raises:
        wire.WireError: kind ``nas-encode``.
    """
    packed = _tree.encode(message)
    return _template(packed) if len(packed) <= LARGEST else wire.NasTemplate(message)


def read(octets: bytes) -> Tree | None:
    """Return the tree of an uplink message; None if it cannot be decoded, or if clause 7 requires
    an error response."""
    found = _read(octets) if len(octets) <= LONGEST else _read.__wrapped__(octets)
    return _trees.decode(found) if found else None


def decode(octets: bytes) -> Tree:
    """Return the tree of a message that is decoded repeatedly, or that many UEs send.

    Raises:
        wire.WireError: kind ``nas-decode``.
    """
    if len(octets) > LONGEST:
        return wire.nas_decode(octets)
    return _trees.decode(_decoded(octets))


_tree: Final = msgpack.Encoder()
_trees: Final = msgpack.Decoder(Tree)


@lru_cache(maxsize=KEPT)
def _octets(message: bytes) -> bytes:
    return wire.nas_encode(_trees.decode(message))


@lru_cache(maxsize=KEPT)
def _template(message: bytes) -> wire.NasTemplate:
    return wire.NasTemplate(_trees.decode(message))


@lru_cache(maxsize=KEPT)
def _read(octets: bytes) -> bytes:
    found = wire.nas_read(octets)
    return b"" if found.tree is None or found.answer is not None else _tree.encode(found.tree)


@lru_cache(maxsize=KEPT)
def _decoded(octets: bytes) -> bytes:
    return _tree.encode(wire.nas_decode(octets))


def answer(octets: bytes) -> bytes | None:
    """Return the answer to a faulty message by TS 24.501 clause 7; None for no answer.

    No STATUS answers a STATUS: two sides that do this never stop.
    """
    return None if is_status(octets) else wire.nas_answer(octets)


def is_status(octets: bytes) -> bool:
    """Whether a plain message is 5GMM STATUS or 5GSM STATUS (TS 24.501 9.7)."""
    gmm = octets[:1] == b"\x7e"
    return octets[2:3] == b"\x64" if gmm else octets[3:4] == b"\xd6"
