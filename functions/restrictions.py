"""What a subscription keeps a UE from (TS 29.503 6.1.6.2.4, TS 23.501 5.3.4.1)."""

from schemas.causes import GmmCause
from schemas.identity import Tai
from schemas.subscriber import Subscriber


def barred(subscriber: Subscriber, tai: Tai) -> GmmCause | None:
    """Why a UE with this subscription is not served in a tracking area; None where it is."""
    if subscriber.barred:
        return GmmCause.SERVICES_NOT_ALLOWED
    if not subscriber.nr_allowed:
        return GmmCause.N1_MODE_NOT_ALLOWED
    if tai.tac in subscriber.forbidden_tacs:
        return GmmCause.TRACKING_AREA_NOT_ALLOWED
    return None
