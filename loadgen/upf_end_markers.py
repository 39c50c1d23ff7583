"""End Markers that a CP function asks for when a tunnel moves (TS 29.244 table 7.5.4.3-2)."""

from loadgen.pfcp_ies import Ies, flags_in, group, groups, number_in, tree_in
from loadgen.upf_rules import RuleSet

FEATURE = "EMPU"
"""UP Function Feature: sending of End Marker packets is supported (8.2.25)."""


def asked_for(ies: Ies, before: RuleSet) -> tuple[int, tuple[str, ...]]:
    """The End Markers that a modification asks for, and what is wrong with them.

    Args:
        ies: those of the request.
        before: the rules that it changes.

    Returns:
        how many tunnels get one, and a sentence for each fault.
    """
    count, faults = 0, list[str]()
    for members in groups(ies, "Update FAR"):
        parameters = group(members, "Update Forwarding Parameters")
        if "SNDEM" not in flags_in(parameters, "PFCPSMReq-Flags"):
            continue
        number = number_in(members, "FAR ID")
        far = None if number is None else before.fars.get(number)
        if tree_in(parameters, "Outer Header Creation") is None:
            faults.append(f"SNDEM for FAR {number} without an Outer Header Creation")
        elif far is None or far.target is None:
            faults.append(f"SNDEM for FAR {number}, which had no tunnel to end")
        else:
            count += 1
    return count, tuple(faults)
