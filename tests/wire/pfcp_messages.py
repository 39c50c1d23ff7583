"""The messages of N4 and their groups: the IEs, their number, and the depth of nesting."""

from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.wire.pfcp_oracle import TYPES
from tests.wire.pfcp_values import VALUES

Pair = tuple[list[dict[str, Any]], list[dict[str, Any]]]

OTHERWISE = {
    "Update BAR (Session Report Response)": 12,
    "PFD context": 59,
    "PFD contents": 61,
    "Usage Report (Session Modification Response)": 78,
    "Usage Report (Session Deletion Response)": 79,
    "Usage Report (Session Report Request)": 80,
    "Update BAR (Session Modification Request)": 86,
    "PFCP Association Release Request": 111,
    "MAC address": 133,
    "UE IP address Pool Identity": 177,
    "PFCP Session Retention Information (within PFCP Association Setup Request)": 183,
    "UE IP address Pool Information": 233,
    "GTP-U Path QoS Report (PFCP Node Report Request)": 239,
    "QoS Information in GTP-U Path QoS Report": 240,
    "Redundant Transmission Parameters": 255,
    "Query Packet Rate Status IE within PFCP Session Modification Request": 263,
    "Packet Rate Status Report IE within PFCP Session Modification Response": 264,
    "Partial Failure Information": 272,
}
"""IEs with another name in pycrate, from table 8.1.2-1."""
NUMBERS = TYPES | OTHERWISE

USAGE_REPORT = (
    *("URR ID", "UR-SEQN", "Usage Report Trigger"),
    *("?Start Time", "?End Time", "?Volume Measurement", "?Duration Measurement"),
    *("?Time of First Packet", "?Time of Last Packet", "?Usage Information"),
    *("?Query URR Reference", "?Ethernet Traffic Information"),
)
THRESHOLDS = (
    *("?Measurement Period", "?Volume Threshold", "?Volume Quota", "?Event Threshold"),
    *("?Event Quota", "?Time Threshold", "?Time Quota", "?Quota Holding Time"),
    *("?Dropped DL Traffic Threshold", "?Quota Validity Time", "?Monitoring Time"),
    *("?Subsequent Volume Threshold", "?Subsequent Time Threshold", "?Subsequent Volume Quota"),
    *("?Subsequent Time Quota", "?Subsequent Event Threshold", "?Subsequent Event Quota"),
    *("?Inactivity Detection Time", "*Linked URR ID", "?Measurement Information"),
    *("?Time Quota Mechanism", "*Aggregated URRs", "?FAR ID", "?Ethernet Inactivity Timer"),
    *("*Additional Monitoring Time", "?Number of Reports"),
)
QOS = (
    *("?QER Correlation ID", "?MBR", "?GBR", "?Packet Rate", "?Packet Rate Status"),
    *("?DL Flow Level Marking", "?QFI", "?RQI", "?Paging Policy Indicator"),
    *("?Averaging Window", "?QER Control Indications"),
)
FORWARDING = (
    *("?Network Instance", "?Redirect Information", "?Outer Header Creation"),
    *("?Transport Level Marking", "?Forwarding Policy", "?Traffic Endpoint ID", "?Proxying"),
    *("?3GPP Interface Type", "?Data Network Access Identifier"),
)
ENDPOINT = (
    *("?F-TEID", "?Network Instance", "?UE IP Address", "?Ethernet PDU Session Information"),
    *("*Framed-Route", "?Framed-Routing", "*Framed-IPv6-Route", "?QFI", "?3GPP Interface Type"),
)
CONTROL = ("Sequence Number", "Metric")

GROUPS: dict[str, tuple[str, ...]] = {
    "Create PDR": (
        *("PDR ID", "Precedence", "PDI", "?Outer Header Removal", "?FAR ID", "*URR ID"),
        *("*QER ID", "*Activate Predefined Rules", "?Activation Time", "?Deactivation Time"),
        *("?Packet Replication and Detection Carry-On Information",),
        *("?UE IP address Pool Identity", "?Transport Delay Reporting"),
    ),
    "PDI": (
        *("Source Interface", "?F-TEID", "?Network Instance", "*UE IP Address"),
        *("*Traffic Endpoint ID", "*SDF Filter", "?Application ID", "*Ethernet Packet Filter"),
        *("?Ethernet PDU Session Information", "*QFI", "*Framed-Route", "?Framed-Routing"),
        *("*Framed-IPv6-Route", "?3GPP Interface Type", "?Redundant Transmission Parameters"),
    ),
    "Redundant Transmission Parameters": ("F-TEID", "?Network Instance"),
    "Transport Delay Reporting": ("Remote GTP-U Peer", "?Transport Level Marking"),
    "Ethernet Packet Filter": (
        *("?Ethernet Filter ID", "?Ethernet Filter Properties", "*MAC address", "?Ethertype"),
        "*SDF Filter",
    ),
    "Create FAR": (
        *("FAR ID", "Apply Action", "Forwarding Parameters", "Duplicating Parameters"),
        *("?BAR ID", "?Redundant Transmission Forwarding Parameters"),
    ),
    "Forwarding Parameters": ("Destination Interface", *FORWARDING),
    "Duplicating Parameters": (
        *("Destination Interface", "?Outer Header Creation", "?Transport Level Marking"),
        "?Forwarding Policy",
    ),
    "Redundant Transmission Forwarding Parameters": ("Outer Header Creation", "?Network Instance"),
    "Create URR": ("URR ID", "Measurement Method", "Reporting Triggers", *THRESHOLDS),
    "Aggregated URRs": ("Aggregated URR ID", "Multiplier"),
    "Additional Monitoring Time": (
        *("Monitoring Time", "?Subsequent Volume Threshold", "?Subsequent Time Threshold"),
        *("?Subsequent Volume Quota", "?Subsequent Time Quota", "?Event Threshold"),
        "?Event Quota",
    ),
    "Create QER": ("QER ID", "Gate Status", *QOS),
    "Create BAR": (
        *("BAR ID", "?Downlink Data Notification Delay", "?Suggested Buffering Packets Count"),
        "?MT-EDT Control Information",
    ),
    "Create Traffic Endpoint": ("Traffic Endpoint ID", *ENDPOINT),
    "Created PDR": ("PDR ID", "?F-TEID", "*UE IP Address"),
    "Created Traffic Endpoint": ("Traffic Endpoint ID", "?F-TEID", "*UE IP Address"),
    "Load Control Information": CONTROL,
    "Overload Control Information": (*CONTROL, "Timer", "?OCI Flags"),
    "Update PDR": (
        *("PDR ID", "?Outer Header Removal", "?Precedence", "?PDI", "?FAR ID", "*URR ID"),
        *("*QER ID", "*Activate Predefined Rules", "*Deactivate Predefined Rules"),
    ),
    "Update FAR": (
        *("FAR ID", "?Apply Action", "?Update Forwarding Parameters"),
        *("*Update Duplicating Parameters", "?BAR ID"),
    ),
    "Update Forwarding Parameters": ("?Destination Interface", *FORWARDING, "?PFCPSMReq-Flags"),
    "Update Duplicating Parameters": (
        *("Destination Interface", "?Outer Header Creation", "?Transport Level Marking"),
        "?Forwarding Policy",
    ),
    "Update URR": ("URR ID", "?Measurement Method", "?Reporting Triggers", *THRESHOLDS),
    "Update QER": ("QER ID", "?Gate Status", *QOS),
    "Update BAR (Session Modification Request)": (
        *("BAR ID", "?Downlink Data Notification Delay", "?Suggested Buffering Packets Count"),
    ),
    "Update BAR (Session Report Response)": (
        *("BAR ID", "?Downlink Data Notification Delay", "?DL Buffering Duration"),
        "?Suggested Buffering Packets Count",
    ),
    "Update Traffic Endpoint": ("Traffic Endpoint ID", *ENDPOINT),
    "Remove PDR": ("PDR ID",),
    "Remove FAR": ("FAR ID",),
    "Remove URR": ("URR ID",),
    "Remove QER": ("QER ID",),
    "Remove BAR": ("BAR ID",),
    "Remove Traffic Endpoint": ("Traffic Endpoint ID",),
    "Query URR": ("URR ID",),
    "Usage Report (Session Modification Response)": USAGE_REPORT,
    "Usage Report (Session Deletion Response)": USAGE_REPORT,
    "Usage Report (Session Report Request)": (
        *USAGE_REPORT,
        *("?Application Detection Information", "?UE IP Address", "?Network Instance"),
        *("?Event Quota", "*Time Stamp"),
    ),
    "Application Detection Information": (
        *("Application ID", "?Application Instance ID", "?Flow Information", "?PDR ID"),
    ),
    "Ethernet Traffic Information": ("*MAC Addresses Detected", "*MAC Addresses Removed"),
    "Downlink Data Report": ("PDR ID", "?Downlink Data Service Information", "?Data Status"),
    "Error Indication Report": ("F-TEID",),
    "User Plane Path Failure Report": ("Remote GTP-U Peer",),
    "User Plane Path Recovery Report": ("Remote GTP-U Peer",),
    "GTP-U Path QoS Report (PFCP Node Report Request)": (
        *("Remote GTP-U Peer", "QoS Report Trigger", "Time Stamp", "?Start Time"),
        "QoS Information in GTP-U Path QoS Report",
    ),
    "QoS Information in GTP-U Path QoS Report": (
        *("Average Packet Delay", "?Minimum Packet Delay", "?Maximum Packet Delay"),
        "?Transport Level Marking",
    ),
    "Application ID's PFDs": ("Application ID", "*PFD context"),
    "PFD context": ("PFD contents",),
    "PFCP Session Retention Information (within PFCP Association Setup Request)": (
        "*CP PFCP Entity IP Address",
    ),
    "UE IP address Pool Information": ("UE IP address Pool Identity", "?Network Instance"),
    "UE IP Address Usage Information": (
        *(*CONTROL, "Validity Timer", "Number of UE IP Addresses", "Network Instance"),
        "?UE IP address Pool Identity",
    ),
    "Updated PDR": ("PDR ID", "?F-TEID", "?UE IP Address"),
    "Packet Rate Status Report": ("QER ID", "Packet Rate Status"),
    "Query Packet Rate Status IE within PFCP Session Modification Request": ("QER ID",),
    "Packet Rate Status Report IE within PFCP Session Modification Response": (
        *("QER ID", "Packet Rate Status"),
    ),
    "Partial Failure Information": ("Failed Rule ID", "Cause", "*Offending IE Information"),
    "Create SRR": ("SRR ID", "*QoS Monitoring per QoS flow Control Information"),
    "Update SRR": ("SRR ID", "*QoS Monitoring per QoS flow Control Information"),
    "Remove SRR": ("SRR ID",),
    "QoS Monitoring per QoS flow Control Information": (
        *("QFI", "Requested QoS Monitoring", "Reporting Frequency", "?Packet Delay Thresholds"),
        *("?Minimum Wait Time", "?Measurement Period"),
    ),
    "Session Report": ("SRR ID", "*QoS Monitoring Report"),
    "QoS Monitoring Report": ("QFI", "QoS Monitoring Measurement", "Time Stamp", "?Start Time"),
    "Ethernet Context Information": ("MAC Addresses Detected",),
}
"""The members of each group. "?" marks an optional IE, "*" an optional one that may be repeated."""

CREATED = (
    *("?Offending IE", "*Created PDR", "?Load Control Information"),
    *("?Overload Control Information", "?Failed Rule ID", "*Created Traffic Endpoint"),
)
FEATURES = (
    *("?UP Function Features", "?CP Function Features", "*UE IP address Pool Information"),
    *("?SMF Set ID", "?NF Instance ID", "*Alternative SMF IP Address"),
)


@cache
def value(name: str) -> st.SearchStrategy[tuple[Any, Any]]:
    """The value of an IE, or the members of a group."""
    if name in GROUPS:
        return members(GROUPS[name], 3)
    return VALUES[name]


@st.composite
def members(draw: st.DrawFn, names: tuple[str, ...], optional: int) -> Pair:
    """The named IEs, with at most `optional` of the optional ones."""
    chosen = draw(st.permutations(range(len(names))).map(lambda order: set(order[:optional])))
    found: Pair = ([], [])
    for at, name in enumerate(names):
        bare = name.lstrip("?*")
        count = 1
        if name != bare:
            count = int(at in chosen)
            if name.startswith("*") and count:
                count = draw(st.integers(1, 2))
        for _ in range(count):
            ours, theirs = draw(value(bare))
            found[0].append({bare: ours})
            found[1].append({"Type": NUMBERS[bare], "Data": theirs})
    return found


class Message(NamedTuple):
    """A message and its IEs, in the notation of `GROUPS`."""

    name: str
    number: int
    names: tuple[str, ...]

    @property
    def session(self) -> bool:
        return self.number >= 50

    def ies(self) -> st.SearchStrategy[Pair]:
        return members(self.names, 4)


MESSAGES = [
    Message("HeartbeatRequest", 1, ("Recovery Time Stamp",)),
    Message("HeartbeatResponse", 2, ("Recovery Time Stamp",)),
    Message("PFDManagementRequest", 3, ("*Application ID's PFDs", "?Node ID")),
    Message("PFDManagementResponse", 4, ("Cause", "?Offending IE", "?Node ID")),
    Message(
        "AssociationSetupRequest",
        5,
        (
            *("Node ID", "Recovery Time Stamp", *FEATURES, "?PFCPASReq-Flags"),
            "?PFCP Session Retention Information (within PFCP Association Setup Request)",
        ),
    ),
    Message(
        "AssociationSetupResponse",
        6,
        ("Node ID", "Cause", "Recovery Time Stamp", *FEATURES, "?PFCPASRsp-Flags"),
    ),
    Message(
        "AssociationUpdateRequest",
        7,
        (
            *("Node ID", *FEATURES, "?PFCP Association Release Request"),
            *("?Graceful Release Period", "?PFCPAUReq-Flags", "*UE IP Address Usage Information"),
        ),
    ),
    Message(
        "AssociationUpdateResponse",
        8,
        ("Node ID", "Cause", "?UP Function Features", "?CP Function Features"),
    ),
    Message("AssociationReleaseRequest", 9, ("Node ID",)),
    Message("AssociationReleaseResponse", 10, ("Node ID", "Cause")),
    Message("VersionNotSupportedResponse", 11, ()),
    Message(
        "NodeReportRequest",
        12,
        (
            *("Node ID", "Node Report Type", "User Plane Path Failure Report"),
            *("User Plane Path Recovery Report", "Clock Drift Report"),
            "GTP-U Path QoS Report (PFCP Node Report Request)",
        ),
    ),
    Message("NodeReportResponse", 13, ("Node ID", "Cause", "?Offending IE")),
    Message("SessionSetDeletionRequest", 14, ("Node ID", "*FQ-CSID")),
    Message("SessionSetDeletionResponse", 15, ("Node ID", "Cause", "?Offending IE")),
    Message(
        "SessionEstablishmentRequest",
        50,
        (
            *("Node ID", "F-SEID", "Create PDR", "Create PDR", "Create FAR", "*Create URR"),
            *("*Create QER", "?Create BAR", "*Create Traffic Endpoint", "?PDN Type"),
            *("?User Plane Inactivity Timer", "?User ID", "?Trace Information", "?APN/DNN"),
            *("?PFCPSEReq-Flags", "?Recovery Time Stamp", "?S-NSSAI", "*Create SRR"),
            "*FQ-CSID",
        ),
    ),
    Message(
        "SessionEstablishmentResponse",
        51,
        ("Node ID", "Cause", "F-SEID", *CREATED, "*Partial Failure Information"),
    ),
    Message(
        "SessionModificationRequest",
        52,
        (
            *("?F-SEID", "*Remove PDR", "*Remove FAR", "*Remove URR", "*Remove QER"),
            *("?Remove BAR", "*Remove Traffic Endpoint", "*Create PDR", "*Create FAR"),
            *("*Create URR", "*Create QER", "?Create BAR", "*Create Traffic Endpoint"),
            *("*Update PDR", "*Update FAR", "*Update URR", "*Update QER"),
            *("?Update BAR (Session Modification Request)", "*Update Traffic Endpoint"),
            *("?PFCPSMReq-Flags", "*Query URR", "?User Plane Inactivity Timer"),
            *("?Query URR Reference", "?Trace Information", "?Node ID", "*Remove SRR"),
            *("*Update SRR", "?Ethernet Context Information", "?S-NSSAI"),
            "*Query Packet Rate Status IE within PFCP Session Modification Request",
        ),
    ),
    Message(
        "SessionModificationResponse",
        53,
        (
            *("Cause", *CREATED, "*Usage Report (Session Modification Response)"),
            *("?Additional Usage Reports Information", "*Updated PDR"),
            "*Packet Rate Status Report IE within PFCP Session Modification Response",
        ),
    ),
    Message("SessionDeletionRequest", 54, ()),
    Message(
        "SessionDeletionResponse",
        55,
        (
            *("Cause", "?Offending IE", "?Load Control Information"),
            *("?Overload Control Information", "*Usage Report (Session Deletion Response)"),
            *("?Additional Usage Reports Information", "*Packet Rate Status Report"),
            "*Session Report",
        ),
    ),
    Message(
        "SessionReportRequest",
        56,
        (
            *("Report Type", "Downlink Data Report", "Usage Report (Session Report Request)"),
            *("Error Indication Report", "Session Report", "?Load Control Information"),
            *("?Overload Control Information", "?Additional Usage Reports Information"),
            *("?PFCPSRReq-Flags", "?F-SEID"),
        ),
    ),
    Message(
        "SessionReportResponse",
        57,
        (
            *("Cause", "?Offending IE", "?Update BAR (Session Report Response)"),
            *("?PFCPSRRsp-Flags", "?F-SEID", "?F-TEID", "?Alternative SMF IP Address"),
        ),
    ),
]
