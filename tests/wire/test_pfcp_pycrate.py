"""The values of the IEs of N4, against pycrate (TS 29.244 clause 8.2)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.wire import pfcp_oracle as pycrate
from tests.wire.pfcp_messages import MESSAGES, NUMBERS, Message
from tests.wire.pfcp_values import VALUES
from tests.wire.profiles import SLOW_ORACLE

pytestmark = pytest.mark.slow


def header(name: str, number: int, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header of a message in the form of `wire` and of pycrate."""
    tree: dict[str, Any] = {"message": name}
    found = {"Type": number, "S": 0, "SeqNum": fields["sequence"]}
    if "seid" in fields:
        found |= {"S": 1, "SEID": fields["seid"]}
    if "priority" in fields:
        found |= {"MP": 1, "MPSel": {"MsgPriority": fields["priority"]}}
    return tree | fields, found


@pytest.mark.parametrize("name", VALUES)
@SLOW_ORACLE
@given(data=st.data())
def test_a_value(name: str, data: st.DataObject) -> None:
    value, fields = data.draw(VALUES[name])
    tree, found = header("SessionModificationRequest", 52, seid=1, sequence=1)
    tree["ies"] = [{name: value}]
    octets = wire.pfcp_encode(tree)
    assert octets.hex() == pycrate.encode(found, [{"Type": NUMBERS[name], "Data": fields}]).hex()
    assert wire.pfcp_decode(octets) == tree


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.name)
@SLOW_ORACLE
@given(data=st.data())
def test_a_message(message: Message, data: st.DataObject) -> None:
    fields: dict[str, Any] = {}
    if message.session:
        fields["seid"] = data.draw(st.integers(0, 2**64 - 1))
    fields["sequence"] = data.draw(st.integers(0, 2**24 - 1))
    if message.session and data.draw(st.booleans()):
        fields["priority"] = data.draw(st.integers(0, 15))
    tree, found = header(message.name, message.number, **fields)
    ies, theirs = data.draw(message.ies())
    tree["ies"] = ies
    octets = wire.pfcp_encode(tree)
    assert octets.hex() == pycrate.encode(found, theirs).hex()
    assert pycrate.decode(octets) == octets
    assert wire.pfcp_decode(octets) == tree
    assert wire.pfcp_check(octets) is None
    peek = wire.pfcp_peek(octets)
    assert (peek.message, peek.message_type, peek.length) == (
        message.name,
        message.number,
        len(octets),
    )
    assert (peek.seid, peek.sequence, peek.priority) == (
        fields.get("seid"),
        fields["sequence"],
        fields.get("priority"),
    )
    first: dict[str, Any] = {}
    for entry in ies:
        for ie, value in entry.items():
            first.setdefault(ie, value)
    node = first.get("Node ID", {"none": None})
    assert peek.node_id == next(iter(node.values()))
    seid = first.get("F-SEID")
    parts = None if seid is None else (seid["seid"], seid.get("ipv4"), seid.get("ipv6"))
    assert peek.f_seid == parts
    assert peek.recovery_time_stamp == first.get("Recovery Time Stamp")
