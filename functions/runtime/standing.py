"""What of a step is still to leave when its trigger comes a second time."""

from schemas.step import Output, Page, SendNgap, SendPfcp, Wake
from schemas.ue import Ue
from schemas.upf import Upf


def stands(output: Output, state: object) -> bool:
    """Whether an output is still to leave, now that the aggregate has moved on to `state`.

    What was said to a gNB is not: it has moved on too, and an answer out of its time would only
    confuse it. So it is with a wake-up that another has replaced, and with a request to a UPF
    that has its answer, which would be taken for a new one.
    """
    match output:
        case Wake(at):
            return isinstance(state, Ue | Upf) and state.wake_at == at
        case SendNgap() | Page():
            return False
        case SendPfcp(number=number):
            return number is None or _awaited(number, state)
        case _:
            return True


def _awaited(number: int, state: object) -> bool:
    if isinstance(state, Ue):
        sent = (session.n4.sent for session in state.sessions)
        return any(request is not None and request.number == number for request in sent)
    if isinstance(state, Upf):
        return number == state.asked or any(left.number == number for left in state.leftovers)
    return False
