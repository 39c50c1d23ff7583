"""NGAP messages that the core sends (TS 38.413 clause 9.2), and reading those it receives."""

from collections.abc import Mapping, Sequence
from typing import Any

import wire
from functions.trees import Tree, subtree
from schemas.identity import Guami, SNssai, Tai
from schemas.session import PduSession, Tunnel
from schemas.subscriber import Ambr
from schemas.ue import Connection, SecurityContext

Cause = Mapping[str, str]

USER_INACTIVITY: Cause = {"radioNetwork": "user-inactivity"}
RELEASED_BY_CORE: Cause = {"radioNetwork": "release-due-to-5gc-generated-reason"}
UNKNOWN_LOCAL_ID: Cause = {"radioNetwork": "unknown-local-UE-NGAP-ID"}
INCONSISTENT_REMOTE_ID: Cause = {"radioNetwork": "inconsistent-remote-UE-NGAP-ID"}
NORMAL_RELEASE: Cause = {"nas": "normal-release"}
AUTHENTICATION_FAILURE: Cause = {"nas": "authentication-failure"}
DEREGISTER: Cause = {"nas": "deregister"}
NAS_UNSPECIFIED: Cause = {"nas": "unspecified"}
WRONG_STATE: Cause = {"protocol": "message-not-compatible-with-receiver-state"}
TRANSFER_SYNTAX_ERROR: Cause = {"protocol": "transfer-syntax-error"}
UNSPECIFIED: Cause = {"radioNetwork": "unspecified"}
"""In place of a Cause IE that a message should have and has not."""

_BY_CRITICALITY: tuple[tuple[str, Cause] | None, ...] = (
    ("reject", {"protocol": "abstract-syntax-error-reject"}),
    None,
    ("notify", {"protocol": "abstract-syntax-error-ignore-and-notify"}),
    None,
)
"""How a procedure that is not comprehended is answered, by its criticality: not, if ignored."""


def ies_of(tree: Tree) -> Tree:
    """The IEs of a decoded message by name; of a repeated one, the first."""
    found: Tree = {}
    for item in tree["ies"]:
        for name, value in item.items():
            found.setdefault(name, value)
    return found


def cause_text(cause: Cause) -> str:
    """A cause as events record it: ``"radioNetwork: user-inactivity"``."""
    return ", ".join(f"{group}: {value}" for group, value in cause.items())


def cause_of(text: str) -> Cause:
    """The cause that `cause_text` gave."""
    group, _, value = text.partition(": ")
    return {group: value} if value else UNSPECIFIED


def location_of(ies: Tree) -> tuple[Tai, int] | None:
    """The TAI and the cell identity of a User Location Information IE, None without one.

    The cell is the 36-bit NR or 28-bit E-UTRA cell identity.
    """
    found = subtree(ies, "UserLocationInformation")
    for name, cgi, cell in (
        ("userLocationInformationNR", "nR-CGI", "nRCellIdentity"),
        ("userLocationInformationEUTRA", "eUTRA-CGI", "eUTRACellIdentity"),
    ):
        if name in found:
            tai = found[name]["tAI"]
            return Tai(tai["pLMNIdentity"], tai["tAC"]), int(found[name][cgi][cell])
    return None


def s_nssai(value: SNssai) -> Tree:
    """An S-NSSAI as NGAP trees have it."""
    return {"sST": value.sst} if value.sd is None else {"sST": value.sst, "sD": value.sd}


def read_s_nssai(tree: Mapping[str, Any]) -> SNssai:
    """The value of an S-NSSAI of an NGAP tree."""
    return SNssai(tree["sST"], tree.get("sD"))


def guami(value: Guami) -> Tree:
    """A GUAMI as NGAP trees have it."""
    return {
        "pLMNIdentity": value.plmn,
        "aMFRegionID": value.region,
        "aMFSetID": value.set,
        "aMFPointer": value.pointer,
    }


def _ids(connection: Connection) -> list[Tree]:
    return [
        {"AMF-UE-NGAP-ID": connection.amf_ue_ngap_id},
        {"RAN-UE-NGAP-ID": connection.ran_ue_ngap_id},
    ]


def downlink_nas_transport(connection: Connection, nas: bytes) -> bytes:
    """DOWNLINK NAS TRANSPORT (9.2.5.2)."""
    ies = [*_ids(connection), {"NAS-PDU": nas.hex()}]
    return wire.ngap_encode({"message": "DownlinkNASTransport", "ies": ies})


def _algorithm_bits(octets: bytes, index: int) -> str:
    """16 bits of NEA1..NEA3 or NIA1..NIA3 of a UE security capability octet (9.3.1.86).

    The NAS octet starts with algorithm 0, which NGAP leaves out.
    """
    octet = octets[index] if index < len(octets) else 0
    return f"{(octet << 1 & 0xFF) << 8:04x}"


def initial_context_setup_request(
    connection: Connection,
    security: SecurityContext,
    kgnb: bytes,
    guami_value: Guami,
    allowed_nssai: Sequence[SNssai],
    radio_capability: bytes,
    pei: str,
    nas: bytes,
    sessions: Sequence[tuple[PduSession, bytes]] = (),
    ambr: Ambr | None = None,
) -> bytes:
    """INITIAL CONTEXT SETUP REQUEST (9.2.2.1); `nas` may be empty.

    `sessions` are to be set up with it, each with its NAS message or none, under `ambr`, the
    AMBR of the UE.
    """
    capability = security.capability
    items = [_session_item(session, "nAS-PDU", message) for session, message in sessions]
    ies: list[Tree] = [
        *_ids(connection),
        *([_ue_ambr(ambr)] if items and ambr is not None else []),
        {"GUAMI": guami(guami_value)},
        *([{"PDUSessionResourceSetupListCxtReq": items}] if items else []),
        {"AllowedNSSAI": [{"s-NSSAI": s_nssai(value)} for value in allowed_nssai]},
        {
            "UESecurityCapabilities": {
                "nRencryptionAlgorithms": _algorithm_bits(capability, 0),
                "nRintegrityProtectionAlgorithms": _algorithm_bits(capability, 1),
                "eUTRAencryptionAlgorithms": _algorithm_bits(capability, 2),
                "eUTRAintegrityProtectionAlgorithms": _algorithm_bits(capability, 3),
            }
        },
        {"SecurityKey": kgnb.hex()},
    ]
    if radio_capability:
        ies.append({"UERadioCapability": radio_capability.hex()})
    if pei.startswith("imeisv-"):
        ies.append({"MaskedIMEISV": masked_imeisv(pei.removeprefix("imeisv-"))})
    if nas:
        ies.append({"NAS-PDU": nas.hex()})
    return wire.ngap_encode({"message": "InitialContextSetupRequest", "ies": ies})


def pdu_session_resource_setup_request(
    connection: Connection,
    sessions: Sequence[tuple[PduSession, bytes]],
    ambr: Ambr | None,
    nas: bytes = b"",
) -> bytes:
    """PDU SESSION RESOURCE SETUP REQUEST (9.2.1.1), each session with its NAS message or none."""
    items = [_session_item(session, "pDUSessionNAS-PDU", message) for session, message in sessions]
    ies = _ids(connection)
    if nas:
        ies.append({"NAS-PDU": nas.hex()})
    ies.append({"PDUSessionResourceSetupListSUReq": items})
    if ambr is not None:
        ies.append(_ue_ambr(ambr))
    return wire.ngap_encode({"message": "PDUSessionResourceSetupRequest", "ies": ies})


def pdu_session_resource_release_command(
    connection: Connection, sessions: Sequence[PduSession], cause: Cause, nas: bytes = b""
) -> bytes:
    """PDU SESSION RESOURCE RELEASE COMMAND (9.2.1.3)."""
    transfer = {"cause": dict(cause)}
    items = [
        {"pDUSessionID": s.id, "pDUSessionResourceReleaseCommandTransfer": transfer}
        for s in sessions
    ]
    ies = _ids(connection)
    if nas:
        ies.append({"NAS-PDU": nas.hex()})
    ies.append({"PDUSessionResourceToReleaseListRelCmd": items})
    return wire.ngap_encode({"message": "PDUSessionResourceReleaseCommand", "ies": ies})


def pdu_session_resource_modify_request(
    connection: Connection, session: PduSession, ambr: Ambr, nas: bytes
) -> bytes:
    """PDU SESSION RESOURCE MODIFY REQUEST (9.2.1.5) for another session AMBR."""
    item = {
        "pDUSessionID": session.id,
        "nAS-PDU": nas.hex(),
        "pDUSessionResourceModifyRequestTransfer": {"protocolIEs": [_session_ambr(ambr)]},
    }
    ies = [*_ids(connection), {"PDUSessionResourceModifyListModReq": [item]}]
    return wire.ngap_encode({"message": "PDUSessionResourceModifyRequest", "ies": ies})


def paging(guami_value: Guami, tmsi: int, tais: Sequence[Tai]) -> bytes:
    """PAGING (9.2.4.1) of a 5G-S-TMSI in a registration area."""
    identity = {
        "aMFSetID": guami_value.set,
        "aMFPointer": guami_value.pointer,
        "fiveG-TMSI": tmsi,
    }
    areas = [{"tAI": {"pLMNIdentity": tai.plmn, "tAC": tai.tac}} for tai in tais]
    ies: list[Tree] = [
        {"UEPagingIdentity": {"fiveG-S-TMSI": identity}},
        {"TAIListForPaging": areas},
    ]
    return wire.ngap_encode({"message": "Paging", "ies": ies})


def _session_item(session: PduSession, name: str, nas: bytes) -> Tree:
    return {
        **({name: nas.hex()} if nas else {}),
        "pDUSessionID": session.id,
        "s-NSSAI": s_nssai(session.nssai),
        "pDUSessionResourceSetupRequestTransfer": {"protocolIEs": _setup_transfer(session)},
    }


def _setup_transfer(session: PduSession) -> list[Tree]:
    """PDU Session Resource Setup Request Transfer (9.3.4.1) of a session that its UPF has."""
    uplink = session.uplink
    if uplink is None:
        raise ValueError("the UPF has not given an F-TEID")
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
    return [
        _session_ambr(session.ambr),
        {"UL-NGU-UP-TNLInformation": {"gTPTunnel": gtp_tunnel(uplink)}},
        {"PDUSessionType": session.type.lower()},
        {"QosFlowSetupRequestList": [flow]},
    ]


def gtp_tunnel(tunnel: Tunnel) -> Tree:
    """A GTP Tunnel (9.3.2.2) as NGAP trees have it."""
    return {"transportLayerAddress": tunnel.address, "gTP-TEID": tunnel.teid}


def read_tunnel(information: Tree) -> Tunnel | None:
    """The tunnel of a UP Transport Layer Information; None for one that is none.

    Of two addresses, the IPv4 one, which comes first (TS 38.414 5.1).
    """
    tunnel = subtree(information, "gTPTunnel")
    address = tunnel.get("transportLayerAddress")
    if not isinstance(address, str):
        return None
    return Tunnel(tunnel["gTP-TEID"], address.partition(",")[0])


def _session_ambr(ambr: Ambr) -> Tree:
    return {
        "PDUSessionAggregateMaximumBitRate": {
            "pDUSessionAggregateMaximumBitRateDL": ambr.downlink,
            "pDUSessionAggregateMaximumBitRateUL": ambr.uplink,
        }
    }


def _ue_ambr(ambr: Ambr) -> Tree:
    return {
        "UEAggregateMaximumBitRate": {
            "uEAggregateMaximumBitRateDL": ambr.downlink,
            "uEAggregateMaximumBitRateUL": ambr.uplink,
        }
    }


def masked_imeisv(imeisv: str) -> str:
    """The 64 bits of a Masked IMEISV IE: the last four digits of the SNR are ones (9.3.1.54)."""
    return f"{imeisv[:10]}ffff{imeisv[14:]}"


def ue_context_release_command(connection: Connection, cause: Cause) -> bytes:
    """UE CONTEXT RELEASE COMMAND (9.2.2.5)."""
    pair = {
        "aMF-UE-NGAP-ID": connection.amf_ue_ngap_id,
        "rAN-UE-NGAP-ID": connection.ran_ue_ngap_id,
    }
    ies: list[Tree] = [{"UE-NGAP-IDs": {"uE-NGAP-ID-pair": pair}}, {"Cause": dict(cause)}]
    return wire.ngap_encode({"message": "UEContextReleaseCommand", "ies": ies})


def error_indication(
    cause: Cause | None,
    *,
    amf_ue_ngap_id: int | None = None,
    ran_ue_ngap_id: int | None = None,
    diagnostics: Tree | None = None,
) -> bytes:
    """ERROR INDICATION (9.2.7.2): a cause or diagnostics, or both."""
    ies: list[Tree] = []
    if amf_ue_ngap_id is not None:
        ies.append({"AMF-UE-NGAP-ID": amf_ue_ngap_id})
    if ran_ue_ngap_id is not None:
        ies.append({"RAN-UE-NGAP-ID": ran_ue_ngap_id})
    if cause is not None:
        ies.append({"Cause": dict(cause)})
    if diagnostics is not None:
        ies.append({"CriticalityDiagnostics": diagnostics})
    return wire.ngap_encode({"message": "ErrorIndication", "ies": ies})


def fault_indication(peek: wire.NgapPeek, faults: Mapping[str, Any]) -> bytes | None:
    """The ERROR INDICATION for the syntax errors of a message (10.3), None for none.

    An ERROR INDICATION never brings another (10.5), and a response that is rejected ends its
    procedure without one (10.3.4.2).
    """
    if peek.message == "ErrorIndication":
        return None
    if peek.direction != "InitiatingMessage" and faults["reject"]:
        return None
    return error_indication(
        faults["cause"],
        amf_ue_ngap_id=peek.amf_ue_ngap_id,
        ran_ue_ngap_id=peek.ran_ue_ngap_id,
        diagnostics=faults["diagnostics"],
    )


def not_comprehended(peek: wire.NgapPeek, pdu: bytes) -> bytes | None:
    """The ERROR INDICATION for a procedure that is not supported (10.3.4.1), None for none.

    Its criticality, in the third octet, says whether the other side wants to know.
    """
    if peek.direction != "InitiatingMessage":
        return None
    found = _BY_CRITICALITY[pdu[2] >> 6]
    if found is None:
        return None
    criticality, cause = found
    return error_indication(
        cause,
        amf_ue_ngap_id=peek.amf_ue_ngap_id,
        ran_ue_ngap_id=peek.ran_ue_ngap_id,
        diagnostics={
            "procedureCode": peek.procedure_code,
            "triggeringMessage": "initiating-message",
            "procedureCriticality": criticality,
        },
    )
