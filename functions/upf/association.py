"""The association of a UPF (TS 29.244 6.2.6 to 6.2.8), and whether the UPF is the one it was."""

from collections.abc import Collection
from typing import Final

from functions.messages import pfcp
from functions.messages.trees import Tree
from functions.upf.decision import UpfDecision
from schemas.procedures import Procedure
from schemas.step import Wake
from schemas.upf import (
    LeftoverFound,
    LeftoversAwaited,
    UpfAsked,
    UpfAssociated,
    UpfNotAssociated,
    UpfReachable,
    UpfReleased,
    UpfRestarted,
    UpfUpdated,
)

RETRY: Final = 10
"""Seconds until what came to nothing is tried again; each time twice as many, up to `SLOWEST`."""
SLOWEST: Final = 640

SETUP: Final = "AssociationSetupRequest"


def alive(d: UpfDecision, recovery_time_stamp: int) -> None:
    """It answers heartbeats: as it was, or as one that has restarted (TS 23.527 4.3.3)."""
    if recovery_time_stamp not in (0, d.upf.recovery_time_stamp):
        d.emit(UpfRestarted(recovery_time_stamp))
        associate(d)
        return
    reachable(d, answers=True)
    delete_leftovers(d)


def reachable(d: UpfDecision, *, answers: bool) -> None:
    """Note whether heartbeats are answered."""
    if d.upf.reachable != answers:
        d.emit(UpfReachable(answers))


def since(d: UpfDecision) -> int:
    """The core's Recovery Time Stamp for a UPF that is told it: from now on, it is that."""
    if not d.upf.since and d.configured:
        d.emit(UpfAsked(d.node_id, "", d.upf.requests, d.since))
    return d.since


def _pause(d: UpfDecision, tries: int) -> int:
    """When what has come to nothing so often is tried again, in milliseconds."""
    return d.env.now + min(RETRY * 2 ** min(tries, 8), SLOWEST) * 1000


def left_over(d: UpfDecision, up_seid: int) -> None:
    """The UPF has a session that no UE has: it is to delete it."""
    number = d.upf.requests + 1
    d.emit(UpfAsked(d.node_id, "SessionDeletionRequest", number, d.since))
    d.emit(LeftoverFound(up_seid, number))
    d.delete(up_seid, number)


def delete_leftovers(d: UpfDecision) -> None:
    """Ask once more for what has not been deleted."""
    for found in d.upf.leftovers:
        d.delete(found.up_seid, found.number)


def await_leftovers(d: UpfDecision) -> None:
    """Set a wake-up for what has not been deleted, unless one is set."""
    if d.upf.associated and d.upf.leftovers and not d.upf.wake_at:
        _wake_for_leftovers(d)


def woken(d: UpfDecision) -> None:
    """The wake-up has come: for what is left over, or for the association."""
    if not d.upf.associated:
        associate(d)
    elif d.upf.leftovers:
        if d.upf.reachable:
            delete_leftovers(d)
        _wake_for_leftovers(d)


def _wake_for_leftovers(d: UpfDecision) -> None:
    wake_at = _pause(d, d.upf.tries)
    d.emit(LeftoversAwaited(wake_at))
    d.outputs.append(Wake(wake_at, Procedure.UPF))


def associate(d: UpfDecision) -> None:
    """Ask for an association. A request that is under way keeps its number, so that a gateway
    which has it already does not send it twice."""
    if not d.configured:
        d.note("the UPF is not in the configuration")
        return
    pdu = pfcp.association_setup_request(d.env.network.n4_address, d.since)
    d.ask(SETUP, pdu, d.upf.asked)


def not_associated(d: UpfDecision, cause: str) -> None:
    """Try again later: the UPF may be short of something, or be another version then."""
    wake_at = _pause(d, d.upf.refused)
    d.emit(UpfNotAssociated(cause, wake_at))
    d.outputs.append(Wake(wake_at, Procedure.UPF))


def _associated(d: UpfDecision, ies: Tree) -> None:
    stamp, known = ies["Recovery Time Stamp"], d.upf.recovery_time_stamp
    d.emit(UpfAssociated(d.node_id, stamp, tuple(ies.get("UP Function Features", ()))))
    if known:
        # What the association is set up over is gone, restarted or not (6.2.6.2.2).
        d.sessions_lost(stamp, known)


def _unusable(d: UpfDecision, features: Collection[str]) -> str:
    """Why a UPF cannot be used, empty if it can: it is to choose F-TEIDs (5.5.1), or the core is to
    know its address on N3 (5.5.2 before Release 16)."""
    node = d.env.network.upf(d.node_id)
    if "FTUP" in features or (node is not None and node.n3):
        return ""
    return "it does not allocate F-TEIDs, and its n3 is not in the configuration"


def setup_response(d: UpfDecision, number: int | None, ies: Tree) -> None:
    """The answer to the request of that `number`.

    Where the request crossed with one of the UPF's, the UPF has taken both, and what was put on it
    between them is gone (6.2.6.2.2).
    """
    late = ies.get("Recovery Time Stamp", 0) < d.upf.recovery_time_stamp
    crossed = d.upf.associated and ies["Cause"] == pfcp.ACCEPTED and not late
    if not crossed and (not d.upf.asked or number != d.upf.asked):
        d.note(f"an answer to an association setup that nobody waits for: {pfcp.cause_text(ies)}")
        return
    if ies["Cause"] != pfcp.ACCEPTED:
        not_associated(d, pfcp.cause_text(ies))
        return
    unusable = _unusable(d, ies.get("UP Function Features", ()))
    if unusable:
        own = d.env.network.n4_address
        d.ask("AssociationReleaseRequest", pfcp.association_release_request(own))
        if d.upf.associated:
            released(d, unusable)
        else:
            not_associated(d, unusable)
        return
    _associated(d, ies)


def setup_request(d: UpfDecision, sequence: int, ies: Tree) -> None:
    """The UPF asks first (6.2.6.3); what there was before is overwritten."""
    features = ies.get("UP Function Features", ())
    unusable = _unusable(d, features) if d.configured else "it is not in the configuration"
    if unusable:
        released(d, f"an association setup was refused: {unusable}")
        d.note(f"an association setup is refused: {unusable}")
        d.answer(SETUP, sequence, [{"Cause": pfcp.REJECTED}, {"Recovery Time Stamp": d.since}])
        return
    stamp = {"Recovery Time Stamp": since(d)}
    d.answer(SETUP, sequence, [{"Cause": pfcp.ACCEPTED}, stamp, pfcp.FEATURES])
    _associated(d, ies)


def released(d: UpfDecision, reason: str) -> None:
    """End the association, and with it all sessions.

    The UPF comes back with a setup request of its own, or with another time stamp; should it do
    neither, it is asked after the longest pause.
    """
    if not d.upf.associated:
        return
    wake_at = d.env.now + SLOWEST * 1000 if d.configured else 0
    d.emit(UpfReleased(reason, wake_at))
    if wake_at:
        d.outputs.append(Wake(wake_at, Procedure.UPF))
    d.sessions_lost(d.upf.recovery_time_stamp)


def update_request(d: UpfDecision, ies: Tree) -> None:
    """6.2.7. A UPF that wants to be released is, at once (6.2.7.3)."""
    features = tuple(ies.get("UP Function Features", d.upf.features))
    if features != d.upf.features:
        d.emit(UpfUpdated(features))
    unusable = _unusable(d, features)
    if "SARR" in ies.get("PFCP Association Release Request", ()):
        unusable = "the UPF has asked for it"
    if unusable:
        own = d.env.network.n4_address
        d.ask("AssociationReleaseRequest", pfcp.association_release_request(own))
        released(d, unusable)
