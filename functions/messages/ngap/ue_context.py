"""NGAP messages about UE contexts and PDU sessions at a gNB (TS 38.413 9.2.1, 9.2.2)."""

from collections.abc import Iterable, Sequence

import wire
from functions.messages import bit_rates, ngap
from functions.messages.ngap import assistance, templates
from functions.messages.ngap.templates import EXAMPLE, EXAMPLE_IMEISV, EXAMPLE_KEY
from functions.messages.trees import Tree, subtree
from schemas.connection.state import Connection, PagingCapability
from schemas.gmm.state import SecurityContext
from schemas.gsm.state import PduSession, Tunnel, UpSecurity
from schemas.identity import Guami, SNssai
from schemas.subscriber import Ambr


def initial_context_setup_request(
    connection: Connection,
    security: SecurityContext,
    kgnb: bytes,
    guami_value: Guami,
    allowed_nssai: Sequence[SNssai],
    radio_capability: bytes,
    paging_capability: PagingCapability | None,
    pei: str,
    nas: bytes,
    sessions: Sequence[tuple[PduSession, bytes]] = (),
    ambr: Ambr | None = None,
) -> bytes:
    """Return an INITIAL CONTEXT SETUP REQUEST (9.2.2.1); `nas` may be empty.

    `sessions` are set up with it, each with its NAS message, which may be empty. `ambr` is the UE
    AMBR. The connection has the mobility restrictions, the RFSP index and the assistance
    information for RRC INACTIVE.
    """
    items = [_session_item(session) for session, _ in sessions]
    imeisv = pei.removeprefix("imeisv-") if pei.startswith("imeisv-") else ""
    ies: list[Tree] = [
        *([ngap.ue_ambr(ambr)] if items and ambr is not None else []),
        *assistance.inactive_ies(connection),
        {"GUAMI": ngap.guami(guami_value)},
        *([{"PDUSessionResourceSetupListCxtReq": items}] if items else []),
        {"AllowedNSSAI": [{"s-NSSAI": ngap.s_nssai(value)} for value in allowed_nssai]},
        {"UESecurityCapabilities": ngap.security_capabilities(security.capability)},
        {"SecurityKey": EXAMPLE_KEY},
        *assistance.restriction_ies(connection.restrictions),
        *([{"UERadioCapability": EXAMPLE}] if radio_capability else []),
        *assistance.rfsp_ies(connection.rfsp),
        *([{"MaskedIMEISV": EXAMPLE_IMEISV}] if imeisv else []),
        *([{"NAS-PDU": EXAMPLE}] if nas else []),
        *assistance.paging_capability_ies(paging_capability),
    ]
    return templates.of_ue("InitialContextSetupRequest", ies).encode(
        connection.amf_ue_ngap_id,
        connection.ran_ue_ngap_id,
        security_key=kgnb,
        radio_capability=radio_capability or None,
        masked_imeisv=bytes.fromhex(ngap.masked_imeisv(imeisv)) if imeisv else None,
        nas_pdu=nas or None,
        sessions=_sessions(sessions) if items else None,
    )


def ue_context_modification_request(
    connection: Connection,
    security: SecurityContext | None,
    ambr: Ambr | None,
    rfsp: int = 0,
    *,
    inactive: bool = False,
) -> bytes:
    """Return a UE CONTEXT MODIFICATION REQUEST (9.2.2.7) with the K_gNB of a context, a UE AMBR, an
    RFSP index, and the assistance information for RRC INACTIVE that the connection has; each if
    given."""
    ies = ngap.ids(connection)
    if security is not None:
        ies.append({"SecurityKey": wire.kgnb(security.kamf, connection.kgnb_count).hex()})
    ies += assistance.rfsp_ies(rfsp)
    if ambr is not None:
        ies.append(ngap.ue_ambr(ambr))
    if security is not None:
        ies.append({"UESecurityCapabilities": ngap.security_capabilities(security.capability)})
    if inactive:
        ies += assistance.inactive_ies(connection)
    return wire.ngap_encode({"message": "UEContextModificationRequest", "ies": ies})


def pdu_session_resource_setup_request(
    connection: Connection,
    sessions: Sequence[tuple[PduSession, bytes]],
    ambr: Ambr | None,
    nas: bytes = b"",
) -> bytes:
    """Return a PDU SESSION RESOURCE SETUP REQUEST (9.2.1.1), each session with its NAS message,
    which may be empty."""
    ies: list[Tree] = [
        *([{"NAS-PDU": EXAMPLE}] if nas else []),
        {"PDUSessionResourceSetupListSUReq": [_session_item(session) for session, _ in sessions]},
        *([ngap.ue_ambr(ambr)] if ambr is not None else []),
    ]
    return templates.of_ue("PDUSessionResourceSetupRequest", ies).encode(
        connection.amf_ue_ngap_id,
        connection.ran_ue_ngap_id,
        nas_pdu=nas or None,
        sessions=_sessions(sessions),
    )


def pdu_session_resource_release_command(
    connection: Connection, psis: Iterable[int], nas: bytes = b""
) -> bytes:
    """Return a PDU SESSION RESOURCE RELEASE COMMAND (9.2.1.3) for PDU session identities."""
    transfer = {"cause": {"nas": "normal-release"}}
    items = [
        {"pDUSessionID": psi, "pDUSessionResourceReleaseCommandTransfer": transfer} for psi in psis
    ]
    ies: list[Tree] = [
        *([{"NAS-PDU": EXAMPLE}] if nas else []),
        {"PDUSessionResourceToReleaseListRelCmd": items},
    ]
    template = templates.of_ue("PDUSessionResourceReleaseCommand", ies)
    amf, ran = connection.amf_ue_ngap_id, connection.ran_ue_ngap_id
    return template.encode(amf, ran, nas_pdu=nas or None)


def pdu_session_resource_modify_request(
    connection: Connection, session: PduSession, ambr: Ambr, nas: bytes
) -> bytes:
    """Return a PDU SESSION RESOURCE MODIFY REQUEST (9.2.1.5) with another session AMBR."""
    item = {
        "pDUSessionID": session.id,
        "nAS-PDU": nas.hex(),
        "pDUSessionResourceModifyRequestTransfer": {"protocolIEs": [_session_ambr(ambr)]},
    }
    ies = [*ngap.ids(connection), {"PDUSessionResourceModifyListModReq": [item]}]
    return wire.ngap_encode({"message": "PDUSessionResourceModifyRequest", "ies": ies})


def _session_item(session: PduSession) -> Tree:
    """Return a session in the list of a template: the values that many sessions share."""
    example = Tunnel(0, _uplink(session).address)
    return {
        "pDUSessionID": 1,
        "s-NSSAI": ngap.s_nssai(session.nssai),
        "pDUSessionResourceSetupRequestTransfer": {"protocolIEs": _transfer(session, example)},
    }


def _sessions(sessions: Sequence[tuple[PduSession, bytes]]) -> list[tuple[int, bytes, int]]:
    """Return the individual values of each session: its identity, its NAS message and the UPF's
    TEID."""
    return [(session.id, nas, _uplink(session).teid) for session, nas in sessions]


def _uplink(session: PduSession) -> Tunnel:
    if session.uplink is None:
        raise ValueError("the session has no F-TEID of its UPF")
    return session.uplink


def handover_transfer(session: PduSession, *, direct: bool) -> list[Tree]:
    """Return the PDU Session Resource Setup Request Transfer (9.3.4.1) of an established session
    for a handover. Without a direct path there is no data forwarding."""
    return _transfer(session, _uplink(session), direct_forwarding=direct)


def security_indication(security: UpSecurity) -> Tree:
    """Return a Security Indication (9.3.1.27)."""
    value: Tree = {
        "integrityProtectionIndication": security.integrity,
        "confidentialityProtectionIndication": security.confidentiality,
    }
    if security.uplink_rate:
        value["maximumIntegrityProtectedDataRate-UL"] = security.uplink_rate
        rate = {"MaximumIntegrityProtectedDataRate-DL": security.downlink_rate}
        value["iE-Extensions"] = [{**rate, "criticality": "ignore"}]
    return value


def _transfer(
    session: PduSession, uplink: Tunnel, *, direct_forwarding: bool | None = None
) -> list[Tree]:
    arp = {
        "priorityLevelARP": session.arp_priority,
        "pre-emptionCapability": "may-trigger-pre-emption"
        if session.arp_preemption_capability
        else "shall-not-trigger-pre-emption",
        "pre-emptionVulnerability": "pre-emptable"
        if session.arp_preemption_vulnerability
        else "not-pre-emptable",
    }
    flow = {
        "qosFlowIdentifier": session.qfi,
        "qosFlowLevelQosParameters": {
            "qosCharacteristics": {"nonDynamic5QI": {"fiveQI": session.five_qi}},
            "allocationAndRetentionPriority": arp,
        },
    }
    security = session.security
    impossible, direct = (
        {"DataForwardingNotPossible": "data-forwarding-not-possible"},
        {"DirectForwardingPathAvailability": "direct-path-available"},
    )
    return [
        _session_ambr(session.ambr),
        {"UL-NGU-UP-TNLInformation": {"gTPTunnel": gtp_tunnel(uplink)}},
        *([impossible] if direct_forwarding is False else []),
        {"PDUSessionType": session.type.lower()},
        *([] if security is None else [{"SecurityIndication": security_indication(security)}]),
        {"QosFlowSetupRequestList": [flow]},
        *([direct] if direct_forwarding else []),
    ]


def gtp_tunnel(tunnel: Tunnel) -> Tree:
    """Return a GTP Tunnel (9.3.2.2) in the form of NGAP trees."""
    return {"transportLayerAddress": tunnel.address, "gTP-TEID": tunnel.teid}


def read_tunnel(information: Tree) -> Tunnel | None:
    """Return the tunnel of a UP Transport Layer Information; None if it has no GTP tunnel that
    packets can be sent into. The TEID 0 is for signalling (TS 29.281 5.1).

    If it has two addresses, the IPv4 address is returned, which is the first (TS 38.414 5.1).
    """
    tunnel = subtree(information, "gTPTunnel")
    address = tunnel.get("transportLayerAddress")
    if not isinstance(address, str) or not tunnel["gTP-TEID"]:
        return None
    return Tunnel(tunnel["gTP-TEID"], address.partition(",")[0])


def _session_ambr(ambr: Ambr) -> Tree:
    return {
        "PDUSessionAggregateMaximumBitRate": {
            "pDUSessionAggregateMaximumBitRateDL": bit_rates.ngap(ambr.downlink),
            "pDUSessionAggregateMaximumBitRateUL": bit_rates.ngap(ambr.uplink),
        }
    }
