//! IEs with parts, in the form of rs-pfcp. A part that is an `Option` may be absent from the IE;
//! the presence flags of the IE are derived from it.

use std::net::{Ipv4Addr, Ipv6Addr};

use rs_pfcp::ie::alternative_smf_ip_address::AlternativeSmfIpAddress;
use rs_pfcp::ie::cp_ip_address::CpIpAddress;
use rs_pfcp::ie::cp_pfcp_entity_ip_address::CpPfcpEntityIpAddress;
use rs_pfcp::ie::dropped_dl_traffic_threshold::DroppedDlTrafficThreshold;
use rs_pfcp::ie::f_teid::Fteid;
use rs_pfcp::ie::fseid::Fseid;
use rs_pfcp::ie::gbr::Gbr;
use rs_pfcp::ie::mac_address::MacAddress;
use rs_pfcp::ie::mbr::Mbr;
use rs_pfcp::ie::number_of_ue_ip_addresses::NumberOfUeIpAddresses;
use rs_pfcp::ie::offending_ie_information::OffendingIeInformation;
use rs_pfcp::ie::packet_delay_thresholds::PacketDelayThresholds;
use rs_pfcp::ie::packet_rate_status::PacketRateStatus;
use rs_pfcp::ie::qos_monitoring_measurement::QosMonitoringMeasurement;
use rs_pfcp::ie::snssai::Snssai;
use rs_pfcp::ie::source_ip_address::SourceIpAddress;
use rs_pfcp::ie::subsequent_volume_quota::SubsequentVolumeQuota;
use rs_pfcp::ie::subsequent_volume_threshold::SubsequentVolumeThreshold;
use rs_pfcp::ie::trace_information::TraceInformation;
use rs_pfcp::ie::ue_ip_address::UeIpAddress;
use rs_pfcp::ie::volume_measurement::VolumeMeasurement;
use rs_pfcp::ie::volume_quota::VolumeQuota;
use rs_pfcp::ie::volume_threshold::VolumeThreshold;
use rs_pfcp::{Seid, Teid};

use super::fault::Fault;
use super::kind::{Kind, Marked, Needed, record};
use super::plain::Hex;

pub const F_SEID: Kind = record!(ie: Fseid {
    "seid" seid: Needed<Seid> = Needed(ie.seid);
    "ipv4" ipv4: Option<Ipv4Addr> = ie.ipv4_address;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.ipv6_address;
} => Fseid::new(seid.0, ipv4, ipv6));

/// The names of the parts to be chosen.
fn chosen(v4: bool, v6: bool) -> Option<Vec<String>> {
    let mut names = Vec::new();
    if v4 {
        names.push("V4".to_owned());
    }
    if v6 {
        names.push("V6".to_owned());
    }
    (!names.is_empty()).then_some(names)
}

/// Whether V4 and V6 must be chosen.
fn choice(names: Option<Vec<String>>) -> Result<(bool, bool), Fault> {
    let names = names.unwrap_or_default();
    if let Some(other) = names
        .iter()
        .find(|name| !matches!(name.as_str(), "V4" | "V6"))
    {
        return Err(Fault::new(format!("choose: {other:?} is none of: V4, V6")));
    }
    let has = |family: &str| names.iter().any(|name| name == family);
    Ok((has("V4"), has("V6")))
}

fn f_teid(
    teid: Option<Teid>,
    ipv4: Option<Ipv4Addr>,
    ipv6: Option<Ipv6Addr>,
    choose: Option<Vec<String>>,
    choose_id: Option<u8>,
) -> Result<Fteid, Fault> {
    let asked = choose.is_some();
    let (v4, v6) = choice(choose)?;
    let given = teid.is_some() || ipv4.is_some() || ipv6.is_some();
    if asked == given || (choose_id.is_some() && !asked) {
        return Err(Fault::new(
            "either teid and addresses, or choose and perhaps choose_id",
        ));
    }
    if given && teid.is_none() {
        return Err(Fault::new("teid is missing"));
    }
    Ok(Fteid {
        v4: v4 || ipv4.is_some(),
        v6: v6 || ipv6.is_some(),
        ch: asked,
        chid: choose_id.is_some(),
        teid: teid.unwrap_or_default(),
        ipv4_address: ipv4,
        ipv6_address: ipv6,
        choose_id: choose_id.unwrap_or_default(),
    })
}

pub const F_TEID: Kind = record!(ie: Fteid {
    "teid" teid: Option<Teid> = (!ie.ch).then_some(ie.teid);
    "ipv4" ipv4: Option<Ipv4Addr> = ie.ipv4_address;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.ipv6_address;
    "choose" choose: Option<Vec<String>> =
        ie.ch.then(|| chosen(ie.v4, ie.v6).unwrap_or_default());
    "choose_id" choose_id: Option<u8> = ie.chid.then_some(ie.choose_id);
} => f_teid(teid, ipv4, ipv6, choose, choose_id)?);

pub const UE_IP_ADDRESS: Kind = record!(ie: UeIpAddress {
    "ipv4" ipv4: Option<Ipv4Addr> = ie.ipv4_address;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.ipv6_address;
    "destination" destination: Marked = Marked(ie.source_destination);
    "choose" choose: Option<Vec<String>> = chosen(ie.choose_ipv4, ie.choose_ipv6);
    "ipv6_prefix_delegation_bits" delegated: Option<u8> = ie.ipv6_prefix_delegation_bits;
    "ipv6_prefix_length" length: Option<u8> = ie.ipv6_prefix_length;
} => {
    let (choose_ipv4, choose_ipv6) = choice(choose)?;
    let ie = UeIpAddress {
        v4: ipv4.is_some(),
        v6: ipv6.is_some(),
        source_destination: destination.0,
        ipv6_prefix_delegation: delegated.is_some(),
        choose_ipv4,
        choose_ipv6,
        ipv6_prefix_length_present: length.is_some(),
        ipv4_address: ipv4,
        ipv6_address: ipv6,
        ipv6_prefix_delegation_bits: delegated,
        ipv6_prefix_length: length,
    };
    // rs-pfcp checks the valid combinations of parts only in `unmarshal`.
    UeIpAddress::unmarshal(&ie.marshal())?
});

/// A rate in kbit/s of 40 bits.
fn rate(kbps: u64) -> Result<u64, Fault> {
    if kbps >> 40 == 0 {
        Ok(kbps)
    } else {
        Err(Fault::new(format!("{kbps} kbit/s is more than 40 bits")))
    }
}

pub const MBR: Kind = record!(ie: Mbr {
    "uplink" uplink: Needed<u64> = Needed(ie.uplink);
    "downlink" downlink: Needed<u64> = Needed(ie.downlink);
} => Mbr::new(rate(uplink.0)?, rate(downlink.0)?));

pub const GBR: Kind = record!(ie: Gbr {
    "uplink" uplink: Needed<u64> = Needed(ie.uplink);
    "downlink" downlink: Needed<u64> = Needed(ie.downlink);
} => Gbr::new(rate(uplink.0)?, rate(downlink.0)?));

/// The presence flags of values, from bit 1.
fn presence(there: &[bool]) -> u8 {
    let bits = there.iter().enumerate();
    bits.fold(0, |flags, (bit, there)| flags | u8::from(*there) << bit)
}

macro_rules! volume {
    ($ie:ident: $type:ty, $total:ident $uplink:ident $downlink:ident => $make:expr) => {
        record!($ie: $type {
            "total" $total: Option<u64> = $ie.total_volume;
            "uplink" $uplink: Option<u64> = $ie.uplink_volume;
            "downlink" $downlink: Option<u64> = $ie.downlink_volume;
        } => $make)
    };
}

pub const VOLUME_THRESHOLD: Kind = volume!(ie: VolumeThreshold, total up down =>
    VolumeThreshold::new(total.is_some(), up.is_some(), down.is_some(), total, up, down));

pub const SUBSEQUENT_VOLUME_THRESHOLD: Kind = volume!(ie: SubsequentVolumeThreshold, total up down =>
        SubsequentVolumeThreshold::new(
            total.is_some(), up.is_some(), down.is_some(), total, up, down));

pub const VOLUME_QUOTA: Kind = volume!(ie: VolumeQuota, total up down => {
    let flags = presence(&[total.is_some(), up.is_some(), down.is_some()]);
    VolumeQuota::new(flags, total, up, down)
});

pub const SUBSEQUENT_VOLUME_QUOTA: Kind = volume!(ie: SubsequentVolumeQuota, total up down =>
    SubsequentVolumeQuota::new(total, up, down));

pub const VOLUME_MEASUREMENT: Kind = record!(ie: VolumeMeasurement {
    "total" total: Option<u64> = ie.total_volume;
    "uplink" up: Option<u64> = ie.uplink_volume;
    "downlink" down: Option<u64> = ie.downlink_volume;
    "total_packets" total_packets: Option<u64> = ie.total_packets;
    "uplink_packets" up_packets: Option<u64> = ie.uplink_packets;
    "downlink_packets" down_packets: Option<u64> = ie.downlink_packets;
} => VolumeMeasurement {
    flags: presence(&[
        total.is_some(), up.is_some(), down.is_some(),
        total_packets.is_some(), up_packets.is_some(), down_packets.is_some(),
    ]),
    total_volume: total,
    uplink_volume: up,
    downlink_volume: down,
    total_packets,
    uplink_packets: up_packets,
    downlink_packets: down_packets,
});

pub const DROPPED_DL_TRAFFIC_THRESHOLD: Kind = record!(ie: DroppedDlTrafficThreshold {
    "packets" packets: Option<u64> = ie.downlink_packets;
    "octets_of_data" octets_of_data: Option<u64> = ie.number_of_bytes_of_downlink_data;
} => DroppedDlTrafficThreshold::new(packets, octets_of_data));

pub const MAC_ADDRESS: Kind = record!(ie: MacAddress {
    "source" source: Option<[u8; 6]> = ie.source_mac;
    "destination" destination: Option<[u8; 6]> = ie.destination_mac;
    "upper_source" upper_source: Option<[u8; 6]> = ie.upper_source_mac;
    "upper_destination" upper_destination: Option<[u8; 6]> = ie.upper_destination_mac;
} => MacAddress {
    source_mac: source,
    destination_mac: destination,
    upper_source_mac: upper_source,
    upper_destination_mac: upper_destination,
});

pub const S_NSSAI: Kind = record!(ie: Snssai {
    "sst" sst: Needed<u8> = Needed(ie.sst);
    "sd" sd: Needed<[u8; 3]> = Needed(ie.sd.ok_or_else(Fault::short)?);
} => Snssai { sst: sst.0, sd: Some(sd.0) });

pub const ALTERNATIVE_SMF_IP_ADDRESS: Kind = record!(ie: AlternativeSmfIpAddress {
    "ipv4" ipv4: Option<Ipv4Addr> = ie.ipv4_address;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.ipv6_address;
    "preferred" preferred: Marked = Marked(ie.preferred_pfcp_entity);
} => {
    one_of(ipv4.is_some() || ipv6.is_some())?;
    AlternativeSmfIpAddress {
        ipv4_address: ipv4,
        ipv6_address: ipv6,
        preferred_pfcp_entity: preferred.0,
    }
});

/// Refuse an IE without any address.
fn one_of(there: bool) -> Result<(), Fault> {
    if there {
        Ok(())
    } else {
        Err(Fault::new("neither ipv4 nor ipv6 is there"))
    }
}

pub const CP_PFCP_ENTITY_IP_ADDRESS: Kind = record!(ie: CpPfcpEntityIpAddress {
    "ipv4" ipv4: Option<Ipv4Addr> = ie.ipv4;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.ipv6;
} => {
    one_of(ipv4.is_some() || ipv6.is_some())?;
    CpPfcpEntityIpAddress { ipv4, ipv6 }
});

pub const CP_IP_ADDRESS: Kind = record!(ie: CpIpAddress {
    "ipv4" ipv4: Option<Ipv4Addr> = ie.ipv4_address;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.ipv6_address;
} => {
    one_of(ipv4.is_some() || ipv6.is_some())?;
    CpIpAddress { ipv4_address: ipv4, ipv6_address: ipv6 }
});

pub const SOURCE_IP_ADDRESS: Kind = record!(ie: SourceIpAddress {
    "ipv4" ipv4: Option<Ipv4Addr> = ie.ipv4;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.ipv6;
    "prefix_length" prefix_length: Option<u8> = ie.mask_prefix_length;
} => SourceIpAddress {
    v4: ipv4.is_some(),
    v6: ipv6.is_some(),
    ipv4,
    ipv6,
    mask_prefix_length: prefix_length,
});

pub const NUMBER_OF_UE_IP_ADDRESSES: Kind = record!(ie: NumberOfUeIpAddresses {
    "ipv4" ipv4: Option<u32> = ie.ipv4_count;
    "ipv6" ipv6: Option<u32> = ie.ipv6_count;
} => NumberOfUeIpAddresses { ipv4_count: ipv4, ipv6_count: ipv6 });

pub const OFFENDING_IE_INFORMATION: Kind = record!(ie: OffendingIeInformation {
    "type" number: Needed<u16> = Needed(ie.offending_ie_type);
    "value" value: Needed<Hex> = Needed(Hex(ie.offending_ie_value.clone()));
} => OffendingIeInformation::new(number.0, value.0.0));

pub const PACKET_RATE_STATUS: Kind = record!(ie: PacketRateStatus {
    "uplink" up: Option<u16> = ie.remaining_uplink_packets();
    "additional_uplink" more_up: Option<u16> = ie.remaining_additional_uplink_packets();
    "downlink" down: Option<u16> = ie.remaining_downlink_packets();
    "additional_downlink" more_down: Option<u16> = ie.remaining_additional_downlink_packets();
    "validity_time" validity: Option<[u8; 8]> = ie.validity_time().copied();
} => {
    let additional = more_up.is_some() || more_down.is_some();
    let mut ie = PacketRateStatus::new(up.is_some(), down.is_some(), additional);
    if let Some(packets) = up {
        ie = ie.with_remaining_uplink_packets(packets);
    }
    if let Some(packets) = more_up {
        ie = ie.with_remaining_additional_uplink_packets(packets);
    }
    if let Some(packets) = down {
        ie = ie.with_remaining_downlink_packets(packets);
    }
    if let Some(packets) = more_down {
        ie = ie.with_remaining_additional_downlink_packets(packets);
    }
    if let Some(time) = validity {
        ie = ie.with_validity_time(time);
    }
    if (up.is_none() && more_up.is_some())
        || (down.is_none() && more_down.is_some())
        || (up.is_some() || down.is_some()) != validity.is_some()
    {
        return Err(Fault::new("these parts do not go together"));
    }
    ie
});

pub const PACKET_DELAY_THRESHOLDS: Kind = record!(ie: PacketDelayThresholds {
    "downlink" down: Option<u32> = ie.dl_threshold;
    "uplink" up: Option<u32> = ie.ul_threshold;
    "round_trip" round_trip: Option<u32> = ie.rp_threshold;
} => PacketDelayThresholds::new(down, up, round_trip));

pub const QOS_MONITORING_MEASUREMENT: Kind = record!(ie: QosMonitoringMeasurement {
    "downlink_delay" dl_packet_delay: Option<u32> = ie.dl_packet_delay;
    "uplink_delay" ul_packet_delay: Option<u32> = ie.ul_packet_delay;
    "round_trip_delay" rp_packet_delay: Option<u32> = ie.rp_packet_delay;
    "failure" failure: Marked = Marked(ie.packet_loss_measurement_failure);
    "downlink_congestion" dl_congestion: Option<u16> = ie.dl_congestion;
    "uplink_congestion" ul_congestion: Option<u16> = ie.ul_congestion;
    "downlink_data_rate" dl_data_rate: Option<u32> = ie.dl_data_rate;
    "uplink_data_rate" ul_data_rate: Option<u32> = ie.ul_data_rate;
} => QosMonitoringMeasurement {
    dl_packet_delay,
    ul_packet_delay,
    rp_packet_delay,
    packet_loss_measurement_failure: failure.0,
    dl_congestion,
    ul_congestion,
    dl_data_rate,
    ul_data_rate,
});

/// The length of the part is one octet.
fn at_most_255(part: Hex) -> Result<Vec<u8>, Fault> {
    if part.0.len() > 255 {
        return Err(Fault::new("more than 255 octets"));
    }
    Ok(part.0)
}

pub const TRACE_INFORMATION: Kind = record!(ie: TraceInformation {
    "plmn" plmn: Needed<[u8; 3]> = Needed(ie.mcc_mnc);
    "trace_id" trace_id: Needed<[u8; 3]> = Needed(ie.trace_id);
    "triggering_events" events: Needed<Hex> = Needed(Hex(ie.triggering_events.clone()));
    "depth" depth: Needed<u8> = Needed(ie.trace_depth);
    "interfaces" interfaces: Needed<Hex> = Needed(Hex(ie.list_of_interfaces.clone()));
    "collection_entity" entity: Option<Hex> =
        ie.ip_address_of_trace_collection_entity.clone().map(Hex);
} => TraceInformation {
    mcc_mnc: plmn.0,
    trace_id: trace_id.0,
    triggering_events: at_most_255(events.0)?,
    trace_depth: depth.0,
    list_of_interfaces: at_most_255(interfaces.0)?,
    ip_address_of_trace_collection_entity: match entity {
        Some(Hex(octets)) if octets.is_empty() => None,
        Some(entity) => Some(at_most_255(entity)?),
        None => None,
    },
});
