"""PFCP node messages (TS 29.244 7.4), and the common parts of all messages: Node ID, Cause,
faults."""

from ipaddress import ip_address
from typing import Any, Final

import wire
from functions.messages.trees import Tree

ACCEPTED: Final = "Request accepted"
REJECTED: Final = "Request rejected (reason not specified)"
NOT_FOUND: Final = "Session context not found"
NO_ASSOCIATION: Final = "No established PFCP Association"
INCORRECT: Final = "Mandatory IE incorrect"
NODE_ID: Final = 60
"""The type of the IE Node ID, in an Offending IE."""
NOT_SUPPORTED: Final = "Service not supported"

FEATURES: Final[Tree] = {"CP Function Features": ["LOAD"]}
"""The optional features of the CP function (8.2.58): it supports Load Control Information."""

_RETENTION: Final = "PFCP Session Retention Information (within PFCP Association Setup Request)"

_EPOCH: Final = 2_208_988_800
"""Seconds from 1900 to 1970."""


def time_stamp(milliseconds: int) -> int:
    """Return the Recovery Time Stamp (8.2.65) of a time in milliseconds since the Unix epoch:
    seconds since 1900, modulo 2**32 from 2036 on."""
    return (milliseconds // 1000 + _EPOCH) & 0xFFFF_FFFF


def node_id(text: str) -> Tree:
    """Return the Node ID (8.2.38) of an address or a domain name."""
    try:
        return {f"ipv{ip_address(text).version}": text}
    except ValueError:
        return {"fqdn": text}


def named_node(ies: Tree) -> str:
    """Return the Node ID among IEs as it is configured (`node_id`); empty if there is none."""
    found: Tree = ies.get("Node ID", {})
    text = str(next(iter(found.values()), ""))
    try:
        return str(ip_address(text))
    except ValueError:
        return text.lower().removesuffix(".")


def ies_of(ies: list[Tree]) -> Tree:
    """Return the IEs of a message or a group by name; the first if an IE is repeated."""
    found: Tree = {}
    for item in ies:
        for name, value in item.items():
            found.setdefault(name, value)
    return found


def cause_text(ies: Tree) -> str:
    """Return the Cause of a response as text; ``"no cause"`` without the IE."""
    return str(ies.get("Cause", "no cause"))


def load_of(ies: Tree) -> int | None:
    """Return the metric of a Load Control Information in per cent (7.5.3.3); None without the
    IE."""
    control: list[Tree] = ies.get("Load Control Information", [])
    metric: Any = ies_of(control).get("Metric")
    return metric if isinstance(metric, int) else None


def node_message(message: str, ies: list[Tree], sequence: int = 0) -> bytes:
    """Return a node message. `sequence` is the sequence number of the request that it responds to;
    the gateway sets the sequence number of a request."""
    return wire.pfcp_encode({"message": message, "sequence": sequence, "ies": ies})


def session_message(message: str, seid: int, ies: list[Tree], sequence: int = 0) -> bytes:
    """Return a session message. `seid` is the SEID of the receiver, 0 if unknown."""
    return wire.pfcp_encode({"message": message, "seid": seid, "sequence": sequence, "ies": ies})


def association_setup_request(own: str, since: int, *, retain: bool = False) -> bytes:
    """Return a PFCP ASSOCIATION SETUP REQUEST (7.4.4.1).

    `retain` asks a UPF that still has the association to keep the sessions of this core
    (6.2.6.2.2). The group has the address of the core, which is in the CP F-SEID of each session:
    Open5GS reads no message that has an empty IE.
    """
    ies = [{"Node ID": node_id(own)}, {"Recovery Time Stamp": since}, FEATURES]
    if retain:
        ies.append({_RETENTION: [{"CP PFCP Entity IP Address": node_id(own)}]})
    return node_message("AssociationSetupRequest", ies)


def heartbeat_request(since: int) -> bytes:
    """Return a HEARTBEAT REQUEST (7.4.2.1)."""
    return node_message("HeartbeatRequest", [{"Recovery Time Stamp": since}])


def association_release_request(own: str) -> bytes:
    """Return a PFCP ASSOCIATION RELEASE REQUEST (7.4.4.5)."""
    return node_message("AssociationReleaseRequest", [{"Node ID": node_id(own)}])


def response(request: str, sequence: int, own: str, ies: list[Tree]) -> bytes:
    """Return the response to a request of a UPF: a node request, or a request for an unknown
    session.

    `own` is the Node ID of the core. It is put before `ies` if the response has a Node ID.
    """
    if request in _WITH_NODE_ID:
        ies = [{"Node ID": node_id(own)}, *ies]
    message = request.removesuffix("Request") + "Response"
    if request.startswith("Session") and not request.startswith("SessionSet"):
        return session_message(message, 0, ies, sequence)
    return node_message(message, ies, sequence)


def fault_response(peek: wire.PfcpPeek, faults: Tree, own: str, since: int) -> bytes | None:
    """Return the response to a request with syntax errors (7.6); None for no response.

    The cause and the offending IE are those of `wire.pfcp_check`.
    """
    if faults["action"] == "version-not-supported":
        return node_message("VersionNotSupportedResponse", [], peek.sequence)
    if faults["action"] != "reject" or not peek.request:
        return None
    ies: list[Tree] = [{"Cause": faults["cause"]}]
    if faults["offending_ie_type"] is not None:
        ies.append({"Offending IE": faults["offending_ie_type"]})
    if peek.message == "AssociationSetupRequest":
        ies.append({"Recovery Time Stamp": since})
    return response(peek.message, peek.sequence, own, ies)


_WITH_NODE_ID: Final = frozenset(
    {
        "AssociationSetupRequest",
        "AssociationUpdateRequest",
        "AssociationReleaseRequest",
        "NodeReportRequest",
        "SessionSetDeletionRequest",
        "SessionSetModificationRequest",
        "SessionEstablishmentRequest",
    }
)
"""Requests with a Node ID in the response (7.4.4 to 7.4.7, 7.5.3)."""
