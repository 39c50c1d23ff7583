"""Describe a step for people: messages decoded and deciphered, changes of the state."""

from typing import Any, cast

from msgspec import msgpack

import wire
from functions.decision.inputs import Nas, open_nas
from schemas import cloudevents
from schemas.cloudevents import CloudEvent, EventType
from schemas.redact import plain
from schemas.step import Page, SendNgap, SendPfcp, Step
from schemas.ue.state import Ue

Tree = dict[str, Any]


def describe(step: Step[Any], before: Any, after: Any) -> Tree:
    """Describe a step and its changes of the state, without secrets."""
    return {
        "seq": step.seq,
        "at": step.at,
        "procedure": step.procedure,
        "code": step.code,
        "trigger": trigger(step.trigger, before),
        "events": plain(step.events),
        "outputs": [output(found, after) for found in step.outputs],
        "changes": changes(plain(before), plain(after)),
        "network": step.network,
        "subscription": step.subscription,
        "lookups": plain(step.lookups),
        "poisoned": step.poisoned,
        "flags": list(step.flags),
    }


_PFCP = (EventType.PFCP_UPLINK, EventType.PFCP_UNANSWERED, EventType.PFCP_ENDED)
"""The types of events with a PFCP message as data."""


def trigger(event: CloudEvent, state: Any) -> Tree:
    """Describe an event. Decipher a protected NAS message as the core did."""
    found: Tree = {
        "id": event.id,
        "type": event.type,
        "source": event.source,
        "partitionkey": event.partitionkey,
    }
    if event.sequence is not None:
        found["sequence"] = event.sequence
    if event.type == EventType.NGAP_UPLINK:
        found["ngap"] = _ngap(event.data)
        nas = wire_nas(event.data)
        if nas is not None and isinstance(state, Ue):
            found["nas"] = uplink_nas(state, nas)
    elif event.type in _PFCP:
        found["pfcp"] = _pfcp(event.data)
    elif event.type in _DATA:
        found["data"] = plain(msgpack.decode(event.data, type=_DATA[event.type]))
    return found


def output(found: Any, state: Any) -> Tree:
    """Describe an output with its message decoded."""
    shown: Tree = plain(found)
    if isinstance(found, SendPfcp):
        shown["pdu"] = _pfcp(found.pdu)
    elif isinstance(found, SendNgap | Page):
        shown["pdu"] = _ngap(found.pdu)
        nas = wire_nas(found.pdu)
        if nas is not None:
            shown["nas"] = downlink_nas(state, nas)
    return shown


def wire_nas(pdu: bytes) -> bytes | None:
    """Return the NAS message in an NGAP PDU; None if there is none."""
    try:
        return wire.ngap_peek(pdu).nas_pdu
    except wire.WireError:
        return None


def _ngap(pdu: bytes) -> Any:
    try:
        return plain(wire.ngap_decode(pdu))
    except wire.WireError as err:
        return {"error": str(err), "octets": pdu.hex()}


def _pfcp(message: bytes) -> Any:
    try:
        return plain(wire.pfcp_decode(message, lenient=True))
    except wire.WireError as err:
        return {"error": str(err), "octets": message.hex()}


def uplink_nas(state: Ue, octets: bytes) -> Tree:
    """Describe an uplink NAS message, deciphered with the keys of the state before the step."""
    opened = open_nas(state, octets)
    if not isinstance(opened, Nas):
        return {"unreadable": opened.reason, "octets": octets.hex()}
    try:
        tree: Tree = plain(wire.nas_decode(opened.plain))
    except wire.WireError as err:
        tree = {"error": str(err), "octets": opened.plain.hex()}
    header = {"security-header": opened.security_header, "verified": opened.verified}
    return {**header, **({"count": opened.count} if opened.count is not None else {}), **tree}


def downlink_nas(state: Any, octets: bytes) -> Tree:
    """Describe a downlink NAS message, deciphered with the keys of the state after the step."""
    header = octets[1] & 0x0F if octets[:1] == b"\x7e" else 0
    try:
        if header == 0:
            return plain(wire.nas_decode(octets))
        for context in (state.pending, state.security):
            if context is None:
                continue
            count = context.downlink - 1 - ((context.downlink - 1 - octets[6]) & 0xFF)
            keys = wire.NasSecurity(context.kamf, context.nia, context.nea, 0, max(count, 0))
            try:
                opened = keys.unprotect(octets, downlink=True)
            except wire.WireError:
                continue
            tree: Tree = plain(wire.nas_decode(opened.plain))
            return {"security-header": header, "count": opened.count, **tree}
    except wire.WireError as err:
        return {"error": str(err), "octets": octets.hex()}
    return {"security-header": header, "octets": octets.hex()}


def changes(before: Any, after: Any, path: str = "") -> Tree:
    """Return the differences of two plain values: path to [value before, value after]."""
    if isinstance(before, dict) and isinstance(after, dict):
        found: Tree = {}
        one, other = cast("Tree", before), cast("Tree", after)
        for key in dict.fromkeys([*one, *other]):
            below = f"{path}.{key}" if path else str(key)
            found.update(changes(one.get(key), other.get(key), below))
        return found
    return {} if before == after else {path: [before, after]}


_DATA: dict[str, Any] = {
    EventType.ASSOCIATION_LOST: cloudevents.AssociationLost,
    EventType.CONNECTION_LOST: cloudevents.ConnectionLost,
    EventType.IDENTIFIED: cloudevents.Identified,
    EventType.UNIDENTIFIED: cloudevents.Unidentified,
    EventType.UPF_PATH: cloudevents.UpfPath,
    EventType.SESSION_LOST: cloudevents.SessionLost,
}
