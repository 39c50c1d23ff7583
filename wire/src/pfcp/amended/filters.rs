//! IEs that classify traffic.

use pyo3::prelude::*;

use crate::pfcp::fault::Fault;
use crate::pfcp::kind::{Kind, Needed, Part, record, record_of};
use crate::pfcp::octets::{Octets, put_run, put_short_run};
use crate::pfcp::plain::{Hex, Plain, Text};
use crate::pfcp::words::word_kind;

/// rs-pfcp: refuses a filter without flow description, and loses all other parts.
struct SdfFilter {
    flow_description: Option<Text>,
    tos_traffic_class: Option<[u8; 2]>,
    security_parameter_index: Option<[u8; 4]>,
    flow_label: Option<[u8; 3]>,
    filter_id: Option<u32>,
}

impl SdfFilter {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let flags = left.u8()?;
        left.u8()?;
        Ok(SdfFilter {
            flow_description: left
                .with(flags, 1, Octets::run)?
                .map(|octets| Text(octets.to_vec())),
            tos_traffic_class: left.with(flags, 2, Octets::array)?,
            security_parameter_index: left.with(flags, 4, Octets::array)?,
            flow_label: left.with(flags, 8, Octets::array)?,
            filter_id: left.with(flags, 16, Octets::u32)?,
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let mut out = vec![0, 0];
        if let Some(Text(octets)) = &self.flow_description {
            out[0] |= 1;
            put_run(&mut out, octets)?;
        }
        if let Some(octets) = &self.tos_traffic_class {
            out[0] |= 2;
            out.extend_from_slice(octets);
        }
        if let Some(octets) = &self.security_parameter_index {
            out[0] |= 4;
            out.extend_from_slice(octets);
        }
        if let Some(octets) = &self.flow_label {
            out[0] |= 8;
            out.extend_from_slice(octets);
        }
        if let Some(id) = self.filter_id {
            out[0] |= 16;
            out.extend_from_slice(&id.to_be_bytes());
        }
        Ok(out)
    }
}

pub const SDF_FILTER: Kind = record!(ie: SdfFilter {
    "flow_description" flow_description: Option<Text> = ie.flow_description.clone();
    "tos_traffic_class" tos_traffic_class: Option<[u8; 2]> = ie.tos_traffic_class;
    "security_parameter_index" security_parameter_index: Option<[u8; 4]> =
        ie.security_parameter_index;
    "flow_label" flow_label: Option<[u8; 3]> = ie.flow_label;
    "filter_id" filter_id: Option<u32> = ie.filter_id;
} => SdfFilter {
    flow_description,
    tos_traffic_class,
    security_parameter_index,
    flow_label,
    filter_id,
});

word_kind!(FlowDirection 7; 0 "Unspecified" 1 "Downlink" 2 "Uplink" 3 "Bidirectional");

/// rs-pfcp: only the text, without the direction and the length.
struct FlowInformation {
    direction: FlowDirection,
    description: Text,
}

impl FlowInformation {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        Ok(FlowInformation {
            direction: FlowDirection(left.u8()? & 7),
            description: Text(left.run()?.to_vec()),
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let mut out = vec![self.direction.0];
        put_run(&mut out, &self.description.0)?;
        Ok(out)
    }
}

pub const FLOW_INFORMATION: Kind = record!(ie: FlowInformation {
    "direction" direction: Needed<FlowDirection> = Needed(FlowDirection(ie.direction.0));
    "description" description: Needed<Text> = Needed(ie.description.clone());
} => FlowInformation { direction: direction.0, description: description.0 });

/// rs-pfcp: the lists have no lengths, and every list but the last has one entry.
struct PfdContents {
    single: [Option<Text>; 5],
    lists: [Option<Vec<Text>>; 3],
}

impl PfdContents {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let flags = left.u8()?;
        left.u8()?;
        let mut ie = PfdContents {
            single: Default::default(),
            lists: Default::default(),
        };
        for (bit, part) in ie.single.iter_mut().enumerate() {
            *part = left
                .with(flags, 1 << bit, Octets::run)?
                .map(|octets| Text(octets.to_vec()));
        }
        for (bit, part) in ie.lists.iter_mut().enumerate() {
            let Some(octets) = left.with(flags, 32 << bit, Octets::run)? else {
                continue;
            };
            let mut entries = Octets(octets);
            let mut list = Vec::new();
            while !entries.0.is_empty() {
                list.push(Text(entries.run()?.to_vec()));
            }
            *part = Some(list);
        }
        Ok(ie)
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let mut out = vec![0, 0];
        for (bit, part) in self.single.iter().enumerate() {
            if let Some(Text(octets)) = part {
                out[0] |= 1 << bit;
                put_run(&mut out, octets)?;
            }
        }
        for (bit, part) in self.lists.iter().enumerate() {
            if let Some(list) = part {
                out[0] |= 32 << bit;
                let mut entries = Vec::new();
                for Text(octets) in list {
                    put_run(&mut entries, octets)?;
                }
                put_run(&mut out, &entries)?;
            }
        }
        Ok(out)
    }
}

pub const PFD_CONTENTS: Kind = record!(ie: PfdContents {
    "flow_description" flow: Option<Text> = ie.single[0].clone();
    "url" url: Option<Text> = ie.single[1].clone();
    "domain_name" domain: Option<Text> = ie.single[2].clone();
    "custom" custom: Option<Text> = ie.single[3].clone();
    "domain_name_protocol" protocol: Option<Text> = ie.single[4].clone();
    "additional_flow_descriptions" flows: Option<Vec<Text>> = ie.lists[0].clone();
    "additional_urls" urls: Option<Vec<Text>> = ie.lists[1].clone();
    "additional_domain_names_and_protocols" domains: Option<Vec<Text>> = ie.lists[2].clone();
} => PfdContents {
    single: [flow, url, domain, custom, protocol],
    lists: [flows, urls, domains],
});

/// rs-pfcp: the format of IEEE 802.1Q, without the presence flags and with a spare octet at the
/// end.
#[derive(Clone)]
struct Tag {
    pcp: Option<u8>,
    dei: Option<bool>,
    vid: Option<u16>,
}

impl Tag {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let [flags, middle, low] = left.array()?;
        Ok(Tag {
            pcp: (flags & 1 != 0).then_some(middle & 7),
            dei: (flags & 2 != 0).then_some(middle & 8 != 0),
            vid: (flags & 4 != 0).then(|| u16::from_be_bytes([middle >> 4, low])),
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let mut out = vec![0; 3];
        if let Some(pcp) = self.pcp {
            if pcp > 7 {
                return Err(Fault::new(format!("pcp {pcp} is over 7")));
            }
            out[0] |= 1;
            out[1] |= pcp;
        }
        if let Some(dei) = self.dei {
            out[0] |= 2;
            out[1] |= u8::from(dei) << 3;
        }
        if let Some(vid) = self.vid {
            if vid > 4095 {
                return Err(Fault::new(format!("vid {vid} is over 4095")));
            }
            let [high, low] = vid.to_be_bytes();
            out[0] |= 4;
            out[1] |= high << 4;
            out[2] = low;
        }
        Ok(out)
    }
}

pub const TAG: Kind = record!(ie: Tag {
    "pcp" pcp: Option<u8> = ie.pcp;
    "dei" dei: Option<bool> = ie.dei;
    "vid" vid: Option<u16> = ie.vid;
} => Tag { pcp, dei, vid });

impl Plain for Tag {
    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dict = pyo3::types::PyDict::new(py);
        self.pcp.put_into(&dict, "pcp")?;
        self.dei.put_into(&dict, "dei")?;
        self.vid.put_into(&dict, "vid")?;
        Ok(dict.into_any())
    }

    fn take(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
        let dict = record_of(value, &["pcp", "dei", "vid"])?;
        Ok(Tag {
            pcp: Part::take_from(dict, "pcp")?,
            dei: Part::take_from(dict, "dei")?,
            vid: Part::take_from(dict, "vid")?,
        })
    }
}

/// rs-pfcp: its tags are wrong.
struct MacAddresses {
    addresses: Vec<[u8; 6]>,
    c_tag: Option<Tag>,
    s_tag: Option<Tag>,
}

impl MacAddresses {
    fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        let mut left = Octets(octets);
        let count = left.u8()?;
        let addresses = (0..count).map(|_| left.array());
        let addresses = addresses.collect::<Result<_, _>>()?;
        let mut tag = || -> Result<Option<Tag>, Fault> {
            // In an earlier release the IE ends with the addresses.
            if left.0.is_empty() {
                return Ok(None);
            }
            let octets = left.short_run()?;
            if octets.is_empty() {
                return Ok(None);
            }
            Tag::unmarshal(octets).map(Some)
        };
        Ok(MacAddresses {
            addresses,
            c_tag: tag()?,
            s_tag: tag()?,
        })
    }

    fn marshal(&self) -> Result<Vec<u8>, Fault> {
        let count = u8::try_from(self.addresses.len())
            .map_err(|_| Fault::new("more than 255 addresses"))?;
        let mut out = vec![count];
        out.extend(self.addresses.iter().flatten());
        for tag in [&self.c_tag, &self.s_tag] {
            let octets = tag.as_ref().map(Tag::marshal).transpose()?;
            put_short_run(&mut out, &octets.unwrap_or_default())?;
        }
        Ok(out)
    }
}

pub const MAC_ADDRESSES: Kind = record!(ie: MacAddresses {
    "addresses" addresses: Needed<Vec<[u8; 6]>> = Needed(ie.addresses.clone());
    "c_tag" c_tag: Option<Tag> = ie.c_tag.clone();
    "s_tag" s_tag: Option<Tag> = ie.s_tag.clone();
} => MacAddresses { addresses: addresses.0, c_tag, s_tag });

/// Octets that contain no text.
pub struct Bare(pub Vec<u8>);

impl Bare {
    #[allow(
        clippy::unnecessary_wraps,
        reason = "it has the face of rs-pfcp's types"
    )]
    pub fn unmarshal(octets: &[u8]) -> Result<Self, Fault> {
        Ok(Bare(octets.to_vec()))
    }

    pub fn marshal(&self) -> Vec<u8> {
        self.0.clone()
    }
}

pub const HEX: Kind =
    crate::pfcp::kind::plain!(Bare, |ie| Hex(ie.0.clone()), |Hex(octets)| Bare(octets));

/// rs-pfcp refuses octets that are not UTF-8 in IEs that are octet strings.
pub const TEXT: Kind =
    crate::pfcp::kind::plain!(Bare, |ie| Text(ie.0.clone()), |Text(octets)| Bare(octets));
