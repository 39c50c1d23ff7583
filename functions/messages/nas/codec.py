"""NAS messages by their trees, where many UEs send or get the same: what was worked out is kept.

Writing a NAS message from its tree takes tens of microseconds, reading one nearly as many. What is
kept is octets or frozen, never a tree, which somebody could change. 5GMM messages with a key or an
identity in them are none to keep.
"""

from functools import lru_cache
from typing import Final

from msgspec import msgpack

import wire
from functions.messages.trees import Tree

KEPT: Final = 1024
"""Messages of each kind, of which those used least recently go."""
LONGEST: Final = 512
"""Octets of a message that is kept: a UE could fill the memory with long ones."""
LARGEST: Final = 4096
"""Octets of a tree that is kept with what was made of it, for the same reason."""


def encode(message: Tree) -> bytes:
    """The octets of a message that is the same for many UEs.

    Raises:
        wire.WireError: kind ``nas-encode``.
    """
    packed = _tree.encode(message)
    return _octets(packed) if len(packed) <= LARGEST else wire.nas_encode(message)


def template(message: Tree) -> wire.NasTemplate:
    """The template of a message that differs from UE to UE in what a template replaces.

    Raises:
        wire.WireError: kind ``nas-encode``.
    """
    packed = _tree.encode(message)
    return _template(packed) if len(packed) <= LARGEST else wire.NasTemplate(message)


def read(octets: bytes) -> Tree | None:
    """The tree of an uplink message; None for one that clause 7 has another answer to than its
    procedure's, and for one that cannot be read."""
    found = _read(octets) if len(octets) <= LONGEST else _read.__wrapped__(octets)
    return _trees.decode(found) if found else None


def decode(octets: bytes) -> Tree:
    """The tree of a message that is read more than once, or that comes from many UEs.

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
