"""General NAS level congestion control (TS 24.501 5.3.9): requests are put off while workers are
behind."""

from typing import Final

from functions.decision.ue_decision import UeDecision
from functions.messages.trees import Tree
from schemas.causes import GmmCause
from schemas.identity import Tai
from schemas.subscriber import Subscriber

SPARED: Final = frozenset(
    {"emergency", "highPriorityAccess", "mt-Access", "mps-PriorityAccess", "mcs-PriorityAccess"}
)
"""RRC establishment causes of UEs that are never put off: for emergency services, with priority, or
because they were paged."""

BACK_OFFS: Final = (*range(2, 64, 2), *range(120, 1920, 60), *range(2160, 11520, 360))
"""The values that T3346 can have, in seconds (a GPRS timer 2, TS 24.008 10.5.7.4)."""


def puts_off(d: UeDecision) -> bool:
    """Whether a request that opens a connection is to come again later."""
    return d.connection.establishment_cause not in SPARED and d.env.congested()


def back_off(d: UeDecision) -> Tree:
    """T3346, drawn by chance, so that UEs do not come back together."""
    policy = d.env.network.congestion
    least, most = policy.t3346_min, policy.t3346_max
    values = [value for value in BACK_OFFS if least <= value <= most]
    if not values:
        values = [next((value for value in BACK_OFFS if value >= least), BACK_OFFS[-1])]
    return {"t3346-value": values[d.env.random_int(16) % len(values)]}


def barred(subscriber: Subscriber, tai: Tai) -> GmmCause | None:
    """Why a UE with this subscription is not served in a tracking area; None where it is."""
    if subscriber.barred:
        return GmmCause.SERVICES_NOT_ALLOWED
    if not subscriber.nr_allowed:
        return GmmCause.N1_MODE_NOT_ALLOWED
    if tai.tac in subscriber.forbidden_tacs:
        return GmmCause.TRACKING_AREA_NOT_ALLOWED
    return None
