"""Downlink packets at a UPF: delivery and buffering by the FARs (TS 29.244 5.2.3, 8.2.26)."""

from typing import Literal

from msgspec import Struct

from loadgen.upf.ies import FTeid, Ies, flags_in, group, groups, number_in, tree_in
from loadgen.upf.interfaces import ANY, Interfaces
from loadgen.upf.rules import AddressKey, Far, Pdr, RuleSet


class Delivery(Struct, frozen=True):
    """The result of one downlink packet."""

    outcome: Literal["delivered", "buffered", "dropped", "no-session"]
    target: FTeid | None = None
    """The gNB's F-TEID that the packet was sent to."""
    pdr: int | None = None
    """The rule that the packet matched."""
    qfi: int | None = None
    report: bool = False
    """Whether to report the packet to the CP function."""


class Delivered(Struct, frozen=True):
    """Buffered packets that were delivered when their FAR changed."""

    ue: str
    """The UE's address or prefix."""
    target: FTeid
    packets: int
    waited: float
    """Seconds since the first of the packets arrived."""


class Buffer(Struct):
    """The buffered packets of one FAR: only their number, without octets."""

    ue: str
    since: float
    packets: int = 0
    reported: bool = False


UNMATCHED = Delivery("no-session")


def arrive(
    key: AddressKey,
    rules: RuleSet,
    buffers: dict[int, Buffer],
    limit: int,
    now: float,
    interfaces: Interfaces = ANY,
) -> Delivery:
    """Handle one packet for a UE's address.

    Args:
        key: the network instance and the address or prefix.
        rules: the rules of the UE's session.
        buffers: the packets of its FARs, changed in place.
        limit: the number of packets that a FAR buffers; further packets are dropped.
        now: seconds.
        interfaces: those of the UPF.
    """
    pdr = _match(key, rules)
    if pdr is None:
        return UNMATCHED
    qers = [rules.qers[number] for number in pdr.qers if number in rules.qers]
    qfi = next((qer.qfi for qer in qers if qer.qfi is not None), None)
    far = rules.fars.get(pdr.far) if pdr.far is not None else None
    dropped = Delivery("dropped", pdr=pdr.id, qfi=qfi)
    if far is None or not all(qer.downlink_open for qer in qers):
        return dropped
    if far.to_access and far.target is not None:
        passes = interfaces.pass_downlink(pdr, far)
        return Delivery("delivered", far.target, pdr.id, qfi) if passes else dropped
    if "BUFF" not in far.action:
        return dropped
    buffer = buffers.get(far.id)
    if buffer is None:
        buffer = buffers[far.id] = Buffer(key[1], now)
    report = "NOCP" in far.action and not buffer.reported
    buffer.reported = buffer.reported or report
    if buffer.packets >= limit:
        return Delivery("dropped", pdr=pdr.id, qfi=qfi, report=report)
    buffer.packets += 1
    return Delivery("buffered", pdr=pdr.id, qfi=qfi, report=report)


def release(
    rules: RuleSet, buffers: dict[int, Buffer], changed: frozenset[int], now: float
) -> tuple[list[Delivered], int]:
    """Deliver or drop buffered packets as the changed FARs require.

    A FAR that still buffers keeps its packets and reports the next packet again.

    Args:
        rules: the rules after the change.
        buffers: the packets of the FARs, changed in place.
        changed: the FARs that a request updated or removed.
        now: seconds.

    Returns:
        The delivered packets, and the number of dropped packets.
    """
    delivered: list[Delivered] = []
    dropped = 0
    for number in changed & buffers.keys():
        buffer, far = buffers[number], rules.fars.get(number)
        if far is not None and "BUFF" in far.action:
            buffer.reported = False
            continue
        del buffers[number]
        if buffer.packets and far is not None and far.to_access and far.target is not None:
            waited = now - buffer.since
            delivered.append(Delivered(buffer.ue, far.target, buffer.packets, waited))
        else:
            dropped += buffer.packets
    return delivered, dropped


def drop(buffers: dict[int, Buffer]) -> int:
    """Drop all buffered packets (DROBU). Return their number."""
    packets = sum(buffer.packets for buffer in buffers.values())
    buffers.clear()
    return packets


def downlink_target(rules: RuleSet) -> FTeid | None:
    """Return the gNB's F-TEID of downlink packets; None if they are not forwarded."""
    for pdr in rules.pdrs.values():
        far = _far_of(pdr, rules)
        if pdr.pdi.downlink and far is not None and far.to_access:
            return far.target
    return None


def uplink_f_teid(rules: RuleSet) -> FTeid | None:
    """Return the local F-TEID of uplink packets."""
    found = (pdr.pdi.f_teid for pdr in rules.pdrs.values() if pdr.pdi.uplink)
    return next((f_teid for f_teid in found if f_teid is not None), None)


def _match(key: AddressKey, rules: RuleSet) -> Pdr | None:
    matching = [pdr for pdr in rules.pdrs.values() if key in pdr.keys]
    return min(matching, key=lambda pdr: pdr.precedence, default=None)


def _far_of(pdr: Pdr, rules: RuleSet) -> Far | None:
    return rules.fars.get(pdr.far) if pdr.far is not None else None


END_MARKER_FEATURE = "EMPU"
"""UP Function Feature for sending End Marker packets (8.2.25)."""


def asked_for(ies: Ies, before: RuleSet) -> tuple[int, tuple[str, ...]]:
    """Return the End Markers that a modification requests (table 7.5.4.3-2).

    Args:
        ies: the IEs of the request.
        before: the rules before the modification.

    Returns:
        The number of tunnels that get an End Marker, and a sentence for each fault.
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
