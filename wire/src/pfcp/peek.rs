//! The routing fields of a message, read in one pass without a tree.

use std::net::{Ipv4Addr, Ipv6Addr};

use pyo3::prelude::*;
use rs_pfcp::ie::fseid::Fseid;

use super::amended::addresses::NodeId;
use super::decode::refused;
use super::frames::Frames;
use super::message::{self, framed};

/// The fields of a message that a gateway routes by.
#[pyclass(frozen, get_all, module = "wire")]
pub struct PfcpPeek {
    message: &'static str,
    message_type: u8,
    version: u8,
    request: bool,
    seid: Option<u64>,
    sequence: u32,
    priority: Option<u8>,
    length: usize,
    follow_on: bool,
    f_seid: Option<(u64, Option<String>, Option<String>)>,
    node_id: Option<String>,
    cause: Option<u8>,
    recovery_time_stamp: Option<u32>,
}

const CAUSE: u16 = 19;
const F_SEID: u16 = 57;
const NODE_ID: u16 = 60;
const RECOVERY_TIME_STAMP: u16 = 96;

#[pyfunction]
pub fn pfcp_peek(data: &[u8]) -> PyResult<PfcpPeek> {
    let framed = framed(data).map_err(|fault| refused(fault, None, data.len()))?;
    let header = &framed.header;
    let mut found = PfcpPeek {
        message: message::name_of(header.message_type),
        message_type: header.message_type_code(),
        version: header.version,
        request: message::is_request(header.message_type),
        seid: header.has_seid.then_some(header.seid.0),
        sequence: header.sequence_number.0,
        priority: framed.priority(),
        length: framed.message.len(),
        follow_on: header.has_fo,
        f_seid: None,
        node_id: None,
        cause: None,
        recovery_time_stamp: None,
    };
    if header.version != message::VERSION || found.message == message::UNKNOWN {
        return Ok(found);
    }
    let start = framed.start();
    // An IE that does not decode is omitted here; `pfcp_check` reports its fault.
    for frame in Frames::new(&framed.message[start..], start).map_while(Result::ok) {
        match frame.number {
            CAUSE if found.cause.is_none() => found.cause = frame.value.first().copied(),
            F_SEID if found.f_seid.is_none() => {
                let text4 = |address: Ipv4Addr| address.to_string();
                let text6 = |address: Ipv6Addr| address.to_string();
                found.f_seid = Fseid::unmarshal(frame.value).ok().map(|ie| {
                    let (ipv4, ipv6) = (ie.ipv4_address.map(text4), ie.ipv6_address.map(text6));
                    (ie.seid.0, ipv4, ipv6)
                });
            }
            NODE_ID if found.node_id.is_none() => {
                let id = NodeId::unmarshal(frame.value).ok();
                found.node_id = id.and_then(|id| id.text());
            }
            RECOVERY_TIME_STAMP if found.recovery_time_stamp.is_none() => {
                let seconds = frame.value.first_chunk();
                found.recovery_time_stamp = seconds.map(|octets| u32::from_be_bytes(*octets));
            }
            _ => {}
        }
    }
    Ok(found)
}
