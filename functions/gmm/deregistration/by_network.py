"""Network-initiated deregistration (TS 24.501 5.5.2.3, TS 23.502 4.2.2.3.3).

An event requests it. `reconcile` sends the DEREGISTRATION REQUEST once the UE has a connection, and
pages a UE in CM-IDLE. A UE that cannot be reached is deregistered locally.
"""

from typing import Final

from functions.decision import connection
from functions.decision.collisions import Start, Verdict, check, reasons
from functions.decision.inputs import NasReceived
from functions.decision.ue_decision import RETRANSMISSIONS, UeDecision
from functions.gmm import paging
from functions.gsm import emergency
from functions.messages import ngap
from functions.messages.nas.gmm import UPDATES, kind_of
from functions.messages.trees import Tree
from schemas.causes import GmmCause
from schemas.cloudevents import Deregister
from schemas.gmm.events import (
    Deregistered,
    NetworkDeregistrationAborted,
    NetworkDeregistrationPending,
    NetworkDeregistrationSent,
)
from schemas.gmm.state import NetworkDeregistration

TIMER: Final = "T3522"


def by_operator(d: UeDecision, wish: Deregister) -> None:
    """Start the deregistration that the operator requests."""
    _want(d, "by the operator", reregister=wish.reregister, cause=wish.cause)


def by_subscription(d: UeDecision) -> None:
    """Start a deregistration if the changed subscription is withdrawn or barred.

    A UE that is registered for emergency services, or has an emergency PDU session, may be barred
    (5.5.1.2.4, TS 23.501 5.16.4.3). The reconcilers apply other changes of a subscription.
    """
    subscriber = d.env.subscriber
    if subscriber is not None and (
        d.ue.emergency or not subscriber.barred or emergency.session_of(d) is not None
    ):
        return
    if subscriber is not None:
        _want(d, "the subscription is barred", cause=GmmCause.SERVICES_NOT_ALLOWED)
        return
    cause = d.env.network.causes.of_removed_subscriber(_plmn(d))
    _want(d, "the subscription is removed", cause=cause)


def _plmn(d: UeDecision) -> str:
    """Return the PLMN of the UE's connection, or of its registration area in CM-IDLE."""
    if d.ue.connection is not None:
        return d.connection.tai.plmn
    return next((tai.plmn for tai in d.ue.registration_area), "")


def _want(d: UeDecision, reason: str, *, cause: int, reregister: bool = False) -> None:
    if check(d, Start.DEREGISTRATION_BY_NETWORK) is Verdict.IGNORE:
        state = "being deregistered" if d.ue.registered else "not registered"
        d.note(f"deregistration {reason}: the UE is {state}")
    else:
        d.emit(NetworkDeregistrationPending(reason, reregister, cause))


def reconcile(d: UeDecision) -> None:
    """Continue a pending deregistration as far as the connection of the UE allows."""
    wanted = d.ue.network_deregistration
    if wanted is None:
        d.stop_timer(TIMER)
        return
    here = d.ue.connection
    sent = wanted.amf_ue_ngap_id
    waiting = here is not None and here.amf_ue_ngap_id == sent and not here.releasing
    if waiting and TIMER in d.ue.timers:
        return
    if here is None or (here.releasing and here.amf_ue_ngap_id == sent):
        if sent:
            _end(d, "lower layer failure")  # 5.5.2.3.5 b
        else:
            _page(d)
    elif not reasons(d, Start.DEREGISTRATION_BY_NETWORK, Verdict.WAIT):
        _request(d, wanted, 0)


def _page(d: UeDecision) -> None:
    """Page the UE. Deregister it locally if it does not answer."""
    if d.ue.paging is None or not (d.ue.paging.failed or "T3513" in d.ue.timers):
        paging.begin(d)
    if d.ue.paging is None or d.ue.paging.failed:
        _end(d, "the UE cannot be reached")


def _request(d: UeDecision, wanted: NetworkDeregistration, count: int) -> None:
    """Send DEREGISTRATION REQUEST, and start T3522."""
    message: Tree = {
        "message-type": "deregistration-request-ue-terminated",
        "de-registration-type": {
            "switch-off": False,
            "re-registration-required": wanted.reregister,
            "access-type": "3gpp-access",
        },
    }
    if wanted.cause:
        message["5gmm-cause"] = wanted.cause
    d.send_nas(message)
    if d.connection.amf_ue_ngap_id != wanted.amf_ue_ngap_id:
        d.emit(NetworkDeregistrationSent(d.connection.amf_ue_ngap_id))
    d.start_timer(TIMER, d.env.network.timers.t3522, count)


def accepted(d: UeDecision, received: NasReceived) -> None:
    """Process DEREGISTRATION ACCEPT (5.5.2.3.3)."""
    wanted = d.ue.network_deregistration
    if received.initial or wanted is None or not d.connection_is(wanted.amf_ue_ngap_id):
        d.note("a DEREGISTRATION ACCEPT without a pending request")
        if received.initial:
            d.release(ngap.NORMAL_RELEASE)
        return
    _end(d, "")


def expired(d: UeDecision, count: int) -> None:
    """T3522: send the request again, four times; then deregister the UE (5.5.2.3.5 a)."""
    wanted = d.ue.network_deregistration
    if wanted is None or not d.connection_is(wanted.amf_ue_ngap_id):
        d.note("T3522 expired without a pending request")
    elif reasons(d, Start.DEREGISTRATION_BY_NETWORK, Verdict.WAIT):
        d.note("T3522 expired during another procedure")
    elif count < RETRANSMISSIONS:
        _request(d, wanted, count + 1)
    else:
        _end(d, "T3522 expired for the fifth time")


def _end(d: UeDecision, why: str) -> None:
    wanted = d.ue.network_deregistration
    reason = wanted.reason if wanted is not None else ""
    d.stop_timer(TIMER)
    d.emit(Deregistered(f"{reason}: {why}" if why else reason))
    d.release(ngap.DEREGISTER)


# Collisions


def abort(d: UeDecision, reason: str) -> None:
    """End the procedure without deregistering the UE (5.5.2.3.5 d)."""
    if d.ue.network_deregistration is not None:
        d.emit(NetworkDeregistrationAborted(reason))


def goes_before(d: UeDecision, received: NasReceived) -> bool:
    """Whether a REGISTRATION REQUEST is ignored because of the deregistration (5.5.2.3.5 e).

    An initial registration goes on, and ends the deregistration when it is accepted. A request
    without a valid MAC goes on too: it may come from another UE.
    """
    wanted = d.ue.network_deregistration
    kind = kind_of(received.tree)
    if wanted is None or kind not in UPDATES or not received.nas.verified:
        return False
    if not reasons(d, Start.REGISTRATION_UPDATE, Verdict.IGNORE):
        abort(d, f"ongoing {kind}")
        return False
    d.note(f"{kind} while the UE is being deregistered")
    connection.proved(d)
    return True
