"""The messages for invalid files of subscribers."""

from typing import Any

import pytest

from statestore.importers import Format, ImportProblem, read_subscribers
from tests.statestore.import_samples import (
    CSV,
    OPC,
    OWN,
    K,
    edited,
    free5gc_collections,
    free5gc_console,
    open5gs,
    read,
    refused,
)

GBR = "is {}, a GBR 5QI, but the default QoS flow is a non-GBR flow"

OWN_PROBLEMS: list[tuple[str, Any, str]] = [
    ("supi", ..., "supi is missing"),
    ("supi", "imsi-12345", "supi is not an IMSI of 6 to 15 digits"),
    ("supi", 1010000000001, "supi is not an IMSI of 6 to 15 digits"),
    ("k", ..., "k is missing"),
    ("k", "abcd", "k is not a string of 32 hexadecimal digits"),
    ("k", K[:-1] + "g", "k is not a string of 32 hexadecimal digits"),
    ("opc", ..., "opc is missing, and so is op"),
    ("opc", None, "opc is missing, and so is op"),
    ("amf", "0000", "amf is 0000, without the separation bit that 5G requires"),
    ("sqn", 2**48, "sqn is 281474976710656, not a number from 0 to 281474976710655"),
    ("sqn", "xyz", "sqn is not a string of up to 12 hexadecimal digits"),
    ("ambr", 5, "ambr is not an object"),
    ("ambr.uplink", ..., "ambr.uplink is missing"),
    ("ambr.uplink", "fast", 'ambr.uplink is not a bit rate such as "100 Mbps"'),
    ("ambr.uplink", "9" * 5000 + " Pbps", 'ambr.uplink is not a bit rate such as "100 Mbps"'),
    (
        "ambr.uplink",
        "2 Pbps",
        "ambr.uplink is 2000000000000000, not a number from 1 to 4000000000000",
    ),
    (
        "ambr.uplink",
        10**90,
        f"ambr.uplink is 1{'0' * 79}..., not a number from 1 to 4000000000000",
    ),
    ("ambr.uplink", 0, "ambr.uplink is 0, not a number from 1 to 4000000000000"),
    ("ambr.uplink", -1, "ambr.uplink is -1, not a number from 1 to 4000000000000"),
    ("ambr.uplink", "0.3 bps", "ambr.uplink is 0, not a number from 1 to 4000000000000"),
    ("ambr.upload", 1, "ambr.upload is not a field of this format"),
    ("barred", "yes", "barred is neither true nor false"),
    ("rfsp", 257, "rfsp is 257, not a number from 0 to 256"),
    ("forbidden_tacs", 7, "forbidden_tacs is not a list"),
    ("forbidden_tacs[1]", 2**24, "forbidden_tacs[1] is 16777216, not a number from 0 to 16777215"),
    ("slices", [], "slices has no slice"),
    ("slices[0]", "1-000001", "slices[0] is not an object"),
    ("slices[0].sst", ..., "slices[0].sst is missing"),
    ("slices[0].sst", 256, "slices[0].sst is 256, not a number from 0 to 255"),
    ("slices[0].sst", 1.5, "slices[0].sst is not a whole number from 0 to 255"),
    ("slices[0].sst", True, "slices[0].sst is not a whole number from 0 to 255"),
    ("slices[1].sd", "12", "slices[1].sd is not a string of 6 hexadecimal digits"),
    ("slices[1]", OWN["slices"][0], "slices has the S-NSSAI 1-0000ab twice"),
    ("slices[0].dnns[1].name", "internet", "slices has in slice 1-0000ab the DNN internet twice"),
    ("slices[0].dnns[1].name", "-a", "slices[0].dnns[1].name is not a data network name"),
    (
        "slices[0].dnns[0].session_types[1]",
        "ipv4",
        (
            "slices[0].dnns[0].session_types[1] is not one of"
            " IPV4, IPV6, IPV4V6, UNSTRUCTURED, ETHERNET"
        ),
    ),
    (
        "slices[0].dnns[0].five_qi",
        255,
        "slices[0].dnns[0].five_qi is 255, not a number from 1 to 254",
    ),
    ("slices[0].dnns[0].five_qi", 0, "slices[0].dnns[0].five_qi is 0, not a number from 1 to 254"),
    (
        "slices[0].dnns[0].five_qi",
        65,
        f"slices[0].dnns[0].five_qi {GBR.format(65)}",
    ),
    (
        "slices[0].dnns[0].name",
        "a" * 60 + "." + "b" * 39,
        "slices[0].dnns[0].name is not a data network name",
    ),
    ("slices[0].dnns[0].qi", 0, "slices[0].dnns[0].qi is not a field of this format"),
    ("opcc", OPC, "opcc is not a field of this format"),
]


@pytest.mark.parametrize(("path", "value", "said"), OWN_PROBLEMS)
def test_problems_of_own_json(path: str, value: Any, said: str):
    record = "record 1" if path == "supi" else "record 1 (imsi-001010000000001)"
    assert refused([edited(OWN, path, value)], Format.JSON) == (f"{record}: {said}",)


OPEN5GS_PROBLEMS: list[tuple[str, Any, str]] = [
    ("security", ..., "security is missing"),
    ("security.k", "", "security.k is missing"),
    ("security.opc", None, "security.opc is missing, and so is security.op"),
    ("security.sqn", {"$numberLong": "-1"}, "security.sqn is -1, not a number from 0 to"),
    ("slice", [], "slice has no slice"),
    ("slice[0].session[0].type", 6, "slice[0].session[0].type is 6, not a number from 1 to 5"),
    ("slice[0].session[0].name", ..., "slice[0].session[0].name is missing"),
    ("slice[0].session[0].qos.index", 1, f"slice[0].session[0].qos.index {GBR.format(1)}"),
    ("slice[0].session[0].ambr.uplink.value", 0, "uplink.value is 0, not a number from 1"),
    ("slice[0].session[0].ambr.uplink.unit", 9, "uplink.unit is 9, not a number from 0 to 4"),
    ("ambr.uplink.value", 2_000_000, "ambr.uplink.value is 2000000000000000, not a number from 1"),
    ("ambr.downlink", 1024, "ambr.downlink is not an object"),
    ("subscriber_status", 2, "subscriber_status is 2, not a number from 0 to 1"),
]


@pytest.mark.parametrize(("path", "value", "said"), OPEN5GS_PROBLEMS)
def test_problems_of_open5gs(path: str, value: Any, said: str):
    (problem,) = refused([edited(open5gs(), path, value)])
    assert problem.startswith("document 1 (imsi-999700000000001): ")
    assert said in problem


AUTHENTICATION = "AuthenticationSubscription"
FREE5GC_QOS = "SessionManagementSubscriptionData[0].dnnConfigurations.internet.5gQosProfile"
FREE5GC_PROBLEMS: list[tuple[str, Any, str]] = [
    (f"{FREE5GC_QOS}.5qi", 82, f"{FREE5GC_QOS}.5qi {GBR.format(82)}"),
    (AUTHENTICATION, ..., f"{AUTHENTICATION}.permanentKey is missing"),
    (f"{AUTHENTICATION}.permanentKey", {}, f"{AUTHENTICATION}.permanentKey is missing"),
    (
        f"{AUTHENTICATION}.permanentKey.encryptionAlgorithm",
        1,
        f"{AUTHENTICATION}.permanentKey.permanentKeyValue is encrypted, and only free5GC can",
    ),
    (
        f"{AUTHENTICATION}.opc",
        None,
        f"{AUTHENTICATION}.opc is missing, and so is milenage.op",
    ),
    (f"{AUTHENTICATION}.sequenceNumber", "x", f"{AUTHENTICATION}.sequenceNumber is not a string"),
    (
        "AccessAndMobilitySubscriptionData.nssai.defaultSingleNssais[0].sst",
        ...,
        "AccessAndMobilitySubscriptionData.nssai.defaultSingleNssais[0].sst is missing",
    ),
    (
        "AccessAndMobilitySubscriptionData.subscribedUeAmbr.uplink",
        "1 Gbit",
        (
            "AccessAndMobilitySubscriptionData.subscribedUeAmbr.uplink"
            ' is not a bit rate such as "100 Mbps"'
        ),
    ),
    (
        "SessionManagementSubscriptionData[1].singleNssai",
        ...,
        "SessionManagementSubscriptionData[1].singleNssai is missing",
    ),
    (
        "SessionManagementSubscriptionData[0].dnnConfigurations",
        {"a b": {}},
        "SessionManagementSubscriptionData[0].dnnConfigurations.a b is not a data network name",
    ),
]


@pytest.mark.parametrize(("path", "value", "said"), FREE5GC_PROBLEMS)
def test_problems_of_free5gc(path: str, value: Any, said: str):
    (problem,) = refused([edited(free5gc_console(), path, value)])
    assert problem.startswith(f"document 1 (imsi-208930000000003): {said}")


def test_free5gc_documents_without_their_owner():
    said = "document 2: no ueId, so this is not a free5GC document"
    assert refused([free5gc_console(), {"nssai": {}}]) == (said,)
    by_collection = {"policyData.ues.smData": [{"a": 1}]}
    assert refused([by_collection]) == ("policyData.ues.smData 1: no ueId",)
    twice = free5gc_collections()
    assert refused([*twice, twice[0]]) == (
        "document 9 (imsi-208930000000003): there is another authentication subscription",
    )
    assert refused(twice[1:]) == (
        "imsi-208930000000003: AuthenticationSubscription.permanentKey is missing",
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("supi,k", "supi,key", "line 1: 'key' is not a column of this format"),
        ("supi,k,op", "supi,k,k", "line 1: the column 'k' occurs twice"),
        (",sst,", ",sd,", "line 1: the column 'sd' occurs twice"),
        ("supi,", "amf,", "line 1: the column 'amf' occurs twice"),
        ("001010000000001,", "01,", "line 2: supi is not an IMSI of 6 to 15 digits"),
        (OPC, OPC[1:], "line 2 (imsi-001010000000001): opc is not a string of 32 hexadecimal"),
        (OPC, "", "line 2 (imsi-001010000000001): opc is missing, and so is op"),
        (",1,000001", ",one,000001", "line 2 (imsi-001010000000001): sst is not a number"),
        (",1,000001", ",,000001", "line 2 (imsi-001010000000001): sst is missing"),
        (
            "001,,,,2,,",
            "001,,,,1,000001,",
            "(imsi-001010000000001): sst has the S-NSSAI 1-000001 t",
        ),
        ("001,,,,2,,", "001,,,,2,,,,", "line 3 has 17 values for 15 columns"),
        ("001,,,,2", f"001,{K[::-1]},,,2", "line 3 (imsi-001010000000001): k differs from"),
        (",yes,iot", ",maybe,iot", "line 3 (imsi-001010000000001): default is neither true nor f"),
        ("IPV4V6", "IPV4+6", "session_types is not one of IPV4, IPV6"),
        ("100 Mbps", "100", ""),
        ("100 Mbps", "quick", 'uplink is not a bit rate such as "100 Mbps"'),
        (",32,", ",3x,", "sqn is not a number"),
        ("internet ims", "internet ,ims", "line 2 has 16 values for 15 columns"),
        ("internet ims", "internet i_s", "dnns is not a data network name"),
        ("internet ims", '"internet"ims', "line 2 is not CSV"),
    ],
)
def test_problems_of_csv(old: str, new: str, said: str):
    text = CSV.replace(old, new, 1)
    assert text != CSV
    if said:
        assert said in refused(text)[0]
    else:
        assert read_subscribers(text.encode()).subscribers[0].ambr.uplink == 100


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the column 'supi' or 'imsi' is missing"),
        ("supi,k,opc,sst\n", "the file holds no subscribers"),
        ("[]", "the file holds no subscribers"),
        ("{", "line 1, column 2: this is not JSON: Expecting property name enclosed in double"),
        ('[{"k": 1}]\n{"a" 1}', "line 2, column 6: this is not JSON: Expecting ':' delimiter"),
        ('{"k": NaN}', "NaN is not a JSON number"),
        ('{"k": 1, "k": 2}', "an object has the field 'k' twice"),
        ('{"k": {"$numberLong": "x"}}', "{$numberLong: 'x'} is not a number"),
        ("[1]", "record 1: it is not an object"),
        ("[[[" * 100_000, "the JSON of the file is nested too deeply"),
        ('{"k": ' + "1" * 5000 + "}", "a number in the file cannot be read"),
    ],
)
def test_files_that_are_none(text: str, said: str):
    (problem,) = refused(text)
    assert problem.startswith(said)


def test_octets_that_are_no_text():
    with pytest.raises(ImportProblem, match="the file is not UTF-8 text: octet 3 is wrong"):
        read_subscribers(b"sup\xff")


def test_all_problems_are_told_and_nothing_is_imported():
    documents = [
        OWN,
        edited(OWN, "k", "short"),
        {**OWN, "supi": "imsi-001010000000002"},
        edited(OWN, "slices[0].sst", "x"),
        OWN,
    ]
    with pytest.raises(ImportProblem) as caught:
        read(documents)
    assert caught.value.problems == (
        "record 2 (imsi-001010000000001): k is not a string of 32 hexadecimal digits",
        "record 4 (imsi-001010000000001): slices[0].sst is not a whole number from 0 to 255",
        "record 5: there is another record of imsi-001010000000001",
    )
    assert str(caught.value) == caught.value.problems[0] + " (and 2 more problems)"


def test_a_secret_is_never_told():
    secret = "0123456789abcdef0123456789abcdeX"
    for document in (edited(OWN, "k", secret), edited(OWN, "opc", secret)):
        assert not any(secret[:8] in problem for problem in refused([document]))
    for name in ("k", "opc"):
        document = edited(open5gs(), f"security.{name}", secret)
        assert not any(secret[:8] in problem for problem in refused([document]))
