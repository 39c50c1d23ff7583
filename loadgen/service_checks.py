"""What a SERVICE ACCEPT must have (TS 24.501 5.6.1.4.1)."""

from typing import TYPE_CHECKING, NamedTuple

from loadgen.trees import Tree, numbers
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.ue import Ue

_STATUS, _RESULT = "pdu-session-status", "pdu-session-reactivation-result"


class Outcome(NamedTuple):
    """What came of a service request that was accepted."""

    cause: str | None
    """Why it failed all the same, None where it did not."""


def check_service_accept(ue: "Ue", tree: Tree, asked: tuple[int, ...], *, status: bool) -> Outcome:
    """Report what is wrong with an accept, and release locally what it says is no more.

    Args:
        ue: the UE.
        tree: SERVICE ACCEPT.
        asked: the sessions of the uplink data status in the request.
        status: whether the request had the PDU session status.
    """
    lost = check_status(ue, tree, Kind.SERVICE_STATUS, asked=status)
    return Outcome(lost or _check_result(ue, tree, asked))


def check_status(ue: "Ue", tree: Tree, kind: Kind, *, asked: bool) -> str | None:
    """Hold the PDU session status of an accept against the UE's sessions (9.11.3.44).

    Args:
        ue: the UE, which releases locally what the network does not have.
        tree: the accept.
        kind: what a wrong status is.
        asked: whether the request had one.

    Returns:
        why the request failed all the same, None where it did not.
    """
    if _STATUS not in tree:
        if asked:
            ue.violate(kind, "no PDU session status, and the request had one")
        return None
    there = set(numbers(tree, _STATUS))
    own = ue.sessions.live.keys()
    if there - own and asked:
        text = f"PDU sessions {sorted(there - own)} are said to be active, and the UE has {[*own]}"
        ue.violate(kind, text)
    lost = own - there
    live = ue.sessions.live
    if lost and all(ue.disturbance.since(live[psi].agreed) for psi in lost):
        ue.disturbance.surface(ue.now)
    for psi in lost:
        ue.sessions.remove(psi)
    for session in live.values():
        session.agreed = ue.now
    return "session-lost" if lost else None


def _check_result(ue: "Ue", tree: Tree, asked: tuple[int, ...]) -> str | None:
    if _RESULT not in tree:
        if asked:
            text = "no reactivation result, and the request had an uplink data status"
            ue.violate(Kind.SERVICE_REACTIVATION, text)
        return None
    failed = set(numbers(tree, _RESULT))
    if failed - set(asked) or not asked:
        text = f"reactivation result of {sorted(failed)}, and the request was for {sorted(asked)}"
        ue.violate(Kind.SERVICE_REACTIVATION, text)
    return "reactivation-failed" if failed & set(asked) else None
