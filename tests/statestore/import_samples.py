"""Documents in the form in which Open5GS, free5GC and evcore write them."""

import copy
import json
from typing import Any

import pytest

from schemas.subscriber import Subscriber
from statestore.importers import Format, Imported, ImportProblem, read_subscribers

K = "465b5ce8b199b49faa5f0a2ee238a6bc"
OPC = "e8ed289deba952e4283b54e88e6183ca"
OP = "cdc202d5123e20f62b6d676ac72cb318"
K_OF_OP, OPC_OF_OP = K, "cd63cb71954a9f4e48a5994e37a02baf"  # TS 35.208 4.3, test set 1

OWN: dict[str, Any] = {
    "supi": "imsi-001010000000001",
    "k": K,
    "opc": OPC,
    "amf": "9001",
    "sqn": "0000000000ff",
    "ambr": {"uplink": "1.5 Gbps", "downlink": 2_000_000_000},
    "barred": True,
    "forbidden_tacs": [7, "0000ff"],
    "rfsp": 256,
    "nr_allowed": False,
    "slices": [
        {
            "sst": 1,
            "sd": "0000AB",
            "default": True,
            "dnns": [
                {
                    "name": "internet",
                    "session_types": ["IPV4V6", "IPV4"],
                    "ambr": {"uplink": "100 Mbps", "downlink": "200 Mbps"},
                    "five_qi": 7,
                    "arp_priority": 3,
                    "arp_preemption_capability": True,
                    "arp_preemption_vulnerability": True,
                },
                {"name": "ims.mnc001.mcc001.gprs"},
            ],
        },
        {"sst": 2, "sd": "FFFFFF"},
    ],
}

_COLUMNS = (
    "supi,k,op,opc,sst,sd,default,dnns,session_types,uplink,downlink,amf,sqn,barred,forbidden_tacs"
)
CSV = f"""{_COLUMNS}
001010000000001,{K},,{OPC},1,000001,,internet ims,IPV4V6,100 Mbps,200000000,,32,,000001 000002
imsi-001010000000001,,,,2,,yes,iot,UNSTRUCTURED,,,,,,
imsi-001010000000002,{K},{OP},,1,,no,,,,,8000,0000000000ff,yes,

"""


def open5gs_session(name: str, **more: Any) -> dict[str, Any]:
    """Return a session as the web interface of Open5GS creates it."""
    return {
        "name": name,
        "type": 3,
        "qos": {
            "index": 9,
            "arp": {
                "priority_level": 8,
                "pre_emption_capability": 1,
                "pre_emption_vulnerability": 1,
            },
        },
        "ambr": {"downlink": {"value": 1, "unit": 3}, "uplink": {"value": 500, "unit": 2}},
        "pcc_rule": [],
        "_id": {"$oid": "636f8a1b2c3d4e5f60718293"},
        **more,
    }


def open5gs(imsi: str = "999700000000001", **more: Any) -> dict[str, Any]:
    """Return a document of Open5GS' collection `subscribers`."""
    return {
        "_id": {"$oid": "636f8a1b2c3d4e5f60718290"},
        "imsi": imsi,
        "schema_version": 1,
        "msisdn": [],
        "imeisv": "4370816125816151",
        "mme_host": [],
        "mme_realm": [],
        "purge_flag": [],
        "ambr": {"downlink": {"value": 1, "unit": 3}, "uplink": {"value": 1, "unit": 3}},
        "slice": [
            {
                "sst": 1,
                "default_indicator": True,
                "session": [open5gs_session("internet")],
                "_id": {"$oid": "636f8a1b2c3d4e5f60718291"},
            }
        ],
        "access_restriction_data": 32,
        "subscriber_status": 0,
        "operator_determined_barring": 0,
        "network_access_mode": 0,
        "subscribed_rau_tau_timer": 12,
        "security": {
            "k": "465B5CE8 B199B49F AA5F0A2E E238A6BC",
            "amf": "8000",
            "op": None,
            "opc": "E8ED289D EBA952E4 283B54E8 8E6183CA",
            "sqn": {"$numberLong": "3297"},
        },
        "__v": 0,
        **more,
    }


def free5gc_sessions(dnn: str = "internet") -> list[dict[str, Any]]:
    """Return session management subscription data of two slices."""
    configuration: dict[str, Any] = {
        "pduSessionTypes": {"defaultSessionType": "IPV4", "allowedSessionTypes": ["IPV4", "IPV6"]},
        "sscModes": {
            "defaultSscMode": "SSC_MODE_1",
            "allowedSscModes": ["SSC_MODE_2", "SSC_MODE_3"],
        },
        "5gQosProfile": {
            "5qi": 9,
            "arp": {"priorityLevel": 8, "preemptCap": "", "preemptVuln": ""},
            "priorityLevel": 8,
        },
        "sessionAmbr": {"uplink": "200 Mbps", "downlink": "100 Mbps"},
    }
    return [
        {"singleNssai": {"sst": 1, "sd": sd}, "dnnConfigurations": {dnn: configuration}}
        for sd in ("010203", "112233")
    ]


def free5gc_console(ue_id: str = "imsi-208930000000003", **more: Any) -> dict[str, Any]:
    """Return a subscriber as the web console of free5GC shows it."""
    return {
        "plmnID": "20893",
        "ueId": ue_id,
        "AuthenticationSubscription": {
            "authenticationMethod": "5G_AKA",
            "permanentKey": {
                "permanentKeyValue": K,
                "encryptionKey": 0,
                "encryptionAlgorithm": 0,
            },
            "sequenceNumber": "16f3b3f70fc2",
            "authenticationManagementField": "8000",
            "milenage": {"op": {"opValue": "", "encryptionKey": 0, "encryptionAlgorithm": 0}},
            "opc": {"opcValue": OPC, "encryptionKey": 0, "encryptionAlgorithm": 0},
        },
        "AccessAndMobilitySubscriptionData": {
            "gpsis": ["msisdn-0900000000"],
            "subscribedUeAmbr": {"uplink": "1 Gbps", "downlink": "2 Gbps"},
            "nssai": {
                "defaultSingleNssais": [{"sst": 1, "sd": "010203"}],
                "singleNssais": [{"sst": 1, "sd": "112233"}],
            },
        },
        "SessionManagementSubscriptionData": free5gc_sessions(),
        "SmfSelectionSubscriptionData": {
            "subscribedSnssaiInfos": {"01010203": {"dnnInfos": [{"dnn": "internet"}]}}
        },
        "AmPolicyData": {"subscCats": ["free5gc"]},
        "SmPolicyData": {
            "smPolicySnssaiData": {
                "01010203": {
                    "snssai": {"sst": 1, "sd": "010203"},
                    "smPolicyDnnData": {"internet": {"dnn": "internet"}},
                }
            }
        },
        "FlowRules": [],
        **more,
    }


def free5gc_collections(ue_id: str = "imsi-208930000000003") -> list[dict[str, Any]]:
    """Return the same subscriber as MongoDB stores it, with the newer form of the keys."""
    console = free5gc_console()
    owner = {"_id": {"$oid": "636f8a1b2c3d4e5f60718299"}, "ueId": ue_id}
    return [
        {
            **owner,
            "tenantId": "d9eea9f5-a0d6-4c55-a3ee-df1a4f9a5d2f",
            "authenticationMethod": "5G_AKA",
            "encPermanentKey": K,
            "encOpcKey": OPC,
            "authenticationManagementField": "8000",
            "sequenceNumber": {"sqnScheme": "GENERAL", "sqn": "16f3b3f70fc2"},
        },
        {**owner, "servingPlmnId": "20893", **console["AccessAndMobilitySubscriptionData"]},
        *(
            {**owner, "servingPlmnId": "20893", **session}
            for session in free5gc_sessions("internet_lab")
        ),
        {**owner, "servingPlmnId": "20893", **console["SmfSelectionSubscriptionData"]},
        {**owner, **console["AmPolicyData"]},
        {**owner, **console["SmPolicyData"]},
        {**owner, "gpsi": "msisdn-0900000000"},
    ]


def read(document: Any, form: Format | None = None) -> Imported:
    return read_subscribers(json.dumps(document).encode(), form)


def one(document: Any) -> Subscriber:
    imported = read(document)
    assert imported.notes == ()
    (subscriber,) = imported.subscribers
    return subscriber


def refused(document: Any, form: Format | None = None) -> tuple[str, ...]:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(ImportProblem) as caught:
        read_subscribers(text.encode(), form)
    return caught.value.problems


def edited(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with one field changed. `path` has the importers' notation; `...` removes the
    field."""
    document = copy.deepcopy(document)
    inner: Any = document
    names = path.replace("[", ".").replace("]", "").split(".")
    *parents, last = [int(name) if name.isdigit() else name for name in names]
    for name in parents:
        inner = inner[name]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return document
