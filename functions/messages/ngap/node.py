"""NGAP messages about a RAN node as a whole that the core sends (TS 38.413 9.2.6, 9.2.7)."""

from collections.abc import Mapping
from typing import Final

import wire
from functions.messages import ngap
from functions.messages.ngap import Cause
from functions.messages.trees import Tree, subtree
from schemas.identity import Tai
from schemas.ran import AmfConfiguration, PlmnSupport

AMF_CONFIGURATION_UPDATE: Final = 0
"""Its procedure code (9.4.7)."""

FAILURES: Final[Mapping[str, str]] = {
    "NGSetupRequest": "NGSetupFailure",
    "RANConfigurationUpdate": "RANConfigurationUpdateFailure",
}
"""The failure message of each request of a RAN node about itself."""

TIMES_TO_WAIT: Final = {"v1s": 1, "v2s": 2, "v5s": 5, "v10s": 10, "v20s": 20, "v60s": 60}
"""The values of the Time to Wait IE in seconds (9.3.1.56)."""


def diagnosed(diagnostics: Tree | None) -> list[Tree]:
    """The Criticality Diagnostics IE of a response, nothing for None."""
    return [] if diagnostics is None else [{"CriticalityDiagnostics": diagnostics}]


def failure(
    request: str, cause: Cause, time_to_wait: str = "", diagnostics: Tree | None = None
) -> bytes:
    """The failure message of one of `FAILURES`."""
    ies: list[Tree] = [{"Cause": dict(cause)}]
    if time_to_wait:
        ies.append({"TimeToWait": time_to_wait})
    ies += diagnosed(diagnostics)
    return wire.ngap_encode({"message": FAILURES[request], "ies": ies})


def ng_setup_response(configuration: AmfConfiguration, diagnostics: Tree | None = None) -> bytes:
    """NG SETUP RESPONSE (9.2.6.2)."""
    ies = [*_configuration(None, configuration), *diagnosed(diagnostics)]
    return wire.ngap_encode({"message": "NGSetupResponse", "ies": ies})


def amf_configuration_update(before: AmfConfiguration | None, now: AmfConfiguration) -> bytes:
    """AMF CONFIGURATION UPDATE (9.2.6.7) with what is new; with all of it where `before`, what
    the node was told, is not known."""
    return wire.ngap_encode(
        {"message": "AMFConfigurationUpdate", "ies": _configuration(before, now)}
    )


def _configuration(before: AmfConfiguration | None, now: AmfConfiguration) -> list[Tree]:
    ies: list[Tree] = []
    if before is None or before.name != now.name:
        ies.append({"AMFName": now.name})
    if before is None or before.guamis != now.guamis:
        ies.append({"ServedGUAMIList": [{"gUAMI": ngap.guami(value)} for value in now.guamis]})
    if before is None or before.capacity != now.capacity:
        ies.append({"RelativeAMFCapacity": now.capacity})
    if before is None or before.plmns != now.plmns:
        ies.append({"PLMNSupportList": [_supported(plmn) for plmn in now.plmns]})
    return ies


def _supported(support: PlmnSupport) -> Tree:
    slices = [{"s-NSSAI": ngap.s_nssai(value)} for value in support.slices]
    return {"pLMNIdentity": support.plmn, "sliceSupportList": slices}


def target_of(node: Tree) -> tuple[str, Tai] | None:
    """The node that a Target RAN Node ID of a transfer names, by the name that its NG SETUP gave
    it, and the tracking area; None for one that is no gNB or ng-eNB."""
    named, tai = subtree(node, "globalRANNodeID"), subtree(node, "selectedTAI")
    gnb, ng_enb = subtree(named, "globalGNB-ID"), subtree(named, "globalNgENB-ID")
    bits = subtree(subtree(gnb, "gNB-ID"), "gNB-ID")
    found, kind, length, value = gnb, "gnb", bits.get("length", 0), bits.get("value", "")
    for name, size in _NG_ENB_BITS.items():
        if name in subtree(ng_enb, "ngENB-ID"):
            found, kind, length = ng_enb, "ngenb", size
            value = ng_enb["ngENB-ID"][name]
    if not value:
        return None
    number = int(value, 16) >> (-length % 8)
    where = Tai(tai["pLMNIdentity"], tai["tAC"])
    return f"{found['pLMNIdentity']}-{kind}-{length}-{number:x}", where


_NG_ENB_BITS: Final = {"macroNgENB-ID": 20, "shortMacroNgENB-ID": 18, "longMacroNgENB-ID": 21}


def downlink_ran_configuration_transfer(son: Tree) -> bytes:
    """DOWNLINK RAN CONFIGURATION TRANSFER (9.2.7.2) of a SON Configuration Transfer."""
    ies = [{"SONConfigurationTransferDL": son}]
    return wire.ngap_encode({"message": "DownlinkRANConfigurationTransfer", "ies": ies})


def downlink_rim_information_transfer(rim: Tree) -> bytes:
    """DOWNLINK RIM INFORMATION TRANSFER (9.2.15.2)."""
    ies = [{"RIMInformationTransfer": rim}]
    return wire.ngap_encode({"message": "DownlinkRIMInformationTransfer", "ies": ies})
