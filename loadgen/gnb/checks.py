"""Checks of the UE contexts and security data that the AMF gives a gNB.

INITIAL CONTEXT SETUP REQUEST (TS 38.413 8.3.1, 9.2.2.1) and handovers (TS 33.501 6.9.2.3).
"""

from collections.abc import Iterable

from loadgen.identity import Guami, SNssai, nssai_of_ngap
from loadgen.trees import Tree, number, part
from loadgen.ue.as_security import UeKeys
from loadgen.ue.profile import algorithm_bits, masked_imeisv
from loadgen.ue.ue import Ue
from loadgen.violation import Kind

_NH = 32


def check_context(
    ue: Ue, ies: Tree, served: frozenset[Guami], slices: Iterable[SNssai]
) -> tuple[frozenset[SNssai], Guami | None]:
    """Check an INITIAL CONTEXT SETUP REQUEST for a gNB that supports `slices`.

    Returns:
        The allowed NSSAI and the GUAMI in the message.
    """
    check_key(ue, ies)
    check_capabilities(ue, ies)
    guami = check_guami(ue, ies, served)
    allowed = check_supported(ue, ies, slices)
    check_imeisv(ue, ies)
    return allowed, guami


def check_supported(ue: Ue, ies: Tree, slices: Iterable[SNssai]) -> frozenset[SNssai]:
    """Check that a gNB supports the slices of the allowed NSSAI of a message, and return them."""
    allowed = nssai_of_ngap(ies.get("AllowedNSSAI"))
    if not allowed:
        ue.violate(Kind.CONTEXT_NSSAI, "no allowed NSSAI for the gNB")
    elif not allowed.issubset(slices):
        more = ", ".join(map(str, allowed.difference(slices)))
        ue.violate(Kind.CONTEXT_NSSAI, f"allowed, but not supported by the gNB: {more}")
    return allowed


def check_guami(ue: Ue, ies: Tree, served: frozenset[Guami]) -> Guami | None:
    """Check that the AMF serves the GUAMI of a message, and return the GUAMI."""
    guami = Guami.of_ngap(ies.get("GUAMI"))
    if guami not in served:
        ue.violate(Kind.CONTEXT_GUAMI, f"GUAMI {guami} is not served by this AMF")
    elif guami.plmn != ue.plmn:
        ue.violate(Kind.CONTEXT_GUAMI, f"GUAMI {guami}, but the UE has selected {ue.plmn}")
    return guami


def check_imeisv(ue: Ue, ies: Tree) -> None:
    """Check the Masked IMEISV, if the message has one."""
    got, own = ies.get("MaskedIMEISV"), masked_imeisv(ue.profile.imeisv)
    if got is not None and got != own:
        ue.violate(Kind.CONTEXT_IMEISV, f"Masked IMEISV {got}; the UE has {own}")


def check_key(ue: Ue, ies: Tree) -> None:
    """Check that the gNB's K_gNB is one that the UE can derive, and store it in the UE.

    With another K_gNB the AS security of the gNB would fail.
    """
    key = ies.get("SecurityKey")
    candidates = ue.channel.k_gnb_candidates()
    found = next((one for one in candidates.values() if one.hex() == key), None)
    context = ue.channel.current
    if found is not None and context is not None:
        ue.keys = UeKeys(context.kamf, found)
        return
    counts = ", ".join(str(count) for count in candidates) or "none"
    text = f"the security key is not the K_gNB of any possible uplink COUNT: {counts}"
    ue.violate(Kind.CONTEXT_KEY, text)


def check_capabilities(ue: Ue, ies: Tree) -> None:
    """Check that the gNB gets the UE's own security algorithms."""
    told = part(ies, "UESecurityCapabilities")
    algorithms = ue.profile.algorithms
    own = algorithm_bits(algorithms.ea), algorithm_bits(algorithms.ia)
    got = told.get("nRencryptionAlgorithms"), told.get("nRintegrityProtectionAlgorithms")
    if own != got:
        ue.violate(Kind.CONTEXT_CAPABILITIES, f"NR algorithms {got}; the UE has {own}")


def check_allowed(ue: Ue, ies: Tree) -> None:
    """Check that the target of a handover gets the same allowed NSSAI as the source."""
    allowed = nssai_of_ngap(ies.get("AllowedNSSAI"))
    if not allowed or (ue.context_nssai is not None and allowed != ue.context_nssai):
        told = ", ".join(str(one) for one in sorted(allowed)) or "none"
        ue.violate(Kind.CONTEXT_NSSAI, f"allowed NSSAI of a target: {told}")


def octets_of(ies: Tree, name: str) -> bytes:
    """Return the octets of an IE; empty if the IE is missing."""
    value = ies.get(name)
    return bytes.fromhex(value) if isinstance(value, str) else b""


def capabilities_of(ue: Ue) -> Tree:
    """Return the UE Security Capabilities IE of a UE."""
    algorithms = ue.profile.algorithms
    return {
        "nRencryptionAlgorithms": algorithm_bits(algorithms.ea),
        "nRintegrityProtectionAlgorithms": algorithm_bits(algorithms.ia),
        "eUTRAencryptionAlgorithms": "0000",
        "eUTRAintegrityProtectionAlgorithms": "0000",
    }


def check_pair(ue: Ue, ies: Tree) -> tuple[int, bytes] | None:
    """Check the pair {NH, NCC} for the next handover.

    Returns:
        The NCC and the NH, even if they are wrong; None if the message has none.
    """
    security = part(ies, "SecurityContext")
    ncc, nh = number(security, "nextHopChainingCount"), octets_of(security, "nextHopNH")
    if ncc is None or len(nh) != _NH:
        ue.violate(Kind.HANDOVER_KEY, "no pair of NH and NCC for the gNB")
        return None
    if "NewSecurityContextInd" in ies:
        _restart_chain(ue, ncc, nh)
        problem = None
    else:
        problem = None if ue.keys is None else ue.keys.check_pair(ncc, nh)
    if problem is not None:
        ue.violate(Kind.HANDOVER_KEY, problem)
    return ncc, nh


def _restart_chain(ue: Ue, ncc: int, key: bytes) -> None:
    """Restart the key chain from the K_gNB of the UE's new K_AMF (6.9.2.3.3)."""
    context = ue.channel.current
    candidates = set(ue.channel.k_gnb_candidates().values())
    if context is None or ncc != 0 or key not in candidates:
        text = f"NCC {ncc} with a K_gNB that the UE's new K_AMF does not give"
        ue.violate(Kind.HANDOVER_KEY, text)
    else:
        ue.keys = UeKeys(context.kamf, key)
