"""NGAP messages that the core sends (TS 38.413 clause 9.2), and reading those it receives."""

from collections.abc import Mapping, Sequence
from typing import Any

import wire
from functions.trees import Tree, subtree
from schemas.identity import Guami, SNssai, Tai
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
) -> bytes:
    """INITIAL CONTEXT SETUP REQUEST (9.2.2.1) without PDU sessions; `nas` may be empty."""
    capability = security.capability
    ies: list[Tree] = [
        *_ids(connection),
        {"GUAMI": guami(guami_value)},
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
