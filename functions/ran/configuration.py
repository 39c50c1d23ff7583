"""RAN CONFIGURATION UPDATE and AMF CONFIGURATION UPDATE (TS 38.413 8.7.2, 8.7.3).

The core sends one update at a time. It repeats an update unchanged (8.7.3.4), with longer and
longer pauses, until the node responds or is set up again. Later changes are sent after it.
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
    RanConfigurationUpdated,
    RanConfigurationUpdateFailed,
)

REQUEST: Final = "RANConfigurationUpdate"

RETRY: Final = 10
"""Seconds until an AMF CONFIGURATION UPDATE without a response is sent again; doubled each time, up
to `SLOWEST`. The same applies to a refused update if the node sent no time to wait."""
SLOWEST: Final = 640

_CLOCK_SKEW_MS: Final = 250


def update(d: GnbDecision, node_id: str | None, ies: Tree) -> None:
    """Process a RAN CONFIGURATION UPDATE (8.7.2). Values that are not in the message do not change.

    A node has one association with the core. So an association to be removed is this one, and its
    loss is reported separately.
    """
    if node_id not in (None, d.gnb.id):
        # The update would be the first message of an additional association of the node.
        _refuse(d, ngap.WRONG_STATE, f"the association belongs to {d.gnb.id}")
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
        d.note(f"the node removes {removed} association(s)")
    d.emit(RanConfigurationUpdated(name_in(ies), supported, ies.get("DefaultPagingDRX")))
    message = f"{REQUEST}Acknowledge"
    fields = node.diagnosed(d.diagnostics)
    d.send_pdu(wire.ngap_encode({"message": message, "ies": fields}))


def _refuse(d: GnbDecision, cause: ngap.Cause, text: str) -> None:
    d.emit(RanConfigurationUpdateFailed(text))
    d.fail(REQUEST, cause, TIME_TO_WAIT)


# AMF CONFIGURATION UPDATE


def network_changed(d: GnbDecision) -> None:
    """Send the changed network configuration to the node."""
    if not d.gnb.association:
        return
    if refusal(d.env, d.gnb.supported) is not None:
        # UEs of unserved areas are rejected individually. The node may have other cores for them.
        d.note("the network no longer serves any tracking area of the node")
    if d.gnb.updating is None:
        _send_changes(d)


def _send_changes(d: GnbDecision) -> None:
    """Send the configuration that the node has not acknowledged yet, if any."""
    now = configuration_of(d.env.network)
    if now != d.gnb.told:
        _send(d, now, 0)


def _send(d: GnbDecision, now: AmfConfiguration, attempt: int) -> None:
    wake_at = d.env.now + min(RETRY << min(attempt, 8), SLOWEST) * 1000
    d.emit(AmfConfigurationSent(now, wake_at, attempt))
    d.send_pdu(node.amf_configuration_update(d.gnb.told, now))
    d.wake(wake_at)


def acknowledged(d: GnbDecision) -> None:
    """Process an AMF CONFIGURATION UPDATE ACKNOWLEDGE."""
    sent = d.gnb.updating
    if sent is None or sent.refused:
        d.note("AMF CONFIGURATION UPDATE ACKNOWLEDGE without a pending request")
        return
    d.emit(AmfConfigurationAcknowledged(sent.configuration))
    _send_changes(d)


def failed(d: GnbDecision, ies: Tree) -> None:
    """Process an AMF CONFIGURATION UPDATE FAILURE: send it again after the time to wait
    (8.7.3.3)."""
    sent = d.gnb.updating
    cause = ngap.cause_text(ies.get("Cause", ngap.UNSPECIFIED))
    if sent is None or sent.refused:
        d.note(f"AMF CONFIGURATION UPDATE FAILURE without a pending request: {cause}")
        return
    time_to_wait = node.TIMES_TO_WAIT.get(ies.get("TimeToWait", ""), 0)
    seconds = max(time_to_wait, min(RETRY << min(sent.attempt, 8), SLOWEST))
    wake_at = d.env.now + seconds * 1000
    d.emit(AmfConfigurationPostponed(cause, wake_at))
    d.wake(wake_at)


def not_supported(d: GnbDecision, diagnostics: Tree) -> None:
    """Process an ERROR INDICATION about an AMF CONFIGURATION UPDATE: the node does not have the
    procedure (10.3.4.1).

    The node gets the configuration with its next NG SETUP, or when the network changes again.
    """
    code = diagnostics.get("procedureCode")
    if d.gnb.updating is not None and code == node.AMF_CONFIGURATION_UPDATE:
        d.emit(AmfConfigurationRefused("the node does not support it"))


def timer(d: GnbDecision) -> None:
    """Process the wake-up: the update has no response, or may be sent again."""
    sent = d.gnb.updating
    if sent is None or d.gnb.wake_at > d.env.now + _CLOCK_SKEW_MS:
        return
    # After a refusal the update may change, so it includes later changes.
    now = configuration_of(d.env.network) if sent.refused else sent.configuration
    if now == d.gnb.told:
        d.emit(AmfConfigurationAcknowledged(now))
    else:
        _send(d, now, sent.attempt + 1)
