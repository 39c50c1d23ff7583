"""The association of a UPF (TS 29.244 6.2.6 to 6.2.8), and whether the UPF is the one it was."""

from typing import Final

from functions import pfcp
from functions.trees import Tree
from functions.upf_draft import UpfDraft
from schemas.procedures import Procedure
from schemas.step import Wake
from schemas.upf import (
    UpfAsked,
    UpfAssociated,
    UpfNotAssociated,
    UpfReachable,
    UpfReleased,
    UpfRestarted,
    UpfUpdated,
)

RETRY: Final = 10
"""Seconds until an association setup that came to nothing is tried again; each time twice as
many, up to `SLOWEST`."""
SLOWEST: Final = 640

SETUP: Final = "AssociationSetupRequest"


def alive(d: UpfDraft, recovery_time_stamp: int) -> None:
    """It answers heartbeats: as it was, or as one that has restarted (TS 23.527 4.3.3)."""
    if recovery_time_stamp not in (0, d.upf.recovery_time_stamp):
        d.emit(UpfRestarted(recovery_time_stamp))
        associate(d)
        return
    reachable(d, answers=True)
    delete_leftovers(d)


def reachable(d: UpfDraft, *, answers: bool) -> None:
    """Note whether heartbeats are answered."""
    if d.upf.reachable != answers:
        d.emit(UpfReachable(answers))


def delete_leftovers(d: UpfDraft) -> None:
    """Ask once more for what has not been deleted."""
    for found in d.upf.leftovers:
        d.delete(found.up_seid, found.number)


def associate(d: UpfDraft) -> None:
    """Ask for an association. A request that is under way keeps its number, so that a gateway
    which has it already does not send it twice."""
    if not d.configured:
        d.note("the UPF is not in the configuration")
        return
    pdu = pfcp.association_setup_request(d.env.network.n4_address, d.since)
    d.ask(SETUP, pdu, d.upf.asked)


def not_associated(d: UpfDraft, cause: str) -> None:
    """Try again later: the UPF may be short of something, or be another version then."""
    seconds = min(RETRY * 2 ** min(d.upf.refused, 8), SLOWEST)
    wake_at = d.env.now + seconds * 1000
    d.emit(UpfNotAssociated(cause, wake_at))
    d.outputs.append(Wake(wake_at, Procedure.UPF))


def _associated(d: UpfDraft, ies: Tree) -> None:
    stamp, known = ies["Recovery Time Stamp"], d.upf.recovery_time_stamp
    d.emit(UpfAssociated(d.node_id, stamp, tuple(ies.get("UP Function Features", ()))))
    if known:
        # What the association is set up over is gone, restarted or not (6.2.6.2.2).
        d.sessions_lost(stamp)


def _unusable(ies: Tree) -> str:
    """Why a UPF cannot be used, empty if it can: the core has it choose F-TEIDs (5.5.1)."""
    return "" if "FTUP" in ies.get("UP Function Features", ()) else "it does not allocate F-TEIDs"


def setup_response(d: UpfDraft, number: int | None, ies: Tree) -> None:
    """The answer to the request of that `number`."""
    if not d.upf.asked or number != d.upf.asked:
        d.note(f"an answer to an association setup that nobody waits for: {pfcp.cause_text(ies)}")
        return
    if ies["Cause"] != pfcp.ACCEPTED:
        not_associated(d, pfcp.cause_text(ies))
        return
    unusable = _unusable(ies)
    if unusable:
        own = d.env.network.n4_address
        d.ask("AssociationReleaseRequest", pfcp.association_release_request(own))
        not_associated(d, unusable)
        return
    _associated(d, ies)


def setup_request(d: UpfDraft, sequence: int, ies: Tree) -> None:
    """The UPF asks first (6.2.6.3); what there was before is overwritten."""
    since = d.since
    unusable = _unusable(ies) if d.configured else "it is not in the configuration"
    if unusable:
        released(d, f"an association setup was refused: {unusable}")
        d.note(f"an association setup is refused: {unusable}")
        d.answer(SETUP, sequence, [{"Cause": pfcp.REJECTED}, {"Recovery Time Stamp": since}])
        return
    if not d.upf.since:
        d.emit(UpfAsked(d.node_id, "", d.upf.requests, since))
    d.answer(SETUP, sequence, [{"Cause": pfcp.ACCEPTED}, {"Recovery Time Stamp": since}])
    _associated(d, ies)


def released(d: UpfDraft, reason: str) -> None:
    """End the association, and with it all sessions."""
    if d.upf.associated:
        d.emit(UpfReleased(reason))
        d.sessions_lost(d.upf.recovery_time_stamp)


def update_request(d: UpfDraft, ies: Tree) -> None:
    """6.2.7. A UPF that wants to be released is, at once (6.2.7.3)."""
    features = tuple(ies.get("UP Function Features", d.upf.features))
    if features != d.upf.features:
        d.emit(UpfUpdated(features))
    unusable = "" if "FTUP" in features else "it does not allocate F-TEIDs any more"
    if "SARR" in ies.get("PFCP Association Release Request", ()):
        unusable = "the UPF has asked for it"
    if unusable:
        own = d.env.network.n4_address
        d.ask("AssociationReleaseRequest", pfcp.association_release_request(own))
        released(d, unusable)
