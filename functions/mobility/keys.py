"""The key chain of handovers (TS 33.501 6.9.2)."""

import wire
from functions.decision.collisions import Start, Verdict, reasons
from functions.decision.ue_decision import NoSecurityError, UeDecision
from functions.messages.ngap.handover import NextHop
from schemas.mobility.events import NextHopDerived


def may_go(d: UeDecision, start: Start) -> bool:
    """Whether a handover may start, and the UE has the keys and the slices for its next gNB."""
    known = d.ue.security is not None and bool(d.ue.allowed_nssai)
    return known and not reasons(d, start, Verdict.REJECT)


def next_hop(d: UeDecision) -> NextHop:
    """Return the next {NH, NCC} pair of the UE's connection. Each is for one target (6.9.2.3).

    The K_gNB of the context setup has NCC 0. The NH derived from it has NCC 1, and no gNB gets it.
    After a SECURITY MODE COMMAND with another K_AMF, the chain starts again with the K_gNB of that
    key.
    """
    here, security = d.connection, d.ue.security
    if security is None:
        raise NoSecurityError
    kamf = security.kamf
    if here.rekeyed:
        hop = NextHop(0, wire.kgnb(kamf, here.kgnb_count), new=True)
    else:
        before = here.nh or wire.nh(kamf, wire.kgnb(kamf, here.kgnb_count))
        kept = here.ncc if here.nh else 1
        hop = NextHop((kept + 1) & 7, wire.nh(kamf, before), new=False)
    d.emit(NextHopDerived(hop.ncc, hop.nh))
    return hop
