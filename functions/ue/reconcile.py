"""The reconcilers: each compares a part of the state of a UE with the rest, after each decision.

A reconciler sends the next message that the state asks for, or ends a procedure that has lost its
connection. It does one thing at a time, and goes on from the answer. A reconciler without work
returns at its first condition.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from functions.decision.ue_decision import UNENCODABLE, UeDecision
from functions.gmm import configuration_update, paging, ue_context
from functions.gmm.authentication import reauthentication
from functions.gmm.deregistration import by_network, implicit
from functions.gsm import indication, modification, n4, release, user_plane
from functions.mobility import end, xn_handover
from functions.ue import stranger


class Reconciler(NamedTuple):
    """One reconciler of the list."""

    name: str
    run: Callable[[UeDecision], None]
    reason: str
    """The reason for its place in the list."""
    sessions: bool = False
    """Whether a UE without PDU sessions does not need it."""


RECONCILERS: Final[tuple[Reconciler, ...]] = (
    Reconciler(
        "deregistration by the network",
        by_network.reconcile,
        "First: a UE that it deregisters has no other procedures and no PDU sessions.",
    ),
    Reconciler(
        "configuration update",
        configuration_update.reconcile,
        "After the deregistration, which ends it. Before the PDU sessions: the UE gets a new "
        "5G-GUTI before the gNB gets requests about resources.",
    ),
    Reconciler(
        "handover end",
        end.reconcile,
        "Before the PDU sessions: resources that waited for the handover are requested now.",
    ),
    Reconciler(
        "paging end",
        paging.reconcile,
        "Before the resources: sessions with buffered packets need them.",
    ),
    Reconciler(
        "sessions with their UE",
        release.reconcile,
        "Before the other session reconcilers: a session that ends needs nothing else.",
        sessions=True,
    ),
    Reconciler(
        "user plane lost",
        user_plane.lose,
        "Before the resources: a session can lose them and need them on another connection.",
        sessions=True,
    ),
    Reconciler(
        "subscription",
        modification.reconcile,
        "Before the UPF: it gets a new session AMBR in the same step.",
        sessions=True,
    ),
    Reconciler(
        "resources released",
        user_plane.reconcile,
        "Before the request for resources, which waits for the answer of the gNB.",
    ),
    Reconciler(
        "resources requested",
        user_plane.request,
        "After all that changes which sessions need resources.",
        sessions=True,
    ),
    Reconciler(
        "UPF",
        n4.reconcile,
        "After all that changes a session: one PFCP request has all the changes.",
        sessions=True,
    ),
    Reconciler(
        "PFCP timer",
        n4.rearm,
        "After the UPF: the timer includes the requests of this step.",
        sessions=True,
    ),
    Reconciler(
        "downlink data timers",
        paging.rearm,
        "After the UPF: they depend on the user plane and on the PFCP request of each session.",
        sessions=True,
    ),
    Reconciler(
        "path switch",
        xn_handover.reconcile,
        "After the UPF: the gNB is answered if no session waits for its UPF.",
    ),
    Reconciler(
        "modify indication",
        indication.reconcile,
        "After the UPF, as the path switch.",
    ),
    Reconciler(
        "UE context modification",
        ue_context.reconcile,
        "After the path switch, which ends a handover that it waits for.",
    ),
    Reconciler(
        "reauthentication",
        reauthentication.reconcile,
        "After the UE context modification: the gNB gets the last key before there is another.",
    ),
    Reconciler(
        "mobile reachable timer",
        implicit.reconcile,
        "After all others that start a timer: it starts only if no other timer runs.",
    ),
    Reconciler(
        "stranger",
        stranger.record,
        "Last: it depends on what is left of the UE.",
    ),
)
"""All reconcilers, in their order."""

_WITHOUT_SESSIONS: Final = tuple(one for one in RECONCILERS if not one.sessions)


def reconcile(d: UeDecision) -> None:
    """Run each reconciler that the UE needs.

    If an output of a reconciler cannot be encoded, they are run again, and the output is left out:
    a value in the configuration, in a subscription or from a peer must not cost the UE its event.
    """
    needed = RECONCILERS if d.ue.sessions else _WITHOUT_SESSIONS
    mark = d.mark()
    try:
        for one in needed:
            one.run(d)
    except UNENCODABLE:
        d.undo(mark)
        for one in needed:
            d.attempt(one.name, one.run, d)
