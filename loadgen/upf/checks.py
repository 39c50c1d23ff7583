"""Checks of the rules of a session after a request is applied (TS 29.244 5.2, 7.5.2)."""

from collections.abc import Iterator

from loadgen.upf.rules import Far, Pdr, Qer, RuleSet
from loadgen.upf.violation import (
    CONDITIONAL_IE_MISSING,
    INVALID_F_TEID_ALLOCATION_OPTION,
    MANDATORY_IE_MISSING,
    RULE_FAILURE,
    SERVICE_NOT_SUPPORTED,
    PfcpFault,
    PfcpKind,
)

_REMOVALS = {
    "GTP-U/UDP/IPv4": frozenset({"V4"}),
    "GTP-U/UDP/IPv6": frozenset({"V6"}),
    "GTP-U/UDP/IP": frozenset({"V4", "V6"}),
}
"""The outer headers of a tunnel to remove, and their possible address types (8.2.64)."""
_CREATIONS = frozenset({"GTP-U/UDP/IPv4", "GTP-U/UDP/IPv6"})
_ACTIONS = frozenset({"DROP", "FORW", "BUFF", "IPMA", "IPMD"})
"""A FAR must have exactly one of these (8.2.26)."""
_ONLY_WITH = {
    "NOCP": frozenset({"BUFF"}),
    "BDPN": frozenset({"BUFF"}),
    "DDPN": frozenset({"BUFF", "DROP"}),
    "DFRT": frozenset({"FORW"}),
    "EDRT": frozenset({"FORW"}),
}
"""An action, and the actions of which it needs one."""
_APPLY_ACTION, _FORWARDING_PARAMETERS, _SOURCE_INTERFACE, _GATE_STATUS = 44, 4, 20, 25
_OUTER_HEADER_CREATION, _DESTINATION_INTERFACE, _FAR_ID = 84, 42, 108


def check_rules(rules: RuleSet) -> Iterator[PfcpFault]:
    """Yield the faults of a whole set of rules, in each rule and in the references between rules.

    `loadgen.upf.sessions` checks the values of F-TEIDs, because it knows those of all sessions.
    """
    for far in rules.fars.values():
        yield from _check_far(far, rules)
    for qer in rules.qers.values():
        yield from _check_qer(qer)
    for pdr in rules.pdrs.values():
        yield from _check_references(pdr, rules)
        yield from _check_pdi(pdr)
        yield from _check_direction(pdr, rules)
        yield from _check_qos(pdr, rules)


def explicit_f_teid(pdr: Pdr) -> PfcpFault:
    """Return the fault of a PDR with an F-TEID that the CP function assigned."""
    text = f"PDR {pdr.id} has the F-TEID {pdr.pdi.f_teid}, which only the UP function assigns"
    kind = PfcpKind.F_TEID_OPTION
    return PfcpFault(kind, text, INVALID_F_TEID_ALLOCATION_OPTION, ("PDR", pdr.id))


def _check_far(far: Far, rules: RuleSet) -> Iterator[PfcpFault]:
    rule = ("FAR", far.id)
    said = ", ".join(sorted(far.action)) or "nothing"
    if len(far.action & _ACTIONS) != 1:
        text = f"FAR {far.id} applies {said}: exactly one of DROP, FORW and BUFF is required"
        yield PfcpFault(PfcpKind.APPLY_ACTION, text, RULE_FAILURE, rule, _APPLY_ACTION)
    for action, needed in _ONLY_WITH.items():
        if action in far.action and not far.action & needed:
            text = f"FAR {far.id} applies {said}: {action} needs {' or '.join(sorted(needed))}"
            yield PfcpFault(PfcpKind.APPLY_ACTION, text, RULE_FAILURE, rule, _APPLY_ACTION)
    if far.bar is not None and far.bar not in rules.bars:
        text = f"FAR {far.id} refers to BAR {far.bar}, which does not exist"
        yield PfcpFault(PfcpKind.RULE_REFERENCE, text, RULE_FAILURE, rule)
    if "FORW" not in far.action:
        return
    if not far.forwarding:
        text = f"FAR {far.id} forwards, but has no Forwarding Parameters"
        cause = CONDITIONAL_IE_MISSING
        yield PfcpFault(PfcpKind.FORWARDING, text, cause, rule, _FORWARDING_PARAMETERS)
    elif far.destination is None:
        text = f"FAR {far.id} forwards, but has no Destination Interface"
        cause = MANDATORY_IE_MISSING
        yield PfcpFault(PfcpKind.FORWARDING, text, cause, rule, _DESTINATION_INTERFACE)
    elif far.to_access:
        yield from _check_tunnel(far)


def _check_tunnel(far: Far) -> Iterator[PfcpFault]:
    rule, target = ("FAR", far.id), far.target
    if not far.header or target is None:
        text = f"FAR {far.id} forwards to Access without an Outer Header Creation with a TEID"
        cause = CONDITIONAL_IE_MISSING
        yield PfcpFault(PfcpKind.HEADER_CREATION, text, cause, rule, _OUTER_HEADER_CREATION)
        return
    if not far.header <= _CREATIONS:
        said = ", ".join(sorted(far.header))
        text = f"FAR {far.id} forwards to Access in {said}, but GTP-U/UDP is required"
        yield PfcpFault(PfcpKind.HEADER_CREATION, text, RULE_FAILURE, rule)
    if target.number == 0:
        text = f"FAR {far.id} forwards to TEID 0"
        yield PfcpFault(PfcpKind.HEADER_CREATION, text, RULE_FAILURE, rule)
    if target.ipv4 in (None, "0.0.0.0") and target.ipv6 in (None, "::"):  # noqa: S104 - no socket
        text = f"FAR {far.id} forwards to no address"
        yield PfcpFault(PfcpKind.HEADER_CREATION, text, RULE_FAILURE, rule)


def _check_qer(qer: Qer) -> Iterator[PfcpFault]:
    if not qer.gate:
        text = f"QER {qer.id} has no Gate Status"
        cause = MANDATORY_IE_MISSING
        yield PfcpFault(PfcpKind.QER_GATE, text, cause, ("QER", qer.id), _GATE_STATUS)
    if qer.qfi is not None and not 0 < qer.qfi < 64:
        text = f"QER {qer.id} has QFI {qer.qfi}, but a QFI is 1 to 63"
        yield PfcpFault(PfcpKind.QER_QFI, text, RULE_FAILURE, ("QER", qer.id))


def _check_references(pdr: Pdr, rules: RuleSet) -> Iterator[PfcpFault]:
    rule = ("PDR", pdr.id)
    if pdr.far is None:
        if not pdr.predefined:
            text = f"PDR {pdr.id} refers to no FAR and activates no predefined rule"
            yield PfcpFault(PfcpKind.RULE_REFERENCE, text, CONDITIONAL_IE_MISSING, rule, _FAR_ID)
    elif pdr.far not in rules.fars:
        text = f"PDR {pdr.id} refers to FAR {pdr.far}, which does not exist"
        yield PfcpFault(PfcpKind.RULE_REFERENCE, text, RULE_FAILURE, rule)
    for name, numbers, there in (("QER", pdr.qers, rules.qers), ("URR", pdr.urrs, rules.urrs)):
        for number in numbers:
            if number not in there:
                text = f"PDR {pdr.id} refers to {name} {number}, which does not exist"
                yield PfcpFault(PfcpKind.RULE_REFERENCE, text, RULE_FAILURE, rule)


def _check_pdi(pdr: Pdr) -> Iterator[PfcpFault]:
    rule, pdi = ("PDR", pdr.id), pdr.pdi
    if pdi.source is None:
        text = f"the PDI of PDR {pdr.id} has no Source Interface"
        yield PfcpFault(PfcpKind.PDI_SOURCE, text, MANDATORY_IE_MISSING, rule, _SOURCE_INTERFACE)
    if pdi.traffic_endpoint:
        text = f"PDR {pdr.id} refers to a traffic endpoint, but the UPF does not support PDIU"
        yield PfcpFault(PfcpKind.FEATURE, text, SERVICE_NOT_SUPPORTED, rule)
    if any(ue.chosen_by_up for ue in pdi.ue):
        text = f"PDR {pdr.id} leaves the UE's address to the UPF, which does not support UEIP"
        yield PfcpFault(PfcpKind.FEATURE, text, SERVICE_NOT_SUPPORTED, rule)
    if pdi.uplink:
        yield from _check_uplink(pdr)
    elif pdi.downlink:
        yield from _check_downlink(pdr)


def _check_uplink(pdr: Pdr) -> Iterator[PfcpFault]:
    rule, pdi = ("PDR", pdr.id), pdr.pdi
    if pdi.f_teid is None and not pdi.choose:
        text = f"PDR {pdr.id} takes packets from Access, but has no local F-TEID"
        yield PfcpFault(PfcpKind.F_TEID_MISSING, text, RULE_FAILURE, rule)
    if pdr.removal is None:
        text = f"PDR {pdr.id} takes packets from Access, but removes no outer header"
        yield PfcpFault(PfcpKind.HEADER_REMOVAL, text, CONDITIONAL_IE_MISSING, rule, 95)
    elif pdr.removal not in _REMOVALS:
        text = f"PDR {pdr.id} takes packets from Access, but removes {pdr.removal}"
        yield PfcpFault(PfcpKind.HEADER_REMOVAL, text, RULE_FAILURE, rule)
    elif not _REMOVALS[pdr.removal] >= _families(pdr):
        text = f"PDR {pdr.id} removes {pdr.removal}, but its F-TEID has another address"
        yield PfcpFault(PfcpKind.HEADER_REMOVAL, text, RULE_FAILURE, rule)
    if any(ue.destination for ue in pdi.ue):
        text = f"PDR {pdr.id} takes packets from Access to the UE's address, not from it"
        yield PfcpFault(PfcpKind.UE_ADDRESS, text, RULE_FAILURE, rule)


def _families(pdr: Pdr) -> frozenset[str]:
    f_teid = pdr.pdi.f_teid
    if f_teid is None:
        return pdr.pdi.choose
    there = (("V4", f_teid.ipv4), ("V6", f_teid.ipv6))
    return frozenset(name for name, address in there if address is not None)


def _check_downlink(pdr: Pdr) -> Iterator[PfcpFault]:
    rule, pdi = ("PDR", pdr.id), pdr.pdi
    if not any(ue.keys or ue.chosen_by_up for ue in pdi.ue):
        text = f"PDR {pdr.id} takes packets from {pdi.source}, but has no UE IP Address"
        yield PfcpFault(PfcpKind.UE_ADDRESS, text, RULE_FAILURE, rule)
    elif not all(ue.destination for ue in pdi.ue):
        text = f"PDR {pdr.id} takes packets from {pdi.source} with the UE's address as source"
        yield PfcpFault(PfcpKind.UE_ADDRESS, text, RULE_FAILURE, rule)
    if not pdi.network_instance:
        text = f"PDR {pdr.id} takes packets from {pdi.source}, but has no Network Instance"
        yield PfcpFault(PfcpKind.NETWORK_INSTANCE, text, RULE_FAILURE, rule)
    elif not pdi.labels:
        text = f"PDR {pdr.id} has the Network Instance {pdi.network_instance!r}, which is not a DNN"
        yield PfcpFault(PfcpKind.NETWORK_INSTANCE, text, RULE_FAILURE, rule)
    if pdr.removal is not None:
        text = f"PDR {pdr.id} removes {pdr.removal} of packets from {pdi.source}, which have none"
        yield PfcpFault(PfcpKind.HEADER_REMOVAL, text, RULE_FAILURE, rule)


def _check_direction(pdr: Pdr, rules: RuleSet) -> Iterator[PfcpFault]:
    """Check the destination: Access is downlink and Core is uplink (8.2.24 note 1)."""
    far = rules.fars.get(pdr.far) if pdr.far is not None else None
    if far is None or "FORW" not in far.action:
        return
    wrong = (pdr.pdi.uplink and far.destination == "Access") or (
        pdr.pdi.downlink and far.destination == "Core"
    )
    if wrong:
        text = (
            f"PDR {pdr.id} takes packets from {pdr.pdi.source}, "
            f"and FAR {far.id} forwards them to {far.destination}"
        )
        yield PfcpFault(PfcpKind.DIRECTION, text, RULE_FAILURE, ("FAR", far.id))


def _check_qos(pdr: Pdr, rules: RuleSet) -> Iterator[PfcpFault]:
    if not (pdr.pdi.uplink or pdr.pdi.downlink):
        return
    rule = ("PDR", pdr.id)
    qers = [rules.qers[number] for number in pdr.qers if number in rules.qers]
    if pdr.pdi.downlink and not any(qer.qfi is not None for qer in qers):
        text = f"no QER of PDR {pdr.id} has a QFI to mark downlink packets"
        yield PfcpFault(PfcpKind.QER_QFI, text, RULE_FAILURE, rule)
    if not any(qer.limited for qer in qers):
        text = f"no QER of PDR {pdr.id} has an MBR to enforce the session AMBR"
        yield PfcpFault(PfcpKind.SESSION_AMBR, text, RULE_FAILURE, rule)
