"""5GSM messages of the core (TS 24.501 8.3), and the DL NAS TRANSPORT that carries them."""

from typing import Final

import wire
from functions.messages import bit_rates
from functions.messages.nas import codec, gmm, options
from functions.messages.trees import Tree
from schemas.causes import GmmCause, GsmCause
from schemas.gsm.state import PduSession
from schemas.network import DataNetwork
from schemas.subscriber import Ambr

ESTABLISHMENT_REQUEST: Final = "pdu-session-establishment-request"
MODIFICATION_REQUEST: Final = "pdu-session-modification-request"
RELEASE_REQUEST: Final = "pdu-session-release-request"


def transport(message: Tree, psi: int) -> Tree:
    """Return the DL NAS TRANSPORT of a 5GSM message (8.2.11)."""
    return {
        "message-type": "dl-nas-transport",
        "payload-container-type": "n1-sm-information",
        "payload-container": message,
        "pdu-session-id": psi,
    }


def not_forwarded(container: bytes, psi: int, cause: GmmCause) -> bytes:
    """Return the DL NAS TRANSPORT of a 5GSM message of the UE that was not forwarded, as it was
    (5.4.5.3.1, cases h and i)."""
    return wire.nas_dl_transport(container, psi, int(cause))


def head(kind: str, psi: int, pti: int) -> Tree:
    """Return the header of a 5GSM message."""
    return {
        "message-type": kind,
        "pdu-session-identity": psi,
        "procedure-transaction-identity": pti,
    }


def reject(psi: int, pti: int, cause: GsmCause, back_off: int = 0) -> Tree:
    """Return a PDU SESSION ESTABLISHMENT REJECT (8.3.3).

    `back_off` is T3396 in seconds, a value of `timers.gprs_timer_3`; 0 for none.
    """
    message = {**head("pdu-session-establishment-reject", psi, pti), "5gsm-cause": int(cause)}
    if cause == GsmCause.UNSUPPORTED_SSC_MODE:
        message["allowed-ssc-mode"] = {"ssc1": True, "ssc2": False, "ssc3": False}
    if back_off:
        message["back-off-timer-value"] = back_off
    return message


def status(psi: int, pti: int, cause: GsmCause) -> Tree:
    """Return a 5GSM STATUS (8.3.16)."""
    return {**head("5gsm-status", psi, pti), "5gsm-cause": int(cause)}


def refusal(request: Tree, cause: GsmCause) -> Tree:
    """Return the reject of a modification or release request of the UE."""
    kind = str(request["message-type"]).replace("-request", "-reject")
    psi, pti = request["pdu-session-identity"], request["procedure-transaction-identity"]
    return {**head(kind, psi, pti), "5gsm-cause": int(cause)}


def release_command(session: PduSession, pti: int, cause: GsmCause) -> Tree:
    """Return a PDU SESSION RELEASE COMMAND (8.3.14)."""
    return {**head("pdu-session-release-command", session.id, pti), "5gsm-cause": int(cause)}


def modification_command(session: PduSession, pti: int, ambr: Ambr) -> Tree:
    """Return a PDU SESSION MODIFICATION COMMAND (8.3.9) with another session AMBR."""
    return {
        **head("pdu-session-modification-command", session.id, pti),
        "session-ambr": _ambr(ambr),
    }


def accept(session: PduSession, request: Tree, network: DataNetwork) -> bytes:
    """Return a PDU SESSION ESTABLISHMENT ACCEPT (8.3.2) in its DL NAS TRANSPORT."""
    address = session.address
    interface_id = address.interface_id if address.ipv6 else None
    container = codec.template(_accept(session, request, network)).establishment_accept(
        session.id, session.pti, address.ipv4, interface_id
    )
    return wire.nas_dl_transport(container, session.id)


def _accept(session: PduSession, request: Tree, network: DataNetwork) -> Tree:
    """Return the part of an accept that many sessions share. Its identities are placeholders."""
    rule = {
        "rule-id": 1,
        "op-code": "create",
        "dqr": True,
        "packet-filters": [
            {
                "match": {
                    "direction": "bidirectional",
                    "identifier": 1,
                    "components": ["match-all"],
                }
            }
        ],
        "precedence": 255,
        "qfi": session.qfi,
        "segregation": False,
    }
    flow = {
        "qfi": session.qfi,
        "op-code": "create",
        "e-flag": True,
        "params": [{"5qi": session.five_qi}],
    }
    message: Tree = {
        **head("pdu-session-establishment-accept", psi=1, pti=1),
        "selected-pdu-session-type": session.type.lower(),
        "selected-ssc-mode": "ssc1",
        "authorized-qos-rules": [rule],
        "session-ambr": _ambr(session.ambr),
        "s-nssai": gmm.s_nssai(session.nssai),
        "authorized-qos-flow-descriptions": [flow],
        "dnn": session.dnn,
    }
    if session.cause:
        message["5gsm-cause"] = session.cause
    if "always-on-pdu-session-requested" in request:
        # 6.4.1.3: a UE that requests always-on gets an indication; no session is always-on.
        message["always-on-pdu-session-indication"] = {"octets": "00"}
    answer = options.response(request, network)
    if answer:
        message[options.IE] = answer
    return message


def _ambr(ambr: Ambr) -> Tree:
    return {"dl-kbps": bit_rates.nas(ambr.downlink), "ul-kbps": bit_rates.nas(ambr.uplink)}
