"""Whether an NGAP message of the core is still due, given the steps after its step.

The state after those steps says whether a procedure still waits for the message. Where the state
has no such field, the later messages say it: a response of the gNB, a new request of it, or the
same message sent again. A later step that is about something else says nothing: a wake-up, a
response of a UPF, an event of the operator, or a message that was sent before this one came.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import wire
from functions.messages import ngap
from functions.messages.trees import Tree
from functions.mobility.end import NAS_TIMERS, SESSION_TIMERS
from schemas.cloudevents import EventType
from schemas.connection.events import ConnectionAbandoned, ConnectionReleased, ConnectionReleasing
from schemas.connection.state import Asked, Connection
from schemas.gmm.events import SecurityModeCompleted
from schemas.mobility.events import HandoverCompleted, PathSwitched, PathSwitchFailed
from schemas.ran import AssociationEnded, Gnb, NgSetUp
from schemas.step import SendNgap, Step
from schemas.ue.events import TimerStarted, TimerStopped
from schemas.ue.state import Ue, connections

Steps = Sequence[Step[Any]]

_peek = lru_cache(256)(wire.ngap_peek)
"""The steps of one aggregate are compared with each other, so each message is read many times."""

_NAS: Final = "DownlinkNASTransport"
_RELEASE: Final = "UEContextReleaseCommand"
_INITIATING: Final = "InitiatingMessage"


def is_due(output: SendNgap, step: Step[Any], later: Steps, state: Ue | Gnb) -> bool:
    """Whether a message of `step` must be sent, if it was not.

    `state` is the state of the aggregate after `later`, the steps after `step`.
    """
    sent = _peek(output.pdu)
    if isinstance(state, Gnb):
        return _is_due_of_node(output, sent, later)
    if sent.message == "ErrorIndication":
        return True  # it answers one message, and is as right as before
    if _is_asked_again(output, sent, later):
        return False
    if sent.message == "PathSwitchRequestFailure":
        return True  # the connection is at another gNB, or nowhere
    return _is_due_on_connection(output, sent, step, later, state)


def _is_due_on_connection(
    output: SendNgap, sent: wire.NgapPeek, step: Step[Any], later: Steps, ue: Ue
) -> bool:
    if _is_gone_by(step, sent):
        return True
    here = _connection(output, sent, step, ue)
    if here is None or (_is_left(here, later) and not _ends(here, sent, step)):
        return False
    if sent.message == _NAS:
        return _is_due_of_nas(sent, step, later)
    kind = _ASKED.get(sent.message)
    if kind is not None and not _happened(PathSwitchFailed, [step]):
        # The gNB has at most one request of a kind, and the next one waits for its answer.
        return here.asked.get(kind) == step.at and not (
            _is_released(here, later) or _is_answered(output, sent, later)
        )
    waits = _WAITS.get(sent.message)
    over = waits is not None and not waits(ue, here)
    if over or (sent.message != _RELEASE and _is_released(here, later)):
        return False
    return not _is_sent_again(sent, later)


def _ends(here: Connection, sent: wire.NgapPeek, step: Step[Any]) -> bool:
    """Whether a message is among the last on a connection: the step has begun its release."""
    return sent.message == _RELEASE or _is_released(here, [step])


def _is_left(here: Connection, later: Steps) -> bool:
    """Whether the UE has gone on to another connection since."""
    for step in later:
        for event in step.events:
            if isinstance(event, ConnectionAbandoned):
                if event.amf_ue_ngap_id == here.amf_ue_ngap_id:
                    return True
            elif isinstance(event, HandoverCompleted) and here.releasing:
                return True
    return False


def _is_gone_by(step: Step[Any], sent: wire.NgapPeek) -> bool:
    """Whether the step of a message has itself recorded the end of its connection."""
    return any(
        isinstance(event, ConnectionReleased) and event.amf_ue_ngap_id == sent.amf_ue_ngap_id
        for event in step.events
    )


def _connection(
    output: SendNgap, sent: wire.NgapPeek, step: Step[Any], ue: Ue
) -> Connection | None:
    """Return the connection of a message; None if it is gone, or a later step moved it to another
    gNB."""
    for found in connections(ue):
        if found.amf_ue_ngap_id != sent.amf_ue_ngap_id:
            continue
        before = found.before if _happened((PathSwitched, PathSwitchFailed), [step]) else None
        places = [(at.gnb, at.association) for at in (found, before) if at is not None]
        return found if (output.gnb, output.association) in places else None
    return None


# What the state waits for


def _is_preparing(ue: Ue, here: Connection) -> bool:
    return here is ue.target and ue.handover is not None and ue.handover.stage == "preparing"


def _is_leaving(ue: Ue, here: Connection) -> bool:
    ongoing = ue.handover
    source = here.amf_ue_ngap_id
    return ongoing is not None and (ongoing.stage, ongoing.source) == ("executing", source)


def _is_arriving(ue: Ue, here: Connection) -> bool:
    return here is ue.target and ue.handover is not None and ue.handover.stage == "executing"


_ASKED: Final[dict[str, Asked]] = {
    "InitialContextSetupRequest": "context",
    "PDUSessionResourceSetupRequest": "setup",
    "PDUSessionResourceModifyRequest": "modify",
    "PDUSessionResourceReleaseCommand": "release",
}
"""The requests to a gNB with their kinds in `Connection.asked`."""

_WAITS: Final[dict[str, Callable[[Ue, Connection], bool]]] = {
    "UEContextModificationRequest": lambda _, here: bool(here.modifying),
    _RELEASE: lambda _, here: bool(here.releasing),
    "HandoverRequest": _is_preparing,
    "HandoverCommand": _is_leaving,
    "DownlinkRANStatusTransfer": _is_arriving,
}
"""Whether the state still waits for what a message causes, by the name of the message."""


# What the later messages are about


def _is_due_of_nas(sent: wire.NgapPeek, step: Step[Any], later: Steps) -> bool:
    """Whether a NAS message alone is due.

    One with a timer (TS 24.501 tables 10.2.2 and 10.3.2) is due until its timer is stopped, because
    of the answer or the end of the procedure, or is started again with the same message. One
    without is due as long as its connection and its security context.
    """
    nas = sent.nas_pdu or b""
    if nas[1:2] != b"\0" and _happened(SecurityModeCompleted, later):
        return False
    timers = {e.name for e in step.events if isinstance(e, TimerStarted) and _guards_nas(e.name)}
    messages = sum(_peek(o.pdu).message == _NAS for o in step.outputs if isinstance(o, SendNgap))
    if len(timers) < messages:
        return True
    return not all(_is_over(timer, sent, later) for timer in timers)


def _guards_nas(timer: str) -> bool:
    return timer in NAS_TIMERS or timer.partition("/")[0] in SESSION_TIMERS


def _is_over(timer: str, sent: wire.NgapPeek, later: Steps) -> bool:
    """Whether a later step has stopped the timer of a message, or started it again.

    A parked connection has timers of the same names, so a step about another connection does not
    count.
    """
    parked = f"{timer}/{sent.amf_ue_ngap_id or 0:x}"
    for step in later:
        uplink = _uplink(step)
        asked = uplink.amf_ue_ngap_id if uplink is not None else None
        if asked not in (None, sent.amf_ue_ngap_id):
            continue
        if any(isinstance(e, TimerStopped) and e.name in (timer, parked) for e in step.events):
            return True
        if any(isinstance(e, TimerStarted) and e.name == timer for e in step.events) and any(
            isinstance(o, SendNgap) and _peek(o.pdu).amf_ue_ngap_id == sent.amf_ue_ngap_id
            for o in step.outputs
        ):
            return True
    return False


def _is_released(here: Connection, steps: Steps) -> bool:
    """Whether one of some steps has begun the release of a connection."""
    return any(
        isinstance(event, ConnectionReleasing) and event.amf_ue_ngap_id == here.amf_ue_ngap_id
        for step in steps
        for event in step.events
    )


def _is_asked_again(output: SendNgap, sent: wire.NgapPeek, later: Steps) -> bool:
    """Whether the gNB has sent the request of a response again. That one has its own response."""
    return sent.direction != _INITIATING and any(
        (peek.procedure_code, peek.direction) == (sent.procedure_code, _INITIATING)
        for peek in _uplinks(output, sent, later)
    )


def _is_answered(output: SendNgap, sent: wire.NgapPeek, later: Steps) -> bool:
    """Whether the gNB has responded to a request about sessions. The state has the other ones."""
    asked = _sessions(output.pdu)
    if sent.direction != _INITIATING or not asked:
        return False
    for step in later:
        for peek in _uplinks(output, sent, [step]):
            if peek.procedure_code == sent.procedure_code and peek.direction != _INITIATING:
                answered = _sessions(step.trigger.data)
                if not answered or answered & asked:
                    return True
    return False


def _is_sent_again(sent: wire.NgapPeek, later: Steps) -> bool:
    """Whether a later step has sent the same message on the connection."""
    outputs = (output for step in later for output in step.outputs)
    return any(
        (peek.message, peek.amf_ue_ngap_id) == (sent.message, sent.amf_ue_ngap_id)
        for peek in (_peek(output.pdu) for output in outputs if isinstance(output, SendNgap))
    )


def _sessions(pdu: bytes) -> frozenset[int]:
    """Return the PDU session identities in the lists of a message; none for a faulty message."""
    try:
        ies = ngap.ies_of(wire.ngap_decode(pdu))
        lists: list[list[Tree]] = [ies[n] for n in ies if n.startswith("PDUSessionResource")]
        return frozenset(item["pDUSessionID"] for items in lists for item in items)
    except (wire.WireError, TypeError, KeyError):
        return frozenset()


def _uplink(step: Step[Any]) -> wire.NgapPeek | None:
    """Return the NGAP message that triggered a step; None for another trigger."""
    if step.trigger.type != EventType.NGAP_UPLINK:
        return None
    try:
        return _peek(step.trigger.data)
    except wire.WireError:
        return None


def _uplinks(output: SendNgap, sent: wire.NgapPeek, later: Steps) -> Iterator[wire.NgapPeek]:
    """Yield the later messages from the association and about the connection of a message."""
    source = f"/{output.gnb}/{output.association}"
    for step in later:
        peek = _uplink(step) if step.trigger.source.endswith(source) else None
        if peek is not None and peek.amf_ue_ngap_id == sent.amf_ue_ngap_id:
            yield peek


def _happened(event: type | tuple[type, ...], steps: Steps) -> bool:
    return any(isinstance(one, event) for step in steps for one in step.events)


# Messages about a whole RAN node


def _is_due_of_node(output: SendNgap, sent: wire.NgapPeek, later: Steps) -> bool:
    if sent.message in _RELAYED:
        return True
    if any(_ends_association(event, output) for step in later for event in step.events):
        return False
    if sent.message == "ErrorIndication":
        return True
    uplinks = [*_uplinks(output, sent, later)]
    if sent.direction == _INITIATING:
        answered = any(
            peek.procedure_code == sent.procedure_code and peek.direction != _INITIATING
            for peek in uplinks
        )
        return not (answered or _is_sent_again_to_node(sent, later))
    # A node sends nothing else before it has the response to its setup (TS 38.413 8.7.1.1).
    came = sent.message == "NGSetupResponse" and bool(uplinks)
    return not (came or _is_asked_again(output, sent, later))


_RELAYED: Final = ("DownlinkRANConfigurationTransfer", "DownlinkRIMInformationTransfer")
"""Messages to another node than that of the log."""


def _ends_association(event: object, output: SendNgap) -> bool:
    """Whether the node of a message has lost its association, or set up another."""
    if isinstance(event, AssociationEnded):
        return event.association == output.association
    return isinstance(event, NgSetUp) and event.association != output.association


def _is_sent_again_to_node(sent: wire.NgapPeek, later: Steps) -> bool:
    outputs = (output for step in later for output in step.outputs)
    return any(isinstance(o, SendNgap) and _peek(o.pdu).message == sent.message for o in outputs)
