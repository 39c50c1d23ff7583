"""What an INITIAL CONTEXT SETUP REQUEST must tell the gNB of a UE (TS 38.413 8.3.1, 9.2.2.1)."""

from loadgen.as_security import UeKeys
from loadgen.identity import Guami, SNssai, nssai_of_ngap
from loadgen.profile import algorithm_bits, masked_imeisv
from loadgen.trees import Tree, part
from loadgen.ue import Ue
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
