"""The N2 SM transfers that a gNB receives: reading and checking them (TS 38.413 9.3.4)."""

from collections.abc import Callable
from typing import Any, TypeAlias

from loadgen.session_model import SecurityPolicy, Tunnel
from loadgen.trees import Tree, items, number, part

Complain: TypeAlias = Callable[[str], None]
"""Takes a sentence about an error in a transfer."""


def transfer_ies(tree: Tree, name: str) -> Tree:
    """Return the IEs of an item's transfer by name; empty if the transfer did not decode."""
    found: Tree = {}
    for ie in items(part(tree, name), "protocolIEs"):
        for key, value in ie.items():
            if key != "criticality":
                found.setdefault(key, value)
    return found


class SetUp:
    """PDU Session Resource Setup Request Transfer (9.3.4.1)."""

    def __init__(
        self,
        item: Tree,
        complain: Complain,
        transfer: str = "pDUSessionResourceSetupRequestTransfer",
    ) -> None:
        """Read the transfer of a setup item, and report errors to `complain`."""
        ies = transfer_ies(item, transfer)
        self.ul = Tunnel.of_ngap(ies.get("UL-NGU-UP-TNLInformation"))
        self.session_type = str(ies.get("PDUSessionType"))
        self.flows = flows_of(ies, "QosFlowSetupRequestList", complain)
        self.ambr = ambr_of(ies)
        self.security = SecurityPolicy.of_ngap(ies.get("SecurityIndication"))
        for name in ("UL-NGU-UP-TNLInformation", "PDUSessionType", "QosFlowSetupRequestList"):
            if name not in ies:
                complain(f"no {name}")
        if self.ul is not None and self.ul.teid == 0:
            complain(f"UL tunnel {self.ul} with the invalid TEID 0")
        if self.ambr is None:
            # The AMBR is mandatory for a non-GBR flow, and each flow here is one.
            complain("no PDU Session Aggregate Maximum Bit Rate")
        elif 0 in self.ambr:
            complain(f"a PDU session AMBR of {self.ambr} bit/s")

    def security_problem(self) -> str | None:
        """Return what is wrong with the Security Indication; None if nothing is."""
        security = self.security
        if security is None:
            return None
        protects = security.integrity != "not-needed"
        if protects and security.rate is None:
            return "integrity protection without the maximum data rate of the UE"
        if protects and security.rate != "maximum-UE-rate":
            return f"integrity protection up to {security.rate}; the UE has the full rate"
        return None

    @property
    def possible(self) -> bool:
        """Whether the gNB can set up the session."""
        return self.ul is not None and self.ul.teid != 0 and bool(self.flows)


def flows_of(ies: Tree, name: str, complain: Complain) -> dict[int, int | None]:
    """Return the 5QI of each QFI of a list of QoS flows."""
    found: dict[int, int | None] = {}
    for flow in items(ies, name):
        qfi = number(flow, "qosFlowIdentifier")
        if qfi is None or not 0 <= qfi <= 63 or qfi in found:
            complain(f"QFI {qfi} in a list with {sorted(found)}")
            continue
        parameters = part(flow, "qosFlowLevelQosParameters")
        found[qfi] = _five_qi(part(parameters, "qosCharacteristics"))
    return found


def _five_qi(characteristics: Tree) -> int | None:
    for name in ("nonDynamic5QI", "dynamic5QI"):
        if name in characteristics:
            return number(part(characteristics, name), "fiveQI")
    return None


def ambr_of(ies: Tree) -> tuple[int, int] | None:
    """Return the PDU session AMBR, downlink and uplink in bit/s."""
    ambr = part(ies, "PDUSessionAggregateMaximumBitRate")
    name = "pDUSessionAggregateMaximumBitRate"
    dl, ul = number(ambr, name + "DL"), number(ambr, name + "UL")
    return None if dl is None or ul is None else (dl, ul)


def setup_response(
    dl: Tunnel, qfis: list[int], security: SecurityPolicy | None = None
) -> dict[str, Any]:
    """Return PDU Session Resource Setup Response Transfer (9.3.4.2), with the result of a security
    policy."""
    flows = [{"qosFlowIdentifier": qfi} for qfi in qfis]
    information = {"uPTransportLayerInformation": dl.ngap(), "associatedQosFlowList": flows}
    transfer: dict[str, Any] = {"dLQosFlowPerTNLInformation": information}
    if security is not None:
        transfer["securityResult"] = security.result()
    return transfer


def unsuccessful(cause: str) -> dict[str, Any]:
    """Return an unsuccessful transfer of a setup or modification, with a radio network layer
    cause."""
    return {"cause": {"radioNetwork": cause}}
