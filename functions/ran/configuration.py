"""RAN and AMF CONFIGURATION UPDATE (TS 38.413 8.7.2, 8.7.3): what either side tells the other of
itself after NG SETUP.

An update of the core is one at a time. It is repeated, later and later, until the node has
answered it or is set up anew, and is the same each time (8.7.3.4); what changes meanwhile has its
turn after it.
"""

from typing import Final

import wire
from functions.messages import ngap
from functions.messages.ngap import node
from functions.messages.trees import Tree
from functions.ran.decision import GnbDecision
from functions.ran.ng_setup import TIME_TO_WAIT, configuration_of, name_in, read_supported, refusal
from schemas.ran import (
    AmfConfiguration,
    AmfConfigurationAcknowledged,
    AmfConfigurationPostponed,
    AmfConfigurationRefused,
    AmfConfigurationSent,
    ConfigurationUpdated,
    ConfigurationUpdateFailed,
)

REQUEST: Final = "RANConfigurationUpdate"

RETRY: Final = 10
"""Seconds until an AMF CONFIGURATION UPDATE without an answer is sent again; each time twice as
many, up to `SLOWEST`. Also until one that was refused is tried again, where the node names no
time to wait."""
SLOWEST: Final = 640

_CLOCK_SKEW_MS: Final = 250


def update(d: GnbDecision, node_id: str | None, ies: Tree) -> None:
    """RAN CONFIGURATION UPDATE (8.7.2). What the message leaves out stays as it is.

    A node has one association with this core, so that one to be removed is the one there is; its
    end comes of itself.
    """
    if node_id not in (None, d.gnb.id):
        # An association more of the node, which it would be the first message on.
        _refuse(d, ngap.WRONG_STATE, f"the association is that of {d.gnb.id}")
        return
    supported = None
    if "SupportedTAList" in ies:
        supported = read_supported(ies["SupportedTAList"])
        cause = refusal(d.env, supported)
        if cause is not None:
            _refuse(d, cause, ngap.cause_text(cause))
            return
    removed = len(ies.get("NGRAN-TNLAssociationToRemoveList", ()))
    if removed:
        d.note(f"{removed} association(s) will be removed by the node")
    d.emit(ConfigurationUpdated(name_in(ies), supported, ies.get("DefaultPagingDRX")))
    answer = f"{REQUEST}Acknowledge"
    ies_of_answer = node.diagnosed(d.diagnostics)
    d.send_pdu(wire.ngap_encode({"message": answer, "ies": ies_of_answer}))


def _refuse(d: GnbDecision, cause: ngap.Cause, text: str) -> None:
    d.emit(ConfigurationUpdateFailed(text))
    d.fail(REQUEST, cause, TIME_TO_WAIT)


# AMF CONFIGURATION UPDATE


def network_changed(d: GnbDecision) -> None:
    """The configuration of the network is another: the node is told what is new for it."""
    if not d.gnb.association:
        return
    if refusal(d.env, d.gnb.supported) is not None:
        # Its UEs are told where they are not served; it may have other cores for others.
        d.note("none of what the node serves is served by the network any more")
    if d.gnb.updating is None:
        _tell(d)


def _tell(d: GnbDecision) -> None:
    """Send what the node was not told yet, if anything."""
    now = configuration_of(d.env.network)
    if now != d.gnb.told:
        _send(d, now, 0)


def _send(d: GnbDecision, now: AmfConfiguration, attempt: int) -> None:
    wake_at = d.env.now + min(RETRY << min(attempt, 8), SLOWEST) * 1000
    d.emit(AmfConfigurationSent(now, wake_at, attempt))
    d.send_pdu(node.amf_configuration_update(d.gnb.told, now))
    d.wake(wake_at)


def acknowledged(d: GnbDecision) -> None:
    """AMF CONFIGURATION UPDATE ACKNOWLEDGE."""
    sent = d.gnb.updating
    if sent is None or sent.refused:
        d.note("AMF CONFIGURATION UPDATE ACKNOWLEDGE that nobody waits for")
        return
    d.emit(AmfConfigurationAcknowledged(sent.configuration))
    _tell(d)


def failed(d: GnbDecision, ies: Tree) -> None:
    """AMF CONFIGURATION UPDATE FAILURE: again, not before the time to wait is over (8.7.3.3)."""
    sent = d.gnb.updating
    cause = ngap.cause_text(ies.get("Cause", ngap.UNSPECIFIED))
    if sent is None or sent.refused:
        d.note(f"AMF CONFIGURATION UPDATE FAILURE that nobody waits for: {cause}")
        return
    asked = node.TIMES_TO_WAIT.get(ies.get("TimeToWait", ""), 0)
    seconds = max(asked, min(RETRY << min(sent.attempt, 8), SLOWEST))
    wake_at = d.env.now + seconds * 1000
    d.emit(AmfConfigurationPostponed(cause, wake_at))
    d.wake(wake_at)


def not_understood(d: GnbDecision, diagnostics: Tree) -> None:
    """An ERROR INDICATION about an AMF CONFIGURATION UPDATE: the node does not have the procedure
    (10.3.4.1). It is told what is new by its next NG SETUP, or when the network changes again."""
    code = diagnostics.get("procedureCode")
    if d.gnb.updating is not None and code == node.AMF_CONFIGURATION_UPDATE:
        d.emit(AmfConfigurationRefused("the node does not understand it"))


def timer(d: GnbDecision) -> None:
    """The wake-up: the update has had no answer, or may be tried again."""
    sent = d.gnb.updating
    if sent is None or d.gnb.wake_at > d.env.now + _CLOCK_SKEW_MS:
        return
    # One that was refused is not bound to what it was; what changed meanwhile is in it.
    now = configuration_of(d.env.network) if sent.refused else sent.configuration
    if now == d.gnb.told:
        d.emit(AmfConfigurationAcknowledged(now))
    else:
        _send(d, now, sent.attempt + 1)
