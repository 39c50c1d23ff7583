"""Values that pycrate does not have or has wrong, compared with octets written by hand from the
figures of TS 29.244 clause 8.2."""

from typing import Any

import pytest

import wire

BY_HAND: list[tuple[str, Any, str]] = [
    # 8.2.5: FL is bit 4, BID bit 5, and a flow label has three octets.
    ("SDF Filter", {"flow_label": "0fffff", "filter_id": 7}, "18 00 0fffff 00000007"),
    # 8.2.94: presence flags VID, DEI, PCP; then C-VID's high bits, DEI, PCP; then its low octet.
    ("C-TAG", {"pcp": 5, "dei": True, "vid": 0x123}, "07 1d 23"),
    ("S-TAG", {"vid": 0xFFF}, "04 f0 ff"),
    ("C-TAG", {"pcp": 7, "dei": False}, "03 07 00"),
    # 8.2.103: a length of three precedes each tag.
    (
        "MAC Addresses Detected",
        {"addresses": ["020000000001"], "c_tag": {"vid": 1}},
        "01 020000000001 03 040001 00",
    ),
    ("MAC Addresses Removed", {"addresses": [], "s_tag": {"pcp": 1}}, "00 00 03 010100"),
    # 8.2.67: one octet for each length.
    ("Header Enrichment", {"type": "HTTP", "name": "X", "value": "ab"}, "00 01 58 02 6162"),
    # 8.2.70: RTS is bit 5.
    (
        "Remote GTP-U Peer",
        {"ipv4": "192.0.2.1", "network_instance": "a", "recovery_time_stamp": 1},
        "1a c0000201 0001 61 00000001",
    ),
    # 8.2.101: SUPIF is bit 5, GPSIF bit 6, PEIF bit 7.
    ("User ID", {"supi": "imsi-1", "gpsi": "a", "pei": "b"}, "70 06 696d73692d31 01 61 01 62"),
    # 8.2.43: without a node type.
    ("FQ-CSID", {"ipv4": "10.0.0.1", "csids": [1, 2]}, "02 0a000001 0001 0002"),
    # 8.2.25, 8.2.26, 8.2.19, 8.2.41: bits of later releases.
    ("UP Function Features", ["BUCP", "CN-TL"], "01 00 00 00 00 00 00 00 02"),
    ("Apply Action", ["FSSM", "MBSU"], "00 18"),
    ("Reporting Triggers", ["UPINT"], "00 00 02"),
    ("Usage Report Trigger", ["UPINT"], "00 00 20"),
    ("CP Function Features", ["RPGUR"], "00 02"),
    ("PFCPSMReq-Flags", ["SUMPC", "RUMUC"], "18"),
    # 8.2.118.
    ("3GPP Interface Type", "N3 3GPP Access", "0b"),
    ("3GPP Interface Type", "N9", "0f"),
    ("3GPP Interface Type", "N6", "11"),
    ("3GPP Interface Type", 60, "3c"),
    # Unknown enumeration values.
    ("Source Interface", 9, "09"),
    ("Cause", 200, "c8"),
    ("PDN Type", 0, "00"),
    ("RAT Type", "NR", "0a"),
    # 8.2.30: one octet or two.
    ("DL Buffering Suggested Packet Count", 0, "00"),
    ("DL Buffering Suggested Packet Count", 256, "0100"),
    # 8.2.49.
    ("Dropped DL Traffic Threshold", {"packets": 1}, "01 0000000000000001"),
    ("Dropped DL Traffic Threshold", {"octets_of_data": 1}, "02 0000000000000001"),
    (
        "Trace Information",
        {
            "plmn": "00f110",
            "trace_id": "000001",
            "triggering_events": "ff",
            "depth": 1,
            "interfaces": "",
        },
        "00f110 000001 01 ff 01 00 00",
    ),
    # 8.2.129: PPE is bit 3.
    ("Alternative SMF IP Address", {"ipv4": "10.0.0.1", "preferred": True}, "06 0a000001"),
    ("Source IP Address", {"ipv4": "10.0.0.0", "prefix_length": 8}, "06 0a000000 08"),
    ("CP IP Address", {"ipv6": "::1"}, "01 00000000000000000000000000000001"),
    ("Group ID", "00ff", "00ff"),
    ("Predefined Rules Name", "rule", "72756c65"),
    ("IP version", ["V4", "V6"], "03"),
    ("Reporting Flags", ["DUPL"], "01"),
    ("PFCPSDRsp-Flags", ["PURU"], "01"),
    ("QER Indications", ["EDBMI"], "02"),
    ("PFCPSEReq-Flags", ["SUMPC"], "02"),
    ("Node Report Type", ["PURR"], "10"),
    ("Measurement Information", ["CIAM"], "80"),
    ("Event Notification URI", "http://a", "687474703a2f2f61"),
    ("Notification Correlation ID", "a", "61"),
    ("HPLMN S-NSSAI", {"sst": 1, "sd": "000001"}, "01000001"),
    ("Extended DL Buffering Notification Policy", ["EDBN"], "01"),
    (
        "QoS Monitoring Measurement",
        {"downlink_delay": 1, "failure": True, "uplink_congestion": 2},
        "29 00000001 0002",
    ),
    ("Network Instance", "", ""),
    ("Network Instance", {"octets": "ff00"}, "ff00"),
    ("APN/DNN", {"octets": "0861"}, "0861"),
    ("Node ID", {"fqdn": ""}, "02"),
    ("Forwarding Policy", {"identifier": {"octets": "ff"}}, "01 ff"),
    ("SMF Set ID", {"fqdn": {"octets": "05"}}, "00 05"),
]


def message(name: str, value: Any) -> dict[str, Any]:
    return {"message": "HeartbeatRequest", "sequence": 1, "ies": [{name: value}]}


@pytest.mark.parametrize(("name", "value", "octets"), BY_HAND)
def test_a_value(name: str, value: Any, octets: str) -> None:
    written = wire.pfcp_encode(message(name, value))
    assert written[12:].hex() == octets.replace(" ", "")
    assert int.from_bytes(written[10:12], "big") == len(written) - 12
    assert wire.pfcp_decode(written) == message(name, value)


@pytest.mark.parametrize(
    ("name", "octets", "value"),
    [
        ("APN/DNN", "0161016200", "a.b"),
        ("Node ID", "f20161", {"fqdn": "a"}),
        ("Gate Status", "f5", {"uplink": "CLOSED", "downlink": "CLOSED"}),
        ("QFI", "c9", 9),
        ("User ID", "80", {}),
        ("MAC Addresses Detected", "01020000000001", {"addresses": ["020000000001"]}),
        ("Apply Action", "02", ["FORW"]),
        ("Apply Action", "0200ff", ["FORW"]),
    ],
)
def test_a_value_in_another_form(name: str, octets: str, value: Any) -> None:
    data = wire.pfcp_encode(message(name, {"octets": octets}))
    assert wire.pfcp_decode(data) == message(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("F-TEID", {"teid": 1, "choose": ["V4"]}),
        ("F-TEID", {"ipv4": "10.0.0.1"}),
        ("F-TEID", {}),
        ("F-TEID", {"choose": ["V5"]}),
        ("F-SEID", {"seid": 2**64}),
        ("F-SEID", {"seid": 1, "ipv4": "10.0.0"}),
        ("F-SEID", {"seid": 1, "ipv5": "10.0.0.1"}),
        ("MBR", {"uplink": 2**40, "downlink": 0}),
        ("QFI", 64),
        ("Apply Action", ["FORWARD"]),
        ("Apply Action", "FORW"),
        ("Cause", "Fine"),
        ("Node ID", {"fqdn": "a..b"}),
        ("Node ID", {"fqdn": "é" * 32}),
        ("APN/DNN", "a" * 64),
        ("Node ID", {"ipv4": "10.0.0.1", "fqdn": "a"}),
        ("Outer Header Creation", {"description": ["GTP-U/UDP/IPv4"], "teid": 1}),
        ("Outer Header Creation", {"description": [], "teid": 1}),
        ("Timer", {"unit": "1 minute", "value": 32}),
        ("Forwarding Policy", {"identifier": "a" * 256}),
        ("Group ID", "0"),
        ("Group ID", "é"),
        ("Network Instance", "a" * 65536),
        ("PDI", {"Source Interface": "Access"}),
        ("PDI", 1),
        ("Create MAR", []),
        ("700", 1),
        ("0700", {"octets": ""}),
        ("40000", {"octets": ""}),
        ("No IE", 1),
        ("PDR ID", "1"),
    ],
)
def test_a_value_that_there_is_not(name: str, value: Any) -> None:
    with pytest.raises(wire.WireError) as refused:
        wire.pfcp_encode(message(name, value))
    assert (refused.value.kind, refused.value.ie) == ("pfcp-encode", name)
