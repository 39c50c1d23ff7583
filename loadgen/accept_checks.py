"""What a REGISTRATION ACCEPT must have (TS 24.501 5.5.1.2.4, TS 33.501 6.12.3)."""

from typing import TYPE_CHECKING

from loadgen.identity import Guti, nssai_of_nas, tais_of
from loadgen.trees import Tree, part
from loadgen.ue_model import Procedure
from loadgen.violation import Kind

if TYPE_CHECKING:
    from loadgen.ue import Ue


def check_accept(
    ue: "Ue", tree: Tree, presented: Guti | None, update: Procedure | None = None
) -> None:
    """Report what is wrong with an accept.

    Args:
        ue: the UE.
        tree: REGISTRATION ACCEPT.
        presented: the 5G-GUTI of the request.
        update: which update it is of; None for an initial registration.
    """
    result = part(tree, "5gs-registration-result").get("result")
    if result not in ("3gpp-access", "3gpp-access-and-non-3gpp-access"):
        ue.violate(Kind.ACCEPT_RESULT, f"registration result {result} over 3GPP access")
    guti = Guti.of_nas(tree.get("5g-guti"))
    if guti is not None or update is not Procedure.PERIODIC_UPDATE:
        # A periodic update should give a new one, and need not (TS 33.501 6.12.3).
        _check_guti(ue, guti, presented)
    _check_areas(ue, tree)
    _check_slices(ue, tree)
    ue.context_owed = ue.context_nssai is None


def _check_guti(ue: "Ue", guti: Guti | None, presented: Guti | None) -> None:
    if guti is None:
        ue.violate(Kind.ACCEPT_GUTI, "no 5G-GUTI after a registration")
    elif presented is not None and guti.tmsi == presented.tmsi:
        ue.violate(Kind.ACCEPT_GUTI, "the 5G-TMSI of the request, and it must be a new one")
    elif ue.context_guami is not None and guti.guami != ue.context_guami:
        text = f"a 5G-GUTI of {guti.guami}, and the gNB was told {ue.context_guami}"
        ue.violate(Kind.CONTEXT_GUAMI, text)


def _check_areas(ue: "Ue", tree: Tree) -> None:
    areas = tais_of(tree.get("tai-list"))
    if ue.tai not in areas:
        text = f"the registration area is {sorted(areas)}, and the UE is in {ue.tai}"
        ue.violate(Kind.ACCEPT_TAI_LIST, text)


def _check_slices(ue: "Ue", tree: Tree) -> None:
    allowed = nssai_of_nas(tree.get("allowed-nssai"))
    subscribed = frozenset(ue.profile.slices)
    if not allowed:
        ue.violate(Kind.ACCEPT_NSSAI, "no allowed NSSAI")
    elif not allowed <= subscribed:
        more = ", ".join(str(s) for s in sorted(allowed - subscribed))
        ue.violate(Kind.ACCEPT_NSSAI, f"allowed, and neither requested nor subscribed: {more}")
    elif ue.context_nssai is not None and ue.context_nssai != allowed:
        told = ", ".join(str(s) for s in sorted(ue.context_nssai))
        ue.violate(Kind.CONTEXT_NSSAI, f"the gNB was told another allowed NSSAI: {told}")
