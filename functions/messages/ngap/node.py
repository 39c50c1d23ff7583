"""NGAP messages of the core about a RAN node as a whole (TS 38.413 9.2.6, 9.2.7)."""

from collections.abc import Mapping
from typing import Final

import wire
from functions.messages import ngap
from functions.messages.ngap import Cause
from functions.messages.trees import Tree, subtree
from schemas.identity import Tai
from schemas.ran import AmfConfiguration, PlmnSupport

AMF_CONFIGURATION_UPDATE: Final = 0
"""The procedure code of AMF CONFIGURATION UPDATE (9.4.7)."""

FAILURES: Final[Mapping[str, str]] = {
    "NGSetupRequest": "NGSetupFailure",
    "RANConfigurationUpdate": "RANConfigurationUpdateFailure",
}
"""The failure message of each node-level request of a RAN node."""

TIMES_TO_WAIT: Final = {"v1s": 1, "v2s": 2, "v5s": 5, "v10s": 10, "v20s": 20, "v60s": 60}
"""The values of the Time to Wait IE in seconds (9.3.1.56)."""


def diagnosed(diagnostics: Tree | None) -> list[Tree]:
    """Return the Criticality Diagnostics IE of a response; no IE for None."""
    return [] if diagnostics is None else [{"CriticalityDiagnostics": diagnostics}]


def failure(
    request: str, cause: Cause, time_to_wait: str = "", diagnostics: Tree | None = None
) -> bytes:
    """Return the failure message of a request in `FAILURES`."""
    ies: list[Tree] = [{"Cause": dict(cause)}]
    if time_to_wait:
        ies.append({"TimeToWait": time_to_wait})
    ies += diagnosed(diagnostics)
    return wire.ngap_encode({"message": FAILURES[request], "ies": ies})


def ng_setup_response(configuration: AmfConfiguration, diagnostics: Tree | None = None) -> bytes:
    """Return an NG SETUP RESPONSE (9.2.6.2)."""
    ies = [*_configuration(None, configuration), *diagnosed(diagnostics)]
    return wire.ngap_encode({"message": "NGSetupResponse", "ies": ies})


def amf_configuration_update(before: AmfConfiguration | None, now: AmfConfiguration) -> bytes:
    """Return an AMF CONFIGURATION UPDATE (9.2.6.7) with the changes since `before`, which the node
    acknowledged; with the complete configuration if `before` is None."""
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
    """Return the name, as in NG SETUP, and the tracking area of the target node of a transfer; None
    if it is not a gNB or ng-eNB."""
    named, tai = subtree(node, "globalRANNodeID"), subtree(node, "selectedTAI")
    gnb, ng_enb = subtree(named, "globalGNB-ID"), subtree(named, "globalNgENB-ID")
    bits = subtree(subtree(gnb, "gNB-ID"), "gNB-ID")
    found, kind, length, value = gnb, "gnb", bits.get("length", 0), bits.get("value", "")
    for name, size in NG_ENB_BITS.items():
        if name in subtree(ng_enb, "ngENB-ID"):
            found, kind, length = ng_enb, "ngenb", size
            value = ng_enb["ngENB-ID"][name]
    if not value:
        return None
    number = int(value, 16) >> (-length % 8)
    where = Tai(tai["pLMNIdentity"], tai["tAC"])
    return f"{found['pLMNIdentity']}-{kind}-{length}-{number:x}", where


NG_ENB_BITS: Final = {"macroNgENB-ID": 20, "shortMacroNgENB-ID": 18, "longMacroNgENB-ID": 21}


def downlink_ran_configuration_transfer(son: Tree) -> bytes:
    """Return a DOWNLINK RAN CONFIGURATION TRANSFER (9.2.7.2) with a SON Configuration Transfer."""
    ies = [{"SONConfigurationTransferDL": son}]
    return wire.ngap_encode({"message": "DownlinkRANConfigurationTransfer", "ies": ies})


def downlink_rim_information_transfer(rim: Tree) -> bytes:
    """Return a DOWNLINK RIM INFORMATION TRANSFER (9.2.15.2)."""
    ies = [{"RIMInformationTransfer": rim}]
    return wire.ngap_encode({"message": "DownlinkRIMInformationTransfer", "ies": ies})
