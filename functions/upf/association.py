"""The association of a UPF (TS 29.244 6.2.6 to 6.2.8), and the detection of its restart."""

from collections.abc import Collection
from typing import Final

from functions.messages import pfcp
from functions.messages.trees import Tree
from functions.upf import doubt
from functions.upf.decision import UpfDecision
from functions.upf.doubt import UNDECIDED
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
"""Seconds until a failed request is sent again; doubled each time, up to a longest pause."""
SLOWEST: Final = 60
"""The longest pause between association setups. Only the answer to a setup shows that a UPF is back
if it drops the heartbeats of CP functions without association."""
LONGEST: Final = 640
"""The longest pause between deletions of leftover sessions. A UPF that requests the release of its
association gets it once in this time: nothing proves that the UPF requests it."""

_SILENT: Final = "it does not answer heartbeats"
_IGNORING: Final = "it answers heartbeats, but no requests about sessions"

SETUP: Final = "AssociationSetupRequest"


def alive(d: UpfDecision, recovery_time_stamp: int, *, usable: bool = False) -> None:
    """Process a Recovery Time Stamp: the UPF is reachable, or has restarted (TS 23.527 4.3.3).

    A heartbeat alone does not show that the UPF answers requests about sessions again. `usable`
    is the report of the gateway that it does.
    """
    if recovery_time_stamp not in (0, d.upf.recovery_time_stamp):
        restarted(d, recovery_time_stamp)
        return
    if usable or d.upf.trouble not in (_IGNORING, UNDECIDED):
        reachable(d)
    delete_leftovers(d)


def restarted(d: UpfDecision, recovery_time_stamp: int) -> None:
    """Record that the UPF has lost its association, and request another one."""
    doubt.accept_setup(d)
    d.emit(UpfRestarted(recovery_time_stamp))
    associate(d)


def lost(d: UpfDecision, recovery_time_stamp: int) -> None:
    """Process that the UPF says, in a response, that it has no association."""
    found = d.upf.doubt
    if found is not None and found.released:
        released(d, found.reason)
    else:
        restarted(d, recovery_time_stamp)


def undecided(d: UpfDecision) -> None:
    """Request an association of a UPF that has not said whether it still has one.

    The sessions stay until the UPF has answered this request.
    """
    doubt.accept_setup(d)
    d.emit(UpfReachable(False, UNDECIDED))
    associate(d)


def is_paused(d: UpfDecision) -> bool:
    """Whether the pause after a release has not ended."""
    return d.env.now < d.upf.paused_until


def reachable(d: UpfDecision) -> None:
    """Record that the UPF answers, and is usable if it is associated."""
    if not d.upf.reachable:
        d.emit(UpfReachable(True))


def silent(d: UpfDecision) -> None:
    """Record that the UPF does not answer heartbeats, and schedule an association setup.

    A UPF that has restarted may answer no heartbeats before it has an association. A UPF that
    answers again before the setup has kept its association.
    """
    if not d.upf.reachable and d.upf.trouble == _SILENT:
        return
    wake_at = 0
    if d.upf.associated and not d.upf.asked:
        wake_at = _pause(d, d.upf.refused)
        d.outputs.append(Wake(wake_at, Procedure.UPF))
    d.emit(UpfReachable(False, _SILENT, wake_at))


def ignoring(d: UpfDecision) -> None:
    """Request an association of a UPF that answers heartbeats, but no requests about sessions.

    It has ended the association without a restart, for instance in an outage. Its gateway reports
    it again after growing pauses.
    """
    d.emit(UpfReachable(False, _IGNORING))
    associate(d)


def _pause(d: UpfDecision, tries: int, longest: int = SLOWEST) -> int:
    """Return the time of the next attempt after a number of failures, in milliseconds."""
    return d.env.now + min(RETRY * 2 ** min(tries, 8), longest) * 1000


def left_over(d: UpfDecision, up_seid: int) -> None:
    """Delete a session of the UPF that belongs to no UE."""
    number = d.upf.requests + 1
    d.emit(UpfAsked(d.node_id, "SessionDeletionRequest", number, d.since))
    d.emit(LeftoverFound(up_seid, number))
    d.delete(up_seid, number)


def delete_leftovers(d: UpfDecision) -> None:
    """Repeat the deletion of the leftover sessions."""
    for found in d.upf.leftovers:
        d.delete(found.up_seid, found.number)


def await_leftovers(d: UpfDecision) -> None:
    """Schedule a wake-up for the leftover sessions, unless one is scheduled."""
    usable = d.upf.associated and d.upf.reachable
    if usable and d.upf.leftovers and not d.upf.wake_at:
        _wake_for_leftovers(d)


def on_wake_up(d: UpfDecision) -> None:
    """Process the wake-up for the leftover sessions or for the association."""
    if d.upf.doubt is not None:
        undecided(d)
    elif not (d.upf.associated and d.upf.reachable):
        associate(d)
    elif d.upf.leftovers:
        delete_leftovers(d)
        _wake_for_leftovers(d)


def _wake_for_leftovers(d: UpfDecision) -> None:
    wake_at = _pause(d, d.upf.tries, LONGEST)
    d.emit(LeftoversAwaited(wake_at))
    d.outputs.append(Wake(wake_at, Procedure.UPF))


def associate(d: UpfDecision) -> None:
    """Request an association. A repeated request keeps its number, so that the gateway does not
    send the same request twice."""
    if not d.configured:
        if d.upf.wake_at:
            d.emit(UpfNotAssociated("it is not configured"))  # which ends its timer
        else:
            d.note("the UPF is not configured")
        return
    own = d.env.network.n4_address
    pdu = pfcp.association_setup_request(own, d.since, retain=d.upf.associated)
    d.request(SETUP, pdu, d.upf.asked)


def not_associated(d: UpfDecision, cause: str) -> None:
    """Schedule the next attempt: a UPF without resources, or with an old version, may change. A UPF
    that is usable again needs none."""
    if d.upf.associated and d.upf.reachable:
        d.emit(UpfNotAssociated(cause))
        return
    wake_at = _pause(d, d.upf.refused)
    d.emit(UpfNotAssociated(cause, wake_at))
    d.outputs.append(Wake(wake_at, Procedure.UPF))


def _associated(d: UpfDecision, ies: Tree) -> None:
    stamp, known = ies["Recovery Time Stamp"], d.upf.recovery_time_stamp
    retained = "PSREI" in ies.get("PFCPASRsp-Flags", ()) and d.upf.associated and stamp == known
    d.emit(UpfAssociated(d.node_id, stamp, tuple(ies.get("UP Function Features", ()))))
    if known and not retained:
        # The association setup deletes the existing sessions, even without a restart (6.2.6.2.2).
        d.sessions_lost(stamp, known)


def _unusable(d: UpfDecision, features: Collection[str]) -> str:
    """Return why a UPF cannot be used; empty if it can.

    The UPF must choose F-TEIDs (5.5.1), or the core must know its N3 address (5.5.2 before Release
    16).
    """
    node = d.env.network.upf(d.node_id)
    if "FTUP" in features or (node is not None and node.n3):
        return ""
    return "it does not allocate F-TEIDs, and its n3 is not configured"


def setup_response(d: UpfDecision, number: int | None, ies: Tree) -> None:
    """Process the response to the request with a `number`.

    If the request crossed with a request of the UPF, the UPF accepted both, and the sessions that
    were established in between are lost (6.2.6.2.2).
    """
    late = ies.get("Recovery Time Stamp", 0) < d.upf.recovery_time_stamp
    crossed = d.upf.associated and ies["Cause"] == pfcp.ACCEPTED and not late
    if not crossed and (not d.upf.asked or number != d.upf.asked):
        d.note(f"an association setup response without a pending request: {pfcp.cause_text(ies)}")
        return
    named = pfcp.named_node(ies)
    cause = "" if ies["Cause"] == pfcp.ACCEPTED else pfcp.cause_text(ies)
    if named not in ("", d.node_id):
        cause = f"its Node ID is {named}, and not the one of the configuration"
    if cause and d.upf.doubt is not None:
        released(d, f"{d.upf.doubt.reason}, and the next association failed: {cause}")
        return
    if cause:
        not_associated(d, cause)
        return
    unusable = _unusable(d, ies.get("UP Function Features", ()))
    if unusable:
        own = d.env.network.n4_address
        d.request("AssociationReleaseRequest", pfcp.association_release_request(own))
        if d.upf.associated:
            released(d, unusable)
        else:
            not_associated(d, unusable)
        return
    _associated(d, ies)


def setup_request(d: UpfDecision, sequence: int, ies: Tree) -> None:
    """Process an association setup request of the UPF (6.2.6.3).

    Anyone can send it with the UPF's address. So the core requests the association too, and the
    response to that is the proof. A UPF that is associated is first asked whether it still is: the
    next association would delete its sessions.
    """
    features = ies.get("UP Function Features", ())
    unusable = _unusable(d, features) if d.configured else "it is not configured"
    is_same = ies["Recovery Time Stamp"] == d.upf.recovery_time_stamp
    waits = d.upf.associated and is_same and not unusable
    reason = "the UPF requests another association"
    if unusable:
        d.note(f"an association setup is refused: {unusable}")
        d.respond(SETUP, sequence, [{"Cause": pfcp.REJECTED}, {"Recovery Time Stamp": d.since}])
    elif not waits:
        doubt.accept(d, sequence)
    if not d.upf.associated and not unusable:
        associate(d)
    elif d.upf.associated and is_same:
        doubt.has_association(d, reason, setup=sequence if waits else None)
    elif d.upf.associated:
        doubt.has_restarted(d, reason)  # some UPFs answer heartbeats once they are accepted


def released(d: UpfDecision, reason: str) -> None:
    """Release the association and all sessions.

    The UPF returns with its own setup request or with another time stamp. If it does neither, the
    core requests an association after a pause, which grows with releases that follow soon.
    """
    if not d.upf.associated:
        return
    soon = d.env.now < d.upf.paused_until + LONGEST * 1000
    count = d.upf.releases + 1 if soon else 1
    wake_at = _pause(d, count - 1) if d.configured else 0
    d.emit(UpfReleased(reason, wake_at, count))
    if wake_at:
        d.outputs.append(Wake(wake_at, Procedure.UPF))
    d.sessions_lost(d.upf.recovery_time_stamp)


def release_request(d: UpfDecision) -> None:
    """Process an association release request of the UPF.

    Only a CP function releases an association (6.2.8): the UPF is asked whether it still has it.
    """
    doubt.has_association(d, "the UPF released it", released=True)


def update_request(d: UpfDecision, sequence: int, ies: Tree) -> None:
    """Process an association update (6.2.7). A UPF that requests its release is released at once
    (6.2.7.3).

    Nothing proves that the UPF has sent it. So a release is refused if the last one was not long
    ago, and so are features that make the UPF unusable.
    """
    features = tuple(ies.get("UP Function Features", d.upf.features))
    wants_release = "SARR" in ies.get("PFCP Association Release Request", ())
    refused = _unusable(d, features)
    if wants_release and d.env.now < d.upf.paused_until + LONGEST * 1000:
        refused = "its association was released not long ago"
    cause = pfcp.REJECTED if refused else pfcp.ACCEPTED
    d.respond("AssociationUpdateRequest", sequence, [{"Cause": cause}])
    if refused:
        d.note(f"an association update is refused: {refused}")
        return
    if features != d.upf.features:
        d.emit(UpfUpdated(features))
    if wants_release:
        own = d.env.network.n4_address
        d.request("AssociationReleaseRequest", pfcp.association_release_request(own))
        released(d, "the UPF requested it")
