"""Authentication of a UE that is registered, before its NAS COUNTs wrap (TS 24.501 4.4.3.5).

It takes the messages of any authentication, and the security mode control that follows it gives
the UE another K_AMF (TS 33.501 6.4.5); `context_modification` gives the gNB the key below it.
"""

from typing import Final

from functions.decision.collisions import Start, Verdict, check
from functions.decision.ue_decision import UeDecision
from functions.gmm.authentication import aka
from schemas.gmm.state import SecurityContext

COUNT_MARGIN: Final = 1 << 16
"""NAS COUNTs that must be left for a context to stay in use (4.4.3.5)."""


FEWEST: Final = 4
"""NAS messages that a context is used for at least, whatever is configured: the security mode
control takes one of them, and what is due again by that would be so for ever."""


def due(d: UeDecision, security: SecurityContext) -> bool:
    """Whether a context has been used for as long as it may be."""
    limit = (1 << 24) - COUNT_MARGIN
    configured = d.env.network.security.reauthenticate_after
    if configured:
        limit = min(max(configured, FEWEST), limit)
    return security.uplink >= limit or security.downlink >= limit


def reconcile(d: UeDecision) -> None:
    """Challenge the UE when it is due, and about nothing else."""
    security, subscriber = d.ue.security, d.env.subscriber
    if security is None or subscriber is None or not due(d, security):
        return
    if check(d, Start.AUTHENTICATION) is Verdict.START:
        aka.start(d, subscriber)
