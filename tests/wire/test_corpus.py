"""Every recorded message decodes to its recorded tree (tests/corpus)."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import wire
from tests.corpus import Entry, entries

GMM = 0x7E
ANSWERS = {"5gmm-status", "registration-reject", "service-reject"}
NAS, NGAP, PFCP, SUCI, SCTP = map(entries, ("nas", "ngap", "pfcp", "suci", "sctp"))


def outcome(data: bytes, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]) -> str:
    """Return the outcome in the form of the corpus. Assert that encoding keeps the tree."""
    try:
        tree = decode(data)
    except wire.WireError as error:
        return error.kind
    again = encode(tree)
    assert decode(again) == tree
    return "same" if again == data else "anew"


@pytest.mark.parametrize("kind", ["nas", "ngap", "pfcp", "suci", "sctp"])
def test_names_are_of_one_entry(kind: str) -> None:
    names = Counter(entry.name for entry in entries(kind))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("entry", NGAP, ids=lambda entry: entry.name)
def test_ngap(entry: Entry) -> None:
    assert outcome(entry.octets, wire.ngap_decode, wire.ngap_encode) == entry.outcome
    try:
        peek = wire.ngap_peek(entry.octets)
    except wire.WireError as error:
        # Not even the message type can be read: clause 10.2 of TS 38.413.
        assert error.kind == "ngap-decode"
        with pytest.raises(wire.WireError):
            wire.ngap_check(entry.octets)
        return
    faults = wire.ngap_check(entry.octets)
    if entry.outcome == "ngap-decode":
        assert faults is not None
        assert faults["reject"]
        return
    tree = wire.ngap_decode(entry.octets)
    assert tree.get("message", "unknown") == peek.message
    ids = {name: value for item in tree["ies"] for name, value in item.items()}
    if peek.nas_pdu is not None:
        assert peek.nas_pdu.hex() == ids["NAS-PDU"]


@pytest.mark.parametrize("entry", PFCP, ids=lambda entry: entry.name)
def test_pfcp(entry: Entry) -> None:
    assert outcome(entry.octets, wire.pfcp_decode, wire.pfcp_encode) == entry.outcome
    faults = wire.pfcp_check(entry.octets)
    if entry.outcome == "pfcp-decode":
        assert faults is not None
        return
    peek = wire.pfcp_peek(entry.octets)
    tree = wire.pfcp_decode(entry.octets)
    assert (tree["message"], tree.get("seid")) == (peek.message, peek.seid)
    assert (tree["sequence"], peek.length) == (peek.sequence, len(entry.octets))


@pytest.mark.parametrize("entry", NAS, ids=lambda entry: entry.name)
def test_nas(entry: Entry) -> None:
    assert outcome(entry.octets, wire.nas_decode, wire.nas_encode) == entry.outcome
    answer = wire.nas_answer(entry.octets)
    if answer is not None and answer[0] == GMM:
        assert wire.nas_decode(answer)["message-type"] in ANSWERS
    elif answer is not None:
        # A 5GSM message, with its PDU session identity and PTI (7.3).
        assert answer[:3] == entry.octets[:3]
    if len(entry.octets) < 2:
        with pytest.raises(wire.WireError) as refused:
            wire.nas_peek(entry.octets)
        assert refused.value.kind == "nas-decode"
        return
    peek = wire.nas_peek(entry.octets)
    assert peek.epd == entry.octets[0]
    if peek.suci is not None and peek.suci_scheme == 0:
        assert wire.suci_deconceal(peek.suci) == (peek.supi or wire.suci_deconceal(peek.suci))


@pytest.mark.parametrize("entry", SUCI, ids=lambda entry: entry.name)
def test_suci(entry: Entry) -> None:
    try:
        found = f"scheme-{wire.suci_scheme(entry.octets)[0]}"
    except wire.WireError as error:
        found = error.kind
    assert found == entry.outcome
    for profile in (None, "A", "B"):
        key = None if profile is None else bytes(range(1, 33))
        try:
            supi = wire.suci_deconceal(entry.octets, profile, key)
        except wire.WireError as error:
            assert error.kind == "suci"
        else:
            assert supi.startswith(("imsi-", "nai-"))


@pytest.mark.parametrize("entry", SCTP, ids=lambda entry: entry.name)
@pytest.mark.parametrize("accept", [True, False])
def test_sctp(entry: Entry, accept: bool) -> None:
    """An endpoint without an association accepts any packet, answers few and reports no message."""
    endpoint = wire.SctpEndpoint(38412, accept=accept)
    endpoint.receive(entry.octets, "192.0.2.1", 9899, 0.0)
    sent = sum(len(packet) for packet, _ in endpoint.packets())
    assert sent <= 4 * len(entry.octets) + 64
    assert endpoint.messages(10) == []
    assert [name for name, _, _ in endpoint.events() if name == "up"] == []
    assert endpoint.associations <= accept
