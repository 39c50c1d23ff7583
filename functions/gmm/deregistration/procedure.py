"""Deregistration (TS 24.501 5.5.2): UE-initiated; by the network, and of a UE that is gone,
in `network_deregistration` and `reachability`."""

from typing import Final

from functions.decision import connection
from functions.decision.inputs import EventReceived, Input, Nas, NasReceived, TimerExpired
from functions.decision.ue_decision import UeDecision
from functions.gmm.authentication import aka
from functions.gmm.deregistration import by_network, implicit
from functions.messages import ngap
from functions.messages.trees import Tree, subtree
from schemas.cloudevents import Deregister, SubscriptionChanged
from schemas.gmm.events import Deregistered, DeregistrationPending

REQUEST: Final = 0x45


def decide(d: UeDecision, received: Input) -> None:
    """Decide about a DEREGISTRATION REQUEST or ACCEPT, and about what makes the network ask."""
    match received:
        case NasReceived(nas, tree, _) if nas.type == REQUEST:
            _request(d, nas, tree)
        case NasReceived():
            by_network.accepted(d, received)
        case EventReceived(_, Deregister() as wish):
            by_network.by_operator(d, wish)
        case EventReceived(_, SubscriptionChanged()):
            by_network.by_subscription(d)
        case TimerExpired(by_network.TIMER, count):
            by_network.expired(d, count)
        case TimerExpired(name, _):
            implicit.expired(d, name)
        case _:
            d.note(f"nothing to do for {received!r}")


def _request(d: UeDecision, nas: Nas, tree: Tree) -> None:
    switch_off = is_switch_off(tree)
    if not nas.verified:
        _unproved(d, switch_off=switch_off)
        return
    connection.proved(d)
    connection.abort(d, "the UE deregisters")  # 5.5.1.2.8, whatever else it was about
    complete(d, switch_off=switch_off)


def is_switch_off(request: Tree) -> bool:
    """Whether a DEREGISTRATION REQUEST is due to switch-off (9.11.3.20)."""
    return bool(subtree(request, "de-registration-type").get("switch-off"))


def complete(d: UeDecision, *, switch_off: bool) -> None:
    """Deregister a UE that has proved who it is; a UE that is switched off hears nothing."""
    if switch_off:
        d.emit(Deregistered("UE switched off"))
    else:
        _accept(d)
        d.emit(Deregistered("requested by the UE"))
    d.release(ngap.DEREGISTER)


def _accept(d: UeDecision) -> None:
    if not d.connection.releasing:
        d.send_nas_best({"message-type": "deregistration-accept-ue-originating"})


def refuse(d: UeDecision) -> None:
    """The UE that asked is not the one that is registered under its 5G-GUTI.

    It is told what is so: that it is not registered here. An AUTHENTICATION REJECT would make
    a UE of good faith, whose 5G-GUTI another has now, take its USIM for invalid.
    """
    connection.abort(d, "authentication failed")
    _accept(d)
    d.release(ngap.DEREGISTER)


def _unproved(d: UeDecision, *, switch_off: bool) -> None:
    """A request without a valid MAC (4.4.4.3): it must not end the registration of another.

    At switch-off it is ignored. Otherwise the UE is authenticated first, where it is known and
    registered; a UE that is not registered here is told that it is deregistered.
    """
    subscriber = d.env.subscriber
    if switch_off:
        d.note("a DEREGISTRATION REQUEST (switch off) without a valid MAC")
        d.release(ngap.NORMAL_RELEASE)
        return
    connection.abort(d, "the UE deregisters")
    if not d.ue.registered or subscriber is None:
        _accept(d)
        d.release(ngap.DEREGISTER)
    else:
        d.emit(DeregistrationPending())
        aka.start(d, subscriber)
