"""Uplink messages of a gNB: find the connection, open the NAS message, call the procedure."""

from collections.abc import Callable
from typing import Any, Final

import wire
from functions.decision import connection, protocol_errors
from functions.decision.connection import Origin
from functions.decision.inputs import Nas, NasReceived, NgapReceived, Unreadable, open_nas
from functions.decision.ue_decision import UeDecision
from functions.messages import ngap
from functions.messages.nas import codec
from functions.messages.trees import Tree
from schemas.cloudevents import CloudEvent
from schemas.connection.events import UplinkProcessed
from schemas.connection.state import NO_RAN_UE_NGAP_ID, Connection
from schemas.mobility.events import TargetUplinkProcessed
from schemas.procedures import (
    DEFAULT,
    NAS_MESSAGES,
    NGAP_MESSAGES,
    OPENING,
    UE_MESSAGES,
    Procedure,
)

Module = Callable[[Procedure], Any]
"""Returns the module of a procedure; raises if this process does not host it."""


MAX_UNPROVED: Final = 32
"""Number of uplink messages of a connection without a proof of the UE's identity. A registration
has at most five of the UE before its SECURITY MODE COMPLETE, and each may be repeated four times
(T3560, T3570). Without a bound, a sender could have each of its messages answered for ever."""


# NGAP


def decide(d: UeDecision, trigger: CloudEvent, module: Module) -> Procedure | None:
    """Decide about an uplink NGAP message. Return its procedure, None if it was processed."""
    origin = Origin(trigger.source)
    received = protocol_errors.read(d, origin, trigger.data)
    if received is None:
        return DEFAULT
    peek = received.peek
    initial = peek.message == "InitialUEMessage"
    if _is_of_released(d, peek) or _processed_before(d, peek, trigger.sequence):
        return None
    if not initial and _is_of(connection.find(d, peek.amf_ue_ngap_id or 0), origin, peek):
        connection.activate(d, peek.amf_ue_ngap_id)
    # An error of the identifiers comes before any other (TS 38.413 10.5).
    own = initial or _check_ids(d, origin, peek)
    if own and peek.message not in UE_MESSAGES:
        return _accepted(d, origin, peek, {}, trigger, module)
    if not own or protocol_errors.rejected_faults(d, origin, received, trigger.data):
        procedure = NGAP_MESSAGES.get(peek.message, DEFAULT)
        module(procedure)
        if not initial and _is_of(d.ue.connection, origin, peek):
            # It is processed: the messages after it must not wait for it.
            _processed(d, {}, trigger.sequence, None)
        else:
            _processed_of_target(d, origin, peek, trigger.sequence)
        return procedure
    ies = received.ies()
    if initial:
        return _initial(d, origin, peek, ies, trigger.sequence, module)
    return _accepted(d, origin, peek, ies, trigger, module)


def _is_superseded(d: UeDecision) -> bool:
    """Whether the UE has proved its identity on a connection that was opened later.

    A UE opens a connection only when it has none (TS 24.501 5.3.1.1), so it does not wait for an
    answer on the earlier one.
    """
    latest = d.ue.proved_at
    return latest is not None and d.position is not None and d.position.precedes(latest)


def _initial(
    d: UeDecision,
    origin: Origin,
    peek: wire.NgapPeek,
    ies: Tree,
    sequence: int | None,
    module: Module,
) -> Procedure:
    """Process an INITIAL UE MESSAGE. A valid MAC proves that this UE has sent it."""
    if _is_superseded(d):
        d.note("the UE has opened a newer connection since")
        return DEFAULT
    opened = open_nas(d.ue, peek.nas_pdu or b"", initial=True)
    proved = opened.count is not None
    ran_ue_ngap_id = ies["RAN-UE-NGAP-ID"]
    connection.establish(d, origin, ran_ue_ngap_id, ies, sequence or 0, proved=proved)
    procedure = _nas(d, opened, ies, module, initial=True, sequence=sequence)
    protocol_errors.unbegun(d, opened)
    return procedure


def _accepted(
    d: UeDecision,
    origin: Origin,
    peek: wire.NgapPeek,
    ies: Tree,
    trigger: CloudEvent,
    module: Module,
) -> Procedure:
    """Process a message without faults on a connection of the UE."""
    procedure = NGAP_MESSAGES.get(peek.message, DEFAULT)
    switch = peek.message == "PathSwitchRequest"
    current = d.connection_is(peek.amf_ue_ngap_id) and not switch
    nas = peek.nas_pdu if peek.message == "UplinkNASTransport" else None
    if nas is not None and current:
        opened = open_nas(d.ue, nas)
        return _nas(d, opened, ies, module, initial=False, sequence=trigger.sequence)
    if current:
        _processed(d, ies, trigger.sequence, None)
    else:
        _processed_of_target(d, origin, peek, trigger.sequence)
    if peek.message == "UplinkNASTransport":
        d.note("UplinkNASTransport on a connection that the UE left")
        return DEFAULT
    if peek.message not in NGAP_MESSAGES:
        protocol_errors.ngap_procedure(d, origin, peek, trigger.data)
        return DEFAULT
    received = NgapReceived(peek.message, ies, peek.amf_ue_ngap_id or 0)
    module(procedure).decide(d, received)
    return procedure


def _check_ids(d: UeDecision, origin: Origin, peek: wire.NgapPeek) -> bool:
    """Whether the pair of ids is that of a connection of this UE (TS 38.413 10.6).

    If not, the gNB gets an ERROR INDICATION.
    """
    if peek.message == "PathSwitchRequest":
        return True  # it comes from another gNB, and has a response of its own
    known = connection.find(d, peek.amf_ue_ngap_id or 0)
    if known is None:
        cause = ngap.UNKNOWN_LOCAL_ID
    elif _is_late_response(known, origin, peek):
        d.note(f"{peek.message} of the gNB before the path switch")
        return False
    elif (known.gnb, known.association) != (origin.gnb, origin.association) or (
        not _is_ran_id(known, peek)
    ):
        cause = ngap.INCONSISTENT_REMOTE_ID
    else:
        return True
    d.note(f"{peek.message}: {ngap.cause_text(cause)}")
    if peek.message not in ("ErrorIndication", "UEContextReleaseComplete"):
        pdu = ngap.error_indication(
            cause, amf_ue_ngap_id=peek.amf_ue_ngap_id, ran_ue_ngap_id=peek.ran_ue_ngap_id
        )
        protocol_errors.send_to(d, origin, pdu)
    if cause is ngap.INCONSISTENT_REMOTE_ID:
        protocol_errors.erroneous_id(d, origin, peek.ran_ue_ngap_id)
    return False


def _is_late_response(known: Connection, origin: Origin, peek: wire.NgapPeek) -> bool:
    """Whether a gNB has answered a request before it handed the UE over by Xn: the two gNBs have an
    association each, so the PATH SWITCH REQUEST may come first."""
    before = known.before
    return (
        before is not None
        and (before.gnb, before.association) == (origin.gnb, origin.association)
        and before.ran_ue_ngap_id == peek.ran_ue_ngap_id
        and peek.direction != "InitiatingMessage"
    )


def _is_of(here: Connection | None, origin: Origin, peek: wire.NgapPeek) -> bool:
    """Whether a message came on a connection, as far as its ids can be read."""
    return (
        here is not None
        and (here.gnb, here.association) == (origin.gnb, origin.association)
        and here.amf_ue_ngap_id == peek.amf_ue_ngap_id
        and _is_ran_id(here, peek)
    )


def _is_ran_id(here: Connection, peek: wire.NgapPeek) -> bool:
    """Whether a message can have the RAN-UE-NGAP-ID of a connection.

    The target of a handover tells its own in its first message.
    """
    if here.ran_ue_ngap_id == NO_RAN_UE_NGAP_ID:
        return peek.message in _OF_NEW_TARGET
    return peek.ran_ue_ngap_id in (None, here.ran_ue_ngap_id)


_OF_NEW_TARGET: Final = frozenset(
    {
        "HandoverRequestAcknowledge",
        "HandoverFailure",
        "UEContextReleaseComplete",
        "ErrorIndication",
    }
)
"""Messages that the target of a handover can send before its RAN-UE-NGAP-ID is known."""


# The order of messages


def _is_of_released(d: UeDecision, peek: wire.NgapPeek) -> bool:
    """Whether a message belongs to a connection that its gNB has released since: it is a copy, or
    it has no effect any more.

    A PATH SWITCH REQUEST comes from another gNB, which waits for an answer.
    """
    of_other = peek.message == "PathSwitchRequest"
    return peek.amf_ue_ngap_id in d.ue.released and not of_other


def _processed_before(d: UeDecision, peek: wire.NgapPeek, sequence: int | None) -> bool:
    """Whether the aggregate of the unknown UE processed the message before it gave its
    connection."""
    if peek.message in OPENING or sequence is None:
        return False
    known = connection.find(d, peek.amf_ue_ngap_id or 0)
    return known is not None and sequence <= known.adopted


def _processed(d: UeDecision, ies: Tree, sequence: int | None, nas_count: int | None) -> None:
    """Record that a message of the current connection is processed, and its new location."""
    here = d.connection
    location = ngap.location_of(ies)
    tai = cell = None
    if location is not None and location != (here.tai, here.cell):
        tai, cell = location
    taken = here.sequence if sequence is None else sequence
    if taken > here.sequence + 1:
        d.note(f"gap: message {taken} of the connection after {here.sequence}")
    d.emit(UplinkProcessed(taken, nas_count, tai, cell))


def _processed_of_target(
    d: UeDecision, origin: Origin, peek: wire.NgapPeek, sequence: int | None
) -> None:
    """Record it for the target of a handover, or for a connection that the UE has left."""
    others = (d.ue.target, *d.ue.stale)
    if sequence is not None and any(_is_of(found, origin, peek) for found in others):
        d.emit(TargetUplinkProcessed(sequence, peek.amf_ue_ngap_id or 0))


# NAS


def _nas(
    d: UeDecision,
    opened: Nas | Unreadable,
    ies: Tree,
    module: Module,
    *,
    initial: bool,
    sequence: int | None,
) -> Procedure:
    """Process a NAS message on the current connection."""
    secured = d.connection.secured
    counted = None if isinstance(opened, Nas) and opened.pending else opened.count
    if not initial or counted is not None:
        _processed(d, ies, sequence, counted)
    if isinstance(opened, Unreadable):
        module(DEFAULT)
        protocol_errors.unreadable(d, opened, initial=initial)
        return DEFAULT
    procedure = NAS_MESSAGES.get(opened.type, DEFAULT)
    code = module(procedure)
    discarded = protocol_errors.discarded(d, opened, secured=secured)
    if discarded:
        d.note(discarded)
        if initial:
            d.release(ngap.NAS_UNSPECIFIED)
        return procedure
    if not opened.verified and (sequence or 0) > MAX_UNPROVED:
        d.note("too many messages without a proof of the identity")
        connection.abort(d, "too many messages")
        d.release(ngap.NAS_UNSPECIFIED)
        return procedure
    if not opened.verified and opened.type not in protocol_errors.PROCESSED_UNVERIFIED:
        protocol_errors.unverified(d, opened, initial=initial)
        return procedure
    read = wire.nas_read(opened.plain)
    if read.tree is None or read.answer is not None:
        reason = read.fault or "an unknown IE that must be understood"
        answer = None if codec.is_status(opened.plain) else read.answer
        protocol_errors.faulty(d, opened, reason, answer, initial=initial)
    elif opened.type not in NAS_MESSAGES:
        protocol_errors.not_implemented(d, opened, read.tree, initial=initial)
    else:
        code.decide(d, NasReceived(opened, read.tree, initial, read.container))
    return procedure
