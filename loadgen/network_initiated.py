"""What the network has a UE do outside of its programme (TS 24.501 5.4.4, 5.5.2.3)."""

from typing import TYPE_CHECKING

from loadgen import nas_ue
from loadgen.identity import Guti, nssai_of_nas, tais_of
from loadgen.nas_security import Received
from loadgen.trees import part
from loadgen.ue_model import Connection, Procedure, State
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.ue import Ue

_FORGET = frozenset(
    {
        "illegal-ue",
        "illegal-me",
        "5gs-services-not-allowed",
        "plmn-not-allowed",
        "tracking-area-not-allowed",
        "roaming-not-allowed-in-this-tracking-area",
        "no-suitable-cells-in-tracking-area",
        "n1-mode-not-allowed",
    }
)
"""Causes at which the 5G-GUTI and the ngKSI are deleted (5.5.2.3.2)."""


def configuration_update(ue: "Ue", received: Received) -> None:
    """Take what CONFIGURATION UPDATE COMMAND has, and acknowledge where that is asked for.

    Where a registration is requested, the UE registers again once it is released (5.4.4.3). A UE
    that is deregistering ignores the command, and goes on (5.5.2.2.6).
    """
    if ue.state is State.DEREGISTERED_INITIATED:
        return
    if ue.state not in (State.REGISTERED, State.SERVICE_REQUEST_INITIATED):
        ue.downlink.unexpected("configuration-update-command")
        return
    tree = received.tree
    ue.guti = Guti.of_nas(tree.get("5g-guti")) or ue.guti
    if "tai-list" in tree:
        ue.areas = tais_of(tree["tai-list"])
        if ue.tai not in ue.areas:
            text = f"the registration area is {sorted(ue.areas)}, and the UE is in {ue.tai}"
            ue.violate(Kind.ACCEPT_TAI_LIST, text)
    if "allowed-nssai" in tree:
        ue.allowed_nssai = nssai_of_nas(tree["allowed-nssai"])
    asked = part(tree, "configuration-update-indication")
    if asked.get("red") is True:
        ue.owed.note(Procedure.MOBILITY_UPDATE)
    if asked.get("ack") is True:
        ue.send(nas_ue.CONFIGURATION_UPDATE_COMPLETE)
    ue.record.configured += 1


def deregistered(ue: "Ue", received: Received, now: float) -> None:
    """The network deregisters the UE (5.5.2.3.2); that answers a request of its own, too."""
    if ue.state not in (
        State.REGISTERED,
        State.DEREGISTERED_INITIATED,
        State.SERVICE_REQUEST_INITIATED,
    ):
        ue.downlink.unexpected("deregistration-request-ue-terminated")
        return
    ue.send(nas_ue.DEREGISTRATION_ACCEPT)
    ue.record.deregistered += 1
    ue.state = State.DEREGISTERED
    ue.stop("T3521", "T3517")
    if received.tree.get("5gmm-cause") in _FORGET:
        ue.forget()
    kind = part(received.tree, "de-registration-type")
    running = ue.running_procedure
    if kind.get("re-registration-required") is True and (
        running is None or running.name is not Procedure.DEREGISTER
    ):
        ue.owed.note(Procedure.REGISTER)
    if running is None:
        return
    if running.name is Procedure.DEREGISTER:
        ue.finish(None, now, await_release=True)
    elif running.name is not Procedure.IDLE:
        ue.finish("deregistered", now, await_release=ue.connection is Connection.CONNECTED)
