"""The gNBs of a run to each other: Xn without a network, and what they look each other up by."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadgen.cell import Cell
    from loadgen.handovers import Handover

_REMEMBERED = 4096


class Neighbours:
    """The cells of a run."""

    def __init__(self, rng: Random | None = None) -> None:
        """No cells; `rng` chooses among them."""
        self.cells: list[Cell] = []
        self.preparing: dict[bytes, Handover] = {}
        """N2 handovers by the transparent container of their source."""
        self.cancelled: dict[bytes, bool] = {}
        """The containers of handovers that were cancelled, for a request may come after that;
        and whether faults were injected into the signalling of their UEs."""
        self.rng = rng or Random(0)  # noqa: S311
        self.stirred: Callable[[Cell], None] = _nobody
        """Told of a cell that has something to send, or to report, by the doing of another."""

    def join(self, cell: "Cell") -> None:
        """A cell of the run."""
        self.cells.append(cell)

    def over(self, container: bytes, *, cancelled: bool, disturbed: bool) -> None:
        """An N2 handover is over, maybe because its source has cancelled it."""
        self.preparing.pop(container, None)
        if cancelled:
            self.cancelled[container] = disturbed
            if len(self.cancelled) > _REMEMBERED:
                del self.cancelled[next(iter(self.cancelled))]

    def choose(self, source: "Cell", areas: frozenset[tuple[str, int]] | None) -> "Cell | None":
        """Another cell with an AMF, by chance; None where there is none.

        Args:
            source: the one to leave.
            areas: the registration area, to leave it where that is possible; None for anywhere.
        """
        others = [one for one in self.cells if one is not source and one.admission.interface_up]
        if areas is not None:
            others = [one for one in others if one.tai not in areas] or others
        return self.rng.choice(others) if others else None


def _nobody(cell: "Cell") -> None:
    del cell
