"""The table [[gnb]] of the configuration: settings of single RAN nodes."""

import re
from typing import Annotated, Final

from msgspec import Meta, Struct

from schemas.config.values import ConfigError, Text, check_source
from schemas.network import GnbNode, IeOrder

_PLMN: Final = r"[0-9]{3}-[0-9]{2,3}"
_BITS: Final = {"gnb": range(22, 33), "ngenb": (18, 20, 21)}
"""The lengths of the identities of gNBs and ng-eNBs in bits (TS 38.413 9.3.1.6, 9.3.1.8)."""
_ID: Final = re.compile(rf"{_PLMN}-(gnb|ngenb)-([0-9]{{2}})-(0|[1-9a-f][0-9a-f]*)")


class GnbConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A table [[gnb]]."""

    id: Text
    """The Global RAN Node ID as `evcore log list gnb/` prints it: PLMN, ``gnb`` or ``ngenb``, the
    number of bits, and the identity as hexadecimal digits."""
    ie_order: IeOrder | None = None
    """That of [n2] if it is not set."""
    weight: Annotated[float, Meta(ge=0.01, le=1000)] = 1.0
    """Its share of a congested core, in shares of another RAN node."""
    addresses: Annotated[tuple[str, ...], Meta(max_length=64)] = ()
    """The addresses and networks that it connects from, as ``"10.9.0.7"`` or ``"10.244.0.0/16"``.
    From any other, NG SETUP with its `id` is refused. Any if empty."""


def gnb_node(gnb: GnbConfig) -> GnbNode:
    """Return a RAN node as procedures see it."""
    return GnbNode(gnb.id, gnb.ie_order, gnb.weight)


def check(gnbs: tuple[GnbConfig, ...]) -> None:
    """Check the rules that the types cannot express.

    Raises:
        ConfigError: an `id` is not a Global RAN Node ID, or is configured twice, or an address is
            not valid.
    """
    seen: set[str] = set()
    for gnb in gnbs:
        if not _is_id(gnb.id):
            raise ConfigError(f'gnb.id {gnb.id!r} is not written as "001-01-gnb-24-1f"')
        if gnb.id in seen:
            raise ConfigError(f"gnb {gnb.id} is configured twice")
        seen.add(gnb.id)
        for text in gnb.addresses:
            check_source(f"gnb {gnb.id}: addresses has", text)


def _is_id(text: str) -> bool:
    found = _ID.fullmatch(text)
    if found is None:
        return False
    kind, bits, number = found.groups()
    return int(bits) in _BITS[kind] and int(number, 16) < 1 << int(bits)
