"""The results of importing each file format."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from schemas.identity import SNssai
from schemas.subscriber import (
    Ambr,
    AuthMethod,
    Dnn,
    PduSessionType,
    SubscribedSlice,
    Subscriber,
)
from statestore.importers import Format, ImportProblem, read_subscribers
from tests.statestore import import_samples as samples
from tests.statestore.import_samples import (
    CSV,
    K_OF_OP,
    OPC,
    OPC_OF_OP,
    OWN,
    K,
    edited,
    free5gc_collections,
    free5gc_console,
    one,
    open5gs,
    open5gs_session,
    read,
)

GBPS = 1_000_000_000
NO_DEFAULT = "no slice is a default slice; a UE that requests no slice gets none"


def of_own(imsi: str) -> Any:
    return {**OWN, "supi": f"imsi-{imsi}"}


def of_free5gc(imsi: str) -> Any:
    return free5gc_console(f"imsi-{imsi}")


def test_own_json():
    assert one(OWN) == Subscriber(
        supi="imsi-001010000000001",
        k=bytes.fromhex(K),
        opc=bytes.fromhex(OPC),
        slices=(
            SubscribedSlice(
                SNssai(1, "0000ab"),
                default=True,
                dnns=(
                    Dnn(
                        "internet",
                        (PduSessionType.IPV4V6, PduSessionType.IPV4),
                        Ambr(100_000_000, 200_000_000),
                        five_qi=7,
                        arp_priority=3,
                        arp_preemption_capability=True,
                        arp_preemption_vulnerability=True,
                    ),
                    Dnn("ims.mnc001.mcc001.gprs"),
                ),
            ),
            SubscribedSlice(SNssai(2)),
        ),
        amf=b"\x90\x01",
        sqn=255,
        ambr=Ambr(1_500_000_000, 2 * GBPS),
        barred=True,
        forbidden_tacs=(7, 255),
        nr_allowed=False,
        rfsp=256,
    )


def test_own_json_needs_little():
    little = {"imsi": "001010000000001", "k": K_OF_OP, "op": samples.OP, "slices": [{"sst": 1}]}
    imported = read([little])
    (subscriber,) = imported.subscribers
    assert subscriber == Subscriber(
        supi="imsi-001010000000001",
        k=bytes.fromhex(K_OF_OP),
        opc=bytes.fromhex(OPC_OF_OP),
        slices=(SubscribedSlice(SNssai(1)),),
    )
    assert imported.notes == (f"record 1 (imsi-001010000000001): {NO_DEFAULT}",)


def test_authentication_by_eap_aka_prime():
    own = {**OWN, "auth_method": "EAP_AKA_PRIME"}
    assert one(own).auth_method == AuthMethod.EAP_AKA_PRIME
    text = f"supi,k,opc,sst,auth_method\n001010000000001,{K},{OPC},1,EAP_AKA_PRIME\n"
    (found,) = read_subscribers(text.encode()).subscribers
    assert found.auth_method == AuthMethod.EAP_AKA_PRIME
    document = free5gc_console("imsi-001010000000001")
    document["AuthenticationSubscription"]["authenticationMethod"] = "EAP_AKA_PRIME"
    assert read(document).subscribers[0].auth_method == AuthMethod.EAP_AKA_PRIME
    with pytest.raises(ImportProblem, match="auth_method is 'EAP_TLS', not 5G_AKA or EAP_AKA"):
        read([{**OWN, "auth_method": "EAP_TLS"}])


def test_csv():
    imported = read_subscribers(CSV.encode())
    first, second = imported.subscribers
    assert imported.format is Format.CSV
    assert first == Subscriber(
        supi="imsi-001010000000001",
        k=bytes.fromhex(K),
        opc=bytes.fromhex(OPC),
        slices=(
            SubscribedSlice(
                SNssai(1, "000001"),
                default=True,
                dnns=(
                    Dnn("internet", (PduSessionType.IPV4V6,)),
                    Dnn("ims", (PduSessionType.IPV4V6,)),
                ),
            ),
            SubscribedSlice(
                SNssai(2), default=True, dnns=(Dnn("iot", (PduSessionType.UNSTRUCTURED,)),)
            ),
        ),
        sqn=32,
        ambr=Ambr(100_000_000, 200_000_000),
        forbidden_tacs=(1, 2),
    )
    assert second == Subscriber(
        supi="imsi-001010000000002",
        k=bytes.fromhex(K),
        opc=bytes.fromhex(OPC_OF_OP),
        slices=(SubscribedSlice(SNssai(1)),),
        sqn=255,
        barred=True,
    )
    assert imported.notes == (f"line 4 (imsi-001010000000002): {NO_DEFAULT}",)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_csv_of_any_program(newline: str, bom: str, delimiter: str):
    text = bom + CSV.replace("\n", newline).replace(",", delimiter)
    assert read_subscribers(text.encode()) == read_subscribers(CSV.encode())


def test_open5gs():
    assert one(open5gs()) == Subscriber(
        supi="imsi-999700000000001",
        k=bytes.fromhex(K),
        opc=bytes.fromhex(OPC),
        slices=(
            SubscribedSlice(
                SNssai(1),
                default=True,
                dnns=(Dnn("internet", (PduSessionType.IPV4V6,), Ambr(500_000_000, GBPS)),),
            ),
        ),
        sqn=3297,
        ambr=Ambr(GBPS, GBPS),
    )


def test_open5gs_in_all_that_it_may_say():
    session = open5gs_session(
        "ims",
        type=2,
        qos={
            "index": {"$numberInt": "5"},
            "arp": {
                "priority_level": {"$numberDouble": "1.0"},
                "pre_emption_capability": 2,
                "pre_emption_vulnerability": 2,
            },
        },
        ue={"ipv4": "10.45.0.9", "ipv6": ""},
        smf={"addr": "127.0.0.4", "addr6": "::"},
        pcc_rule=[{"flow": [], "qos": {"index": 1}}],
        lbo_roaming_allowed=True,
        ipv4_framed_routes=["10.1.0.0/16"],
        ipv6_framed_routes=[],
    )
    document = open5gs(
        msisdn=["818001234567"],
        access_restriction_data=32 | 1024,
        subscriber_status=1,
        operator_determined_barring=2,
        subscribed_rau_tau_timer=30,
        security={"k": K_OF_OP, "op": samples.OP, "opc": None, "rand": "00", "amf": "8000"},
        slice=[{"sst": 2, "sd": "FFFFFF", "default_indicator": True, "session": [session]}],
    )
    imported = read(document)
    (subscriber,) = imported.subscribers
    assert subscriber.opc == bytes.fromhex(OPC_OF_OP)
    assert subscriber.barred
    assert not subscriber.nr_allowed
    assert subscriber.slices == (
        SubscribedSlice(
            SNssai(2),
            default=True,
            dnns=(
                Dnn(
                    "ims",
                    (PduSessionType.IPV6,),
                    Ambr(500_000_000, GBPS),
                    five_qi=5,
                    arp_priority=1,
                    arp_preemption_capability=True,
                    arp_preemption_vulnerability=True,
                ),
            ),
        ),
    )
    left_out = "is not supported and was left out"
    assert {
        note.removeprefix("document 1 (imsi-999700000000001): ") for note in imported.notes
    } == {
        f"slice[0].session[0].ue.ipv4 {left_out}",
        f"slice[0].session[0].smf.addr {left_out}",
        f"slice[0].session[0].pcc_rule {left_out}",
        f"slice[0].session[0].lbo_roaming_allowed {left_out}",
        f"slice[0].session[0].ipv4_framed_routes {left_out}",
        f"subscribed_rau_tau_timer {left_out}",
        f"msisdn {left_out}",
        "operator_determined_barring 2 was imported as barring of all packet services",
    }


def expected_of_free5gc(dnn: str) -> Subscriber:
    dnns = (Dnn(dnn, (PduSessionType.IPV4, PduSessionType.IPV6), Ambr(200_000_000, 100_000_000)),)
    return Subscriber(
        supi="imsi-208930000000003",
        k=bytes.fromhex(K),
        opc=bytes.fromhex(OPC),
        slices=(
            SubscribedSlice(SNssai(1, "010203"), default=True, dnns=dnns),
            SubscribedSlice(SNssai(1, "112233"), dnns=dnns),
        ),
        sqn=0x16F3B3F70FC2,
        ambr=Ambr(GBPS, 2 * GBPS),
    )


def test_free5gc_web_console():
    imported = read([free5gc_console()])
    assert imported.subscribers == (expected_of_free5gc("internet"),)
    (note,) = imported.notes
    assert note == (
        "document 1 (imsi-208930000000003): AccessAndMobilitySubscriptionData.gpsis"
        " is not supported and was left out"
    )


@pytest.mark.parametrize("by_collection", [True, False])
def test_free5gc_collections(*, by_collection: bool):
    found = free5gc_collections()
    document: Any = found
    if by_collection:
        document = {
            "subscriptionData.authenticationData.authenticationSubscription": found[:1],
            "subscriptionData.provisionedData.amData": found[1:2],
            "subscriptionData.provisionedData.smData": found[2:4],
            "policyData.ues.smData": found[6:7],
        }
    imported = read(document)
    assert imported.subscribers == (expected_of_free5gc("internet.lab"),)
    assert len(imported.notes) == 1


def test_free5gc_in_all_that_it_may_say():
    document = free5gc_console(
        FlowRules=[{"filter": "1.1.1.1/32"}], ChargingDatas=[], Unheard={"of": 1}
    )
    document["AuthenticationSubscription"] |= {
        "authenticationMethod": "EAP_TLS",
        "opc": {"opcValue": ""},
        "milenage": {"op": {"opValue": samples.OP}},
        "permanentKey": {"permanentKeyValue": K_OF_OP},
    }
    document["AccessAndMobilitySubscriptionData"] = {
        "nssai": {"defaultSingleNssais": [{"sst": 1, "sd": "010203"}, {"sst": 3}]},
        "ratRestrictions": ["NR"],
        "odbPacketServices": "ALL_PACKET_SERVICES",
        "forbiddenAreas": [{"tacs": ["000001", "00ff"]}, {"areaCode": "SH001"}],
        "serviceAreaRestriction": {"restrictionType": "ALLOWED_AREAS"},
    }
    sessions = samples.free5gc_sessions()[:1]
    configuration = sessions[0]["dnnConfigurations"]["internet"]
    configuration["5gQosProfile"]["arp"] = {
        "priorityLevel": 1,
        "preemptCap": "MAY_PREEMPT",
        "preemptVuln": "PREEMPTABLE",
    }
    configuration["sscModes"]["defaultSscMode"] = "SSC_MODE_3"
    configuration["staticIpAddress"] = [{"ipv4Addr": "10.60.0.9"}]
    document["SessionManagementSubscriptionData"] = sessions[0]
    document["SmPolicyData"]["smPolicySnssaiData"]["01010203"]["smPolicyDnnData"]["internet"] |= {
        "gbrUl": "1 Mbps"
    }
    imported = read(document)
    (subscriber,) = imported.subscribers
    assert subscriber.opc == bytes.fromhex(OPC_OF_OP)
    assert subscriber.barred
    assert not subscriber.nr_allowed
    assert subscriber.forbidden_tacs == (1, 255)
    assert [(s.nssai, s.default, len(s.dnns)) for s in subscriber.slices] == [
        (SNssai(1, "010203"), True, 1),
        (SNssai(3), True, 0),
    ]
    dnn = subscriber.slices[0].dnns[0]
    assert (dnn.arp_priority, dnn.arp_preemption_capability) == (1, True)
    assert dnn.arp_preemption_vulnerability
    left_out = "is not supported and was left out"
    session = "SessionManagementSubscriptionData[0].dnnConfigurations.internet"
    assert {
        note.removeprefix("document 1 (imsi-208930000000003): ") for note in imported.notes
    } == {
        "AuthenticationSubscription.authenticationMethod EAP_TLS was replaced by 5G_AKA",
        f"AccessAndMobilitySubscriptionData.forbiddenAreas[1].areaCode {left_out}",
        f"AccessAndMobilitySubscriptionData.serviceAreaRestriction {left_out}",
        f"{session}.sscModes.defaultSscMode SSC_MODE_3 was replaced by SSC_MODE_1",
        f"{session}.staticIpAddress {left_out}",
        f"SmPolicyData {left_out}",
        f"FlowRules {left_out}",
        f"Unheard {left_out}",
    }


def test_free5gc_of_several_plmns():
    found = free5gc_collections()
    found.append({**found[1], "servingPlmnId": "20895"})
    found.append({**found[2], "servingPlmnId": "20895"})
    found.append({**found[3], "servingPlmnId": "20895", "dnnConfigurations": {"other": {}}})
    found.append({"ueId": "imsi-208930000000003", "filter": "1.1.1.1/32", "precedence": 128})
    imported = read(found)
    assert imported.subscribers == (expected_of_free5gc("internet.lab"),)
    assert [note.partition(": ")[2] for note in imported.notes[1:]] == [
        "SessionManagementSubscriptionData[3].dnnConfigurations is not supported and was left out",
        "the access data for PLMN 20895 is not supported and was left out",
        "document 12 is not supported and was left out",
    ]


@pytest.mark.parametrize(
    ("make", "form"),
    [
        (of_own, Format.JSON),
        (open5gs, Format.OPEN5GS),
        (of_free5gc, Format.FREE5GC),
    ],
)
def test_documents_in_any_arrangement(make: Callable[[str], Any], form: Format):
    documents = [make(f"00101000000000{n}") for n in range(3)]
    expected = read(documents)
    assert expected.format is form
    assert len(expected.subscribers) == 3
    lines = "\n".join(json.dumps(d) for d in documents)
    pretty = "\n".join(json.dumps(d, indent=2) for d in documents)
    arrays = json.dumps(documents[:1]) + "\n" + json.dumps(documents[1:], indent=1)
    for text in (lines, pretty, arrays, "\ufeff \n" + lines + "\n\n"):
        again = read_subscribers(text.encode())
        assert again.subscribers == expected.subscribers
        assert read_subscribers(text.encode(), form) == again


@pytest.mark.parametrize(
    ("rate", "value"),
    [
        ("1000 Kbps", 10**6),
        ("1.5Gbps", 1_500_000_000),
        ("7 bps", 7),
        ("1 Tbps", 10**12),
        ("4 Tbps", 4 * 10**12),
    ],
)
def test_bit_rates(rate: str, value: int):
    assert one(edited(OWN, "ambr.uplink", rate)).ambr.uplink == value


@pytest.mark.parametrize("five_qi", [5, 6, 7, 8, 9, 10, 69, 70, 79, 80, 128, 254])
def test_5qis_of_non_gbr_flows(five_qi: int):
    """TS 23.501 table 5.7.4-1, and those that an operator has configured."""
    found = one(edited(OWN, "slices[0].dnns[0].five_qi", five_qi))
    assert found.slices[0].dnns[0].five_qi == five_qi
