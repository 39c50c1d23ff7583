"""The UE-associated logical NG-connections of a gNB, by the IDs of either side (TS 38.413 3.1)."""

from typing import TYPE_CHECKING

from loadgen.ue_context import Camped, UeContext

if TYPE_CHECKING:
    from loadgen.cell import Cell

_REMEMBERED = 20_000


class Contexts:
    """The contexts of one gNB."""

    __slots__ = ("_by_amf", "_cell", "_disturbed", "_last", "by_ran", "streams")

    def __init__(self, cell: "Cell") -> None:
        """Of a cell without UEs."""
        self._cell = cell
        self._last = 0
        self._disturbed: dict[tuple[str, int], None] = {}
        """The IDs of contexts that are gone, and whose signalling met with faults."""
        self._by_amf: dict[int, UeContext] = {}
        self.by_ran: dict[int, UeContext] = {}
        self.streams = 1
        """The outbound streams of the association."""

    def open(self, camped: Camped | None) -> UeContext:
        """A new context, with a RAN UE NGAP ID and a stream of its own; None for no UE yet."""
        self._last += 1
        stream = 0 if self.streams < 2 else 1 + self._last % (self.streams - 1)
        context = UeContext(self._cell, self._last, stream, camped)
        self.by_ran[self._last] = context
        if camped is not None:
            context.disturbed = camped.ue.disturbance.active(camped.ue.now)
        return context

    def disturbed(self, amf: int | None, ran: int | None) -> bool:
        """Whether faults were injected into the signalling of a context that is gone."""
        return ("amf", amf) in self._disturbed or ("ran", ran) in self._disturbed

    def named(self, amf: int | None, ran: int | None) -> UeContext | None:
        """The context of some IDs: that of the gNB's own ID, where there is one."""
        if ran is not None:
            return self.by_ran.get(ran)
        return None if amf is None else self._by_amf.get(amf)

    def name(self, context: UeContext, amf: int) -> bool:
        """Take the AMF's ID of a context; whether no other one has it."""
        free = self._by_amf.get(amf, context) is context
        self._unname(context)
        context.amf_ue_ngap_id = amf
        self._by_amf[amf] = context
        return free

    def close(self, context: UeContext) -> None:
        """A context is no more."""
        self.by_ran.pop(context.ran_ue_ngap_id, None)
        if context.disturbed:
            self._disturb("ran", context.ran_ue_ngap_id)
            if context.amf_ue_ngap_id is not None:
                self._disturb("amf", context.amf_ue_ngap_id)
        self._unname(context)

    def refused(self, amf: int, *, disturbed: bool) -> None:
        """A HANDOVER REQUEST with this ID has come to nothing; maybe it comes twice by a fault."""
        if disturbed:
            self._disturb("amf", amf)

    def _disturb(self, side: str, number: int) -> None:
        self._disturbed[side, number] = None
        while len(self._disturbed) > _REMEMBERED:
            del self._disturbed[next(iter(self._disturbed))]

    def _unname(self, context: UeContext) -> None:
        amf = context.amf_ue_ngap_id
        if amf is not None and self._by_amf.get(amf) is context:
            del self._by_amf[amf]
