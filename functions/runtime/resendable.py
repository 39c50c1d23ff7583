"""The resendable outputs of a step: those that are sent again when its trigger is redelivered."""

from typing import Any

from msgspec.structs import replace

from schemas.connection.events import ConnectionReleasing
from schemas.ran import Gnb
from schemas.step import Output, Page, SendNgap, SendPfcp, Step, Wake
from schemas.ue.state import Ue, connections
from schemas.upf import Upf


def resendable(step: Step[Any], state: object) -> Step[Any]:
    """Return a step with its resendable outputs only, given the current state of the aggregate.

    Other outputs are replaced by None, so that the positions, which are part of the event ids,
    remain.
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
    """Whether an output must be sent again, given the current state of the aggregate.

    A message to a gNB must not: the gNB has moved on, and a late message would confuse it. Nor must
    a replaced wake-up, or a request to a UPF that has responded: the UPF would process it as a new
    one.
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
    """Whether a step started the release of a connection that is not released yet.

    Its messages to the gNB are the last ones, such as a DEREGISTRATION ACCEPT, which is not
    repeated. The gateway does not send the same message twice.
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
