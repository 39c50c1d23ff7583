"""A cache of templates for NGAP messages that differ in a few values between UEs."""

from functools import lru_cache
from typing import Final

from msgspec import msgpack

import wire
from functions.messages.trees import Tree

KEPT: Final = 4096
"""Cache size in templates, of about 1.5 KiB each; the least recently used are evicted.

INITIAL CONTEXT SETUP REQUEST has 1,024 templates for the same slices, AMBR and registration area:
one for each UE identity index. A cached one costs a tenth of an encoding of the tree, and a new one
a fifth more than that."""

EXAMPLE: Final = "00"
"""Placeholder octets of an IE in the tree of a template."""
EXAMPLE_KEY: Final = "00" * 32
EXAMPLE_IMEISV: Final = "00" * 8


def template(message: str, ies: list[Tree]) -> wire.NgapTemplate:
    """Return the template of a message with these IEs, in the order of the specification.

    Raises:
        wire.WireError: kind ``ngap-encode``.
    """
    return _template(_tree.encode({"message": message, "ies": ies}))


def of_ue(message: str, ies: list[Tree]) -> wire.NgapTemplate:
    """Return the template of a message that starts with the two ids of a UE, followed by these
    IEs."""
    return template(message, [*_IDS, *ies])


_IDS: Final[list[Tree]] = [{"AMF-UE-NGAP-ID": 0}, {"RAN-UE-NGAP-ID": 0}]

_tree: Final = msgpack.Encoder()
_trees: Final = msgpack.Decoder(Tree)


@lru_cache(maxsize=KEPT)
def _template(tree: bytes) -> wire.NgapTemplate:
    return wire.NgapTemplate(_trees.decode(tree))
