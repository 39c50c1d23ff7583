"""What a RAN node says of itself and wants no answer to (TS 38.413 8.9, 8.10)."""

import wire
from functions.ran_draft import GnbDraft
from functions.trees import Tree, subtree


def noted(d: GnbDraft, peek: wire.NgapPeek, _: Tree) -> None:
    """A message that changes nothing."""
    d.note(f"{peek.message} changes nothing")


def nrppa(d: GnbDraft, _: wire.NgapPeek, ies: Tree) -> None:
    """UPLINK NON UE ASSOCIATED NRPPA TRANSPORT: there is no LMF, so that every Routing ID is
    unknown, and the message is ignored (8.10.4)."""
    d.note(f"NRPPa for the unknown Routing ID {ies['RoutingID']}")


def pws(d: GnbDraft, peek: wire.NgapPeek, ies: Tree) -> None:
    """PWS RESTART INDICATION and PWS FAILURE INDICATION (8.9.3, 8.9.4): there is no CBC that they
    could be told to (TS 23.041 9.1.3.5)."""
    names = ("CellIDListForRestart", "PWSFailedCellIDList")
    count = sum(len(cells) for name in names for cells in subtree(ies, name).values())
    d.note(f"{peek.message} for {count} cell(s), and no CBC to tell")
