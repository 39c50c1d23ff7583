"""Authentication of a registered UE before its NAS COUNTs wrap (TS 24.501 4.4.3.5).

It uses the messages of any authentication. The security mode control after it gives the UE another
K_AMF (TS 33.501 6.4.5), and `ue_context` gives the gNB the key derived from it.
"""

from typing import Final

from functions.decision.collisions import Start, Verdict, check
from functions.decision.ue_decision import UeDecision
from functions.gmm.authentication import aka
from schemas.gmm.state import SecurityContext

COUNT_MARGIN: Final = 1 << 16
"""NAS COUNTs that must be left for a context to stay in use (4.4.3.5)."""


FEWEST: Final = 4
"""Lowest number of NAS messages that a context is used for, whatever is configured.

The security mode control uses one of them, so a lower limit would be exceeded at once again.
"""


def due(d: UeDecision, security: SecurityContext) -> bool:
    """Whether a context has reached the limit of its use."""
    limit = (1 << 24) - COUNT_MARGIN
    configured = d.env.network.security.reauthenticate_after
    if configured:
        limit = min(max(configured, FEWEST), limit)
    return security.uplink >= limit or security.downlink >= limit


def reconcile(d: UeDecision) -> None:
    """Challenge the UE if it is due and the authentication may start."""
    security, subscriber = d.ue.security, d.env.subscriber
    if security is None or subscriber is None or not due(d, security):
        return
    if check(d, Start.AUTHENTICATION) is Verdict.START:
        aka.start(d, subscriber)
