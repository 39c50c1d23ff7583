"""PAGING as a gNB reads it (TS 38.413 8.5.1, 9.2.4.1)."""

from typing import NamedTuple

from loadgen.trees import Tree, items, number, part


class Paging(NamedTuple):
    """Whom the AMF pages, and where."""

    s_tmsi: tuple[int, int, int] | None
    """AMF set, AMF pointer and 5G-TMSI; None for another identity."""
    areas: frozenset[tuple[str, int]]
    """PLMN and TAC of each TAI."""


def read_paging(ies: Tree) -> Paging:
    """Read the IEs of a PAGING."""
    identity = part(part(ies, "UEPagingIdentity"), "fiveG-S-TMSI")
    found = tuple(number(identity, name) for name in ("aMFSetID", "aMFPointer", "fiveG-TMSI"))
    tais = [part(item, "tAI") for item in items(ies, "TAIListForPaging")]
    areas = [(str(tai.get("pLMNIdentity")), number(tai, "tAC")) for tai in tais]
    one, two, three = found
    s_tmsi = None if one is None or two is None or three is None else (one, two, three)
    return Paging(s_tmsi, frozenset((plmn, tac) for plmn, tac in areas if tac is not None))
