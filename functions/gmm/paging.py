"""Session reports of UPFs, and paging (TS 23.502 4.2.3.3, TS 29.244 5.8, 7.5.8).

A UPF reports only the first packet that it buffers (TS 29.244 8.2.26, NOCP). The state therefore
keeps the report until the UPF has forwarded the packets. If the packets stay at the UPF, a timer
processes the report again.
"""

from typing import Final

from functions.decision.collisions import Start, Verdict, reasons
from functions.decision.inputs import Input, PfcpReceived, TimerExpired
from functions.decision.ue_decision import UeDecision
from functions.gsm import n4, release, user_plane
from functions.messages import ngap, pfcp
from functions.messages.ngap import recommended_cells
from functions.messages.pfcp import rules
from functions.messages.trees import Tree
from schemas.causes import GsmCause
from schemas.gmm.events import PagingEnded, PagingFailed, PagingStarted
from schemas.gmm.state import Paging
from schemas.gsm.events import DownlinkReported, N4Lost, UserPlaneOff
from schemas.gsm.state import PduSession
from schemas.step import Page, SendPfcp
from schemas.ue.states import Condition

TIMER: Final = "downlink-data"
"""Prefix of the timers that run while a UPF buffers packets of a session. The PDU session identity
follows after a slash."""

PAUSE: Final = 10
"""Number of T3513 periods before a report is processed again, and before the sessions of a failed
paging are renewed. The timer T3513 itself measures the pause after a failed paging."""


def is_held(session: PduSession) -> bool:
    """Whether the UPF buffers downlink packets and no user plane activation is running."""
    here = session.stage in ("active", "modifying") and session.user_plane == "off"
    sent = session.n4.sent
    dropped = not session.n4.up_seid or (sent is not None and sent.message == "delete")
    return here and session.reported > 0 and not dropped


def reconcile(d: UeDecision) -> None:
    """End a paging when the UE is connected or deregistered. Send the PAGING that has waited for
    the release of the connection.

    A paging without T3513 ends too: it would last until the UE connects by itself. It happens after
    a failed decision, and when the paging proceed flag (TS 24.501 5.3.7) is set again.
    """
    ue = d.ue
    if ue.paging is None:
        return
    if not ue.registered or user_plane.reachable(d):
        waiting = ue.paging.seids
        d.stop_timer("T3513")
        d.emit(PagingEnded("the UE is connected" if ue.registered else "the UE is deregistered"))
        if ue.registered and ue.network_deregistration is None:
            user_plane.activate(d, [s.id for s in user_plane.live(d) if s.n4.seid in waiting])
    elif ue.paging.waits and not _is_being_released(d):
        _send_waiting(d, ue.paging)
    elif "T3513" not in ue.timers and not _is_clear(d):
        d.emit(PagingEnded("T3513 does not run"))


def _is_clear(d: UeDecision) -> bool:
    """Whether the paging proceed flag is clear."""
    return bool(reasons(d, Start.PAGING, Verdict.WAIT) & Condition.IMPLICIT_DEREGISTRATION)


def _is_being_released(d: UeDecision) -> bool:
    return bool(d.ue.connection is not None and d.ue.connection.releasing)


def _send_waiting(d: UeDecision, paging: Paging) -> None:
    """Send the first PAGING of a paging that has waited for the release of the connection."""
    d.emit(PagingStarted(paging.seids))
    _page(d, 0)


def rearm(d: UeDecision) -> None:
    """Start a timer for each session with buffered packets. Stop the others.

    No timer of this kind runs during a paging.
    """
    if not d.ue.timers and not any(s.reported for s in d.ue.sessions):
        return
    idle = d.ue.paging is None
    needed = {f"{TIMER}/{s.id}" for s in user_plane.live(d) if idle and is_held(s)}
    for name in [name for name in d.ue.timers if name.startswith(TIMER)]:
        if name not in needed:
            d.stop_timer(name)
    for name in sorted(needed - d.ue.timers.keys()):
        d.start_timer(name, d.env.network.timers.t3513 * PAUSE)


REPETITIONS: Final = 3
"""Maximum number of repetitions of PAGING. Each interval is longer than the previous one."""


def decide(d: UeDecision, received: Input) -> None:
    """Process a report of a UPF, the expiry of T3513, or the timer of buffered packets."""
    match received:
        case PfcpReceived(_, tree, seid, _, key) if tree is not None:
            _report(d, tree, seid, key)
        case TimerExpired("T3513", count):
            _expired(d, count)
        case TimerExpired(name, _) if name.startswith(TIMER):
            _again(d, int(name.partition("/")[2]))
        case _:
            d.note(f"nothing to do for {received!r}")


def _report(d: UeDecision, tree: Tree, seid: int, key: str) -> None:
    session = n4.find(d, seid)
    if session is None or not _is_at_upf(session):
        d.note("a report of a session that is not established at the UPF")
        if session is not None:
            _answer(d, tree, session, key, pfcp.NOT_FOUND)
        return
    _answer(d, tree, session, key, pfcp.ACCEPTED)
    ies = pfcp.ies_of(tree["ies"])
    kinds = ies.get("Report Type", ())
    if session.stage == "released":
        d.note("a report of a session that is being deleted")
    elif "PSDBU" in ies.get("PFCPSRReq-Flags", ()):
        # TS 29.244 5.18.2: the UPF has released the session by itself.
        d.emit(N4Lost(seid, "the UPF released it"))
        release.by_network(d, session, GsmCause.REACTIVATION_REQUESTED)
    elif "ERIR" in kinds:
        _tunnel_lost(d, ies, session)
    elif "DLDR" in kinds and rules.reported(tree) == {rules.UPLINK}:
        d.note("a report of uplink packets")
    elif "DLDR" in kinds:
        _downlink_data(d, session)
    else:
        d.note(f"Report Type {kinds}")


def _is_at_upf(session: PduSession) -> bool:
    """Whether the UPF has a session. Its first report may overtake its SESSION ESTABLISHMENT
    RESPONSE, and it makes no other if that one is not processed."""
    sent = session.n4.sent
    return session.n4.up_seid != 0 or (sent is not None and sent.message == "establish")


def _answer(d: UeDecision, tree: Tree, session: PduSession, key: str, cause: str) -> None:
    """Answer a report. The SEID is 0 as long as that of the UPF is unknown (7.2.2.4.2)."""
    ies = [{"Cause": cause}]
    seid, sequence = session.n4.up_seid, tree["sequence"]
    pdu = pfcp.session_message("SessionReportResponse", seid, ies, sequence)
    d.outputs.append(SendPfcp(session.n4.upf, key, d.slot, pdu))


def _tunnel_lost(d: UeDecision, ies: Tree, session: PduSession) -> None:
    """Record that the gNB does not have the tunnel of a session (TS 23.527 5.3.3.1).

    The next downlink packet sets the tunnel up again. A report about a previous gNB of the UE is
    ignored.
    """
    report: list[Tree] = ies.get("Error Indication Report", [])
    found: Tree = pfcp.ies_of(report).get("F-TEID", {})
    here = session.access
    address = found.get("ipv4") or found.get("ipv6")
    if here is None or (found.get("teid"), address) != (here.teid, here.address):
        d.note("an error indication of another tunnel")
    elif session.user_plane == "on":
        user_plane.unneeded(d, session)
        d.emit(UserPlaneOff(session.n4.seid, "the gNB does not have the tunnel"))


def _downlink_data(d: UeDecision, session: PduSession) -> None:
    seid = session.n4.seid
    if session.n4.downlink is None:
        d.emit(DownlinkReported(seid))
    if user_plane.reachable(d):
        if session.user_plane == "off" and session.stage in ("active", "modifying"):
            user_plane.activate(d, [session.id])  # no paging (TS 23.502 4.2.3.3, 4a)
        else:
            d.note(f"downlink packets while the user plane is {session.user_plane}")
    elif d.ue.paging is None:
        begin(d, (seid,))
    else:
        d.note("downlink packets of a UE that is being paged or did not answer")
        if seid not in d.ue.paging.seids and not d.ue.paging.failed:
            d.emit(PagingStarted((*d.ue.paging.seids, seid), d.ue.paging.waits))


def begin(d: UeDecision, seids: tuple[int, ...] = ()) -> None:
    """Page the UE for downlink packets of sessions, or for signalling alone.

    While the paging proceed flag is clear (TS 24.501 5.3.7), the paging fails at once. The UPF
    keeps the packets for a UE that connects later. While the connection is being released, the UE
    does not hear PAGING: it is sent after the release, or when T3513 expires if the gNB does not
    answer.
    """
    if _is_clear(d):
        d.emit(PagingStarted(seids))
        d.emit(PagingFailed())
    elif _is_being_released(d):
        d.emit(PagingStarted(seids, waits=True))
        d.start_timer("T3513", d.env.network.timers.t3513)
    else:
        d.emit(PagingStarted(seids))
        _page(d, 0)


def _again(d: UeDecision, psi: int) -> None:
    """Process a report again, because its packets have not reached the UE.

    After `REPETITIONS` times, renew the session, so that the UPF reports the next packet.
    """
    session = user_plane.by_id(d, psi)
    if session is None or not is_held(session):
        d.note(f"the PDU session {psi} has no downlink packets")
    elif session.reported > REPETITIONS:
        n4.renew(d, session)
    else:
        _downlink_data(d, session)


def _page(d: UeDecision, count: int) -> None:
    if d.ue.tmsi is None or not d.ue.registration_area:
        d.emit(PagingEnded("the UE cannot be paged"))
        return
    # A UE that has not confirmed its new 5G-GUTI may still use the old 5G-GUTI.
    tmsis = [d.ue.tmsi]
    if d.ue.tmsi_pending and d.ue.old_tmsi is not None:
        tmsis.append(d.ue.old_tmsi)
    area = d.ue.registration_area
    cells = recommended_cells.assistance(d.ue.recommended_cells, count + 1, REPETITIONS + 1)
    guami, drx, capability = d.env.network.guami, d.ue.drx, d.ue.paging_capability
    for tmsi in tmsis:
        d.outputs.append(Page(area, ngap.paging(guami, tmsi, area, drx, capability, cells)))
    d.start_timer("T3513", d.env.network.timers.t3513 * (count + 1), count)


def _expired(d: UeDecision, count: int) -> None:
    """Process T3513: page again, up to `REPETITIONS` times. Then the paging has failed.

    After a pause, renew the sessions, so that their UPFs report the next packet.
    """
    paging = d.ue.paging
    if paging is None:
        d.note("T3513 expired without a paging")
    elif paging.failed:
        d.emit(PagingEnded("the pause has ended"))
        for session in user_plane.live(d):
            if session.n4.seid in paging.seids:
                n4.renew(d, session)
    elif paging.waits:
        _send_waiting(d, paging)
    elif count < REPETITIONS:
        _page(d, count + 1)
    else:
        d.emit(PagingFailed())
        d.start_timer("T3513", d.env.network.timers.t3513 * PAUSE)
