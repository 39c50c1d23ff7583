"""The outputs of a step that are still due, given the steps after it (docs/decisions/0023).

A copy of the step's trigger sends them again, and so does a worker that continues the log of
another (`functions.runtime.unsent`). A gateway drops what it has sent before, by the event's id.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from functions.runtime import due_ngap
from schemas.gmm.events import PagingEnded
from schemas.ran import Gnb
from schemas.step import Output, Page, SendNgap, SendPfcp, Step, Wake
from schemas.ue.state import Ue
from schemas.upf import Upf


def due(step: Step[Any], later: Sequence[Step[Any]], state: object) -> Step[Any]:
    """Return a step with the outputs that are still due.

    `later` are all steps of the aggregate after `step`, in order, and `state` is the state after
    the last of them. The other outputs are replaced by None: the positions, which are part of the
    event ids, remain.
    """
    nothing: Any = None
    kept = tuple(
        output if is_due(output, step, later, state) else nothing for output in step.outputs
    )
    return replace(step, outputs=kept)


def is_due(output: Output, step: Step[Any], later: Sequence[Step[Any]], state: object) -> bool:
    """Whether an output of a step must be sent, if it was not.

    NGAP and PAGING: until a later step shows that the message came, or has made it wrong. A
    wake-up: while it is the pending one. A request to a UPF: while the UPF has not answered,
    because it would process a late one as a new one. Events for other aggregates, always: their
    receivers drop copies by id.
    """
    match output:
        case SendNgap():
            return not isinstance(state, Ue | Gnb) or due_ngap.is_due(output, step, later, state)
        case Page():
            return isinstance(state, Ue) and _is_paged(later, state)
        case SendPfcp(number=number):
            return number is None or _is_awaited(number, state)
        case Wake(at):
            return isinstance(state, Ue | Upf | Gnb) and state.wake_at == at
        case _:
            return True


def _is_paged(later: Sequence[Step[Any]], ue: Ue) -> bool:
    """Whether the paging goes on, and no later step has sent PAGING again."""
    if ue.paging is None or ue.paging.failed:
        return False
    return not any(
        any(isinstance(output, Page) for output in step.outputs)
        or any(isinstance(event, PagingEnded) for event in step.events)
        for step in later
    )


def _is_awaited(number: int, state: object) -> bool:
    if isinstance(state, Ue):
        sent = (session.n4.sent for session in state.sessions)
        return any(request is not None and request.number == number for request in sent)
    if isinstance(state, Upf):
        return number == state.asked or any(left.number == number for left in state.leftovers)
    return False
