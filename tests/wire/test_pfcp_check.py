"""A receiver's handling of invalid messages (TS 29.244 clause 7.6)."""

from typing import Any

import pytest

import wire
from tests.corpus import entries

OCTETS = {entry.name: entry.octets for entry in entries("pfcp")}
TREES = {
    name: wire.pfcp_decode(OCTETS[name])
    for name in (
        *("heartbeat-request", "association-setup-request", "association-setup-response"),
        *("session-establishment-request", "session-establishment-response"),
        *("session-modification-request", "session-modification-response"),
        *("session-report-request-downlink-data", "session-report-request-usage"),
        *("session-report-request-error-indication", "node-report-request"),
        *("association-update-request", "association-release-request"),
    )
}
MISSING, CONDITIONAL = ("Mandatory IE missing", 66), ("Conditional IE missing", 67)
LENGTH, INCORRECT = ("Invalid length", 68), ("Mandatory IE incorrect", 69)


def without(tree: dict[str, Any], ie: str) -> bytes:
    """Return the message without an IE, which may be in groups."""

    def kept(ies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {name: kept(value) if isinstance(value, list) and _is_group(value) else value}  # pyright: ignore[reportUnknownArgumentType]
            for entry in ies
            for name, value in entry.items()
            if name != ie
        ]

    return wire.pfcp_encode(tree | {"ies": kept(tree["ies"])})


def _is_group(value: list[Any]) -> bool:
    return all(isinstance(entry, dict) for entry in value)


def said(data: bytes) -> tuple[Any, ...]:
    found = wire.pfcp_check(data)
    assert found is not None
    assert found["text"]
    cause = found["cause"], found["cause_value"]
    return found["action"], cause, found["offending_ie"]


@pytest.mark.parametrize(
    ("name", "ie"),
    [
        ("association-setup-request", "Node ID"),
        ("association-setup-request", "Recovery Time Stamp"),
        ("association-update-request", "Node ID"),
        ("association-release-request", "Node ID"),
        ("node-report-request", "Node Report Type"),
        ("node-report-request", "Remote GTP-U Peer"),
        ("session-establishment-request", "Node ID"),
        ("session-establishment-request", "F-SEID"),
        ("session-establishment-request", "Create PDR"),
        ("session-establishment-request", "Create FAR"),
        ("session-establishment-request", "PDR ID"),
        ("session-establishment-request", "Precedence"),
        ("session-establishment-request", "PDI"),
        ("session-establishment-request", "Source Interface"),
        ("session-establishment-request", "Apply Action"),
        ("session-establishment-request", "Destination Interface"),
        ("session-establishment-request", "URR ID"),
        ("session-establishment-request", "Measurement Method"),
        ("session-establishment-request", "Gate Status"),
        ("session-establishment-request", "BAR ID"),
        ("session-modification-request", "FAR ID"),
        ("session-report-request-downlink-data", "Report Type"),
        ("session-report-request-downlink-data", "PDR ID"),
        ("session-report-request-usage", "UR-SEQN"),
        ("session-report-request-usage", "Usage Report Trigger"),
        ("session-report-request-error-indication", "F-TEID"),
    ],
)
def test_a_mandatory_ie_is_missing(name: str, ie: str) -> None:
    assert said(without(TREES[name], ie)) == ("reject", MISSING, ie)


@pytest.mark.parametrize(
    ("name", "ie"),
    [
        ("session-establishment-request", "Forwarding Parameters"),
        ("node-report-request", "User Plane Path Failure Report"),
        ("session-report-request-downlink-data", "Downlink Data Report"),
        ("session-report-request-usage", "Usage Report (Session Report Request)"),
        ("session-report-request-error-indication", "Error Indication Report"),
    ],
)
def test_an_ie_is_missing_whose_condition_is_there(name: str, ie: str) -> None:
    assert said(without(TREES[name], ie)) == ("reject", CONDITIONAL, ie)


@pytest.mark.parametrize(
    ("name", "ie", "cause"),
    [
        ("association-setup-response", "Cause", MISSING),
        ("association-setup-response", "Recovery Time Stamp", MISSING),
        ("session-establishment-response", "Cause", MISSING),
        ("session-establishment-response", "F-SEID", CONDITIONAL),
        ("session-modification-response", "Cause", MISSING),
        ("heartbeat-request", "Recovery Time Stamp", MISSING),
    ],
)
def test_what_cannot_be_answered(name: str, ie: str, cause: tuple[str, int]) -> None:
    assert said(without(TREES[name], ie)) == ("discard", cause, ie)


@pytest.mark.parametrize("name", ["association-setup-response", "session-establishment-response"])
def test_a_response_without_node_id_is_processed(name: str) -> None:
    """Its request shows the sender; another missing IE is the worse fault."""
    assert said(without(TREES[name], "Node ID")) == ("ignore", MISSING, "Node ID")
    tree = wire.pfcp_decode(without(TREES[name], "Node ID"))
    assert said(without(tree, "Cause")) == ("discard", MISSING, "Cause")


def test_a_session_that_was_refused_has_no_f_seid() -> None:
    assert wire.pfcp_check(OCTETS["session-establishment-response-rejected"]) is None


def changed(name: str, ie: str, value: str) -> bytes:
    """Return a message with other octets in an IE."""
    tree = TREES[name]
    ies = [{ie: {"octets": value}} if ie in entry else entry for entry in tree["ies"]]
    return wire.pfcp_encode(tree | {"ies": ies})


@pytest.mark.parametrize(
    ("ie", "value", "cause"),
    [
        ("Node ID", "", LENGTH),
        ("Node ID", "000a0000", LENGTH),
        ("Node ID", "0e0a000001", INCORRECT),
        ("F-SEID", "0200", LENGTH),
        ("Create PDR", "003800020001001d0004000000ff0002000000", LENGTH),
    ],
)
def test_a_mandatory_ie_is_malformed(ie: str, value: str, cause: tuple[str, int]) -> None:
    assert said(changed("session-establishment-request", ie, value)) == ("reject", cause, ie)


def test_an_optional_ie_is_malformed() -> None:
    data = changed("session-establishment-request", "APN/DNN", "08696e")
    assert wire.pfcp_check(data) is None  # octets that are not labels stay octets
    data = changed("session-establishment-request", "S-NSSAI", "01")
    assert said(data) == ("ignore", LENGTH, "S-NSSAI")
    with pytest.raises(wire.WireError) as refused:
        wire.pfcp_decode(data)
    assert refused.value.ie == "S-NSSAI"
    tree = TREES["session-establishment-request"]
    left = [entry for entry in tree["ies"] if "S-NSSAI" not in entry]
    assert wire.pfcp_decode(data, lenient=True) == tree | {"ies": left}


def test_an_ie_of_no_length_takes_it_from_a_rule() -> None:
    """Clause 5.6.3: in an Update group this is not a fault if the IE is optional in the rule."""

    def update(name: str, *ies: dict[str, Any]) -> bytes:
        body = [{f"{name} PDR": list(ies)}]
        tree = {"message": "SessionModificationRequest", "seid": 1, "sequence": 1, "ies": body}
        return wire.pfcp_encode(tree)

    pdr, nothing = {"PDR ID": 1}, {"octets": ""}
    data = update("Update", pdr, {"QER ID": nothing}, {"Outer Header Removal": nothing})
    assert wire.pfcp_check(data) is None
    tree = wire.pfcp_decode(data)
    assert tree["ies"][0]["Update PDR"][1:] == [
        {"QER ID": nothing},
        {"Outer Header Removal": nothing},
    ]
    assert wire.pfcp_encode(tree) == data
    assert said(update("Update", {"PDR ID": nothing})) == ("reject", LENGTH, "PDR ID")
    created = update("Create", pdr, {"Precedence": 1}, {"PDI": []}, {"QER ID": nothing})
    assert wire.pfcp_check(created) is not None


def test_a_worse_fault_comes_before_one_to_ignore() -> None:
    data = changed("session-establishment-request", "S-NSSAI", "01")
    tree = wire.pfcp_decode(data, lenient=True)
    ies = [{"S-NSSAI": {"octets": "01"}}, *tree["ies"][1:]]
    data = wire.pfcp_encode(tree | {"ies": ies})
    assert said(data) == ("reject", MISSING, "Node ID")


def test_lengths_of_messages() -> None:
    request = OCTETS["session-deletion-request"]
    nothing = (None, None)
    assert said(request + b"\0") == ("reject", LENGTH, None)
    assert said(request[:2] + b"\0\x10" + request[4:]) == ("reject", LENGTH, None)
    assert said(OCTETS["session-deletion-response"] + b"\0") == ("discard", LENGTH, None)
    assert said(request[:15]) == ("discard", nothing, None)
    assert said(request[:7]) == ("discard", nothing, None)
    assert said(b"") == ("discard", nothing, None)


def test_unknown_messages_and_versions() -> None:
    nothing = (None, None)
    request = OCTETS["heartbeat-request"]
    assert said(b"\x20\x63" + request[2:]) == ("discard", nothing, None)
    assert said(b"\x40" + request[1:]) == ("version-not-supported", nothing, None)
    assert said(b"\x40\x63" + request[2:]) == ("version-not-supported", nothing, None)
    assert wire.pfcp_check(OCTETS["version-not-supported-response-of-2"]) is None
    assert said(OCTETS["session-message-without-seid"]) == ("discard", nothing, None)


def test_what_is_not_known_is_no_fault() -> None:
    """An IE that is out of place or repeated is not a fault either (7.6.9 and 7.6.10)."""
    tree = TREES["heartbeat-request"]
    more: list[dict[str, Any]] = [
        {"700": {"octets": ""}},
        {"40000": {"enterprise": 1, "octets": ""}},
        {"Create MAR": {"octets": "00"}},
        {"PDR ID": 1},
        {"Recovery Time Stamp": 1},
    ]
    assert wire.pfcp_check(wire.pfcp_encode(tree | {"ies": [*tree["ies"], *more]})) is None


def test_messages_that_follow_on() -> None:
    first, second = OCTETS["session-deletion-request"], OCTETS["session-report-response"]
    packet = bytes([first[0] | 4]) + first[1:] + second
    assert wire.pfcp_check(packet) is None
    peek = wire.pfcp_peek(packet)
    assert (peek.follow_on, peek.length) == (True, len(first))
    assert wire.pfcp_decode(packet)["message"] == "SessionDeletionRequest"
    assert wire.pfcp_decode(packet[peek.length :])["message"] == "SessionReportResponse"
