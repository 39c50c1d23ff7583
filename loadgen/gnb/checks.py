"""What an INITIAL CONTEXT SETUP REQUEST must tell the gNB of a UE (TS 38.413 8.3.1, 9.2.2.1)."""

from typing import TYPE_CHECKING

from loadgen.gnb.context import UeContext
from loadgen.gnb.transfers import transfer_ies
from loadgen.identity import Guami, SNssai, nssai_of_ngap
from loadgen.session_model import Tunnel
from loadgen.trees import Tree, items, number, part
from loadgen.ue.as_security import GnbKeys, UeKeys
from loadgen.ue.profile import algorithm_bits, masked_imeisv
from loadgen.ue.ue import Ue
from loadgen.violation import Kind


def check_context(
    ue: Ue, ies: Tree, served: frozenset[Guami]
) -> tuple[frozenset[SNssai], Guami | None]:
    """Report what is wrong; the allowed NSSAI and the GUAMI that the gNB was told."""
    check_key(ue, ies)
    check_capabilities(ue, ies)
    guami = Guami.of_ngap(ies.get("GUAMI"))
    if guami not in served:
        ue.violate(Kind.CONTEXT_GUAMI, f"GUAMI {guami}, which is not served by this AMF")
    allowed = nssai_of_ngap(ies.get("AllowedNSSAI"))
    if not allowed:
        ue.violate(Kind.CONTEXT_NSSAI, "no allowed NSSAI for the gNB")
    told = ies.get("MaskedIMEISV")
    if told is not None and told != masked_imeisv(ue.profile.imeisv):
        text = f"Masked IMEISV {told}, and the UE's is {masked_imeisv(ue.profile.imeisv)}"
        ue.violate(Kind.CONTEXT_IMEISV, text)
    return allowed, guami


def check_key(ue: Ue, ies: Tree) -> None:
    """Take the K_gNB that the gNB was given for the UE's, too, where it is one of those.

    The AS security of the gNB would fail with another K_gNB than the UE's.
    """
    key = ies.get("SecurityKey")
    candidates = ue.channel.k_gnb_candidates()
    found = next((one for one in candidates.values() if one.hex() == key), None)
    context = ue.channel.current
    if found is not None and context is not None:
        ue.keys = UeKeys(context.kamf, found)
        return
    counts = ", ".join(str(count) for count in candidates) or "none"
    text = f"the security key is not the K_gNB of any uplink COUNT that it can be of: {counts}"
    ue.violate(Kind.CONTEXT_KEY, text)


def check_capabilities(ue: Ue, ies: Tree) -> None:
    """Report where the gNB is told other algorithms than the UE has."""
    told = part(ies, "UESecurityCapabilities")
    algorithms = ue.profile.algorithms
    own = algorithm_bits(algorithms.ea), algorithm_bits(algorithms.ia)
    got = told.get("nRencryptionAlgorithms"), told.get("nRintegrityProtectionAlgorithms")
    if own != got:
        text = f"NR algorithms {got}, and the UE has {own}"
        ue.violate(Kind.CONTEXT_CAPABILITIES, text)


if TYPE_CHECKING:
    from loadgen.gnb.cell import Cell
    from loadgen.gnb.handover import Handover

_NH = 32


def octets_of(ies: Tree, name: str) -> bytes:
    """The octets of a container; empty for no octets."""
    value = ies.get(name)
    return bytes.fromhex(value) if isinstance(value, str) else b""


def capabilities_of(ue: Ue) -> Tree:
    """The UE Security Capabilities IE, which a gNB was given for the UE."""
    algorithms = ue.profile.algorithms
    return {
        "nRencryptionAlgorithms": algorithm_bits(algorithms.ea),
        "nRintegrityProtectionAlgorithms": algorithm_bits(algorithms.ia),
        "eUTRAencryptionAlgorithms": "0000",
        "eUTRAintegrityProtectionAlgorithms": "0000",
    }


def check_pair(ue: Ue, ies: Tree, target: UeContext) -> tuple[int, bytes] | None:
    """Take the pair {NH, NCC} of a message for the next handover, and report a wrong one."""
    security = part(ies, "SecurityContext")
    ncc, nh = number(security, "nextHopChainingCount"), octets_of(security, "nextHopNH")
    if ncc is None or len(nh) != _NH:
        ue.violate(Kind.HANDOVER_KEY, "no pair of NH and NCC for the gNB")
        return None
    if "NewSecurityContextInd" in ies:
        _new_context(ue, ncc, nh)
        fault = None
    else:
        fault = None if ue.keys is None else ue.keys.fault_of(ncc, nh)
    if fault is not None:
        ue.violate(Kind.HANDOVER_KEY, fault)
    if target.keys is not None:
        target.keys.next = ncc, nh
    return ncc, nh


def _new_context(ue: Ue, ncc: int, key: bytes) -> None:
    """The chain begins anew, with the K_gNB of the K_AMF that NAS has already (6.9.2.3.3)."""
    context = ue.channel.current
    candidates = set(ue.channel.k_gnb_candidates().values())
    if context is None or ncc != 0 or key not in candidates:
        text = f"NCC {ncc} with a K_gNB that is none of the UE's new K_AMF"
        ue.violate(Kind.HANDOVER_KEY, text)
    else:
        ue.keys = UeKeys(context.kamf, key)


def check_acknowledged(ue: Ue, ies: Tree, target: UeContext) -> None:
    """Report what is wrong with a PATH SWITCH REQUEST ACKNOWLEDGE, and take its sessions."""
    asked = set(target.resources)
    switched = items(ies, "PDUSessionResourceSwitchedList")
    done = {number(item, "pDUSessionID") or 0 for item in switched}
    released = {
        number(item, "pDUSessionID") or 0
        for item in items(ies, "PDUSessionResourceReleasedListPSAck")
    }
    if done & released or done | released != asked:
        text = f"sessions {sorted(done)} switched and {sorted(released)} not, of {sorted(asked)}"
        ue.violate(Kind.HANDOVER_SESSIONS, text)
    for item in switched:
        one = target.resources.get(number(item, "pDUSessionID") or 0)
        transfer = part(item, "pathSwitchRequestAcknowledgeTransfer")
        ul = Tunnel.of_ngap(transfer.get("uL-NGU-UP-TNLInformation"))
        if one is not None and ul is not None:
            one.ul = ul
    for psi in asked - done:
        target.cell.resources.drop(target.resources, psi)
    if "UESecurityCapabilities" in ies:
        check_capabilities(ue, ies)
    _check_allowed(ue, ies)


def _check_allowed(ue: Ue, ies: Tree) -> None:
    allowed = nssai_of_ngap(ies.get("AllowedNSSAI"))
    if not allowed or (ue.context_nssai is not None and allowed != ue.context_nssai):
        told = ", ".join(str(one) for one in sorted(allowed)) or "none"
        ue.violate(Kind.CONTEXT_NSSAI, f"allowed NSSAI of a target: {told}")


def check_request(ue: Ue, ies: Tree, source: UeContext, cell: "Cell") -> GnbKeys | None:
    """Report what is wrong with a HANDOVER REQUEST.

    Returns:
        the pair {NH, NCC} of the target, as the keys to derive from; None without one.
    """
    keys = GnbKeys(b"")
    holder = UeContext(cell, 0, 0, None)
    holder.keys = keys
    if check_pair(ue, ies, holder) is None:
        return None
    check_capabilities(ue, ies)
    _check_allowed(ue, ies)
    if "UEAggregateMaximumBitRate" not in ies:
        ue.violate(Kind.RESOURCE_AMBR, "HANDOVER REQUEST without a UE AMBR")
    guami = Guami.of_ngap(ies.get("GUAMI"))
    if guami not in cell.guamis:
        ue.violate(Kind.CONTEXT_GUAMI, f"GUAMI {guami}, which is not served by this AMF")
    told = ies.get("MaskedIMEISV")
    if told is not None and told != masked_imeisv(ue.profile.imeisv):
        ue.violate(Kind.CONTEXT_IMEISV, f"Masked IMEISV {told} for the target")
    _check_sessions(ue, ies, source)
    return keys


def _check_sessions(ue: Ue, ies: Tree, source: UeContext) -> None:
    """The sessions are those of the source, with the tunnels that they have at the UPF."""
    wanted = items(ies, "PDUSessionResourceSetupListHOReq")
    psis = {number(item, "pDUSessionID") or 0 for item in wanted}
    if psis != set(source.resources):
        text = f"sessions {sorted(psis)} for the target, and the source has {[*source.resources]}"
        ue.violate(Kind.HANDOVER_SESSIONS, text)
    for item in wanted:
        one = source.resources.get(number(item, "pDUSessionID") or 0)
        transfer = transfer_ies(item, "handoverRequestTransfer")
        ul = Tunnel.of_ngap(transfer.get("UL-NGU-UP-TNLInformation"))
        if one is not None and ul is not None and ul != one.ul:
            text = f"UL tunnel {ul} of PDU session {one.psi} for the target, and it has {one.ul}"
            ue.violate(Kind.HANDOVER_SESSIONS, text)


def check_command(handover: "Handover", ies: Tree) -> bool:
    """Report what is wrong with a HANDOVER COMMAND; whether the UE can follow it."""
    ue, target = handover.camped.ue, handover.target
    if target is None:
        handover.blame(Kind.HANDOVER_CONTAINER, "HANDOVER COMMAND, and the target admitted nobody")
        return False
    container = octets_of(ies, "TargetToSource-TransparentContainer")
    if container != handover.answer:
        text = f"{len(container)} octets for the source that are not what the target sent"
        handover.blame(Kind.HANDOVER_CONTAINER, text)
    if ies.get("HandoverType") != "intra5gs":
        handover.blame(Kind.HANDOVER_CONTAINER, f"handover type {ies.get('HandoverType')}")
    going = {
        number(item, "pDUSessionID") or 0 for item in items(ies, "PDUSessionResourceHandoverList")
    }
    left = {
        number(item, "pDUSessionID") or 0
        for item in items(ies, "PDUSessionResourceToReleaseListHOCmd")
    }
    if (going | left) - set(handover.source.resources) or left & set(target.resources):
        text = (
            f"sessions {sorted(going)} go and {sorted(left)} stay, and the target admitted "
            f"{sorted(target.resources)} of {sorted(handover.source.resources)}"
        )
        ue.violate(Kind.HANDOVER_SESSIONS, text)
    elif not handover.refused <= left:
        text = f"{sorted(handover.refused)} were refused, and {sorted(left)} are said to stay"
        ue.violate(Kind.HANDOVER_SESSIONS, text)
    return True
