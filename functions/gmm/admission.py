"""General NAS level congestion control (TS 24.501 5.3.9): requests are put off while a worker
cannot serve them in time, or while the disk of the event log is nearly full."""

from typing import Final

from functions.decision.ue_decision import UeDecision
from functions.messages.trees import Tree
from schemas.causes import GmmCause
from schemas.identity import Tai
from schemas.network import Congestion
from schemas.subscriber import Subscriber

SPARED: Final = frozenset(
    {"emergency", "highPriorityAccess", "mt-Access", "mps-PriorityAccess", "mcs-PriorityAccess"}
)
"""RRC establishment causes of UEs that are never put off: for emergency services, with priority, or
because they were paged."""

BACK_OFFS: Final = (*range(2, 64, 2), *range(120, 1920, 60), *range(2160, 11520, 360))
"""The values that T3346 and T3502 can have, in seconds (a GPRS timer 2, TS 24.008 10.5.7.4)."""


def back_off(d: UeDecision) -> Tree | None:
    """Return the IEs that put a request off which opens a connection; None to serve it.

    A UE that cannot check the reject would take T3346 for 15 to 30 minutes, whatever its value
    (5.5.1.2.5). With the value 0 it registers again after T3511, and after five attempts after
    T3502 (5.5.1.2.7).
    """
    if d.connection.establishment_cause in SPARED:
        return None
    seconds = d.env.back_off()
    return _put_off(d, seconds) if seconds else None


def without_room(d: UeDecision) -> Tree | None:
    """Return the IEs that put off a UE that is not registered, because the disk of the event log is
    nearly full; None to serve it. UEs come back in the time of one to two waits."""
    if d.ue.registered or d.connection.establishment_cause in SPARED:
        return None
    seconds = d.env.lack_of_room()
    return _put_off(d, seconds + (seconds * d.env.random_int(16) >> 16)) if seconds else None


def _put_off(d: UeDecision, seconds: int) -> Tree:
    policy = d.env.network.congestion
    seconds = max(policy.t3346_min, min(policy.t3346_max, seconds))
    value = _encodable(seconds, policy, d.env.random_int(16))
    if d.connection.secured:
        return {"t3346-value": value}
    return {"t3346-value": 0, "t3502-value": value}


def _encodable(seconds: int, policy: Congestion, drawn: int) -> int:
    """Return one of the two values of T3346 next to `seconds`, by chance (16 bits), so that the
    mean is `seconds`. Values outside the range of the policy are avoided."""
    values = [one for one in BACK_OFFS if policy.t3346_min <= one <= policy.t3346_max]
    if not values:
        return next((one for one in BACK_OFFS if one >= policy.t3346_min), BACK_OFFS[-1])
    low = max((one for one in values if one <= seconds), default=values[0])
    high = min((one for one in values if one >= seconds), default=values[-1])
    if low >= high:
        return high
    return high if drawn < (seconds - low) / (high - low) * (1 << 16) else low


def barred(subscriber: Subscriber, tai: Tai) -> GmmCause | None:
    """Return the cause to reject a UE of this subscription in a tracking area; None to serve it."""
    if subscriber.barred:
        return GmmCause.SERVICES_NOT_ALLOWED
    if not subscriber.nr_allowed:
        return GmmCause.N1_MODE_NOT_ALLOWED
    if tai.tac in subscriber.forbidden_tacs:
        return GmmCause.TRACKING_AREA_NOT_ALLOWED
    return None
