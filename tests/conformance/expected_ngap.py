"""Outcomes of TS 38.413."""

from typing import Final

from tests.conformance.expectation import NOTHING, RELEASE, Expected

NGAP: Final = (
    Expected(
        "38.413 8.3.2",
        "connected servicing",
        "UEContextReleaseRequest: user inactivity",
        "",
        (RELEASE,),
    ),
    Expected("38.413 8.3.3", "releasing", "UEContextReleaseComplete", "", NOTHING, now="CM-IDLE"),
    Expected(
        "38.413 8.4.1, no session to hand over",
        "connected",
        "HandoverRequired",
        "",
        ("HandoverPreparationFailure",),
    ),
    Expected(
        "38.413 8.4.2, the target admits",
        "handover-preparing",
        "HandoverRequestAcknowledge",
        "",
        ("HandoverCommand",),
        now="handing over: executing",
    ),
    Expected(
        "38.413 8.4.1.3, the target refuses",
        "handover-preparing",
        "HandoverFailure",
        "",
        ("HandoverPreparationFailure",),
        "HandoverEnded",
    ),
    Expected(
        "38.413 8.4.3",
        "handover-executing",
        "HandoverNotify",
        "",
        (RELEASE, "SessionModificationRequest to the UPF"),
        "HandoverCompleted",
    ),
    Expected(
        "38.413 8.4.4",
        "active",
        "PathSwitchRequest",
        "",
        ("PathSwitchRequestAcknowledge", "SessionModificationRequest to the UPF"),
        "PathSwitched",
    ),
    Expected(
        "38.413 8.4.9, for the target",
        "handover-executing",
        "UplinkRANEarlyStatusTransfer",
        "",
        ("DownlinkRANEarlyStatusTransfer",),
        now="handing over: executing",
    ),
    Expected(
        "38.413 8.3.1.3 and 10.4, the gNB has no context without a request",
        "connected active",
        "InitialContextSetupFailure",
        "",
        None,
        now="CM-CONNECTED (being released)",
    ),
    Expected(
        "38.413 8.4.5",
        "handover-preparing handover-executing",
        "HandoverCancel",
        "",
        ("HandoverCancelAcknowledge", RELEASE),
        "HandoverEnded",
    ),
    Expected(
        "38.413 8.7.4",
        "active",
        "NGReset: all",
        "",
        ("NGResetAcknowledge", "SessionModificationRequest to the UPF"),
        now="CM-IDLE",
    ),
    Expected(
        "38.413 10.6, the gNB has no such UE",
        "connected active",
        "ErrorIndication: no such UE",
        "",
        None,
        now="CM-IDLE",
    ),
)
