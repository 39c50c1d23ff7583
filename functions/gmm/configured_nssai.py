"""The configured NSSAI of a UE in its serving PLMN (TS 24.501 4.6.2.2, TS 23.501 5.15.4.1.1)."""

from typing import Final

from functions.decision.slices import Nssai
from functions.decision.ue_decision import UeDecision
from functions.messages.nas import gmm
from functions.messages.nas.gmm import UPDATES, kind_of
from functions.messages.trees import Tree, subtree
from schemas.gmm.state import ConfiguredNssai
from schemas.identity import Plmn

MAX_CONFIGURED: Final = 16
"""S-NSSAIs of a configured NSSAI (9.11.3.37)."""


def of(d: UeDecision) -> ConfiguredNssai | None:
    """Return the configured NSSAI of the UE: the subscribed S-NSSAIs that its PLMN has.

    None without a subscription, and if the PLMN has no subscribed S-NSSAI.
    """
    subscriber, plmn = d.env.subscriber, d.plmn
    if subscriber is None:
        return None
    subscribed = tuple(one.nssai for one in subscriber.slices)
    served = d.env.network.slices(plmn)
    there = [one for one in subscribed if one in served]
    return ConfiguredNssai(plmn, tuple(there[:MAX_CONFIGURED]), subscribed) if there else None


def stored(d: UeDecision, plmn: Plmn) -> ConfiguredNssai | None:
    """Return the configured NSSAI that the UE has acknowledged for a PLMN, None if it has none."""
    return next((one for one in d.ue.configured_nssai if one.plmn == plmn), None)


def for_accept(d: UeDecision, request: Tree, nssai: Nssai) -> ConfiguredNssai | None:
    """Return the configured NSSAI for a REGISTRATION ACCEPT (5.5.1.2.4, 5.5.1.3.4); None if the UE
    has it.

    The UE does not have it if it makes its request without it: without a requested NSSAI, from the
    default configured NSSAI, or with an S-NSSAI that is not subscribed.
    """
    current = of(d)
    lost = (
        subtree(request, "network-slicing-indication").get("dcni")
        or ("requested-nssai" not in request and kind_of(request) not in UPDATES)
        or nssai.rejected_in_plmn
    )
    return current if lost or current is None or stored(d, current.plmn) != current else None


def changed(d: UeDecision) -> ConfiguredNssai | None:
    """Return the configured NSSAI if it differs from the one that the UE has acknowledged; None if
    it does not, or if the UE has none.

    That of an emergency registration does not depend on the subscription.
    """
    if not d.ue.configured_nssai or d.ue.emergency:
        return None
    current = of(d)
    before = stored(d, d.plmn)
    return current if before is not None and current != before else None


def ies(d: UeDecision, configured: ConfiguredNssai | None) -> Tree:
    """Return the IEs of a configured NSSAI, none for None.

    If the subscription has changed, the UE must delete those of other PLMNs (9.11.3.36).
    """
    if configured is None:
        return {}
    found: Tree = {"configured-nssai": [gmm.s_nssai(one) for one in configured.nssai]}
    if any(one.subscribed != configured.subscribed for one in d.ue.configured_nssai):
        found["network-slicing-indication"] = {"nssci": True, "dcni": False}
    return found
