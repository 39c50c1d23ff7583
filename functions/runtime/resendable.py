"""Which outputs of a step are sent again when its trigger comes a second time."""

from typing import Any

from msgspec.structs import replace

from schemas.connection.events import ConnectionReleasing
from schemas.ran import Gnb
from schemas.step import Output, Page, SendNgap, SendPfcp, Step, Wake
from schemas.ue.state import Ue, connections
from schemas.upf import Upf


def resendable(step: Step[Any], state: object) -> Step[Any]:
    """A step with what is still to leave, now that the aggregate has moved on to `state`.

    The places of the rest stay, with nothing in them: what is sent has its place in its id.
    """
    nothing: Any = None
    last = is_last_word(step, state)
    kept = tuple(
        output
        if is_resendable(output, state) or (last and isinstance(output, SendNgap))
        else nothing
        for output in step.outputs
    )
    return replace(step, outputs=kept)


def is_resendable(output: Output, state: object) -> bool:
    """Whether an output is still to leave, now that the aggregate has moved on to `state`.

    What was said to a gNB is not: it has moved on too, and an answer out of its time would only
    confuse it. So it is with a wake-up that another has replaced, and with a request to a UPF
    that has its answer, which would be taken for a new one.
    """
    match output:
        case Wake(at):
            return isinstance(state, Ue | Upf | Gnb) and state.wake_at == at
        case SendNgap() | Page():
            return False
        case SendPfcp(number=number):
            return number is None or _awaited(number, state)
        case _:
            return True


def is_last_word(step: Step[Any], state: object) -> bool:
    """Whether a step has begun the release of a connection that is not over.

    What it told the gNB is the last that there is to say then, as a DEREGISTRATION ACCEPT that
    nothing repeats. The gateway does not send it twice.
    """
    released = {e.amf_ue_ngap_id for e in step.events if isinstance(e, ConnectionReleasing)}
    return isinstance(state, Ue) and any(
        here.releasing and here.amf_ue_ngap_id in released for here in connections(state)
    )


def _awaited(number: int, state: object) -> bool:
    if isinstance(state, Ue):
        sent = (session.n4.sent for session in state.sessions)
        return any(request is not None and request.number == number for request in sent)
    if isinstance(state, Upf):
        return number == state.asked or any(left.number == number for left in state.leftovers)
    return False
