"""PFCP messages of nodes (TS 29.244 7.4) and what all messages share: Node ID, Cause, faults."""

from ipaddress import ip_address
from typing import Any, Final

import wire
from functions.messages.trees import Tree

ACCEPTED: Final = "Request accepted"
REJECTED: Final = "Request rejected (reason not specified)"
NOT_FOUND: Final = "Session context not found"
NO_ASSOCIATION: Final = "No established PFCP Association"
NOT_SUPPORTED: Final = "Service not supported"

FEATURES: Final[Tree] = {"CP Function Features": ["LOAD"]}
"""Of the optional features of a CP function (8.2.58): Load Control Information is read."""

_EPOCH: Final = 2_208_988_800
"""Seconds from 1900 to 1970."""


def time_stamp(milliseconds: int) -> int:
    """A time since the Unix epoch as in a Recovery Time Stamp (8.2.65): seconds since 1900, of
    which 32 bits are left from 2036 on."""
    return (milliseconds // 1000 + _EPOCH) & 0xFFFF_FFFF


def node_id(text: str) -> Tree:
    """A Node ID (8.2.38) of an address or a domain name."""
    try:
        return {f"ipv{ip_address(text).version}": text}
    except ValueError:
        return {"fqdn": text}


def ies_of(ies: list[Tree]) -> Tree:
    """The IEs of a message or of a group by name; of a repeated one, the first."""
    found: Tree = {}
    for item in ies:
        for name, value in item.items():
            found.setdefault(name, value)
    return found


def cause_text(ies: Tree) -> str:
    """The Cause of an answer for people; ``"no cause"`` without one."""
    return str(ies.get("Cause", "no cause"))


def load_of(ies: Tree) -> int | None:
    """The metric of a Load Control Information in per cent (7.5.3.3), None without one."""
    control: list[Tree] = ies.get("Load Control Information", [])
    metric: Any = ies_of(control).get("Metric")
    return metric if isinstance(metric, int) else None


def node_message(message: str, ies: list[Tree], sequence: int = 0) -> bytes:
    """A message of a node. `sequence` is that of the request which it answers; the gateway gives
    a request its own."""
    return wire.pfcp_encode({"message": message, "sequence": sequence, "ies": ies})


def session_message(message: str, seid: int, ies: list[Tree], sequence: int = 0) -> bytes:
    """A message of a session; `seid` is that of the receiver, 0 where there is none."""
    return wire.pfcp_encode({"message": message, "seid": seid, "sequence": sequence, "ies": ies})


def association_setup_request(own: str, since: int) -> bytes:
    """PFCP ASSOCIATION SETUP REQUEST (7.4.4.1)."""
    ies = [{"Node ID": node_id(own)}, {"Recovery Time Stamp": since}, FEATURES]
    return node_message("AssociationSetupRequest", ies)


def heartbeat_request(since: int) -> bytes:
    """HEARTBEAT REQUEST (7.4.2.1)."""
    return node_message("HeartbeatRequest", [{"Recovery Time Stamp": since}])


def association_release_request(own: str) -> bytes:
    """PFCP ASSOCIATION RELEASE REQUEST (7.4.4.5)."""
    return node_message("AssociationReleaseRequest", [{"Node ID": node_id(own)}])


def answer(request: str, sequence: int, own: str, ies: list[Tree]) -> bytes:
    """The answer to a request of a UPF whose SEID is not known: of a node, or of no session.

    The Node ID of the core, `own`, goes before `ies` where the answer has one.
    """
    if request in _WITH_NODE_ID:
        ies = [{"Node ID": node_id(own)}, *ies]
    message = request.removesuffix("Request") + "Response"
    if request.startswith("Session") and not request.startswith("SessionSet"):
        return session_message(message, 0, ies, sequence)
    return node_message(message, ies, sequence)


def fault_answer(peek: wire.PfcpPeek, faults: Tree, own: str, since: int) -> bytes | None:
    """What a request with faults of syntax is answered with (7.6), None for nothing.

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
    return answer(peek.message, peek.sequence, own, ies)


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
"""Requests whose answers have a Node ID (7.4.4 to 7.4.7, 7.5.3)."""
