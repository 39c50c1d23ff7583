"""UE-initiated deregistration (TS 24.501 5.5.2.2)."""

from typing import Final

from functions import authentication, connection, ngap
from functions.draft import Draft
from functions.ingress import Nas
from functions.inputs import Input, NasReceived
from functions.trees import Tree
from schemas.ue_events import Deregistered, DeregistrationPending, RegistrationAborted

VERSION: Final = "1"


def decide(d: Draft, received: Input) -> None:
    """Decide about a DEREGISTRATION REQUEST."""
    match received:
        case NasReceived(nas, tree, _):
            _request(d, nas, tree)
        case _:
            d.note(f"nothing to do for {received!r}")


def _request(d: Draft, nas: Nas, tree: Tree) -> None:
    switch_off = bool(tree["de-registration-type"]["switch-off"])
    if not nas.verified:
        _unproved(d, switch_off=switch_off)
        return
    connection.proved(d)
    _end_procedures(d)
    if switch_off:
        d.emit(Deregistered("UE switched off"))
        d.release(ngap.DEREGISTER)
    else:
        accept(d)


def _end_procedures(d: Draft) -> None:
    """5.5.1.2.8 and 5.4: a deregistration ends whatever else the UE was about."""
    for timer in ("T3550", "T3560", "T3570"):
        d.stop_timer(timer)
    if d.ue.registration is not None:
        d.emit(RegistrationAborted("the UE deregisters"))


def accept(d: Draft) -> None:
    """Send DEREGISTRATION ACCEPT, and let the connection go."""
    d.send_nas_best({"message-type": "deregistration-accept-ue-originating"})
    d.emit(Deregistered("requested by the UE"))
    d.release(ngap.DEREGISTER)


def _unproved(d: Draft, *, switch_off: bool) -> None:
    """A request without a valid MAC (4.4.4.3): it must not end the registration of another.

    At switch-off it is ignored. Otherwise the UE is authenticated first, where it is known and
    registered; a UE that is not registered here is told that it is deregistered.
    """
    subscriber = d.env.subscriber
    if switch_off:
        d.note("a DEREGISTRATION REQUEST (switch off) without a valid MAC")
        d.release(ngap.NORMAL_RELEASE)
    elif not d.ue.registered or subscriber is None:
        d.send_nas_plain({"message-type": "deregistration-accept-ue-originating"})
        d.release(ngap.DEREGISTER)
    else:
        d.emit(DeregistrationPending())
        authentication.start(d, subscriber)
