"""The subscription and the configuration of the network as the gNB of a UE gets them: mobility
restrictions and the RFSP index (TS 23.501 5.3.4.1, 5.3.4.3)."""

from collections.abc import Sequence

from functions.decision.ue_decision import UeDecision
from functions.messages import ngap
from schemas.connection.events import RestrictionsSent
from schemas.connection.state import Connection, Restrictions
from schemas.identity import Plmn, SNssai


def restrictions(d: UeDecision, plmn: Plmn) -> Restrictions | None:
    """Return the Mobility Restriction List of the UE in a serving PLMN; None if it is not needed.

    A gNB without a list considers that no restriction applies (TS 38.413 8.3.1.2). So a UE without
    forbidden areas gets none in a network of one PLMN. With several PLMNs, the gNB must know the
    serving PLMN and its equivalent PLMNs: the UE may not move to another one. Emergency services
    have no restrictions (TS 23.501 5.16.4.3). A UE that may not use NR, or not the 5GC, has no
    context at a gNB: its registration is rejected.
    """
    network, subscriber = d.env.network, d.env.subscriber
    if subscriber is None or d.ue.emergency:
        return None
    equivalent = network.equivalents(plmn)
    if not subscriber.forbidden_tacs and not equivalent and len(network.plmns) == 1:
        return None
    return Restrictions(plmn, equivalent, subscriber.forbidden_tacs)


def rfsp(d: UeDecision) -> int:
    """Return the RFSP index of the UE: that of the subscription, or of the network; 0 for none."""
    subscriber = d.env.subscriber
    subscribed = subscriber.rfsp if subscriber is not None else 0
    return subscribed or d.env.network.rfsp


def outdated(d: UeDecision, here: Connection) -> bool:
    """Whether the gNB has a Mobility Restriction List that does not apply any more.

    A UE without a subscription keeps its list: the network deregisters it.
    """
    return d.env.subscriber is not None and here.restrictions != _replacing(d, here)


def _replacing(d: UeDecision, here: Connection) -> Restrictions | None:
    """Return the list that the gNB needs. One that only has the serving PLMN ends the restrictions
    of the list before, because the gNB keeps that one otherwise (TS 38.413 8.6.2)."""
    wanted = restrictions(d, d.plmn)
    if wanted is None and here.restrictions is not None:
        return Restrictions(d.plmn)
    return wanted


def send_nas(d: UeDecision, nas: bytes, allowed_nssai: Sequence[SNssai] = ()) -> None:
    """Send a protected NAS message, with the values that the gNB does not have yet.

    The message is a DOWNLINK NAS TRANSPORT, with `allowed_nssai` for the gNB if there is one.
    """
    here = d.connection
    changed = outdated(d, here)
    told = _replacing(d, here) if changed else None
    index = rfsp(d)
    if index == here.rfsp:
        index = 0
    d.send(ngap.downlink_nas_transport(here, nas, allowed_nssai, told, index))
    if changed or index:
        d.emit(RestrictionsSent(told if changed else here.restrictions, index))
