"""What a gNB stores of a UE besides its sessions, and checks of it.

UE radio capabilities (TS 23.501 5.4.4.1), mobility restrictions (TS 38.413 9.3.1.85), and the
assistance information for RRC INACTIVE (9.3.1.15).
"""

from typing import Any

from loadgen.trees import Tree, items, number, part
from loadgen.ue.profile import UeProfile
from loadgen.ue.ue import Ue
from loadgen.violation import Kind

INDEXES = 1024
"""The number of UE identity index values (TS 38.304 7.1)."""
_CAPABILITY, _PAGING = "UERadioCapability", "UERadioCapabilityForPaging"
_INACTIVE, _RESTRICTIONS = "CoreNetworkAssistanceInformationForInactive", "MobilityRestrictionList"


def capability_ies(profile: UeProfile) -> tuple[Tree, Tree]:
    """Return the radio capability of a device, and the one for paging.

    They are opaque for the AMF (9.3.1.74, 9.3.1.68), and contain the IMEISV here.
    """
    paging = {"uERadioCapabilityForPagingOfNR": f"80{profile.imeisv}"}
    return {_CAPABILITY: f"0480c0f0{profile.imeisv}"}, {_PAGING: paging}


def check_capability(ue: Ue, ies: Tree) -> None:
    """Check that capabilities in a message are those of the device, and reported since its initial
    registration."""
    own: Tree = {}
    for ie in capability_ies(ue.profile):
        own |= ie
    for name, value in own.items():
        if name not in ies:
            continue
        if not _has(ies[name], value):
            ue.violate(Kind.CONTEXT_RADIO, f"{name} of another device")
        elif not ue.capability_reported:
            ue.violate(Kind.CONTEXT_RADIO, f"{name} from before the initial registration")


def _has(told: Any, own: Any) -> bool:
    """Whether a capability is that of the device. One that a gNB of another make reported has more
    parts."""
    if isinstance(told, dict) and isinstance(own, dict):
        return own.items() <= told.items()
    return bool(told == own)


def check_restrictions(ue: Ue, ies: Tree, tai: tuple[str, int]) -> None:
    """Check that a Mobility Restriction List permits the cell of the UE, if there is one."""
    if _RESTRICTIONS not in ies:
        return
    found = part(ies, _RESTRICTIONS)
    plmn, tac = tai
    if found.get("servingPLMN") != plmn:
        text = f"the serving PLMN {found.get('servingPLMN')} in a cell of {plmn}"
        ue.violate(Kind.CONTEXT_RESTRICTIONS, text)
    for area in items(found, "forbiddenAreaInformation"):
        if area.get("pLMNIdentity") == plmn and tac in area.get("forbiddenTACs", ()):
            text = f"the tracking area {tac} of the cell is forbidden"
            ue.violate(Kind.CONTEXT_RESTRICTIONS, text)


def identity_index(ies: Tree) -> int | None:
    """Return the UE identity index value of a message; None if it has none."""
    value = part(part(ies, _INACTIVE), "uEIdentityIndexValue").get("indexLength10")
    return int(value, 16) >> 6 if isinstance(value, str) else None


def check_areas(ue: Ue, ies: Tree, tai: tuple[str, int]) -> None:
    """Check that the registration area in the assistance information has the cell."""
    if _INACTIVE not in ies:
        return
    tais = [part(item, "tAI") for item in items(part(ies, _INACTIVE), "tAIListForInactive")]
    areas = {(one.get("pLMNIdentity"), number(one, "tAC")) for one in tais}
    if tai not in areas:
        text = f"the TAI list for RRC INACTIVE is {sorted(map(str, areas))}, not with {tai}"
        ue.violate(Kind.CONTEXT_INACTIVE, text)


def check_index(ue: Ue, index: int | None, asked_at: float) -> None:
    """Check that the index is that of the UE's 5G-S-TMSI: the UE listens there in RRC_INACTIVE.

    If the gNB requested the release, at `asked_at`, soon after the UE got its 5G-GUTI, the release
    may have overtaken the message with the new index: a broker was killed between them. The index
    from before is tolerated then.
    """
    if index is None or ue.guti is None or not ue.registered:
        return
    own = ue.guti.tmsi % INDEXES
    if index == own:
        return
    before = ue.guti_before
    recent = asked_at - ue.guti_since < ue.values.identity_index
    if recent and before is not None and index == before.tmsi % INDEXES:
        ue.tolerate(Kind.CONTEXT_INACTIVE)
    else:
        text = f"the UE identity index value is {index}; that of its 5G-S-TMSI is {own}"
        ue.violate(Kind.CONTEXT_INACTIVE, text)
