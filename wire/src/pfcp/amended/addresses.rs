//! Addresses of nodes and tunnels.

use std::net::{Ipv4Addr, Ipv6Addr};

use rs_pfcp::Teid;
use rs_pfcp::ie::outer_header_creation::{OuterHeaderCreation, OuterHeaderCreationFlags};

use super::names::Name;
use crate::pfcp::fault::Fault;
use crate::pfcp::kind::{Kind, Needed, record};
use crate::pfcp::octets::{Octets, put_run};
use crate::pfcp::plain::{Hex, Text};
use crate::pfcp::words::word_kind;

/// rs-pfcp: an FQDN is text instead of labels, and spare bits are part of the type.
pub enum NodeId {
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
    Fqdn(Name),
}

impl NodeId {
    pub fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        match left.u8()? & 15 {
            0 => left.ipv4().map(NodeId::Ipv4),
            1 => left.ipv6().map(NodeId::Ipv6),
            2 => Name::unmarshal(left.0).map(NodeId::Fqdn),
            other => Err(Fault::new(format!("there is no type {other} of Node IDs"))),
        }
    }

    fn marshal(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            NodeId::Ipv4(address) => {
                out.push(0);
                out.extend_from_slice(&address.octets());
            }
            NodeId::Ipv6(address) => {
                out.push(1);
                out.extend_from_slice(&address.octets());
            }
            NodeId::Fqdn(name) => {
                out.push(2);
                out.extend_from_slice(&name.marshal());
            }
        }
        out
    }

    /// The text for a peek.
    pub fn text(&self) -> Option<String> {
        match self {
            NodeId::Ipv4(address) => Some(address.to_string()),
            NodeId::Ipv6(address) => Some(address.to_string()),
            NodeId::Fqdn(name) => name.text(),
        }
    }
}

pub const NODE_ID: Kind = record!(ie: NodeId {
    "ipv4" ipv4: Option<Ipv4Addr> =
        if let NodeId::Ipv4(address) = &ie { Some(*address) } else { None };
    "ipv6" ipv6: Option<Ipv6Addr> =
        if let NodeId::Ipv6(address) = &ie { Some(*address) } else { None };
    "fqdn" fqdn: Option<Name> =
        if let NodeId::Fqdn(name) = ie { Some(name) } else { None };
} => match (ipv4, ipv6, fqdn) {
    (Some(address), None, None) => NodeId::Ipv4(address),
    (None, Some(address), None) => NodeId::Ipv6(address),
    (None, None, Some(name)) => NodeId::Fqdn(name),
    _ => return Err(Fault::new("exactly one of ipv4, ipv6 and fqdn is needed")),
});

/// rs-pfcp: the type and the number of CSIDs are swapped, and type 2 is an FQDN. An FQDN shorter
/// than the CSIDs causes a panic if overflow checks are enabled.
struct FqCsid {
    ipv4: Option<Ipv4Addr>,
    ipv6: Option<Ipv6Addr>,
    /// MCC, MNC and a number of 12 bits.
    other: Option<[u8; 4]>,
    csids: Vec<u16>,
    node_type: Option<u8>,
}

impl FqCsid {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let head = left.u8()?;
        let mut ie = FqCsid {
            ipv4: None,
            ipv6: None,
            other: None,
            csids: Vec::new(),
            node_type: None,
        };
        match head >> 4 {
            0 => ie.ipv4 = Some(left.ipv4()?),
            1 => ie.ipv6 = Some(left.ipv6()?),
            2 => ie.other = Some(left.array()?),
            other => return Err(Fault::new(format!("there is no type {other} of FQ-CSIDs"))),
        }
        for _ in 0..head & 15 {
            ie.csids.push(left.u16()?);
        }
        ie.node_type = left.0.first().map(|octet| octet & 15);
        Ok(ie)
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let count = u8::try_from(self.csids.len()).unwrap_or(u8::MAX);
        if count > 15 {
            return Err(Fault::new("more than 15 CSIDs"));
        }
        let mut out = vec![count];
        match (self.ipv4, self.ipv6, self.other) {
            (Some(address), None, None) => out.extend_from_slice(&address.octets()),
            (None, Some(address), None) => {
                out[0] |= 1 << 4;
                out.extend_from_slice(&address.octets());
            }
            (None, None, Some(address)) => {
                out[0] |= 2 << 4;
                out.extend_from_slice(&address);
            }
            _ => {
                return Err(Fault::new(
                    "exactly one of ipv4, ipv6 and mcc_mnc is needed",
                ));
            }
        }
        for csid in &self.csids {
            out.extend_from_slice(&csid.to_be_bytes());
        }
        match self.node_type {
            Some(node_type @ 16..) => {
                return Err(Fault::new(format!("node_type {node_type} is over 15")));
            }
            Some(node_type) => out.push(node_type),
            None => {}
        }
        Ok(out)
    }
}

pub const FQ_CSID: Kind = record!(ie: FqCsid {
    "ipv4" ipv4: Option<Ipv4Addr> = ie.ipv4;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.ipv6;
    "mcc_mnc" other: Option<[u8; 4]> = ie.other;
    "csids" csids: Needed<Vec<u16>> = Needed(ie.csids.clone());
    "node_type" node_type: Option<u8> = ie.node_type;
} => FqCsid { ipv4, ipv6, other, csids: csids.0, node_type });

/// rs-pfcp: one octet instead of two before the destination interface and the network instance.
struct RemoteGtpuPeer {
    ipv4: Option<Ipv4Addr>,
    ipv6: Option<Ipv6Addr>,
    destination_interface: Option<Hex>,
    network_instance: Option<Text>,
    recovery_time_stamp: Option<u32>,
}

impl RemoteGtpuPeer {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let flags = left.u8()?;
        Ok(RemoteGtpuPeer {
            ipv4: left.with(flags, 2, Octets::ipv4)?,
            ipv6: left.with(flags, 1, Octets::ipv6)?,
            destination_interface: left
                .with(flags, 4, Octets::run)?
                .map(|octets| Hex(octets.to_vec())),
            network_instance: left
                .with(flags, 8, Octets::run)?
                .map(|octets| Text(octets.to_vec())),
            recovery_time_stamp: left.with(flags, 16, Octets::u32)?,
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let mut out = vec![0];
        if let Some(address) = self.ipv4 {
            out[0] |= 2;
            out.extend_from_slice(&address.octets());
        }
        if let Some(address) = self.ipv6 {
            out[0] |= 1;
            out.extend_from_slice(&address.octets());
        }
        if let Some(Hex(octets)) = &self.destination_interface {
            out[0] |= 4;
            put_run(&mut out, octets)?;
        }
        if let Some(Text(octets)) = &self.network_instance {
            out[0] |= 8;
            put_run(&mut out, octets)?;
        }
        if let Some(time) = self.recovery_time_stamp {
            out[0] |= 16;
            out.extend_from_slice(&time.to_be_bytes());
        }
        Ok(out)
    }
}

pub const REMOTE_GTPU_PEER: Kind = record!(ie: RemoteGtpuPeer {
    "ipv4" ipv4: Option<Ipv4Addr> = ie.ipv4;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.ipv6;
    "destination_interface" destination_interface: Option<Hex> = ie.destination_interface.clone();
    "network_instance" network_instance: Option<Text> = ie.network_instance.clone();
    "recovery_time_stamp" recovery_time_stamp: Option<u32> = ie.recovery_time_stamp;
} => RemoteGtpuPeer {
    ipv4,
    ipv6,
    destination_interface,
    network_instance,
    recovery_time_stamp,
});

/// The descriptions of octet 5, from bit 1, and of octet 6.
const DESCRIPTIONS: [&str; 8] = [
    "GTP-U/UDP/IPv4",
    "GTP-U/UDP/IPv6",
    "UDP/IPv4",
    "UDP/IPv6",
    "IPv4",
    "IPv6",
    "C-TAG",
    "S-TAG",
];
const INDICATIONS: [&str; 2] = ["N19 Indication", "N6 Indication"];

/// rs-pfcp: lacks the indications of octet 6.
struct OuterHeader {
    inner: OuterHeaderCreation,
    octet5: u8,
    octet6: u8,
}

impl OuterHeader {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let inner = OuterHeaderCreation::unmarshal(octets)?;
        Ok(OuterHeader {
            inner,
            octet5: octets[0],
            octet6: octets[1],
        })
    }

    fn marshal(&self) -> Vec<u8> {
        let mut out = self.inner.marshal();
        out[1] = self.octet6;
        out
    }

    fn descriptions(&self) -> Vec<String> {
        let named = |octet: u8, names: &[&str]| -> Vec<String> {
            let set = names
                .iter()
                .enumerate()
                .filter(|(bit, _)| octet >> bit & 1 != 0);
            set.map(|(_, name)| (*name).to_owned()).collect()
        };
        let mut found = named(self.octet5, &DESCRIPTIONS);
        found.extend(named(self.octet6, &INDICATIONS));
        found
    }

    fn described(names: &[String]) -> Result<(u8, u8), Fault> {
        let (mut octet5, mut octet6) = (0, 0);
        for name in names {
            if let Some(bit) = DESCRIPTIONS.iter().position(|known| known == name) {
                octet5 |= 1 << bit;
            } else if let Some(bit) = INDICATIONS.iter().position(|known| known == name) {
                octet6 |= 1 << bit;
            } else {
                let known = [&DESCRIPTIONS[..], &INDICATIONS[..]].concat().join(", ");
                return Err(Fault::new(format!("{name:?} is none of: {known}")));
            }
        }
        Ok((octet5, octet6))
    }

    fn new(names: &[String], parts: OuterHeaderCreation) -> Result<Self, Fault> {
        let (octet5, octet6) = Self::described(names)?;
        let has = |bits: u8| octet5 & bits != 0;
        let needed = [
            ("teid", has(0x03), parts.teid.is_some()),
            ("ipv4", has(0x15), parts.ipv4_address.is_some()),
            ("ipv6", has(0x2a), parts.ipv6_address.is_some()),
            ("port", has(0x0c), parts.port_number.is_some()),
            ("c_tag", has(0x40), parts.ctag.is_some()),
            ("s_tag", has(0x80), parts.stag.is_some()),
        ];
        for (name, needed, there) in needed {
            if needed != there {
                let what = if needed {
                    "missing"
                } else {
                    "not in the description"
                };
                return Err(Fault::new(format!("{name} is {what}")));
            }
        }
        let description = OuterHeaderCreationFlags {
            gtpu_udp_ipv4: has(0x01),
            gtpu_udp_ipv6: has(0x02),
            udp_ipv4: has(0x04),
            udp_ipv6: has(0x08),
            ipv4: has(0x10),
            ipv6: has(0x20),
            ctag: has(0x40),
            stag: has(0x80),
        };
        let inner = OuterHeaderCreation {
            description,
            ..parts
        };
        Ok(OuterHeader {
            inner,
            octet5,
            octet6,
        })
    }
}

fn tag(value: Option<u32>) -> Option<[u8; 3]> {
    value.map(|value| {
        let [_, high, middle, low] = value.to_be_bytes();
        [high, middle, low]
    })
}

fn untag(octets: Option<[u8; 3]>) -> Option<u32> {
    octets.map(|[high, middle, low]| u32::from_be_bytes([0, high, middle, low]))
}

pub const OUTER_HEADER_CREATION: Kind = record!(ie: OuterHeader {
    "description" description: Needed<Vec<String>> = Needed(ie.descriptions());
    "teid" teid: Option<Teid> = ie.inner.teid;
    "ipv4" ipv4: Option<Ipv4Addr> = ie.inner.ipv4_address;
    "ipv6" ipv6: Option<Ipv6Addr> = ie.inner.ipv6_address;
    "port" port: Option<u16> = ie.inner.port_number;
    "c_tag" c_tag: Option<[u8; 3]> = tag(ie.inner.ctag);
    "s_tag" s_tag: Option<[u8; 3]> = tag(ie.inner.stag);
} => OuterHeader::new(&description.0, OuterHeaderCreation {
    description: OuterHeaderCreationFlags::default(),
    teid,
    ipv4_address: ipv4,
    ipv6_address: ipv6,
    port_number: port,
    ctag: untag(c_tag),
    stag: untag(s_tag),
})?);

word_kind!(HeaderDescription 255;
    0 "GTP-U/UDP/IPv4" 1 "GTP-U/UDP/IPv6" 2 "UDP/IPv4" 3 "UDP/IPv6" 4 "IPv4" 5 "IPv6"
    6 "GTP-U/UDP/IP" 7 "VLAN S-TAG" 8 "S-TAG and C-TAG"
);

/// rs-pfcp: lacks octet 6, the GTP-U extension headers to delete.
struct OuterHeaderRemoval {
    description: HeaderDescription,
    extensions: Option<u8>,
}

impl OuterHeaderRemoval {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        Ok(OuterHeaderRemoval {
            description: HeaderDescription(left.u8()?),
            extensions: left.0.first().map(|octet| octet & 1),
        })
    }

    fn marshal(&self) -> Vec<u8> {
        let mut out = vec![self.description.0];
        out.extend(self.extensions);
        out
    }
}

pub const OUTER_HEADER_REMOVAL: Kind = record!(ie: OuterHeaderRemoval {
    "description" description: Needed<HeaderDescription> =
        Needed(HeaderDescription(ie.description.0));
    "pdu_session_container" container: Option<bool> = ie.extensions.map(|bits| bits != 0);
} => OuterHeaderRemoval {
    description: description.0,
    extensions: container.map(u8::from),
});
