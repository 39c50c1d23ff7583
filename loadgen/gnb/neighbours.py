"""The cells of a run, and the handovers between them: the Xn network of the gNBs."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from loadgen.gnb.context import PreparedHandover

if TYPE_CHECKING:  # a cell has its neighbours
    from loadgen.gnb.cell import Cell

_REMEMBERED = 4096


class Neighbours:
    """The cells that a UE can be handed over to, and the handovers that are prepared."""

    def __init__(self, rng: Random | None = None) -> None:
        """Start without cells; `rng` chooses among them."""
        self.cells: list[Cell] = []
        self.preparing: dict[bytes, PreparedHandover] = {}
        """N2 handovers by the transparent container of their source."""
        self.cancelled: dict[bytes, bool] = {}
        """Containers of cancelled handovers, because a HANDOVER REQUEST may still arrive.
        The value says whether faults were injected into the signalling of the UE."""
        self.rng = rng or Random(0)
        self.on_activity: Callable[[Cell], None] = _ignore
        """Called with a cell that has something to send or report because of another cell."""

    def join(self, cell: "Cell") -> None:
        """Add a cell."""
        self.cells.append(cell)

    def handover_ended(self, container: bytes, *, cancelled: bool, met_fault: bool) -> None:
        """Remove a handover, and remember its container if the source cancelled it."""
        self.preparing.pop(container, None)
        if cancelled:
            self.cancelled[container] = met_fault
            if len(self.cancelled) > _REMEMBERED:
                del self.cancelled[next(iter(self.cancelled))]

    def choose(self, source: "Cell", areas: frozenset[tuple[str, int]] | None) -> "Cell | None":
        """Return a random cell with an AMF, other than `source`; None if there is none.

        Args:
            source: the cell to leave.
            areas: the registration area; a cell outside it is preferred. None for any cell.
        """
        others = [one for one in self.cells if one is not source and one.admission.interface_up]
        if areas is not None:
            others = [one for one in others if not one.tais <= areas] or others
        return self.rng.choice(others) if others else None


def _ignore(cell: "Cell") -> None:
    del cell
