"""Where a UE may be handed over to (TS 23.501 5.3.4.1.1)."""

from functions.decision.ue_decision import UeDecision
from functions.gsm import emergency
from schemas.identity import Tai
from schemas.network import TrackingArea


def area_of(d: UeDecision, tai: Tai) -> TrackingArea | None:
    """Return the tracking area of a target; None if the UE may not be handed over there.

    The target is in the serving PLMN of the UE or in an equivalent PLMN. Emergency services have no
    forbidden areas (TS 23.501 5.16.4.3).
    """
    network, subscriber = d.env.network, d.env.subscriber
    forbidden = subscriber is not None and tai.tac in subscriber.forbidden_tacs
    urgent = d.ue.emergency or emergency.session_of(d) is not None
    if subscriber is None or (forbidden and not urgent):
        return None
    if tai.plmn != d.plmn and tai.plmn not in network.equivalents(d.plmn):
        return None
    return network.area(tai)
