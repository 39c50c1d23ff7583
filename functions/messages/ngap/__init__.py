"""NGAP messages of the core (TS 38.413 clause 9.2), and common parts of received messages."""

from collections.abc import Mapping, Sequence
from typing import Any

import wire
from functions.messages import bit_rates
from functions.messages.ngap import assistance, templates
from functions.messages.ngap.templates import EXAMPLE
from functions.messages.trees import Tree, subtree
from schemas.connection.state import (
    NO_RAN_UE_NGAP_ID,
    Connection,
    PagingCapability,
    Restrictions,
)
from schemas.identity import Guami, SNssai, Tai, s_nssai_of
from schemas.subscriber import Ambr

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
"""The default for a missing Cause IE."""


def ies_of(tree: Tree) -> Tree:
    """Return the IEs of a decoded message by name; the first if an IE is repeated."""
    found: Tree = {}
    for item in tree["ies"]:
        for name, value in item.items():
            found.setdefault(name, value)
    return found


def cause_text(cause: Cause) -> str:
    """Return a cause as events record it: ``"radioNetwork: user-inactivity"``."""
    return ", ".join(f"{group}: {value}" for group, value in cause.items())


def cause_of(text: str) -> Cause:
    """Return the cause that `cause_text` formatted."""
    group, _, value = text.partition(": ")
    return {group: value} if value else UNSPECIFIED


def location_of(ies: Tree) -> tuple[Tai, int] | None:
    """Return the TAI and the cell identity of a User Location Information IE; None without the IE.

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
    """Return an S-NSSAI in the form of NGAP trees."""
    return {"sST": value.sst} if value.sd is None else {"sST": value.sst, "sD": value.sd}


def read_s_nssai(tree: Mapping[str, Any]) -> SNssai:
    """Return the S-NSSAI of an NGAP tree."""
    return s_nssai_of(tree["sST"], tree.get("sD"))


def guami(value: Guami) -> Tree:
    """Return a GUAMI in the form of NGAP trees."""
    return {
        "pLMNIdentity": value.plmn,
        "aMFRegionID": value.region,
        "aMFSetID": value.set,
        "aMFPointer": value.pointer,
    }


def ids(connection: Connection) -> list[Tree]:
    """Return the two ids of a UE, the first IEs of most messages."""
    return [
        {"AMF-UE-NGAP-ID": connection.amf_ue_ngap_id},
        {"RAN-UE-NGAP-ID": connection.ran_ue_ngap_id},
    ]


def downlink_nas_transport(
    connection: Connection,
    nas: bytes,
    allowed_nssai: Sequence[SNssai] = (),
    restrictions: Restrictions | None = None,
    rfsp: int = 0,
) -> bytes:
    """Return a DOWNLINK NAS TRANSPORT (9.2.5.2), with new values for the gNB if given."""
    ies: list[Tree] = [
        {"NAS-PDU": EXAMPLE},
        *assistance.restriction_ies(restrictions),
        *assistance.rfsp_ies(rfsp),
    ]
    if allowed_nssai:
        ies.append({"AllowedNSSAI": [{"s-NSSAI": s_nssai(value)} for value in allowed_nssai]})
    template = templates.of_ue("DownlinkNASTransport", ies)
    return template.encode(connection.amf_ue_ngap_id, connection.ran_ue_ngap_id, nas_pdu=nas)


def _algorithm_bits(octets: bytes, index: int) -> str:
    """Return 16 bits for NEA1..NEA3 or NIA1..NIA3 of a UE security capability octet (9.3.1.86).

    The NAS octet starts with algorithm 0, which NGAP omits.
    """
    octet = octets[index] if index < len(octets) else 0
    return f"{(octet << 1 & 0xFF) << 8:04x}"


def security_capabilities(capability: bytes) -> Tree:
    """Return the UE Security Capabilities (9.3.1.86) of a UE security capability in NAS."""
    return {
        "nRencryptionAlgorithms": _algorithm_bits(capability, 0),
        "nRintegrityProtectionAlgorithms": _algorithm_bits(capability, 1),
        "eUTRAencryptionAlgorithms": _algorithm_bits(capability, 2),
        "eUTRAintegrityProtectionAlgorithms": _algorithm_bits(capability, 3),
    }


def paging(
    guami_value: Guami,
    tmsi: int,
    tais: tuple[Tai, ...],
    drx: int = 0,
    capability: PagingCapability | None = None,
    cells: Sequence[Tree] = (),
) -> bytes:
    """Return a PAGING (9.2.4.1) for a 5G-S-TMSI in a registration area.

    `drx` is the UE specific DRX cycle in radio frames, 0 for none. `cells` is the IE of
    `recommended_cells.assistance`.
    """
    identity = {
        "aMFSetID": guami_value.set,
        "aMFPointer": guami_value.pointer,
        "fiveG-TMSI": tmsi,
    }
    ies: list[Tree] = [
        {"UEPagingIdentity": {"fiveG-S-TMSI": identity}},
        *([{"PagingDRX": f"v{drx}"}] if drx else []),
        {"TAIListForPaging": assistance.tai_items(tais)},
        *assistance.paging_capability_ies(capability),
        *cells,
    ]
    return wire.ngap_encode({"message": "Paging", "ies": ies})


def ue_ambr(ambr: Ambr) -> Tree:
    """Return a UE Aggregate Maximum Bit Rate IE (9.3.1.58)."""
    return {
        "UEAggregateMaximumBitRate": {
            "uEAggregateMaximumBitRateDL": bit_rates.ngap(ambr.downlink),
            "uEAggregateMaximumBitRateUL": bit_rates.ngap(ambr.uplink),
        }
    }


def masked_imeisv(imeisv: str) -> str:
    """Return a Masked IMEISV (64 bits): the last four digits of the SNR are ones (9.3.1.54)."""
    return f"{imeisv[:10]}ffff{imeisv[14:]}"


def ue_context_release_command(connection: Connection, cause: Cause) -> bytes:
    """Return a UE CONTEXT RELEASE COMMAND (9.2.2.5)."""
    amf, ran = connection.amf_ue_ngap_id, connection.ran_ue_ngap_id
    name = "UEContextReleaseCommand"
    if ran == NO_RAN_UE_NGAP_ID:
        alone: list[Tree] = [{"UE-NGAP-IDs": {"aMF-UE-NGAP-ID": amf}}, {"Cause": dict(cause)}]
        return wire.ngap_encode({"message": name, "ies": alone})
    pair = {"aMF-UE-NGAP-ID": 0, "rAN-UE-NGAP-ID": 0}
    ies: list[Tree] = [{"UE-NGAP-IDs": {"uE-NGAP-ID-pair": pair}}, {"Cause": dict(cause)}]
    return templates.template(name, ies).encode(amf, ran)


def error_indication(
    cause: Cause | None,
    *,
    amf_ue_ngap_id: int | None = None,
    ran_ue_ngap_id: int | None = None,
    diagnostics: Tree | None = None,
) -> bytes:
    """Return an ERROR INDICATION (9.2.7.2) with a cause or diagnostics, or both."""
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
