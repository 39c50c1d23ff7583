"""IEs with which the core helps a gNB to serve a UE: mobility restrictions, paging, RRC INACTIVE
(TS 38.413 9.3.1)."""

from typing import Final

from functions.messages.trees import Tree, subtree
from schemas.connection.state import Connection, PagingCapability, Restrictions
from schemas.gprs_timer import octet_of
from schemas.identity import Tai


def restriction_ies(restrictions: Restrictions | None) -> list[Tree]:
    """Return the Mobility Restriction List IE (9.3.1.85); no IE for None.

    The forbidden TACs are in one item for each PLMN that the UE may be in.
    """
    if restrictions is None:
        return []
    plmns = (restrictions.serving_plmn, *restrictions.equivalent_plmns)
    value: Tree = {"servingPLMN": plmns[0]}
    if plmns[1:]:
        value["equivalentPLMNs"] = list(plmns[1:])
    tacs = list(restrictions.forbidden_tacs[:_MAX_FORBIDDEN])
    if tacs:
        value["forbiddenAreaInformation"] = [
            {"pLMNIdentity": plmn, "forbiddenTACs": tacs} for plmn in plmns
        ]
    return [{"MobilityRestrictionList": value}]


_MAX_FORBIDDEN: Final = 4096
"""maxnoofForbTACs."""


def rfsp_ies(rfsp: int) -> list[Tree]:
    """Return the Index to RAT/Frequency Selection Priority IE (9.3.1.61); no IE for 0."""
    return [{"IndexToRFSP": rfsp}] if rfsp else []


def inactive_ies(connection: Connection) -> list[Tree]:
    """Return the Core Network Assistance Information for RRC INACTIVE IE (9.3.1.15) of a
    connection; no IE if the connection has none. No UE uses MICO mode."""
    found = connection.inactive
    if found is None:
        return []
    value: Tree = {
        "uEIdentityIndexValue": {"indexLength10": f"{found.identity_index << 6:04x}"},
        **({"uESpecificDRX": f"v{found.drx}"} if found.drx else {}),
        "periodicRegistrationUpdateTimer": f"{octet_of(found.t3512):02x}",
        "tAIListForInactive": tai_items(found.tais),
    }
    return [{"CoreNetworkAssistanceInformationForInactive": value}]


def tai_items(tais: tuple[Tai, ...]) -> list[Tree]:
    """Return a list of TAIs in the form of NGAP trees."""
    return [{"tAI": {"pLMNIdentity": tai.plmn, "tAC": tai.tac}} for tai in tais]


def paging_capability_ies(capability: PagingCapability | None) -> list[Tree]:
    """Return the UE Radio Capability for Paging IE (9.3.1.68); no IE for None."""
    if capability is None:
        return []
    value: Tree = {}
    if capability.nr:
        value["uERadioCapabilityForPagingOfNR"] = capability.nr.hex()
    if capability.eutra:
        value["uERadioCapabilityForPagingOfEUTRA"] = capability.eutra.hex()
    return [{"UERadioCapabilityForPaging": value}]


def paging_capability_of(ies: Tree) -> PagingCapability | None:
    """Return the UE Radio Capability for Paging of a message; None if it has none."""
    found = subtree(ies, "UERadioCapabilityForPaging")
    nr = bytes.fromhex(found.get("uERadioCapabilityForPagingOfNR", ""))
    eutra = bytes.fromhex(found.get("uERadioCapabilityForPagingOfEUTRA", ""))
    return PagingCapability(nr, eutra) if nr or eutra else None
