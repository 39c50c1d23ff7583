//! The IEs by number and by name (TS 29.244 table 8.1.2-1), and the kinds of their values.

use std::collections::HashMap;
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use rs_pfcp::ie as rs;

use super::amended::{addresses, filters, forwarding, names, quantities, rules};
use super::kind::Kind::{self, Group, Octets};
use super::kind::plain;
use super::{flags, records, words};

/// An IE of the table.
pub struct Ie {
    pub number: u16,
    pub name: &'static str,
    pub kind: Kind,
}

const fn ie(number: u16, name: &'static str, kind: Kind) -> Ie {
    Ie { number, name, kind }
}

/// A number that rs-pfcp holds in a field, with a `new` that takes it.
macro_rules! field {
    ($module:ident::$type:ident.$field:ident) => {
        plain!(rs::$module::$type, |ie| ie.$field, rs::$module::$type::new)
    };
}

/// A number that rs-pfcp returns from a method.
macro_rules! method {
    ($module:ident::$type:ident.$method:ident) => {
        plain!(
            rs::$module::$type,
            |ie| ie.$method(),
            rs::$module::$type::new
        )
    };
}

/// Like `method`, for a `new` that refuses some numbers.
macro_rules! checked {
    ($module:ident::$type:ident.$method:ident) => {
        plain!(rs::$module::$type, |ie| ie.$method(), checked rs::$module::$type::new)
    };
}

/// Seconds since 1900, which rs-pfcp converts to a system time.
macro_rules! ntp {
    ($module:ident::$type:ident) => {
        plain!(
            rs::$module::$type,
            |ie| ie.ntp_seconds(),
            checked |seconds: u32| rs::$module::$type::unmarshal(&seconds.to_be_bytes())
        )
    };
}

/// In the order of their numbers.
pub static TABLE: &[Ie] = &[
    ie(1, "Create PDR", Group),
    ie(2, "PDI", Group),
    ie(3, "Create FAR", Group),
    ie(4, "Forwarding Parameters", Group),
    ie(5, "Duplicating Parameters", Group),
    ie(6, "Create URR", Group),
    ie(7, "Create QER", Group),
    ie(8, "Created PDR", Group),
    ie(9, "Update PDR", Group),
    ie(10, "Update FAR", Group),
    ie(11, "Update Forwarding Parameters", Group),
    ie(12, "Update BAR (Session Report Response)", Group),
    ie(13, "Update URR", Group),
    ie(14, "Update QER", Group),
    ie(15, "Remove PDR", Group),
    ie(16, "Remove FAR", Group),
    ie(17, "Remove URR", Group),
    ie(18, "Remove QER", Group),
    ie(19, "Cause", words::CAUSE),
    ie(20, "Source Interface", words::SOURCE_INTERFACE),
    ie(21, "F-TEID", records::F_TEID),
    ie(22, "Network Instance", filters::TEXT),
    ie(23, "SDF Filter", filters::SDF_FILTER),
    ie(24, "Application ID", filters::TEXT),
    ie(25, "Gate Status", rules::GATE_STATUS),
    ie(26, "MBR", records::MBR),
    ie(27, "GBR", records::GBR),
    ie(
        28,
        "QER Correlation ID",
        field!(qer_correlation_id::QerCorrelationId.value),
    ),
    ie(29, "Precedence", field!(precedence::Precedence.value)),
    ie(
        30,
        "Transport Level Marking",
        rules::TRANSPORT_LEVEL_MARKING,
    ),
    ie(31, "Volume Threshold", records::VOLUME_THRESHOLD),
    ie(
        32,
        "Time Threshold",
        field!(time_threshold::TimeThreshold.value),
    ),
    ie(33, "Monitoring Time", ntp!(monitoring_time::MonitoringTime)),
    ie(
        34,
        "Subsequent Volume Threshold",
        records::SUBSEQUENT_VOLUME_THRESHOLD,
    ),
    ie(
        35,
        "Subsequent Time Threshold",
        field!(subsequent_time_threshold::SubsequentTimeThreshold.value),
    ),
    ie(
        36,
        "Inactivity Detection Time",
        field!(inactivity_detection_time::InactivityDetectionTime.value),
    ),
    ie(37, "Reporting Triggers", flags::REPORTING_TRIGGERS),
    ie(38, "Redirect Information", forwarding::REDIRECT_INFORMATION),
    ie(39, "Report Type", flags::REPORT_TYPE),
    ie(
        40,
        "Offending IE",
        field!(offending_ie::OffendingIe.ie_type),
    ),
    ie(41, "Forwarding Policy", forwarding::FORWARDING_POLICY),
    ie(42, "Destination Interface", words::DESTINATION_INTERFACE),
    ie(43, "UP Function Features", flags::UP_FUNCTION_FEATURES),
    ie(44, "Apply Action", flags::APPLY_ACTION),
    ie(
        45,
        "Downlink Data Service Information",
        forwarding::DOWNLINK_DATA_SERVICE_INFORMATION,
    ),
    ie(46, "Downlink Data Notification Delay", quantities::OCTET),
    ie(47, "DL Buffering Duration", quantities::TIMER),
    ie(
        48,
        "DL Buffering Suggested Packet Count",
        field!(dl_buffering_suggested_packet_count::DlBufferingSuggestedPacketCount.value),
    ),
    ie(49, "PFCPSMReq-Flags", flags::PFCPSMREQ_FLAGS),
    ie(50, "PFCPSRRsp-Flags", flags::PFCPSRRSP_FLAGS),
    ie(51, "Load Control Information", Group),
    ie(
        52,
        "Sequence Number",
        field!(sequence_number::SequenceNumber.value),
    ),
    ie(53, "Metric", field!(metric::Metric.value)),
    ie(54, "Overload Control Information", Group),
    ie(55, "Timer", quantities::TIMER),
    ie(56, "PDR ID", field!(pdr_id::PdrId.value)),
    ie(57, "F-SEID", records::F_SEID),
    ie(58, "Application ID's PFDs", Group),
    ie(59, "PFD context", Group),
    ie(60, "Node ID", addresses::NODE_ID),
    ie(61, "PFD contents", filters::PFD_CONTENTS),
    ie(62, "Measurement Method", flags::MEASUREMENT_METHOD),
    ie(63, "Usage Report Trigger", flags::USAGE_REPORT_TRIGGER),
    ie(
        64,
        "Measurement Period",
        field!(measurement_period::MeasurementPeriod.value),
    ),
    ie(65, "FQ-CSID", addresses::FQ_CSID),
    ie(66, "Volume Measurement", records::VOLUME_MEASUREMENT),
    ie(
        67,
        "Duration Measurement",
        field!(duration_measurement::DurationMeasurement.duration_seconds),
    ),
    ie(68, "Application Detection Information", Group),
    ie(
        69,
        "Time of First Packet",
        field!(time_of_first_packet::TimeOfFirstPacket.timestamp),
    ),
    ie(
        70,
        "Time of Last Packet",
        field!(time_of_last_packet::TimeOfLastPacket.timestamp),
    ),
    ie(
        71,
        "Quota Holding Time",
        field!(quota_holding_time::QuotaHoldingTime.holding_time_seconds),
    ),
    ie(
        72,
        "Dropped DL Traffic Threshold",
        records::DROPPED_DL_TRAFFIC_THRESHOLD,
    ),
    ie(73, "Volume Quota", records::VOLUME_QUOTA),
    ie(
        74,
        "Time Quota",
        field!(time_quota::TimeQuota.quota_seconds),
    ),
    ie(75, "Start Time", field!(start_time::StartTime.timestamp)),
    ie(76, "End Time", field!(end_time::EndTime.timestamp)),
    ie(77, "Query URR", Group),
    ie(78, "Usage Report (Session Modification Response)", Group),
    ie(79, "Usage Report (Session Deletion Response)", Group),
    ie(80, "Usage Report (Session Report Request)", Group),
    ie(81, "URR ID", field!(urr_id::UrrId.id)),
    ie(82, "Linked URR ID", field!(linked_urr_id::LinkedUrrId.id)),
    ie(83, "Downlink Data Report", Group),
    ie(
        84,
        "Outer Header Creation",
        addresses::OUTER_HEADER_CREATION,
    ),
    ie(85, "Create BAR", Group),
    ie(86, "Update BAR (Session Modification Request)", Group),
    ie(87, "Remove BAR", Group),
    ie(88, "BAR ID", field!(bar_id::BarId.id)),
    ie(89, "CP Function Features", flags::CP_FUNCTION_FEATURES),
    ie(90, "Usage Information", flags::USAGE_INFORMATION),
    ie(91, "Application Instance ID", filters::TEXT),
    ie(92, "Flow Information", filters::FLOW_INFORMATION),
    ie(93, "UE IP Address", records::UE_IP_ADDRESS),
    ie(94, "Packet Rate", quantities::PACKET_RATE),
    ie(95, "Outer Header Removal", addresses::OUTER_HEADER_REMOVAL),
    ie(
        96,
        "Recovery Time Stamp",
        ntp!(recovery_time_stamp::RecoveryTimeStamp),
    ),
    ie(97, "DL Flow Level Marking", rules::DL_FLOW_LEVEL_MARKING),
    ie(98, "Header Enrichment", forwarding::HEADER_ENRICHMENT),
    ie(99, "Error Indication Report", Group),
    ie(
        100,
        "Measurement Information",
        flags::MEASUREMENT_INFORMATION,
    ),
    ie(101, "Node Report Type", flags::NODE_REPORT_TYPE),
    ie(102, "User Plane Path Failure Report", Group),
    ie(103, "Remote GTP-U Peer", addresses::REMOTE_GTPU_PEER),
    ie(104, "UR-SEQN", method!(ur_seqn::UrSeqn.sequence_number)),
    ie(105, "Update Duplicating Parameters", Group),
    ie(106, "Activate Predefined Rules", filters::TEXT),
    ie(107, "Deactivate Predefined Rules", filters::TEXT),
    ie(108, "FAR ID", field!(far_id::FarId.value)),
    ie(109, "QER ID", field!(qer_id::QerId.value)),
    ie(110, "OCI Flags", flags::OCI_FLAGS),
    ie(
        111,
        "PFCP Association Release Request",
        flags::ASSOCIATION_RELEASE,
    ),
    ie(112, "Graceful Release Period", quantities::TIMER),
    ie(113, "PDN Type", words::PDN_TYPE),
    ie(114, "Failed Rule ID", rules::FAILED_RULE_ID),
    ie(
        115,
        "Time Quota Mechanism",
        quantities::TIME_QUOTA_MECHANISM,
    ),
    ie(117, "User Plane Inactivity Timer", quantities::SECONDS),
    ie(118, "Aggregated URRs", Group),
    ie(119, "Multiplier", quantities::MULTIPLIER),
    ie(
        120,
        "Aggregated URR ID",
        field!(aggregated_urr_id::AggregatedUrrId.value),
    ),
    ie(
        121,
        "Subsequent Volume Quota",
        records::SUBSEQUENT_VOLUME_QUOTA,
    ),
    ie(
        122,
        "Subsequent Time Quota",
        field!(subsequent_time_quota::SubsequentTimeQuota.value),
    ),
    ie(123, "RQI", flags::RQI),
    ie(124, "QFI", checked!(qfi::Qfi.value)),
    ie(
        125,
        "Query URR Reference",
        field!(query_urr_reference::QueryURRReference.reference),
    ),
    ie(
        126,
        "Additional Usage Reports Information",
        quantities::ADDITIONAL_USAGE_REPORTS,
    ),
    ie(127, "Create Traffic Endpoint", Group),
    ie(128, "Created Traffic Endpoint", Group),
    ie(129, "Update Traffic Endpoint", Group),
    ie(130, "Remove Traffic Endpoint", Group),
    ie(
        131,
        "Traffic Endpoint ID",
        field!(traffic_endpoint_id::TrafficEndpointId.id),
    ),
    ie(132, "Ethernet Packet Filter", Group),
    ie(133, "MAC address", records::MAC_ADDRESS),
    ie(134, "C-TAG", filters::TAG),
    ie(135, "S-TAG", filters::TAG),
    ie(136, "Ethertype", method!(ethertype::Ethertype.value)),
    ie(137, "Proxying", flags::PROXYING),
    ie(
        138,
        "Ethernet Filter ID",
        method!(ethernet_filter_id::EthernetFilterId.value),
    ),
    ie(
        139,
        "Ethernet Filter Properties",
        flags::ETHERNET_FILTER_PROPERTIES,
    ),
    ie(140, "Suggested Buffering Packets Count", quantities::OCTET),
    ie(141, "User ID", names::USER_ID),
    ie(
        142,
        "Ethernet PDU Session Information",
        flags::ETHERNET_PDU_SESSION_INFORMATION,
    ),
    ie(143, "Ethernet Traffic Information", Group),
    ie(144, "MAC Addresses Detected", filters::MAC_ADDRESSES),
    ie(145, "MAC Addresses Removed", filters::MAC_ADDRESSES),
    ie(
        146,
        "Ethernet Inactivity Timer",
        plain!(
            rs::ethernet_inactivity_timer::EthernetInactivityTimer,
            |ie| ie.seconds(),
            rs::ethernet_inactivity_timer::EthernetInactivityTimer::from_secs
        ),
    ),
    ie(147, "Additional Monitoring Time", Group),
    ie(148, "Event Quota", field!(event_quota::EventQuota.value)),
    ie(
        149,
        "Event Threshold",
        field!(event_threshold::EventThreshold.value),
    ),
    ie(
        150,
        "Subsequent Event Quota",
        field!(subsequent_event_quota::SubsequentEventQuota.value),
    ),
    ie(
        151,
        "Subsequent Event Threshold",
        field!(subsequent_event_threshold::SubsequentEventThreshold.value),
    ),
    ie(152, "Trace Information", records::TRACE_INFORMATION),
    ie(153, "Framed-Route", filters::TEXT),
    ie(
        154,
        "Framed-Routing",
        field!(framed_routing::FramedRouting.value),
    ),
    ie(155, "Framed-IPv6-Route", filters::TEXT),
    ie(
        156,
        "Time Stamp",
        field!(event_time_stamp::EventTimeStamp.timestamp),
    ),
    ie(
        157,
        "Averaging Window",
        method!(averaging_window::AveragingWindow.milliseconds),
    ),
    ie(
        158,
        "Paging Policy Indicator",
        checked!(paging_policy_indicator::PagingPolicyIndicator.value),
    ),
    ie(159, "APN/DNN", names::APN_DNN),
    ie(160, "3GPP Interface Type", words::INTERFACE_TYPE),
    ie(161, "PFCPSRReq-Flags", flags::PFCPSRREQ_FLAGS),
    ie(162, "PFCPAUReq-Flags", flags::PFCPAUREQ_FLAGS),
    ie(
        163,
        "Activation Time",
        method!(activation_time::ActivationTime.timestamp),
    ),
    ie(
        164,
        "Deactivation Time",
        method!(deactivation_time::DeactivationTime.timestamp),
    ),
    ie(165, "Create MAR", Octets),
    ie(166, "3GPP Access Forwarding Action Information", Octets),
    ie(167, "Non-3GPP Access Forwarding Action Information", Octets),
    ie(168, "Remove MAR", Octets),
    ie(169, "Update MAR", Octets),
    ie(170, "MAR ID", Octets),
    ie(171, "Steering Functionality", Octets),
    ie(172, "Steering Mode", Octets),
    ie(173, "Weight", Octets),
    ie(174, "Priority", Octets),
    ie(
        175,
        "Update 3GPP Access Forwarding Action Information",
        Octets,
    ),
    ie(
        176,
        "Update Non 3GPP Access Forwarding Action Information",
        Octets,
    ),
    ie(
        177,
        "UE IP address Pool Identity",
        plain!(
            rs::ue_ip_address_pool_identity::UeIpAddressPoolIdentity,
            |ie| ie.value.clone(),
            checked |name: String| {
                bounded(&name).map(rs::ue_ip_address_pool_identity::UeIpAddressPoolIdentity::new)
            }
        ),
    ),
    ie(
        178,
        "Alternative SMF IP Address",
        records::ALTERNATIVE_SMF_IP_ADDRESS,
    ),
    ie(
        179,
        "Packet Replication and Detection Carry-On Information",
        flags::PACKET_REPLICATION,
    ),
    ie(180, "SMF Set ID", names::SMF_SET_ID),
    ie(
        181,
        "Quota Validity Time",
        field!(quota_validity_time::QuotaValidityTime.value),
    ),
    ie(
        182,
        "Number of Reports",
        field!(number_of_reports::NumberOfReports.value),
    ),
    ie(
        183,
        "PFCP Session Retention Information (within PFCP Association Setup Request)",
        Group,
    ),
    ie(184, "PFCPASRsp-Flags", flags::PFCPASRSP_FLAGS),
    ie(
        185,
        "CP PFCP Entity IP Address",
        records::CP_PFCP_ENTITY_IP_ADDRESS,
    ),
    ie(186, "PFCPSEReq-Flags", flags::PFCPSEREQ_FLAGS),
    ie(187, "User Plane Path Recovery Report", Group),
    ie(
        188,
        "IP Multicast Addressing Info within PFCP Session Establishment Request",
        Group,
    ),
    ie(
        189,
        "Join IP Multicast Information IE within Usage Report",
        Group,
    ),
    ie(
        190,
        "Leave IP Multicast Information IE within Usage Report",
        Group,
    ),
    ie(191, "IP Multicast Address", Octets),
    ie(192, "Source IP Address", records::SOURCE_IP_ADDRESS),
    ie(193, "Packet Rate Status", records::PACKET_RATE_STATUS),
    ie(194, "Create Bridge/Router Info", Octets),
    ie(195, "Created Bridge/Router Info", Octets),
    ie(196, "Port Number", Octets),
    ie(197, "NW-TT Port Number", Octets),
    ie(198, "5GS User Plane Node ID", Octets),
    ie(
        199,
        "TSC Management Information IE within PFCP Session Modification Request",
        Octets,
    ),
    ie(
        200,
        "TSC Management Information IE within PFCP Session Modification Response",
        Octets,
    ),
    ie(
        201,
        "TSC Management Information IE within PFCP Session Report Request",
        Octets,
    ),
    ie(202, "Port Management Information Container", Octets),
    ie(203, "Clock Drift Control Information", Octets),
    ie(204, "Requested Clock Drift Information", Octets),
    ie(205, "Clock Drift Report", Octets),
    ie(206, "Time Domain Number", Octets),
    ie(207, "Time Offset Threshold", Octets),
    ie(208, "Cumulative rateRatio Threshold", Octets),
    ie(209, "Time Offset Measurement", Octets),
    ie(210, "Cumulative rateRatio Measurement", Octets),
    ie(211, "Remove SRR", Group),
    ie(212, "Create SRR", Group),
    ie(213, "Update SRR", Group),
    ie(214, "Session Report", Group),
    ie(215, "SRR ID", quantities::OCTET),
    ie(216, "Access Availability Control Information", Octets),
    ie(217, "Requested Access Availability Information", Octets),
    ie(218, "Access Availability Report", Octets),
    ie(219, "Access Availability Information", Octets),
    ie(220, "Provide ATSSS Control Information", Octets),
    ie(221, "ATSSS Control Parameters", Octets),
    ie(222, "MPTCP Control Information", Octets),
    ie(223, "ATSSS-LL Control Information", Octets),
    ie(224, "PMF Control Information", Octets),
    ie(225, "MPTCP Parameters", Octets),
    ie(226, "ATSSS-LL Parameters", Octets),
    ie(227, "PMF Parameters", Octets),
    ie(228, "MPTCP Address Information", Octets),
    ie(229, "Link-Specific Multipath IP Address", Octets),
    ie(230, "PMF Address Information", Octets),
    ie(231, "ATSSS-LL Information", Octets),
    ie(232, "Data Network Access Identifier", filters::TEXT),
    ie(233, "UE IP address Pool Information", Group),
    ie(
        234,
        "Average Packet Delay",
        field!(average_packet_delay::AveragePacketDelay.delay_us),
    ),
    ie(
        235,
        "Minimum Packet Delay",
        field!(minimum_packet_delay::MinimumPacketDelay.delay_us),
    ),
    ie(
        236,
        "Maximum Packet Delay",
        field!(maximum_packet_delay::MaximumPacketDelay.delay_us),
    ),
    ie(237, "QoS Report Trigger", flags::QOS_REPORT_TRIGGER),
    ie(238, "GTP-U Path QoS Control Information", Group),
    ie(
        239,
        "GTP-U Path QoS Report (PFCP Node Report Request)",
        Group,
    ),
    ie(240, "QoS Information in GTP-U Path QoS Report", Group),
    ie(
        241,
        "GTP-U Path Interface Type",
        flags::GTPU_PATH_INTERFACE_TYPE,
    ),
    ie(
        242,
        "QoS Monitoring per QoS flow Control Information",
        Group,
    ),
    ie(
        243,
        "Requested QoS Monitoring",
        flags::REQUESTED_QOS_MONITORING,
    ),
    ie(244, "Reporting Frequency", flags::REPORTING_FREQUENCY),
    ie(
        245,
        "Packet Delay Thresholds",
        records::PACKET_DELAY_THRESHOLDS,
    ),
    ie(
        246,
        "Minimum Wait Time",
        field!(minimum_wait_time::MinimumWaitTime.seconds),
    ),
    ie(247, "QoS Monitoring Report", Group),
    ie(
        248,
        "QoS Monitoring Measurement",
        records::QOS_MONITORING_MEASUREMENT,
    ),
    ie(249, "MT-EDT Control Information", flags::MT_EDT),
    ie(
        250,
        "DL Data Packets Size",
        field!(dl_data_packets_size::DlDataPacketsSize.value),
    ),
    ie(
        251,
        "QER Control Indications",
        flags::QER_CONTROL_INDICATIONS,
    ),
    ie(252, "Packet Rate Status Report", Group),
    ie(
        253,
        "NF Instance ID",
        field!(nf_instance_id::NfInstanceId.uuid),
    ),
    ie(254, "Ethernet Context Information", Group),
    ie(255, "Redundant Transmission Parameters", Group),
    ie(256, "Updated PDR", Group),
    ie(257, "S-NSSAI", records::S_NSSAI),
    ie(258, "IP version", flags::IP_VERSION),
    ie(259, "PFCPASReq-Flags", flags::PFCPASREQ_FLAGS),
    ie(260, "Data Status", flags::DATA_STATUS),
    ie(261, "Provide RDS configuration information", Octets),
    ie(262, "RDS configuration information", Octets),
    ie(
        263,
        "Query Packet Rate Status IE within PFCP Session Modification Request",
        Group,
    ),
    ie(
        264,
        "Packet Rate Status Report IE within PFCP Session Modification Response",
        Group,
    ),
    ie(265, "Multipath Applicable Indication", Octets),
    ie(
        266,
        "User Plane Node Management Information Container",
        Octets,
    ),
    ie(267, "UE IP Address Usage Information", Group),
    ie(
        268,
        "Number of UE IP Addresses",
        records::NUMBER_OF_UE_IP_ADDRESSES,
    ),
    ie(
        269,
        "Validity Timer",
        field!(validity_timer::ValidityTimer.value),
    ),
    ie(270, "Redundant Transmission Forwarding Parameters", Group),
    ie(271, "Transport Delay Reporting", Group),
    ie(272, "Partial Failure Information", Group),
    ie(
        274,
        "Offending IE Information",
        records::OFFENDING_IE_INFORMATION,
    ),
    ie(275, "RAT Type", words::RAT_TYPE),
    ie(276, "L2TP Tunnel Information", Octets),
    ie(277, "L2TP Session Information", Octets),
    ie(278, "L2TP User Authentication", Octets),
    ie(279, "Created L2TP Session", Octets),
    ie(280, "LNS Address", Octets),
    ie(281, "Tunnel Preference", Octets),
    ie(282, "Calling Number", Octets),
    ie(283, "Called Number", Octets),
    ie(284, "L2TP Session Indications", Octets),
    ie(285, "DNS Server Address", Octets),
    ie(286, "NBNS Server Address", Octets),
    ie(287, "Maximum Receive Unit", Octets),
    ie(288, "Thresholds", Octets),
    ie(289, "Steering Mode Indicator", Octets),
    ie(290, "PFCP Session Change Info", Group),
    ie(291, "Group ID", filters::HEX),
    ie(292, "CP IP Address", records::CP_IP_ADDRESS),
    ie(293, "IP Address and Port number Replacement", Octets),
    ie(294, "DNS Query/Response Filter", Octets),
    ie(295, "Direct Reporting Information", Group),
    ie(296, "Event Notification URI", filters::TEXT),
    ie(297, "Notification Correlation ID", filters::TEXT),
    ie(298, "Reporting Flags", flags::REPORTING_FLAGS),
    ie(299, "Predefined Rules Name", filters::TEXT),
    ie(300, "MBS Session N4mb Control Information", Octets),
    ie(301, "MBS Multicast Parameters", Octets),
    ie(302, "Add MBS Unicast Parameters", Octets),
    ie(303, "MBS Session N4mb Information", Octets),
    ie(304, "Remove MBS Unicast Parameters", Octets),
    ie(305, "MBS Session Identifier", Octets),
    ie(306, "Multicast Transport Information", Octets),
    ie(307, "MBSN4mbReq-Flags", Octets),
    ie(308, "Local Ingress Tunnel", Octets),
    ie(309, "MBS Unicast Parameters ID", Octets),
    ie(310, "MBS Session N4 Control Information", Octets),
    ie(311, "MBS Session N4 Information", Octets),
    ie(312, "MBSN4Resp-Flags", Octets),
    ie(313, "Tunnel Password", Octets),
    ie(314, "Area Session ID", Octets),
    ie(315, "Peer UP Restart Report", Group),
    ie(316, "DSCP to PPI Control Information", Octets),
    ie(317, "DSCP to PPI Mapping Information", Octets),
    ie(318, "PFCPSDRsp-Flags", flags::PFCPSDRSP_FLAGS),
    ie(319, "QER Indications", flags::QER_INDICATIONS),
    ie(320, "Vendor-Specific Node Report Type", Octets),
    ie(321, "Configured Time Domain", Octets),
    ie(322, "Metadata", Octets),
    ie(
        323,
        "Traffic Parameter Measurement Control Information",
        Octets,
    ),
    ie(324, "Traffic Parameter Measurement Report", Octets),
    ie(325, "Traffic Parameter Threshold", Octets),
    ie(326, "DL Periodicity", Octets),
    ie(327, "N6 Jitter Measurement", Octets),
    ie(328, "Traffic Parameter Measurement Indication", Octets),
    ie(329, "UL Periodicity", Octets),
    ie(330, "MPQUIC Control Information", Octets),
    ie(331, "MPQUIC Parameters", Octets),
    ie(332, "MPQUIC Address Information", Octets),
    ie(333, "Transport Mode", Octets),
    ie(334, "Protocol Description", Octets),
    ie(335, "Reporting Suggestion Info", Octets),
    ie(336, "TL-Container", Octets),
    ie(337, "Measurement Indication", Octets),
    ie(338, "HPLMN S-NSSAI", records::S_NSSAI),
    ie(339, "Media Transport Protocol", Octets),
    ie(340, "RTP Header Extension Information", Octets),
    ie(341, "RTP Payload Information", Octets),
    ie(342, "RTP Header Extension Type", Octets),
    ie(343, "RTP Header Extension ID", Octets),
    ie(344, "RTP Payload Type", Octets),
    ie(345, "RTP Payload Format", Octets),
    ie(
        346,
        "Extended DL Buffering Notification Policy",
        flags::EXTENDED_DL_BUFFERING,
    ),
    ie(347, "MT-SDT Control Information", Octets),
    ie(348, "Reporting Thresholds", Octets),
    ie(349, "RTP Header Extension Additional Information", Octets),
    ie(350, "Mapped N6 IP Address", Octets),
    ie(351, "N6 Routing Information", Octets),
];

/// rs-pfcp writes the length of this text in 16 bits without a check.
fn bounded(text: &str) -> Result<&str, super::fault::Fault> {
    if text.len() > 65_533 {
        return Err(super::fault::Fault::new("more than 65533 octets"));
    }
    Ok(text)
}

/// The place of an IE in the table, by its number; 0 if it is not in the table.
static PLACES: [u16; 352] = {
    let mut places = [0; 352];
    let mut at = 0;
    while at < TABLE.len() {
        #[allow(clippy::cast_possible_truncation, reason = "the table has 350 IEs")]
        let place = at as u16 + 1;
        places[TABLE[at].number as usize] = place;
        at += 1;
    }
    places
};

/// The place of an IE in the table.
fn place_of(number: u16) -> Option<usize> {
    let place = PLACES.get(usize::from(number)).copied()?;
    usize::from(place).checked_sub(1)
}

/// The IE with a number.
pub fn by_number(number: u16) -> Option<&'static Ie> {
    place_of(number).map(|at| &TABLE[at])
}

/// The IE with a name.
pub fn by_name(name: &str) -> Option<&'static Ie> {
    static NAMES: OnceLock<HashMap<&'static str, &'static Ie>> = OnceLock::new();
    let names = NAMES.get_or_init(|| TABLE.iter().map(|ie| (ie.name, ie)).collect());
    names.get(name).copied()
}

/// The name of an IE in a message; its number if it is not in the table.
pub fn name_of(number: u16) -> String {
    by_number(number).map_or_else(|| number.to_string(), |ie| ie.name.to_owned())
}

/// Whether a group changes a rule: an IE without octets in it removes the IE from the rule (5.6.3).
pub fn is_update(number: Option<u16>) -> bool {
    number
        .and_then(by_number)
        .is_some_and(|ie| ie.name.starts_with("Update "))
}

/// Like `name_of`, as a Python string. Each call returns the same string object.
pub fn python_name(py: Python<'_>, number: u16) -> Bound<'_, PyString> {
    static NAMES: PyOnceLock<Vec<Py<PyString>>> = PyOnceLock::new();
    let names = NAMES.get_or_init(py, || {
        let names = TABLE
            .iter()
            .map(|ie| PyString::intern(py, ie.name).unbind());
        names.collect()
    });
    match place_of(number) {
        Some(at) => names[at].bind(py).clone(),
        None => PyString::new(py, &number.to_string()),
    }
}
