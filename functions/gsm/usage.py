"""The data volumes of secondary RATs, which gNBs report for charging (TS 23.502 4.21)."""

from typing import Final

from functions.decision.ue_decision import UeDecision
from functions.messages.trees import Tree, extensions, subtree
from schemas.gsm.events import SecondaryRatUsed

_LISTS: Final = {
    "PDUSessionResourceSecondaryRATUsageList": "secondaryRATDataUsageReportTransfer",
    "PDUSessionResourceReleasedListRelRes": "pDUSessionResourceReleaseResponseTransfer",
    "PDUSessionResourceListCxtRelCpl": "PDUSessionResourceReleaseResponseTransfer",
    "PDUSessionResourceModifyListModInd": "pDUSessionResourceModifyIndicationTransfer",
}
"""The lists that can have a Secondary RAT Usage Information (TS 38.413 9.3.1.114), and the transfer
of their items: SECONDARY RAT DATA USAGE REPORT, PDU SESSION RESOURCE RELEASE RESPONSE, UE CONTEXT
RELEASE COMPLETE and PDU SESSION RESOURCE MODIFY INDICATION."""


def record(d: UeDecision, ies: Tree) -> None:
    """Record the reports of a message in the log of the UE."""
    for name, transfer in _LISTS.items():
        for item in ies.get(name, ()):
            found = subtree({**item, **extensions(item)}, transfer)
            named = {**found, **extensions(found)}
            for kind in ("secondaryRATUsageInformation", "SecondaryRATUsageInformation"):
                _record(d, item["pDUSessionID"], subtree(named, kind))


def _record(d: UeDecision, psi: int, report: Tree) -> None:
    whole = subtree(report, "pDUSessionUsageReport")
    for timed in whole.get("pDUSessionTimedReportList", ()):
        d.emit(_used(psi, whole, timed, None))
    for flow in report.get("qosFlowsUsageReportList", ()):
        for timed in flow.get("qoSFlowsTimedReportList", ()):
            d.emit(_used(psi, flow, timed, flow["qosFlowIdentifier"]))


def _used(psi: int, report: Tree, timed: Tree, qfi: int | None) -> SecondaryRatUsed:
    return SecondaryRatUsed(
        psi,
        report["rATType"],
        int(timed["startTimeStamp"], 16),
        int(timed["endTimeStamp"], 16),
        timed["usageCountUL"],
        timed["usageCountDL"],
        qfi,
    )
