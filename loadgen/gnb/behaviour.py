"""Behaviour of gNBs of other makers that a core must bear: switches, off by default."""

from random import Random
from typing import Literal

from msgspec import Struct

import wire


class GnbBehaviour(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The switches of a gNB."""

    ie_order: Literal["standard", "random"] = "standard"
    """``random``: the IEs of each message in a random order, which TS 38.413 10.3.6 does not
    allow."""
    lost_ue: Literal["release-request", "context-failure"] = "release-request"
    """The message for the release of a UE: UE CONTEXT RELEASE REQUEST (8.3.2), or INITIAL CONTEXT
    SETUP FAILURE (8.3.1.3) although the gNB has responded to the request."""
    recommends_cells: bool = False
    """Whether UE CONTEXT RELEASE COMPLETE recommends the cell for the next PAGING, which must have
    it (8.3.3.2, 8.5.1.2)."""


def reordered(pdu: bytes, rng: Random) -> bytes:
    """Return a PDU with its IEs in a random order; the PDU itself if it does not decode."""
    try:
        tree = wire.ngap_decode(pdu)
        rng.shuffle(tree["ies"])
        return wire.ngap_encode(tree)
    except wire.WireError:
        return pdu
