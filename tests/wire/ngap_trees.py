"""Trees of the NGAP messages that the core and the load generator send, with random values."""

import string
from typing import Any

from hypothesis import strategies as st

from tests.wire.ngap_oracle import names_of

Tree = dict[str, Any]
Trees = st.SearchStrategy[Tree]


def enumerated(kind: str) -> st.SearchStrategy[str]:
    return st.sampled_from(names_of(kind))


def optional(**members: st.SearchStrategy[Any]) -> Trees:
    """A tree with some of the members; `_` represents `-` in their names."""
    return st.fixed_dictionaries(
        {}, optional={name.replace("_", "-"): value for name, value in members.items()}
    )


def hexadecimal(least: int, most: int | None = None) -> st.SearchStrategy[str]:
    most = least if most is None else most
    return st.binary(min_size=least, max_size=most).map(bytes.hex)


def bits(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, 2**count - 1)


digit = st.integers(0, 9).map(str)
plmn = st.builds(
    lambda mcc, mnc: f"{''.join(mcc)}-{''.join(mnc)}",
    st.lists(digit, min_size=3, max_size=3),
    st.lists(digit, min_size=2, max_size=3),
)
# PrintableString (ITU-T X.680 41.4), of 1 to 150 characters.
name = st.text(string.ascii_letters + string.digits + " '()+,-./:=?", min_size=1, max_size=150)
s_nssai = st.builds(
    lambda sst, sd: {"sST": sst} if sd is None else {"sST": sst, "sD": sd},
    bits(8),
    st.none() | hexadecimal(3),
)
slices = st.lists(st.fixed_dictionaries({"s-NSSAI": s_nssai}), min_size=1, max_size=8)
guami = st.fixed_dictionaries(
    {"pLMNIdentity": plmn, "aMFRegionID": bits(8), "aMFSetID": bits(10), "aMFPointer": bits(6)}
)
tai = st.fixed_dictionaries({"pLMNIdentity": plmn, "tAC": bits(24)})
nr_cgi = st.fixed_dictionaries({"pLMNIdentity": plmn, "nRCellIdentity": bits(36)})
eutra_cgi = st.fixed_dictionaries({"pLMNIdentity": plmn, "eUTRACellIdentity": bits(28)})
amf_id, ran_id = bits(40), bits(32)
nas = hexadecimal(1, 300)

cause = st.one_of(
    [
        st.fixed_dictionaries({group: enumerated(f"Cause{group[0].upper()}{group[1:]}")})
        for group in ("radioNetwork", "transport", "nas", "protocol", "misc")
    ]
)
location = st.one_of(
    st.fixed_dictionaries(
        {
            "userLocationInformationNR": st.fixed_dictionaries(
                {"nR-CGI": nr_cgi, "tAI": tai}, optional={"timeStamp": hexadecimal(4)}
            )
        }
    ),
    st.fixed_dictionaries(
        {
            "userLocationInformationEUTRA": st.fixed_dictionaries(
                {"eUTRA-CGI": eutra_cgi, "tAI": tai}
            )
        }
    ),
)
s_tmsi = st.fixed_dictionaries(
    {"aMFSetID": bits(10), "aMFPointer": bits(6), "fiveG-TMSI": bits(32)}
)
gnb_id = st.integers(22, 32).flatmap(
    lambda length: st.integers(0, 2**length - 1).map(
        lambda value: {
            "value": f"{value << -length % 8:0{2 * (-(-length // 8))}x}",
            "length": length,
        }
    )
)
node = st.fixed_dictionaries(
    {
        "globalGNB-ID": st.fixed_dictionaries(
            {"pLMNIdentity": plmn, "gNB-ID": st.fixed_dictionaries({"gNB-ID": gnb_id})}
        )
    }
)
supported = st.lists(
    st.fixed_dictionaries(
        {
            "tAC": bits(24),
            "broadcastPLMNList": st.lists(
                st.fixed_dictionaries({"pLMNIdentity": plmn, "tAISliceSupportList": slices}),
                min_size=1,
                max_size=3,
            ),
        }
    ),
    min_size=1,
    max_size=4,
)
connections = st.lists(
    optional(aMF_UE_NGAP_ID=amf_id, rAN_UE_NGAP_ID=ran_id), min_size=1, max_size=20
)
diagnostics = st.fixed_dictionaries(
    {},
    optional={
        "procedureCode": bits(8),
        "triggeringMessage": enumerated("TriggeringMessage"),
        "procedureCriticality": enumerated("Criticality"),
        "iEsCriticalityDiagnostics": st.lists(
            st.fixed_dictionaries(
                {
                    "iECriticality": enumerated("Criticality"),
                    "iE-ID": bits(16),
                    "typeOfError": enumerated("TypeOfError"),
                }
            ),
            min_size=1,
            max_size=4,
        ),
    },
)
capabilities = st.fixed_dictionaries(
    {
        "nRencryptionAlgorithms": hexadecimal(2),
        "nRintegrityProtectionAlgorithms": hexadecimal(2),
        "eUTRAencryptionAlgorithms": hexadecimal(2),
        "eUTRAintegrityProtectionAlgorithms": hexadecimal(2),
    }
)
pair = st.fixed_dictionaries({"aMF-UE-NGAP-ID": amf_id, "rAN-UE-NGAP-ID": ran_id})

ids: list[tuple[str, Any]] = [("AMF-UE-NGAP-ID", amf_id), ("RAN-UE-NGAP-ID", ran_id)]
failure: list[tuple[str, Any]] = [
    ("Cause", cause),
    ("TimeToWait?", enumerated("TimeToWait")),
    ("CriticalityDiagnostics?", diagnostics),
]

# In the order of the message. `?` marks an optional IE.
MESSAGES: dict[str, list[tuple[str, Any]]] = {
    "NGSetupRequest": [
        ("GlobalRANNodeID", node),
        ("RANNodeName?", name),
        ("SupportedTAList", supported),
        ("DefaultPagingDRX", enumerated("PagingDRX")),
    ],
    "NGSetupResponse": [
        ("AMFName", name),
        ("ServedGUAMIList", st.lists(st.fixed_dictionaries({"gUAMI": guami}), min_size=1)),
        ("RelativeAMFCapacity", bits(8)),
        (
            "PLMNSupportList",
            st.lists(
                st.fixed_dictionaries({"pLMNIdentity": plmn, "sliceSupportList": slices}),
                min_size=1,
                max_size=4,
            ),
        ),
    ],
    "NGSetupFailure": failure,
    "RANConfigurationUpdate": [
        ("RANNodeName?", name),
        ("SupportedTAList?", supported),
        ("DefaultPagingDRX?", enumerated("PagingDRX")),
    ],
    "RANConfigurationUpdateAcknowledge": [("CriticalityDiagnostics?", diagnostics)],
    "RANConfigurationUpdateFailure": failure,
    "AMFConfigurationUpdateAcknowledge": [],
    "NGReset": [
        ("Cause", cause),
        (
            "ResetType",
            st.just({"nG-Interface": "reset-all"})
            | st.fixed_dictionaries({"partOfNG-Interface": connections}),
        ),
    ],
    "NGResetAcknowledge": [("UE-associatedLogicalNG-connectionList?", connections)],
    "InitialUEMessage": [
        ("RAN-UE-NGAP-ID", ran_id),
        ("NAS-PDU", nas),
        ("UserLocationInformation", location),
        ("RRCEstablishmentCause", enumerated("RRCEstablishmentCause")),
        ("FiveG-S-TMSI?", s_tmsi),
        ("AMFSetID?", bits(10)),
        ("UEContextRequest?", enumerated("UEContextRequest")),
    ],
    "UplinkNASTransport": [*ids, ("NAS-PDU", nas), ("UserLocationInformation", location)],
    "DownlinkNASTransport": [*ids, ("NAS-PDU", nas)],
    "InitialContextSetupRequest": [
        *ids,
        ("GUAMI", guami),
        ("AllowedNSSAI", slices),
        ("UESecurityCapabilities", capabilities),
        ("SecurityKey", hexadecimal(32)),
        ("UERadioCapability?", hexadecimal(1, 200)),
        ("MaskedIMEISV?", hexadecimal(8)),
        ("NAS-PDU?", nas),
    ],
    "InitialContextSetupResponse": ids,
    "InitialContextSetupFailure": [*ids, ("Cause", cause)],
    "UEContextReleaseRequest": [*ids, ("Cause", cause)],
    "UEContextReleaseCommand": [
        (
            "UE-NGAP-IDs",
            st.fixed_dictionaries({"uE-NGAP-ID-pair": pair})
            | st.fixed_dictionaries({"aMF-UE-NGAP-ID": amf_id}),
        ),
        ("Cause", cause),
    ],
    "UEContextReleaseComplete": [*ids, ("UserLocationInformation?", location)],
    "UERadioCapabilityInfoIndication": [*ids, ("UERadioCapability", hexadecimal(1, 200))],
    "NASNonDeliveryIndication": [*ids, ("NAS-PDU", nas), ("Cause", cause)],
    "ErrorIndication": [
        ("AMF-UE-NGAP-ID?", amf_id),
        ("RAN-UE-NGAP-ID?", ran_id),
        ("Cause?", cause),
        ("CriticalityDiagnostics?", diagnostics),
    ],
    "OverloadStart": [
        (
            "AMFOverloadResponse?",
            st.fixed_dictionaries({"overloadAction": enumerated("OverloadAction")}),
        ),
        ("AMFTrafficLoadReductionIndication?", st.integers(1, 99)),
    ],
    "OverloadStop": [],
}


@st.composite
def message(draw: st.DrawFn, kind: str) -> Tree:
    """A tree of the message, with some of its optional IEs."""
    ies: list[Tree] = []
    for ie, value in MESSAGES[kind]:
        if not ie.endswith("?") or draw(st.booleans()):
            ies.append({ie.removesuffix("?"): draw(value)})
    return {"message": kind, "ies": ies}


any_message = st.sampled_from(sorted(MESSAGES)).flatmap(message)
