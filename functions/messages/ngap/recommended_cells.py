"""The cells that a gNB recommends for the next paging of a UE (TS 38.413 9.3.1.100, 9.3.1.69)."""

from typing import Final

from msgspec import json

from functions.messages.trees import Tree, subtree

_CELLS: Final = "recommendedCellsForPaging"


def read(ies: Tree) -> bytes:
    """Return the Recommended Cells for Paging of a UE CONTEXT RELEASE COMPLETE as JSON; empty for
    none."""
    found = subtree(subtree(ies, "InfoOnRecommendedCellsAndRANNodesForPaging"), _CELLS)
    return json.encode(found) if found else b""


def assistance(cells: bytes, attempt: int, attempts: int) -> list[Tree]:
    """Return the Assistance Data for Paging IE of a PAGING; no IE without recommended cells.

    Args:
        cells: the result of `read`.
        attempt: the number of this attempt, from 1.
        attempts: the number of all attempts.
    """
    if not cells:
        return []
    data: Tree = {
        "assistanceDataForRecommendedCells": {_CELLS: json.decode(cells)},
        "pagingAttemptInformation": {
            "pagingAttemptCount": attempt,
            "intendedNumberOfPagingAttempts": attempts,
        },
    }
    return [{"AssistanceDataForPaging": data}]
