"""What follows from the state of a UE for its PDU sessions, whichever procedure has changed it.

It comes after each decision: sessions of a UE that is gone end, resources of a connection that is
gone are off, the gNB and the UPFs are asked for what is not so yet. Each asks for one thing at a
time, and goes on from the answer.
"""

from functions.decision.ue_decision import UeDecision
from functions.gmm import configuration_update, paging, ue_context
from functions.gmm.authentication import reauthentication
from functions.gmm.deregistration import by_network, implicit
from functions.gsm import indication, modification, n4, user_plane
from functions.mobility import end, xn_handover
from schemas.gmm.events import PagingEnded
from schemas.gsm.events import SessionDeleted, SessionModified, SessionReleased
from schemas.gsm.state import PduSession


def reconcile(d: UeDecision) -> None:
    """Bring what the network owes the UE, and its sessions, in line with the rest of it."""
    by_network.reconcile(d)
    configuration_update.reconcile(d)
    end.reconcile(d)
    _sessions(d)
    xn_handover.reconcile(d)
    indication.reconcile(d)
    ue_context.reconcile(d)
    reauthentication.reconcile(d)
    implicit.reconcile(d)


def _sessions(d: UeDecision) -> None:
    if d.ue.paging is not None and (not d.ue.registered or user_plane.reachable(d)):
        d.stop_timer("T3513")
        waiting = d.ue.paging.seids
        d.emit(PagingEnded("the UE is here" if d.ue.registered else "the UE is deregistered"))
        if d.ue.registered and d.ue.network_deregistration is None:
            user_plane.activate(d, [s.id for s in user_plane.live(d) if s.n4.seid in waiting])
    if not d.ue.sessions:
        return
    for session in user_plane.live(d):
        _with_its_ue(d, session)
    user_plane.lose(d)
    for session in user_plane.live(d):
        _with_its_subscription(d, session)
    user_plane.request(d)
    for session in d.ue.sessions:
        _with_its_upf(d, session)
    n4.rearm(d)
    paging.rearm(d)


def _with_its_ue(d: UeDecision, session: PduSession) -> None:
    """End what cannot go on without a registration or without a connection."""
    seid, here = session.n4.seid, d.ue.connection
    gone = here is None or here.releasing
    if not d.ue.registered:
        _stop_timers(d, session)
        d.emit(SessionReleased(seid, "the UE is deregistered"))
    elif gone and session.stage in ("establishing", "releasing"):
        _stop_timers(d, session)
        d.emit(SessionReleased(seid, f"the connection is gone while {session.stage}"))
    elif gone and session.stage == "modifying":
        _stop_timers(d, session)
        d.emit(SessionModified(seid))


def _with_its_subscription(d: UeDecision, session: PduSession) -> None:
    """Give a session the session AMBR that is subscribed now."""
    slices = d.env.subscriber.slices if d.env.subscriber is not None else ()
    for dnn in (dnn for one in slices if one.nssai == session.nssai for dnn in one.dnns):
        if dnn.name == session.dnn:
            modification.subscribed(d, session, dnn.ambr)


def _stop_timers(d: UeDecision, session: PduSession) -> None:
    for timer in (f"T3591/{session.id}", f"T3592/{session.id}"):
        d.stop_timer(timer)


def _with_its_upf(d: UeDecision, session: PduSession) -> None:
    """Ask the UPF for what it is not known to have, unless it is about something."""
    current = session.n4
    if current.sent is not None:
        waited = d.env.now - current.sent.at
        if current.sent.count and d.from_gnb and waited >= d.env.network.timers.n4 * 1000:
            n4.repeat(d, session)  # a UE that is here does not wait for a timer that has slowed
        if session.stage == "released" and d.env.network.upf(current.upf) is None:
            d.emit(SessionDeleted(current.seid, "its UPF is no more of this network"))
    elif session.stage == "released":
        if current.up_seid and d.env.network.upf(current.upf) is not None:
            n4.delete(d, session)
        else:
            d.emit(SessionDeleted(current.seid, "no UPF has it"))
    elif session.stage == "releasing":
        return  # it is deleted once the UE has answered, or T3592 has given up
    elif not current.up_seid:
        n4.establish(d, session)
    elif (current.downlink, current.ambr) != (session.access, session.ambr):
        n4.modify(d, session)
